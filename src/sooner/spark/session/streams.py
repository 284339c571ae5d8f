"""The streams that feed a DataFrame, in the order in which Spark lists them in a query's progress."""

from typing import Any

from pyspark.sql import DataFrame


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


def options_of(stream: Any, source: str) -> dict[str, str] | None:
    """The options of a stream if it is of this source."""
    if stream.getClass().getSimpleName() != "StreamingRelationV2" or stream.sourceName() != source:
        return None
    return dict(stream.extraOptions())
