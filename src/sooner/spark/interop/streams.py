"""The streams that feed a DataFrame, in the order in which Spark lists them in a query's progress.

In a classic session Java knows the plan, and the offsets of the batch that runs. Under Connect the program has its own
plan, and hears of offsets when their batch is done: what has ended is then known a batch later.
"""

import json
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from sooner.spark.session.connect import is_connect, leaves_of, relation_of
from sooner.spark.session.versions import offset_in_progress


@dataclass(frozen=True)
class Stream:
    """A streaming leaf of a plan: of Java's, or a relation of Connect's. Two are equal if they are read as one."""

    leaf: Any
    source: str = field(compare=False)
    options: dict[str, str] = field(compare=False)

    def options_of(self, source: str) -> dict[str, str] | None:
        """Its options, if it is of this source."""
        return self.options if self.source == source else None


def streams_of(rows: DataFrame | DataStreamWriter) -> list[Stream]:
    """The streams of a DataFrame, or of what a writer writes. One that is read in two places is there twice."""
    if is_connect(rows):
        return [
            Stream(leaf, leaf.read.data_source.format, dict(leaf.read.data_source.options))
            for leaf in leaves_of(relation_of(rows))
            if leaf.HasField("read") and leaf.read.is_streaming
        ]
    frame: Any = rows._df if isinstance(rows, DataStreamWriter) else rows
    leaves = frame._jdf.queryExecution().analyzed().collectLeaves()  # PySpark itself does not know the plan
    found = (leaves.apply(position) for position in range(leaves.size()))
    return [Stream(leaf, *of_java(leaf)) for leaf in found if leaf.isStreaming()]


def of_java(leaf: Any) -> tuple[str, dict[str, str]]:
    """The source and the options of a leaf of Java's plan; nothing if it is of an older kind, or no stream."""
    if leaf.getClass().getSimpleName() != "StreamingRelationV2":
        return "", {}
    options = leaf.extraOptions()
    # An iterator of Java's ends in an exception, of which PySpark asks fourteen times what it is.
    return str(leaf.sourceName()), {name: options.get(name) for name in options.keySet().toArray()}


def numbered(streams: list[Stream]) -> list[int]:
    """The number of each stream in a query's progress, where equal ones are listed once."""
    listed: list[Stream] = []
    numbers = []
    for stream in streams:
        if stream not in listed:
            listed.append(stream)
        numbers.append(listed.index(stream))
    return numbers


def ended_streams(query: Any, among: set[int]) -> set[int]:
    """The streams whose last row is in a batch of Spark's log, which will be done in this run or the next."""
    return _ended_by_progress(query, among) if is_connect(query) else _ended_by_java(query, among)


def _ended_by_progress(query: Any, among: set[int]) -> set[int]:
    last = query.lastProgress
    offsets = [] if last is None else [source["endOffset"] for source in last["sources"]]
    return {number for number in among if number < len(offsets) and _says_end(offset_in_progress(offsets[number]))}


def _ended_by_java(query: Any, among: set[int]) -> set[int]:
    """Java has the offsets of the batch that runs: the join hears of the end a batch sooner than by the progress.

    The log may lie far away. So it is looked at only when the offsets in memory have an end that is news. These may be
    those of a batch that is not in the log yet, and would be planned otherwise after a crash.
    """
    running = query._jsq.streamingQuery()
    streams, planned = running.sources().distinct(), running.availableOffsets()
    in_memory = {number: planned.get(streams.apply(number)) for number in among if number < streams.size()}
    hopeful = {number for number, offset in in_memory.items() if _is_end(offset)}
    newest = running.offsetLog().getLatest() if hopeful else None
    if newest is None or not newest.isDefined():
        return set()
    logged = newest.get()._2().offsets()
    return {number for number in hopeful if _is_end(logged.apply(number))}


def _is_end(offset: Any) -> bool:
    try:
        return bool(offset.isDefined()) and _says_end(json.loads(offset.get().json()))
    except ValueError:
        return False


def _says_end(offset: object) -> bool:
    """Whether an offset says that nothing comes after it: sources of ours do."""
    return isinstance(offset, dict) and offset.get("ended") is True
