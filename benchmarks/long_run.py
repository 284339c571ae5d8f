"""A long run on Spark: thousands of small micro-batches, with memory for few of the rows. Does anything creep?

    python benchmarks/long_run.py --json results.json

Each batch brings some rows of each side, which meet rows of about their own time, so that results do not grow; the
state does, on disk. For one and for two partitions, each in a process and a Java of its own, these are watched: the
time of a batch, the state's files and the bytes of its manifests, shared memory, and the memory of the driver's
Python, of Java and of the workers. The third and the fourth quarter of the run are compared: means of what comes and
goes with every flush, over all batches, and medians of the rest. What comes and goes has a bound, which is checked too:
a partition has two sides of four ranges of codes, each with fewer than 16 runs on disk, and as many files that the
version before still needs; a manifest has some 200 bytes for a run, and 16 for each of the last 256 flushes of a range.

Java has all its heap from the start, so that what its process grows by is outside of it; what is used of the heap is
asked for after a collection.
"""

import argparse
import gc
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from report import write_report

import sooner.spark as ss

BATCHES = 2000
ROWS = 100  # of each side in a batch
PARTITION_BYTES = 64 * 2**10
SAMPLES = 200  # of a run
LEVEL = 1.1
RANGES, RUNS, MOMENTS = 2 * 4, 2 * 16, 256
MOST = {  # of a partition
    "files": RANGES * RUNS,
    "manifest_bytes": RANGES * (RUNS * 200 + MOMENTS * 16),
    "shared_bytes": PARTITION_BYTES,
}
HEAP = "768m"
RETAINED = "50"  # of what Spark remembers for its pages, so that it is full long before the second half
WHAT = {
    "batch_seconds": "seconds of a batch",
    "files": "files of the state",
    "manifest_bytes": "bytes of the newest manifests",
    "shared_bytes": "bytes in shared memory",
    "driver_bytes": "memory of the driver's Python",
    "java_bytes": "memory of Java",
    "heap_bytes": "heap that Java uses",
    "worker_bytes": "memory of all Python workers",
}
Samples = dict[str, list[float]]


def session() -> SparkSession:
    memory = f"-Xms{HEAP} -XX:+AlwaysPreTouch -XX:+UseSerialGC"
    few = {
        f"spark__{name}": RETAINED
        for name in ("ui__retainedJobs", "ui__retainedStages", "ui__retainedTasks", "sql__ui__retainedExecutions")
    }
    return ss.local_session("local[2]", spark__driver__memory=HEAP, spark__driver__extraJavaOptions=memory, **few)


def stream(spark: SparkSession, name: str, rows: int) -> DataFrame:
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", rows).option("numPartitions", 1)
    return source.load().select(F.expr("value div 3").alias("k"), F.col("value").alias(name))


class Watch:
    """Looks at files after every batch, and takes a sample of all now and then."""

    def __init__(self, spark: SparkSession, folder: Path, shared_memory: Path, every_batches: int) -> None:
        self.samples: Samples = {name: [] for name in ("batch", *WHAT, *(f"most_{name}" for name in MOST))}
        self.query: ss.Query | None = None
        self.last_batch = -1
        self._jvm: Any = spark._jvm
        self._java = psutil.Process(spark.sparkContext._gateway.proc.pid)  # type: ignore[union-attr]
        self._state, self._shared_memory = folder / "state", shared_memory
        self._every_batches = every_batches
        self._of_batches: Samples = {name: [] for name in ("batch_seconds", *MOST)}

    def __call__(self, progress: ss.JoinProgress) -> None:
        self.last_batch = progress.batch
        if self.query is None or (last := self.query.spark_query.lastProgress) is None:
            return
        seen = {
            "batch_seconds": last["durationMs"]["triggerExecution"] / 1000,
            "files": sum(1 for _ in files_in(self._state)),
            "manifest_bytes": sum(newest_manifests(self._state)),
            "shared_bytes": sum(size for _, size in files_in(self._shared_memory)),
        }
        for name, size in seen.items():
            self._of_batches[name].append(size)
        sampled = self.samples["batch"]
        if progress.batch >= (sampled[-1] if sampled else 0) + self._every_batches:
            self._sample(progress.batch)

    def _sample(self, batch: int) -> None:
        gc.collect()
        self._jvm.System.gc()
        runtime = self._jvm.Runtime.getRuntime()
        sizes = {
            "batch": batch,
            "batch_seconds": statistics.median(self._of_batches["batch_seconds"]),
            **{name: statistics.fmean(self._of_batches[name]) for name in MOST},
            **{f"most_{name}": max(self._of_batches[name]) for name in MOST},
            "driver_bytes": psutil.Process().memory_info().rss,
            "java_bytes": self._java.memory_info().rss,
            "heap_bytes": runtime.totalMemory() - runtime.freeMemory(),
            "worker_bytes": sum(own_bytes(child) for child in self._java.children(recursive=True)),
        }
        for sizes_of_batches in self._of_batches.values():
            sizes_of_batches.clear()
        for name, size in sizes.items():
            self.samples[name].append(size)


def files_in(folder: Path) -> Iterator[tuple[Path, int]]:
    """Files, and what they take; some go while one looks."""
    for path in folder.rglob("*"):
        try:
            if path.is_file():
                yield path, path.stat().st_size
        except FileNotFoundError:
            continue


def newest_manifests(state: Path) -> Iterator[int]:
    for partition in state.glob("partition-*"):
        yield max(((path.name, size) for path, size in files_in(partition) if path.suffix == ".json"), default=("", 0))[
            1
        ]


def own_bytes(process: psutil.Process) -> int:
    """What is of this process alone: workers share what their daemon had, and map the same copies."""
    try:
        return int(process.memory_full_info().uss)
    except psutil.Error:
        return 0


def run(partitions: int, batches: int, rows: int) -> Samples:
    spark = session()
    root = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with (
        tempfile.TemporaryDirectory(prefix="sooner-long-run-") as name,
        tempfile.TemporaryDirectory(prefix="sooner-long-run-", dir=root) as memory,
    ):
        folder = Path(name)
        joined = ss.join(
            stream(spark, "a", rows),
            stream(spark, "b", rows),
            on="k",
            memory=partitions * PARTITION_BYTES,
            partitions=partitions,
            state=folder / "state",
            shared_memory=memory,
        )
        watch = Watch(spark, folder, Path(memory), max(batches // SAMPLES, 1))
        writer = joined.writeStream.format("noop").option("checkpointLocation", str(folder / "checkpoint"))
        with ss.start(writer, listener=watch) as query:
            watch.query = query
            while watch.last_batch < batches and query.isActive:
                time.sleep(0.2)
        if (failure := query.exception()) is not None:
            raise failure
        spark.stop()
    return watch.samples


def claims_of(partitions: int, samples: Samples) -> list[dict[str, object]]:
    claims = []
    for name, what in WHAT.items():
        middle = statistics.fmean if name in MOST else statistics.median
        third, fourth = (middle(sizes_in(samples, name, quarter)) for quarter in (2, 3))
        quarters = f"P={partitions}, {what} (third quarter {third:,.4g}, fourth {fourth:,.4g})"
        claims.append(claim(f"{quarters}: fourth over third", fourth / third if third else 1.0, LEVEL))
        if name in MOST:
            claims.append(
                claim(f"P={partitions}, {what}: the most", max(samples[f"most_{name}"]), MOST[name] * partitions)
            )
    return claims


def sizes_in(samples: Samples, name: str, quarter: int) -> list[float]:
    last = samples["batch"][-1]
    sizes = zip(samples["batch"], samples[name], strict=True)
    return [size for batch, size in sizes if quarter / 4 < batch / last <= (quarter + 1) / 4]


def claim(what: str, ours: float, bar: float) -> dict[str, object]:
    print(f"{'holds' if ours <= bar else 'DOES NOT HOLD':14} {what}: {ours:,.4g} (<= {bar:,.4g})", flush=True)
    return {"what": what, "expected": f"<= {bar:,.4g}", "ours": round(ours, 3), "holds": ours <= bar}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the measurements to this file")
    parser.add_argument("--batches", type=int, default=BATCHES)
    parser.add_argument("--rows", type=int, default=ROWS, help="of each side in a batch")
    parser.add_argument("--partitions", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--samples-to", type=Path, help=argparse.SUPPRESS)  # run once, in this process
    arguments = parser.parse_args()
    if arguments.samples_to:
        samples = run(arguments.partitions[0], arguments.batches, arguments.rows)
        arguments.samples_to.write_text(json.dumps(samples))
        return
    series, claims = {}, []
    for partitions in arguments.partitions:
        with tempfile.TemporaryDirectory() as folder:
            samples_file = Path(folder, "samples.json")
            here = [f"--batches={arguments.batches}", f"--rows={arguments.rows}", f"--partitions={partitions}"]
            subprocess.run([sys.executable, __file__, *here, f"--samples-to={samples_file}"], check=True)
            series[f"P={partitions}"] = json.loads(samples_file.read_text())
        claims += claims_of(partitions, series[f"P={partitions}"])
    if arguments.json:
        write_report(arguments.json, "long_run", "long_run", claims, series, system=platform.system())


if __name__ == "__main__":
    main()
