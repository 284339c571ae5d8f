"""Range joins, in process beside DuckDB and Polars, and on Spark beside its batch join: same data, same machine.

    python benchmarks/range_join.py --json results.json

Two Parquet files of 1 M rows (a value out of 10 M, a double, an int64) and about 10 M pairs of values that are at most
50 apart: integers, doubles, and integers beside a key that must be equal, of 100,000 values or of 3. For the latter,
DuckDB compares all pairs with equal keys, so there are 50,000 rows in it. All results are consumed as Arrow batches;
each engine runs in a process of its own, several times, in turn, with modules loaded before the clock starts; ratios
are of medians, of wall and of CPU seconds.

On Spark the files are joined from start to end, results written, in one session and in turn: at first so few rows that
Spark's own range join, which compares all pairs, is done in half a minute; then all, where Spark gets an equi-join by
cells that its user has made by hand.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from report import write_report

from local import claim, cpu_seconds, load, median, peak_bytes, ratios

ROWS = 1_000_000
ROWS_FOR_ALL_PAIRS = 30_000  # of Spark's own range join
BYTES_PER_ROW = 3 * 8
VALUES_PER_ROW = 10
Run = dict[str, Any]


class Shape(NamedTuple):
    """How far apart values may be in so many rows, and how many keys there are, if there are any."""

    within: float
    keys: int = 0
    rows: int = ROWS


SHAPES = {
    "integers": Shape(50),
    "doubles": Shape(50.0),
    "100,000 keys": Shape(5_000_000, 100_000),
    "3 keys": Shape(150, 3, 50_000),
}
ENGINES = {
    "integers": ["sooner", "sooner_10_percent", "duckdb", "polars"],
    "doubles": ["sooner", "duckdb", "polars"],
    "100,000 keys": ["sooner", "duckdb", "polars"],
    "3 keys": ["sooner", "duckdb"],  # Polars would hold all pairs with equal keys
}


def write_inputs(folder: Path, shape: Shape, rows: int) -> None:
    rng = np.random.default_rng(1)
    for side in ("left", "right"):
        most = rows * VALUES_PER_ROW
        values = rng.uniform(0, most, rows) if isinstance(shape.within, float) else rng.integers(0, most, rows)
        keys = {"key": rng.integers(0, shape.keys, rows)} if shape.keys else {}
        others = {f"{side}_value": rng.random(rows), f"{side}_id": rng.integers(0, 2**40, rows)}
        pq.write_table(pa.table({"v": values, **keys, **others}), folder / f"{side}.parquet")


def batches(engine: str, left: str, right: str, shape: Shape) -> Iterator[Any]:
    """All results of one engine. Libraries are imported before the clock starts, by `run_engine`."""
    if engine.startswith("sooner"):
        import sooner

        memory = None if engine == "sooner" else 2 * shape.rows * BYTES_PER_ROW // 10
        yield from sooner.join(
            left, right, on="v", within=shape.within, by="key" if shape.keys else None, memory=memory
        )
    elif engine == "duckdb":
        import duckdb

        equal = " and l.key = r.key" if shape.keys else ""
        near = f"r.v between l.v - {shape.within} and l.v + {shape.within}"
        yield from duckdb.sql(f"select * from '{left}' l join '{right}' r on {near}{equal}").to_arrow_reader(65_536)
    else:
        import polars
        from polars import col

        others = polars.scan_parquet(right).rename({"v": "w", **({"key": "other"} if shape.keys else {})})
        near = [col("w") >= col("v") - shape.within, col("w") <= col("v") + shape.within]
        equal_keys = [col("key") == col("other")] if shape.keys else []
        joined = polars.scan_parquet(left).join_where(others, *near, *equal_keys)
        yield from joined.collect(engine="streaming").to_arrow().to_batches()


def run_engine(engine: str, folder: Path, shape: Shape) -> Run:
    load(engine.split("_")[0])
    results, first = 0, 0.0
    started, cpu_before = time.perf_counter(), cpu_seconds()
    for batch in batches(engine, str(folder / "left.parquet"), str(folder / "right.parquet"), shape):
        first = first or time.perf_counter() - started
        results += batch.num_rows
    return {
        "results": results,
        "seconds": {"first": first, "100%": time.perf_counter() - started},
        "cpu_seconds": cpu_seconds() - cpu_before,
        "rss_bytes": peak_bytes(),
    }


def measure(name: str, repetitions: int) -> dict[str, list[Run]]:
    runs: dict[str, list[Run]] = {engine: [] for engine in ENGINES[name]}
    with tempfile.TemporaryDirectory(prefix="sooner-benchmark-") as folder:
        write_inputs(Path(folder), SHAPES[name], SHAPES[name].rows)
        for _ in range(repetitions):
            for engine in runs:  # in turn, so that a busy neighbour disturbs all of them
                command = [sys.executable, __file__, "--engine", engine, "--folder", folder, "--shapes", name]
                output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                runs[engine].append(json.loads(output))
    for engine, some in runs.items():
        marks = "  ".join(f"{mark} {median(some, mark):.3f}" for mark in ("first", "100%", "cpu"))
        print(f"{name:16} {engine:26} {some[0]['results']:>11,} results: {marks}", flush=True)
    return runs


def claims(name: str, runs: dict[str, list[Run]]) -> list[dict[str, Any]]:
    counts = {run["results"] for some in runs.values() for run in some}
    found = [claim(f"{name}: all give the same number of results", 1, len(counts), len(counts) == 1)]
    found += ratios(name, runs["sooner"], runs["duckdb"], 2.0)
    if "sooner_10_percent" in runs:
        found += ratios(f"{name}, memory for 10%", runs["sooner_10_percent"], runs["duckdb"], 2.0)
    return found


# On Spark


def by_spark(spark: Any, folder: Path, work: Path, within: int) -> None:
    left, right = (spark.read.parquet(str(folder / f"{side}.parquet")).alias(side[0]) for side in ("left", "right"))
    joined = left.join(right.withColumnRenamed("v", "w"), on=_expression(f"w - v between -{within} and {within}"))
    joined.write.parquet(str(work / "out"))


def by_cells(spark: Any, folder: Path, work: Path, within: int) -> None:
    """What a user of Spark would write: rows of one side in each cell that they reach."""
    left, right = (spark.read.parquet(str(folder / f"{side}.parquet")) for side in ("left", "right"))
    width = 4 * within
    reached = f"explode(sequence((v - {within}) div {width}, (v + {within}) div {width})) as cell"
    left, right = left.selectExpr("*", reached), right.selectExpr("*", f"v div {width} as cell")
    joined = left.join(right.withColumnRenamed("v", "w"), on="cell").where(f"w - v between -{within} and {within}")
    joined.drop("cell").write.parquet(str(work / "out"))


def by_sooner(spark: Any, folder: Path, work: Path, within: int) -> None:
    import sooner.spark as ss

    left, right = (ss.sources.parquet(spark, str(folder / f"{side}.parquet")) for side in ("left", "right"))
    joined = ss.join(left, right, on="v", within=within, memory="4GB", state=work / "state")
    writer = ss.sinks.parquet(joined, str(work / "out")).option("checkpointLocation", str(work / "checkpoint"))
    query = ss.start(writer)
    query.awaitTermination()
    assert query.is_complete


def _expression(text: str) -> Any:
    from pyspark.sql.functions import expr

    return expr(text)


Contestant = Callable[[Any, Path, Path, int], None]
BATCH, CELLS, OURS = "Spark, batch join", "Spark, cells by hand", "sooner"
CONTESTANTS: dict[str, Contestant] = {BATCH: by_spark, CELLS: by_cells, OURS: by_sooner}


def on_spark(spark: Any, names: list[str], rows: int, rounds: int) -> dict[str, list[Run]]:
    """One round that does not count, and then several."""
    runs: dict[str, list[Run]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory(prefix="sooner-benchmark-") as folder:
        write_inputs(Path(folder), SHAPES["integers"], rows)
        for number in range(rounds + 1):
            for name in names:
                work = Path(tempfile.mkdtemp(prefix="sooner-benchmark-"))
                started = time.perf_counter()
                CONTESTANTS[name](spark, Path(folder), work, 50)
                seconds = time.perf_counter() - started
                results = spark.read.parquet(str(work / "out")).count()
                shutil.rmtree(work)
                print(f"{rows:,} rows on Spark: {name:26} {results:>11,} results: {seconds:.2f}", flush=True)
                if number:
                    runs[name].append({"seconds": {"end": seconds}, "results": results})
    return runs


def claims_on_spark(runs: dict[str, list[Run]], other: str, rows: int, bar: float) -> list[dict[str, Any]]:
    seconds = {name: statistics.median(run["seconds"]["end"] for run in some) for name, some in runs.items()}
    counts = {run["results"] for some in runs.values() for run in some}
    ratio = seconds[OURS] / seconds[other]
    what = f"on Spark, {rows:,} x {rows:,} rows"
    return [
        claim(f"{what}: both write the same number of results", 1, len(counts), len(counts) == 1),
        claim(f"{what}: seconds, times {other}", f"<= {bar:g}", round(ratio, 2), ratio <= bar),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the measurements to this file")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--no-spark", action="store_true")
    parser.add_argument("--engine", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.engine:
        print(json.dumps(run_engine(arguments.engine, arguments.folder, SHAPES[arguments.shapes[0]])))
        return
    results: list[dict[str, Any]] = []
    series: dict[str, Any] = {}
    for shape in arguments.shapes:
        runs = measure(shape, arguments.repetitions)
        results += claims(shape, runs)
        series |= {f"{shape}: {engine}": some for engine, some in runs.items()}
    if not arguments.no_spark:
        import sooner.spark as ss

        spark = ss.local_session("local[2]", spark__driver__memory="8g")
        for other, rows, bar in ((BATCH, ROWS_FOR_ALL_PAIRS, 0.5), (CELLS, ROWS, 1.0)):
            runs = on_spark(spark, [other, OURS], rows, rounds=3)
            results += claims_on_spark(runs, other, rows, bar)
            series |= {f"on Spark, {rows:,} rows: {name}": some for name, some in runs.items()}
    for one in results:
        print(f"{'holds' if one['holds'] else 'FAILS'}: {one['what']}: {one['ours']} (bar: {one['expected']})")
    if arguments.json:
        write_report(arguments.json, "range_join", "range_join", results, series)


if __name__ == "__main__":
    main()
