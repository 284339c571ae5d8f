"""The streams that feed a DataFrame, in the order in which Spark lists them in a query's progress."""

from typing import Any

from pyspark.sql import DataFrame


def streams_of(rows: DataFrame) -> list[Any]:
    """The streaming leaves of its plan, each once."""
    leaves = rows._jdf.queryExecution().analyzed().collectLeaves()
    streams: list[Any] = []
    for position in range(leaves.size()):
        leaf = leaves.apply(position)
        if leaf.isStreaming() and not any(leaf.equals(other) for other in streams):
            streams.append(leaf)
    return streams


def count_streams(rows: DataFrame) -> int:
    return len(streams_of(rows))
