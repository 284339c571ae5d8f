"""Finite files on Spark from start to end: ours beside Spark's batch join and its stream-stream join, results written.

    python benchmarks/spark_files.py --json results.json

Two Parquet files of 5 M rows, 12.5 M results written as Parquet; then keys that are texts, and a large side with a
small one. *Warm*: one session, a round that does not count, then several in turn. *Cold*: a process of its own for each
run, whose session is there before the clock starts. Ours counts until the query has ended by itself; when results are
there is told by the query's progress, after the batch that wrote them. Spark's stream-stream join gets RocksDB at its
best (changelog, newest format), with all that is there in a few batches, and is given up after some minutes.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from report import write_report
from spark_join import AT_ITS_BEST

import sooner.spark as ss
from local import BYTES_PER_ROW, claim, write_inputs

ROWS = 5_000_000
CORES = 2
SHARES = (0.1, 0.5, 1.0)
PATIENCE_SECONDS = 300.0
STREAMED_FILES = 10  # for Spark's stream-stream join, a file of each side in a batch
Run = dict[str, Any]


def keys_of(folder: Path) -> list[str]:
    return [name for name in pq.read_schema(folder / "left.parquet").names if name.startswith("key")]


def batch_join(spark: SparkSession, folder: Path, work: Path) -> Run:
    left, right = (spark.read.parquet(str(folder / f"{side}.parquet")) for side in ("left", "right"))
    started = time.perf_counter()
    left.join(right, on=keys_of(folder)).write.parquet(str(work / "out"))
    return {"seconds": {"end": time.perf_counter() - started}}


def ours(spark: SparkSession, folder: Path, work: Path, memory: int | str, own_sink: bool = True) -> Run:
    asked = time.perf_counter()
    left, right = (ss.sources.parquet(spark, str(folder / f"{side}.parquet")) for side in ("left", "right"))
    joined = ss.join(left, right, on=keys_of(folder), memory=memory, state=work / "state")
    out = str(work / "out")
    writer = ss.sinks.parquet(joined, out) if own_sink else joined.writeStream.format("parquet").option("path", out)
    seen: list[tuple[float, int]] = []
    started = time.perf_counter()
    query = ss.start(
        writer.option("checkpointLocation", str(work / "checkpoint")),
        listener=lambda progress: seen.append((time.perf_counter() - started, progress.total.results)),
    )
    query.awaitTermination()
    ended = time.perf_counter() - started
    assert query.is_complete
    results = seen[-1][1]
    first = next(seconds for seconds, found in seen if found)
    shares = {f"{share:.0%}": next(seconds for seconds, found in seen if found >= share * results) for share in SHARES}
    return {"seconds": {"asked": started - asked, "first": first, **shares, "end": ended}, "batches": len(seen)}


def stream_stream(spark: SparkSession, folder: Path, work: Path) -> Run:
    """Or what it has done until it is given up."""
    for setting, value in AT_ITS_BEST.items():
        spark.conf.set(setting, value)

    def stream(side: str) -> DataFrame:
        rows = spark.read.parquet(str(folder / f"{side}.parquet"))
        rows.repartition(STREAMED_FILES).write.parquet(str(work / side))
        return spark.readStream.schema(rows.schema).option("maxFilesPerTrigger", 1).parquet(str(work / side))

    joined = stream("left").join(stream("right"), on=keys_of(folder))
    writer = joined.writeStream.format("parquet").option("checkpointLocation", str(work / "checkpoint"))
    started = time.perf_counter()
    query = writer.trigger(availableNow=True).start(str(work / "out"))
    try:
        done = query.awaitTermination(PATIENCE_SECONDS)  # type: ignore[arg-type]
    finally:
        query.stop()
    for setting in AT_ITS_BEST:
        spark.conf.unset(setting)
    last = query.lastProgress
    batches = int(last["batchId"]) + 1 if last else 0
    return {"seconds": {"end": time.perf_counter() - started}, "complete": bool(done), "batches": batches}


Contestant = Callable[[SparkSession, Path, Path], Run]
CONTESTANTS: dict[str, Contestant] = {
    "Spark, batch join": batch_join,
    "sooner": lambda spark, folder, work: ours(spark, folder, work, "4GB"),
    "sooner, memory for 10%": lambda spark, folder, work: ours(spark, folder, work, 2 * ROWS * BYTES_PER_ROW // 10),
    "sooner, Spark's sink": lambda spark, folder, work: ours(spark, folder, work, "4GB", own_sink=False),
}
OF_SHAPE = {
    "integers": list(CONTESTANTS),
    "texts": ["Spark, batch join", "sooner"],
    "foreign_key": ["Spark, batch join", "sooner"],
}
COLD = ["Spark, batch join", "sooner"]


def session() -> SparkSession:
    return ss.local_session(f"local[{CORES}]", spark__driver__memory="8g")


def measured(spark: SparkSession, run: Contestant, folder: Path) -> Run:
    work = Path(tempfile.mkdtemp(prefix="sooner-benchmark-"))
    try:
        found = run(spark, folder, work)
        return found | {"results": spark.read.parquet(str(work / "out")).count()}  # of batches that were finished
    finally:
        shutil.rmtree(work, ignore_errors=True)


def warm(spark: SparkSession, shape: str, folder: Path, rounds: int) -> dict[str, list[Run]]:
    runs: dict[str, list[Run]] = {name: [] for name in OF_SHAPE[shape]}
    for number in range(rounds + 1):
        for name in OF_SHAPE[shape]:
            found = measured(spark, CONTESTANTS[name], folder)
            report(shape if number else f"({shape})", name, found)
            if number:
                runs[name].append(found)
    return runs


def cold(folder: Path, rounds: int) -> dict[str, list[Run]]:
    runs: dict[str, list[Run]] = {name: [] for name in COLD}
    for _ in range(rounds):
        for name in COLD:
            command = [sys.executable, __file__, "--once", name, "--folder", str(folder)]
            found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            report("cold", name, found)
            runs[name].append(found)
    return runs


def report(shape: str, name: str, run: Run) -> None:
    marks = "  ".join(f"{mark} {seconds:.2f}" for mark, seconds in run["seconds"].items())
    print(f"{shape:16} {name:26} {run['results']:>11,} results: {marks}", flush=True)


def median(runs: list[Run], mark: str) -> float:
    return statistics.median(run["seconds"][mark] for run in runs)


def at_most(what: str, found: float, bar: float) -> dict[str, Any]:
    one = claim(what, f"<= {bar:g}", round(found, 2), found <= bar)
    print(f"{'holds' if one['holds'] else 'DOES NOT HOLD':14} {what}: {found:.2f} (<= {bar:g})")
    return one


def claims(runs: dict[str, list[Run]], cold_runs: dict[str, list[Run]]) -> list[dict[str, Any]]:
    spark, mine, little = (runs[name] for name in ("Spark, batch join", "sooner", "sooner, memory for 10%"))
    end = median(spark, "end")
    counts = {run["results"] for some in (*runs.values(), *cold_runs.values()) for run in some}
    found = [
        claim("all write the same number of results", 1, len(counts), len(counts) == 1),
        at_most("complete, memory for all: times Spark's batch join", median(mine, "end") / end, 1.0),
        at_most("complete, memory for 10%: times Spark's batch join", median(little, "end") / end, 1.3),
        at_most("10% of the results: times Spark's batch join", median(mine, "10%") / end, 0.25),
        at_most("half of the results: times Spark's batch join", median(mine, "50%") / end, 0.7),
        at_most("first results, warm: seconds after start", median(mine, "first"), 2),
    ]
    if cold_runs:
        found.append(at_most("first results, cold: seconds after start", median(cold_runs["sooner"], "first"), 8))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the measurements to this file")
    parser.add_argument("--rounds", type=int, default=3, help="that count (default: 3)")
    parser.add_argument("--shapes", nargs="+", choices=OF_SHAPE, default=list(OF_SHAPE))
    parser.add_argument("--no-cold", action="store_true", help="leave out the runs in sessions of their own")
    parser.add_argument("--no-peer", action="store_true", help="leave out Spark's stream-stream join")
    parser.add_argument("--once", choices=CONTESTANTS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.once:
        print(json.dumps(measured(session(), CONTESTANTS[arguments.once], arguments.folder)))
        return
    results: list[dict[str, Any]] = []
    series: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="sooner-benchmark-") as name:
        folders = {shape: Path(name, shape) for shape in arguments.shapes}
        for shape, folder in folders.items():
            folder.mkdir()
            write_inputs(folder, ROWS, shape)
        cold_runs = (
            {} if arguments.no_cold or "integers" not in folders else cold(folders["integers"], arguments.rounds)
        )
        spark = session()
        for shape, folder in folders.items():
            runs = warm(spark, shape, folder, arguments.rounds)
            series |= {f"{shape}: {name}": some for name, some in runs.items()}
            if shape == "integers":
                results += claims(runs, cold_runs)
            else:
                ratio = median(runs["sooner"], "end") / median(runs["Spark, batch join"], "end")
                results.append(at_most(f"{shape}, complete: times Spark's batch join", ratio, 1.0))
        series |= {f"cold: {name}": some for name, some in cold_runs.items()}
        if not arguments.no_peer and "integers" in folders:
            series["integers: Spark, stream-stream join"] = [measured(spark, stream_stream, folders["integers"])]
            report("integers", "Spark, stream-stream join", series["integers: Spark, stream-stream join"][0])
    if arguments.json:
        write_report(arguments.json, "spark_files", "spark_files", results, series, spark=spark.version)


if __name__ == "__main__":
    main()
