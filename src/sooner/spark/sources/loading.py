"""From a data source to a streaming DataFrame."""

import contextlib
from pathlib import Path
from typing import Any, Final
from weakref import WeakKeyDictionary

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource

from sooner.spark.session.connect import is_connect
from sooner.spark.session.prerequisites import require_fit_workers
from sooner.spark.session.workers import cores_of

_FILES_OF_STREAMS: Final = "streaming_job"  # where Spark has streaming sources look for what --py-files brought
# What was registered through Connect, where nobody can ask.
_REGISTERED: Final[WeakKeyDictionary[SparkSession, set[type[DataSource]]]] = WeakKeyDictionary()


def load_stream(spark: SparkSession, source: type[DataSource], options: dict[str, str]) -> DataFrame:
    """A DataFrame of the source, or a refusal in one sentence.

    The schema is asked for here as well, since what a worker of Spark refuses is shown as a page of Java.
    """
    source(options).schema()
    register_source(spark, source)
    return spark.readStream.format(source.name()).options(**options).load()


def register_source(spark: SparkSession, source: type[DataSource]) -> None:
    """Make a source known to a session in which it can run. If it is known already, Spark would warn of the second."""
    require_fit_workers(spark)
    if is_connect(spark):
        known = _REGISTERED.setdefault(spark, set())
        if source not in known:
            spark.dataSource.register(source)
            known.add(source)
        return
    _show_files_to_streams()
    if not _is_registered(spark, source):
        spark.dataSource.register(source)


def tasks_of(spark: SparkSession, partitions: int | None) -> int:
    """The number of tasks that read a batch: what the user says, else one for each core."""
    return cores_of(spark) if partitions is None else partitions


def _is_registered(spark: SparkSession, source: type[DataSource]) -> bool:
    """Whether this very class has its name there. Another one of that name is replaced, and Spark may say so.

    Only Java knows: without it each join would register its sources anew, and Spark would warn of each.
    """
    from pyspark.sql.udf import _wrap_function

    java: Any = spark._jsparkSession
    known = java.sessionState().dataSourceManager()
    if not known.dataSourceExists(source.name()):
        return False
    ours = _wrap_function(spark.sparkContext, source)  # as PySpark registers it
    return bool(known.lookupDataSource(source.name()).dataSourceCls().command().equals(ours.command()))


def _show_files_to_streams() -> None:
    """Spark gives the processes of streaming sources a directory of their own for files, which it never fills."""
    from pyspark import SparkFiles

    with contextlib.suppress(FileExistsError):
        Path(SparkFiles.getRootDirectory(), _FILES_OF_STREAMS).symlink_to(".")
