"""What Spark's workers say when they are asked: as many of them as work at once."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final
from weakref import WeakKeyDictionary

import pyarrow as pa
from pyspark.sql import SparkSession

from sooner.spark.session.connect import is_connect

_CORES: Final[WeakKeyDictionary[SparkSession, int]] = WeakKeyDictionary()  # of sessions of Connect that were asked


def ask_workers(spark: SparkSession, look: Callable[[], list[str]]) -> list[list[str]]:
    """What each of them finds. `look` travels by value if it is made within a function."""
    return _asked_by_connect(spark, look) if is_connect(spark) else _asked(spark, look)


def cores_of(spark: SparkSession) -> int:
    """How many tasks work at once."""
    if not is_connect(spark):
        return spark.sparkContext.defaultParallelism
    if spark not in _CORES:
        ask_workers(spark, list)
    return _CORES[spark]


def _asked(spark: SparkSession, look: Callable[[], list[str]]) -> list[list[str]]:
    def answer(_: Iterable[int]) -> Iterator[list[str]]:
        yield look()

    tasks = spark.sparkContext.defaultParallelism
    found: list[list[str]] = spark.sparkContext.parallelize(range(tasks), tasks).mapPartitions(answer).collect()
    return found


def _asked_by_connect(spark: SparkSession, look: Callable[[], list[str]]) -> list[list[str]]:
    """Spark cuts a range into as many parts as there are cores, and calls a function for each, also if it is empty."""

    def answer(batches: Iterator[Any]) -> Iterator[Any]:
        for _ in batches:
            pass
        yield pa.RecordBatch.from_pydict({"found": [json.dumps(look())]})

    rows = spark.range(1).mapInArrow(answer, "found string").collect()
    _CORES[spark] = len(rows)
    return [json.loads(row.found) for row in rows]
