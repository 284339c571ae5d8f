"""Streams that end, for Spark: Parquet files, PostgreSQL, replays by the clock.

Each is a Python data source with exact offsets: the same offsets give the same rows in any process, after any restart.
The end offset of the batch that takes in the last row has `"ended": true`, and so has that of the only batch of an
empty input.
"""

import importlib.util
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from sooner.spark.sources.parquet_source import ParquetDataSource, parquet
from sooner.spark.sources.replay_source import ReplayDataSource, replay

if TYPE_CHECKING:
    from sooner.spark.sources.postgres_source import postgres

__all__ = ["parquet", "postgres", "register", "replay"]


def register(spark: SparkSession) -> None:
    """Make the formats `sooner.parquet`, `sooner.replay` and, if psycopg is here, `sooner.postgres` known to Spark."""
    spark.dataSource.register(ParquetDataSource)
    spark.dataSource.register(ReplayDataSource)
    if importlib.util.find_spec("psycopg") is not None:
        from sooner.spark.sources.postgres_source import PostgresDataSource

        spark.dataSource.register(PostgresDataSource)


def __getattr__(name: str) -> object:
    """Import what needs another package only when it is asked for."""
    if name != "postgres":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if importlib.util.find_spec("psycopg") is None:
        raise ModuleNotFoundError("sooner.spark.sources.postgres needs psycopg; run: pip install 'sooner[postgres]'")
    from sooner.spark.sources.postgres_source import postgres

    return postgres
