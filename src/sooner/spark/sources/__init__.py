"""Streams that end, for Spark: Parquet files, PostgreSQL, replays by the clock.

Each is a Python data source with exact offsets: the same offsets give the same rows in any process, after any restart.
The end offset of the batch that takes in the last row has `"ended": true`, and so has that of the only batch of an
empty input.
"""

import importlib.util
from typing import TYPE_CHECKING

from sooner.lazily import lazily

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sooner.spark.sources.delta_changes import delta_changes
    from sooner.spark.sources.parquet_source import parquet
    from sooner.spark.sources.postgres_source import postgres
    from sooner.spark.sources.replay_source import replay

__all__ = ["delta_changes", "parquet", "postgres", "register", "replay"]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "delta_changes": "sooner.spark.sources.delta_changes",
        "parquet": "sooner.spark.sources.parquet_source",
        "postgres": "sooner.spark.sources.postgres_source",
        "replay": "sooner.spark.sources.replay_source",
    },
    extras={"postgres": ("psycopg", "postgres")},
)


def register(spark: "SparkSession") -> None:
    """Make the formats `sooner.parquet`, `sooner.replay` and, if psycopg is here, `sooner.postgres` known to Spark."""
    from sooner.spark.sources.loading import register_source
    from sooner.spark.sources.parquet_source import ParquetDataSource
    from sooner.spark.sources.replay_source import ReplayDataSource

    register_source(spark, ParquetDataSource)
    register_source(spark, ReplayDataSource)
    if importlib.util.find_spec("psycopg") is not None:
        from sooner.spark.sources.postgres_source import PostgresDataSource

        register_source(spark, PostgresDataSource)
