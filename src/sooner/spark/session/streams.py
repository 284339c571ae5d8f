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
    """For each of these its number in a query's progress, where equal ones are listed once."""
    listed: list[Any] = []
    numbers = []
    for stream in streams:
        number = next((i for i, other in enumerate(listed) if stream.equals(other)), len(listed))
        if number == len(listed):
            listed.append(stream)
        numbers.append(number)
    return numbers


def logged_offsets(query: StreamingQuery) -> list[dict[str, Any]]:
    """For each stream of a query where it ends in the newest batch of Spark's log; nothing if that says nothing.

    What is in the log will be done, in this run or the next. What is planned only may be planned otherwise then.
    """
    log: Any = query._jsq.streamingQuery().offsetLog()
    newest = log.getLatest()
    if not newest.isDefined():
        return []
    offsets = newest.get()._2().offsets()
    found = [offsets.apply(number) for number in range(offsets.size())]
    return [_offset(each.get().json()) if each.isDefined() else {} for each in found]


def _offset(text: str) -> dict[str, Any]:
    try:
        offset = json.loads(text)
    except ValueError:
        return {}
    return offset if isinstance(offset, dict) else {}


def options_of(stream: Any, source: str) -> dict[str, str] | None:
    """The options of a stream if it is of this source."""
    if stream.getClass().getSimpleName() != "StreamingRelationV2" or stream.sourceName() != source:
        return None
    return dict(stream.extraOptions())
