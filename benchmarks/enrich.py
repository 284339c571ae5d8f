"""A stream that is looked up in a master table: ours beside Spark's stream-static join, and in process beside DuckDB.

    python benchmarks/enrich.py --json results.json
    python benchmarks/enrich.py --rows 200000 --batches 4 --no-process

A master of 10 M rows of 120 bytes, batches of 100,000 stream rows, by Zipf or uniform. On Spark the stream is a folder
that gets a file for each batch once the master is there; what it takes until then is the cold start. A batch takes from
when it begins until Spark has committed it. Rows that a scan answers later count when their results are there, so rows
a second are those of all batches together. Each contestant has a state of its own, in one session, one after the other.
A broadcast join of all of the master does not fit Spark's memory, so it is held against ours with a tenth of it.

In process each has a process of its own: the peak is the kernel's (VmHWM), without what the libraries take.
"""

import argparse
import re
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812
from report import write_report

import sooner
import sooner.spark as ss
from local import claim

ROWS, BATCH_ROWS, COLUMNS = 10_000_000, 100_000, 14
TENTH = 10  # of the master, one row in so many
STREAM = "key bigint, number bigint"
Run = dict[str, Any]


def write_inputs(folder: Path, rows: int, batches: int) -> None:
    dice = np.random.default_rng(0)
    keys = dice.permutation(rows).astype(np.int64)
    columns = {"key": keys} | {f"column_{number}": keys * 31 + number for number in range(COLUMNS)}
    pq.write_table(pa.table(columns), folder / "master.parquet", row_group_size=250_000)
    few = pa.table(columns).slice(0, rows // TENTH)
    pq.write_table(few, folder / "tenth.parquet", row_group_size=250_000)
    weights = np.cumsum(1 / np.arange(1, rows + 1))
    for skew in ("zipf", "uniform"):
        (folder / skew).mkdir()
        for number in range(batches):
            picked = dice.random(BATCH_ROWS)
            chosen = weights.searchsorted(picked * weights[-1]) if skew == "zipf" else (picked * rows).astype(np.int64)
            numbers = np.arange(number * BATCH_ROWS, (number + 1) * BATCH_ROWS)
            rows_of_batch = pa.table({"key": chosen.astype(np.int64), "number": numbers})
            pq.write_table(rows_of_batch, folder / skew / f"{number:05}.parquet")


def master_bytes(rows: int) -> int:
    return rows * (8 * (COLUMNS + 1) + 12)


class Watched:
    """A folder that is a stream: it gets a file for each batch, and the query is watched until all is answered."""

    def __init__(self, spark: SparkSession, folder: Path, work: Path, skew: str, batches: int) -> None:
        self.files = sorted((folder / skew).iterdir())[:batches]
        self.inbox = work / "inbox"
        self.inbox.mkdir()
        self.stream = spark.readStream.schema(STREAM).option("maxFilesPerTrigger", 1).parquet(str(self.inbox))
        self.out = work / "out"

    def put(self) -> None:
        for file in self.files:
            shutil.copy(file, self.inbox / f".{file.name}")
            (self.inbox / f".{file.name}").rename(self.inbox / file.name)

    def timed(self, query: Any, answered: Callable[[], int]) -> Run:
        """Put the files, and wait until all of their rows are answered."""
        rows, began = len(self.files) * BATCH_ROWS, time.perf_counter()
        self.put()
        done: list[tuple[float, int]] = []
        while not done or done[-1][1] < rows:
            assert query.isActive, query.exception()
            done.append((time.perf_counter() - began, answered()))
            time.sleep(0.05)
        begins = [
            float(p["durationMs"]["triggerExecution"]) / 1e3
            for p in query.recentProgress
            if p["numInputRows"] >= BATCH_ROWS
        ]
        reached = [next(at for at, found in done if found >= (n + 1) * BATCH_ROWS) for n in range(len(self.files))]
        waits = np.diff([0.0, *reached])
        return {
            "seconds": done[-1][0],
            "rows_a_second": rows / done[-1][0],
            "batch_seconds": {"median": float(np.median(begins)), "99th": float(np.quantile(begins, 0.99))},
            "between_batches": {"median": float(np.median(waits[1:])), "longest": float(waits[1:].max())},
        }


def ours(
    spark: SparkSession,
    folder: Path,
    work: Path,
    skew: str,
    batches: int,
    memory: int,
    algorithm: str,
    master: str = "master",
) -> Run:
    watched = Watched(spark, folder, work, skew, batches)
    enriched = ss.enrich(
        watched.stream,
        str(folder / f"{master}.parquet"),
        on="key",
        how="inner" if master == "master" else "left",  # so that the results tell how many rows are answered
        memory=memory,
        algorithm=algorithm,
        state=work / "state",
    )
    began = time.perf_counter()
    writer = enriched.writeStream.format("parquet").option("checkpointLocation", str(work / "checkpoint"))
    with ss.start(writer, str(watched.out)) as query:
        while (
            query.progress is None or "not complete" in query.progress.total.manner or query.progress.total.waiting_rows
        ):
            assert query.isActive, query.exception()
            time.sleep(0.05)
        cold = time.perf_counter() - began
        run = watched.timed(query.spark_query, lambda: query.progress.total.results if query.progress else 0)
        return run | {"cold_start_seconds": cold, "progress": str(query.progress)}


def sparks_own(
    spark: SparkSession, folder: Path, work: Path, skew: str, batches: int, broadcast: bool, master: str = "master"
) -> Run:
    watched = Watched(spark, folder, work, skew, batches)
    looked_up = spark.read.parquet(str(folder / f"{master}.parquet"))
    how = "inner" if master == "master" else "left"
    joined = watched.stream.join(F.broadcast(looked_up) if broadcast else looked_up, on="key", how=how)
    writer = joined.writeStream.format("parquet").option("checkpointLocation", str(work / "checkpoint"))
    query = writer.start(str(watched.out))
    try:
        return watched.timed(query, lambda: committed_rows(query))
    finally:
        query.stop()


def committed_rows(query: Any) -> int:
    """Rows of the stream in batches that are done; Spark counts those of the master too, which are far more."""
    return BATCH_ROWS * sum(one["numInputRows"] >= BATCH_ROWS for one in query.recentProgress)


def sorted_and_written(spark: SparkSession, folder: Path, work: Path) -> Run:
    """What the cold start is held against."""
    master = spark.read.parquet(str(folder / "master.parquet"))
    began = time.perf_counter()
    master.repartition(2, "key").sortWithinPartitions("key").write.parquet(str(work / "sorted"))
    return {"seconds": time.perf_counter() - began}


def on_spark(folder: Path, rows: int, batches: int) -> dict[str, Run]:
    spark = ss.local_session(spark__driver__memory="14g", spark__driver__maxResultSize="0")  # a broadcast needs it
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    size, few = master_bytes(rows), max(2, batches // 3)
    contestants: dict[str, Callable[[Path], Run]] = {
        "warm-up": lambda work: ours(spark, folder, work, "zipf", 2, 2 * size, "probe"),
        "spark sorts and writes": lambda work: sorted_and_written(spark, folder, work),
        "spark shuffle, zipf": lambda work: sparks_own(spark, folder, work, "zipf", few, False),
        "spark broadcast of a tenth": lambda work: sparks_own(spark, folder, work, "zipf", batches, True, "tenth"),
        "probe, a tenth in memory": lambda work: ours(
            spark, folder, work, "zipf", batches, 2 * size // TENTH, "probe", "tenth"
        ),
    }
    for name, share, skew, algorithm in SETTINGS:
        memory = int(size * share)
        contestants[name] = lambda work, a=algorithm, s=skew, m=memory: ours(spark, folder, work, s, batches, m, a)
    found: dict[str, Run] = {}
    for name, contestant in contestants.items():
        with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as work:
            try:
                found[name] = contestant(Path(work))
            except Exception as error:  # a peer that cannot do it is a result too
                found[name] = {"failed": f"{type(error).__name__}: {str(error)[:200]}"}
        print(name, found[name], flush=True)
    return found


SETTINGS = [
    ("probe, all in memory, zipf", 1.5, "zipf", "probe"),
    ("probe, 10%, zipf", 0.1, "zipf", "probe"),
    ("probe, 10%, uniform", 0.1, "uniform", "probe"),
    ("probe, 5%, zipf", 0.05, "zipf", "probe"),
    ("probe, 1%, zipf", 0.01, "zipf", "probe"),
    ("ssbj, 10%, zipf", 0.1, "zipf", "ssbj"),
    ("ssbj, 1%, zipf", 0.01, "zipf", "ssbj"),
    ("meshjoin, 10%, zipf", 0.1, "zipf", "meshjoin"),
    ("meshjoin, 1%, zipf", 0.01, "zipf", "meshjoin"),
]


def in_process(folder: Path, rows: int, batches: int) -> dict[str, Run]:
    """Batches as fast as they are answered, and DuckDB with the table in a database of its own."""
    size = master_bytes(rows)
    empty_bytes = _alone(_peak)
    found = {}
    for name, share, skew, algorithm in SETTINGS:
        files, memory = sorted((folder / skew).iterdir())[:batches], int(size * share)
        found[name] = _alone(_one_in_process, folder, files, memory, algorithm) | {"memory": memory}
        found[name]["peak_bytes"] -= empty_bytes
        print("in process", name, found[name], flush=True)
    return found | {"duckdb, 10%, zipf": _duckdb(folder, size // 10, "zipf", batches)}


def _alone(do: Callable[..., Any], *args: object) -> Any:
    """In a new process: the peak of one is not that of another."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(partial(do, *args)).result()


def _one_in_process(folder: Path, files: list[Path], memory: int, algorithm: str) -> Run:
    query = sooner.enrich(_stream(files), folder / "master.parquet", on="key", memory=memory, algorithm=algorithm)  # type: ignore[arg-type]
    began, first, answered = time.perf_counter(), 0.0, 0
    for batch in query:
        first = first or time.perf_counter() - began
        answered += batch.num_rows
    seconds = time.perf_counter() - began
    assert answered == len(files) * BATCH_ROWS
    waits = {name: query.progress.waited_seconds(share) for name, share in (("median", 0.5), ("99th", 0.99))}
    rate = answered / (seconds - first)
    return {"first_result_seconds": first, "rows_a_second": rate, "waits": waits, "peak_bytes": _peak()}


def _peak() -> int:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return 1024 * int(found[1])


def _stream(files: list[Path]) -> pa.RecordBatchReader:
    def batches() -> Iterator[pa.RecordBatch]:
        for file in files:
            yield from pq.read_table(file).to_batches()

    return pa.RecordBatchReader.from_batches(pq.read_schema(files[0]), batches())


def _duckdb(folder: Path, memory: int, skew: str, batches: int) -> Run:
    with duckdb.connect(str(folder / "duck.db")) as database:
        database.execute(f"CREATE TABLE master AS FROM '{folder / 'master.parquet'}'")
    with duckdb.connect(str(folder / "duck.db"), config={"memory_limit": f"{max(memory, 2**27)}B"}) as database:
        seconds = []
        for file in sorted((folder / skew).iterdir())[:batches]:
            began = time.perf_counter()
            database.sql(f"SELECT * FROM '{file}' JOIN master USING (key)").to_arrow_table()
            seconds.append(time.perf_counter() - began)
    return {"rows_a_second": BATCH_ROWS / statistics.median(seconds)}


def claims_in_process(found: dict[str, Run]) -> list[dict[str, Any]]:
    beside_ssbj = found["probe, 1%, zipf"]["rows_a_second"] / found["ssbj, 1%, zipf"]["rows_a_second"]
    beyond = max(one["peak_bytes"] - 1.5 * one["memory"] for one in found.values() if "memory" in one)
    return [
        claim("in process, rows a second of probe over ssbj at 1%", ">= 3", f"{beside_ssbj:.1f}", beside_ssbj >= 3),
        claim(
            "in process, peak beyond the libraries and one and a half times the memory",
            "<= 192 MB", f"{beyond / 2**20:.0f} MB", beyond <= 192 * 2**20,
        ),
    ]  # fmt: skip


def claims_of(found: dict[str, Run]) -> list[dict[str, Any]]:
    def rate(name: str) -> float:
        return float(found[name].get("rows_a_second", float("nan")))

    def batch(name: str) -> float:
        return float(found[name]["batch_seconds"]["median"]) if "batch_seconds" in found[name] else float("nan")

    shuffled = batch("spark shuffle, zipf") / batch("probe, 10%, zipf")
    uniform = batch("probe, 10%, uniform") / batch("probe, 10%, zipf")
    in_memory = batch("probe, a tenth in memory") / batch("spark broadcast of a tenth")
    beside_ssbj = rate("probe, 1%, zipf") / rate("ssbj, 1%, zipf")
    cold = found["probe, 10%, zipf"]["cold_start_seconds"] / found["spark sorts and writes"]["seconds"]
    return [
        claim(
            "a batch by shuffle join, over one by probe with memory for 10%", ">= 5", f"{shuffled:.1f}", shuffled >= 5
        ),
        claim("a batch of uniform keys by probe, over one by Zipf", "<= 2", f"{uniform:.2f}", uniform <= 2),
        claim(
            "a batch with all of a tenth in memory, over a broadcast", "<= 1.3", f"{in_memory:.2f}", in_memory <= 1.3
        ),
        claim("rows a second of probe over ssbj, with memory for 1%", ">= 3", f"{beside_ssbj:.1f}", beside_ssbj >= 3),
        claim("cold start over Spark's time to sort and write", "<= 1.5", f"{cold:.2f}", cold <= 1.5),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--batches", type=int, default=12)
    parser.add_argument("--no-process", action="store_true")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        write_inputs(folder, chosen.rows, chosen.batches)
        series = {"in process": {} if chosen.no_process else in_process(folder, chosen.rows, chosen.batches)}
        series["spark"] = on_spark(folder, chosen.rows, chosen.batches)
    claims = claims_of(series["spark"])
    claims += claims_in_process(series["in process"]) if series["in process"] else []
    for one in claims:
        print(f"{'holds' if one['holds'] else 'FAILS'}: {one['what']}: {one['ours']} ({one['expected']})")
    if chosen.json:
        write_report(chosen.json, "enrich", "a stream and a master table", claims, series)


if __name__ == "__main__":
    main()
