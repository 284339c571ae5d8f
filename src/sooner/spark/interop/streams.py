"""The streams that feed a DataFrame, in the order in which Spark lists them in a query's progress."""

import json
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery


def streams_of(rows: DataFrame) -> list[Any]:
    """The streaming leaves of its plan. One that is read in two places is there twice; marks are no stream."""
    leaves = rows._jdf.queryExecution().analyzed().collectLeaves()
    found = (leaves.apply(position) for position in range(leaves.size()))
    return [leaf for leaf in found if leaf.isStreaming() and leaf.getClass().getSimpleName() != "LogicalRDD"]


def numbered(streams: list[Any]) -> list[int]:
    """The number of each stream in a query's progress, where equal ones are listed once."""
    listed: list[Any] = []
    numbers = []
    for stream in streams:
        number = next((i for i, other in enumerate(listed) if stream.equals(other)), len(listed))
        if number == len(listed):
            listed.append(stream)
        numbers.append(number)
    return numbers


def ended_streams(query: StreamingQuery, among: set[int]) -> set[int]:
    """The streams whose last row is in a batch of Spark's log, which will be done in this run or the next.

    The log may lie far away. So it is looked at only when the offsets in memory have an end that is news. These may be
    those of a batch that is not in the log yet, and would be planned otherwise after a crash.
    """
    running: Any = query._jsq.streamingQuery()
    streams, planned = running.sources().distinct(), running.availableOffsets()
    in_memory = {number: planned.get(streams.apply(number)) for number in among if number < streams.size()}
    hopeful = {number for number, offset in in_memory.items() if _is_end(offset)}
    newest = running.offsetLog().getLatest() if hopeful else None
    if newest is None or not newest.isDefined():
        return set()
    logged = newest.get()._2().offsets()
    return {number for number in hopeful if _is_end(logged.apply(number))}


def _is_end(offset: Any) -> bool:
    """Whether an offset, if there is one, says that nothing comes after it: sources of ours do."""
    try:
        content = json.loads(offset.get().json()) if offset.isDefined() else None
    except ValueError:
        return False
    return isinstance(content, dict) and content.get("ended") is True


def options_of(stream: Any, source: str) -> dict[str, str] | None:
    """The options of a stream if it is of this source."""
    if stream.getClass().getSimpleName() != "StreamingRelationV2" or stream.sourceName() != source:
        return None
    return dict(stream.extraOptions())
