"""Spark's Python processes are forked: what queries and tasks see of it."""

import contextlib
import os
import time
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from test_fork_server import server_at

import sooner.spark as ss
from patience import until
from sooner.spark.session import worker_python
from sooner.spark.session.fork_request import TOLD
from spark_joins import ended


def join_to_its_end(spark: SparkSession, folder: Path) -> set[int]:
    """The processes of its sources that were forked: these lead no group, as daemons do."""
    pq.write_table(pa.table({"k": np.arange(100)}), folder / "rows.parquet")
    left, right = (ss.sources.parquet(spark, str(folder / "rows.parquet"), rows_per_batch=50) for _ in range(2))
    joined = ss.join(left, right, on="k", state=folder / "state")
    writer = joined.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    query = ss.start(writer, str(folder / "out"))
    server = server_at(str(worker_python._servers[0].socket))
    seen: set[int] = set()
    while query.isActive:
        with contextlib.suppress(ProcessLookupError):
            seen |= {child.pid for child in server.children() if os.getpgid(child.pid) != child.pid}
        time.sleep(0.02)
    ended(query)
    assert spark.read.parquet(str(folder / "out")).count() == 100
    return seen


def test_the_sources_of_a_query_are_forked_and_end_with_it(spark: SparkSession, tmp_path: Path) -> None:
    sources = join_to_its_end(spark, tmp_path)
    assert len(sources) == 3, "left, right and the pacemaker"
    until(lambda: not any(map(psutil.pid_exists, sources)))


@pytest.mark.long  # test_spark_fallbacks.py has a query whose server is away
def test_a_query_starts_without_the_server_too(spark: SparkSession, tmp_path: Path) -> None:
    [server] = worker_python._servers
    away = server.socket.with_name("away")
    server.socket.rename(away)
    try:
        assert not join_to_its_end(spark, tmp_path)
    finally:
        away.rename(server.socket)


def test_workers_find_the_environment_that_they_would_without_the_server(spark: SparkSession) -> None:
    """Not that in which the server has imported its libraries."""
    name = "JE_ARROW_MALLOC_CONF"
    [(found, told)] = spark.sparkContext.range(1).map(lambda _: (os.environ.get(name), os.environ.get(TOLD))).collect()
    assert found == os.environ.get(name)
    assert told is None


def test_workers_draw_random_numbers_of_their_own_and_have_hashes_in_common(spark: SparkSession) -> None:
    """NumPy would give the same to all, had the server made the generator that they share."""

    def draw(_: int) -> tuple[int, float, int]:
        time.sleep(0.5)  # so that one worker does not do it all
        return os.getpid(), np.random.random(), hash("sooner")

    found = spark.sparkContext.range(4, numSlices=4).map(draw).collect()
    workers, drawn, hashes = map(set, zip(*found, strict=True))
    assert len(workers) > 1
    assert len(drawn) == 4
    assert len(hashes) == 1
