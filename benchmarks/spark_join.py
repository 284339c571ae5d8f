"""Joins of two endless streams on Spark: ours beside Spark's own stream-stream join, and beside doing nothing.

    python benchmarks/spark_join.py --json results.json

Each micro-batch brings 250,000 rows of each side with keys out of 2 million, ten times, so the state grows to 5 million
rows. All run in one session on the same input: Spark's join with RocksDB at its best, with RocksDB as it is set if
nobody does anything and with the in-memory provider, ours with memory for all rows and for a tenth of them, the same as
a left join, and the floor, which shuffles the same rows through an identity in Python.
Times are those of Spark's own progress (the whole trigger); a first round warms up and is left out, and so is the first
batch of each. The mean over the others is compared, so that batches in which we merge runs count as well.

Then the growth: the same new rows and the same number of results, with 0.5 and with 5 million rows of state.
"""

import argparse
import os
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from report import write_report

import sooner.spark as ss
from sooner.how import How
from sooner.runs.custody.shared_memory_directory import remove_copies

ROWS = 250_000  # of each side in a batch
KEYS = 2_000_000
BATCHES = 10
PARTITIONS = 2
ROW_BYTES = 32  # two columns of 8 bytes, and what a run adds
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
IN_MEMORY = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
AT_ITS_BEST = {  # a log of changes instead of whole files, and the newest layout of rows
    PROVIDER: ROCKSDB,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.join.stateFormatVersion": "4",
}
MEGABYTE = 2**20
WORKERS = {"pyspark.daemon", "sooner.spark.session.fork_server"}
WORKER_BYTES = 400 * MEGABYTE  # beyond its share of the budget: Python and Arrow, the batch, scratch, results


def stream(spark: SparkSession, seed: int, name: str, rows: int = ROWS, keys: int = KEYS) -> DataFrame:
    source = (
        spark.readStream.format("rate-micro-batch").option("rowsPerBatch", rows).option("numPartitions", PARTITIONS)
    )
    key = F.abs(F.xxhash64("value", F.lit(seed))) % keys
    return source.load().select(key.alias("k"), F.col("value").alias(name))


def floor(spark: SparkSession) -> DataFrame:
    def identity(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches

    rows = stream(spark, 1, "v").unionAll(stream(spark, 2, "v"))
    return rows.repartition(PARTITIONS, "k").mapInArrow(identity, "k long, v long")


def ours(spark: SparkSession, folder: Path, memory_bytes: int, how: How = "inner") -> DataFrame:
    left, right, state = stream(spark, 1, "a"), stream(spark, 2, "b"), folder / "state"
    return ss.join(left, right, on="k", how=how, memory=memory_bytes, partitions=PARTITIONS, state=state)


def sparks(spark: SparkSession, settings: dict[str, str]) -> DataFrame:
    """What a query is set to is read when it starts, which is before this is called again."""
    for setting in AT_ITS_BEST:
        spark.conf.unset(setting)
    for setting, value in settings.items():
        spark.conf.set(setting, value)
    return stream(spark, 1, "a").join(stream(spark, 2, "b"), on="k")


def batch_seconds(rows: DataFrame, folder: Path, batches: int) -> list[float]:
    """The seconds of each batch; what comes out is thrown away."""
    query = rows.writeStream.format("noop").option("checkpointLocation", str(folder / "checkpoint")).start()
    try:
        while (last := query.lastProgress) is None or last["batchId"] < batches - 1:
            if query.exception() is not None:
                raise RuntimeError(str(query.exception()))
            time.sleep(0.02)
        return [p["durationMs"]["triggerExecution"] / 1000 for p in query.recentProgress if p["batchId"] < batches]
    finally:
        query.stop()
        remove_copies(str(folder / "state"))


class Watcher:
    """The most that shared memory and any one Python worker took while something ran."""

    def __init__(self) -> None:
        self.shared_bytes = 0
        self.worker_bytes = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "Watcher":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(0.02):
            workers = dict(_workers())
            files = list(Path("/dev/shm").glob(f"sooner-copies-{os.getuid()}-*/*/*/*"))
            self.shared_bytes = max(self.shared_bytes, sum(map(_allocated, files)))
            self.worker_bytes = max([self.worker_bytes, *workers.values()])


def _allocated(file: Path) -> int:
    try:
        return file.stat().st_blocks * 512
    except FileNotFoundError:
        return 0


def _workers() -> Iterator[tuple[int, int]]:
    """Python's processes on Spark, and what is in memory of each; forked ones have the name of their server."""
    for process in psutil.Process().children(recursive=True):
        try:
            if WORKERS.intersection(process.cmdline()):
                yield process.pid, process.memory_info().rss
        except psutil.Error:
            continue


def grow(spark: SparkSession, folder: Path, resident_rows: int, new_rows: int) -> float:
    """The median batch of `new_rows` a side when each side has so many rows; as many keys keep the results alike."""
    rng = np.random.default_rng(0)
    sizes = [resident_rows, *[new_rows] * 9]
    for side in ("a", "b"):
        (folder / side).mkdir(parents=True)
        for number, rows in enumerate(sizes):
            table = pa.table({"k": rng.integers(0, resident_rows, rows), side: np.arange(rows)})
            pq.write_table(table, folder / side / f"{number:03}.parquet")
            os.utime(folder / side / f"{number:03}.parquet", (number, number))  # the order in which Spark reads them

    def read(side: str) -> DataFrame:
        reader = spark.readStream.schema(f"k long, {side} long").option("maxFilesPerTrigger", 1)
        return reader.parquet(str(folder / side))

    rows = ss.join(read("a"), read("b"), on="k", memory="4GB", partitions=PARTITIONS, state=folder / "state")
    return statistics.median(batch_seconds(rows, folder, len(sizes))[1:])


def in_folder(measure: Callable[[Path], float | list[float]]) -> float | list[float]:
    folder = Path(tempfile.mkdtemp(prefix="sooner-benchmark-"))
    try:
        return measure(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run_all(spark: SparkSession, rounds: int, batches: int, peers: bool) -> dict[str, list[list[float]]]:
    """Seconds of the batches of each contestant, for each round.

    Spark's own joins take minutes: each runs once, between rounds of the others. The first round warms up Java and is
    left out.
    """
    everything = 2 * ROWS * batches * ROW_BYTES
    contestants: dict[str, Callable[[Path], DataFrame]] = {
        "floor": lambda _: floor(spark),
        "sooner, memory for all": lambda folder: ours(spark, folder, 2 * everything),
        "sooner, memory for 10%": lambda folder: ours(spark, folder, everything // 10),
        "sooner, left join, memory for all": lambda folder: ours(spark, folder, 2 * everything, "left"),
        "sooner, left join, memory for 10%": lambda folder: ours(spark, folder, everything // 10, "left"),
    }
    once = {
        "Spark, RocksDB at its best": lambda _: sparks(spark, AT_ITS_BEST),
        "Spark, RocksDB as it is set": lambda _: sparks(spark, {PROVIDER: ROCKSDB}),
        "Spark, in-memory state": lambda _: sparks(spark, {PROVIDER: IN_MEMORY}),
    }
    seconds: dict[str, list[list[float]]] = {}
    for number in range(rounds + 1):
        for name, make in contestants.items():
            found = measured(name if number else f"({name})", make, batches)
            if number:
                seconds.setdefault(name, []).append(found)
        if peers and 0 < number <= len(once):
            name, make = list(once.items())[number - 1]
            seconds[name] = [measured(name, make, batches)]
    return seconds


def measured(name: str, make: Callable[[Path], DataFrame], batches: int) -> list[float]:
    folder = Path(tempfile.mkdtemp(prefix="sooner-benchmark-"))
    try:
        found = batch_seconds(make(folder), folder, batches)[1:]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(
        f"{name:36} {statistics.mean(found):7.3f} s a batch, {2 * ROWS / statistics.mean(found):11,.0f} rows/s",
        flush=True,
    )
    return found


def memory_use(spark: SparkSession, batches: int, memory_bytes: int) -> Watcher:
    with Watcher() as watcher:
        measured("sooner, watched", lambda folder: ours(spark, folder, memory_bytes), batches)
    return watcher


def claim(what: str, ours_: float, bar: float, at_least: bool) -> dict[str, object]:
    holds = ours_ >= bar if at_least else ours_ <= bar
    print(f"{'holds' if holds else 'DOES NOT HOLD':14} {what}: {ours_:.2f} ({'>=' if at_least else '<='} {bar:g})")
    return {"what": what, "expected": f"{'>=' if at_least else '<='} {bar:g}", "ours": round(ours_, 2), "holds": holds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the measurements to this file")
    parser.add_argument("--rounds", type=int, default=3, help="of the floor and of ours (default: 3)")
    parser.add_argument("--batches", type=int, default=BATCHES)
    parser.add_argument("--no-peers", action="store_true", help="leave out Spark's own joins, which take minutes")
    arguments = parser.parse_args()
    spark = ss.local_session(f"local[{PARTITIONS}]", spark__driver__memory="8g")
    seconds = run_all(spark, arguments.rounds, arguments.batches, not arguments.no_peers)
    mean = {name: statistics.median(map(statistics.mean, runs)) for name, runs in seconds.items()}
    claims = []
    for name in ("sooner, memory for all", "sooner, memory for 10%"):
        if not arguments.no_peers:
            for peer, bar in (("RocksDB at its best", 12), ("RocksDB as it is set", 10), ("in-memory state", 5)):
                times = mean[f"Spark, {peer}"] / mean[name]
                claims.append(claim(f"{name}: times as fast as Spark with {peer}", times, bar, True))
    name = "sooner, memory for all"
    claims.append(claim(f"{name}: seconds over those of the floor", mean[name] / mean["floor"], 1.35, False))
    for memory in ("all", "10%"):
        ratio = mean[f"sooner, left join, memory for {memory}"] / mean[f"sooner, memory for {memory}"]
        claims.append(claim(f"a left join over the inner join, memory for {memory}", ratio, 1.15, False))
    grown = [[in_folder(lambda f, r=r: grow(spark, f, r, 100_000)) for r in (250_000, 2_500_000)] for _ in range(3)]
    ratio = statistics.median(large / small for small, large in grown)
    claims.append(
        claim("a batch at 10 times the state, same new rows and results, over the small one", ratio, 1.5, False)
    )
    budget = 2 * ROWS * arguments.batches * ROW_BYTES // 4
    watched = memory_use(spark, arguments.batches, budget)
    claims.append(claim("peak of shared memory over the budget", watched.shared_bytes / budget, 1, False))
    allowed = budget // PARTITIONS * PARTITIONS + WORKER_BYTES
    claims.append(
        claim("peak of a worker over budget / P x cores + constant", watched.worker_bytes / allowed, 1, False)
    )
    print(
        f"budget {budget / MEGABYTE:.0f} MB: {watched.shared_bytes / MEGABYTE:.0f} MB in shared memory, "
        f"{watched.worker_bytes / MEGABYTE:.0f} MB in a worker"
    )
    if arguments.json:
        series = {
            "batch_seconds": seconds,
            "growth_seconds": grown,
            "peak_bytes": {"budget": budget, "shared": watched.shared_bytes, "worker": watched.worker_bytes},
        }
        name = "spark_join, without Spark's own joins" if arguments.no_peers else "spark_join"
        write_report(arguments.json, "spark_join", name, claims, series, spark=spark.version)


if __name__ == "__main__":
    main()
