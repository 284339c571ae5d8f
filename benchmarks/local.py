"""The in-process join beside DuckDB, Polars and DataFusion: one run, same data, same machine.

    python benchmarks/local.py --json results.json

Two Parquet files of 5 M rows (an int64 key out of 2 M values, a double, an int64); all 12.5 M results are consumed as
Arrow batches. Each engine runs in a process of its own, several times, in turn; ratios are of medians.
"""

import argparse
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

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

KEYS_PER_ROW = 2 / 5
BYTES_PER_ROW = 3 * 8
FRACTIONS = (0.1, 0.5, 1.0)


def write_inputs(folder: Path, rows: int) -> None:
    rng = np.random.default_rng(1)
    for side in ("left", "right"):
        columns = {
            "key": rng.integers(0, int(rows * KEYS_PER_ROW), rows),
            f"{side}_value": rng.random(rows),
            f"{side}_id": rng.integers(0, 2**40, rows),
        }
        pq.write_table(pa.table(columns), folder / f"{side}.parquet")


def batches(engine: str, left: str, right: str, memory_bytes: int) -> Iterator[Any]:
    """All results of one engine. Libraries are imported before the clock starts, by `run_engine`."""
    if engine.startswith("sooner"):
        import sooner

        memory = None if engine == "sooner" else memory_bytes
        query = sooner.join(left, right, on="key", memory=memory)
        yield from query
        yield query.progress
    elif engine == "duckdb":
        import duckdb

        sql = f"select * from '{left}' join '{right}' using (key)"
        yield from duckdb.sql(sql).to_arrow_reader(65_536)
    elif engine == "floor":
        yield from floor(left, right)
    elif engine == "polars":
        import polars

        joined = polars.scan_parquet(left).join(polars.scan_parquet(right), on="key")
        yield from joined.collect(engine="streaming").to_arrow().to_batches()
    else:
        import datafusion

        context = datafusion.SessionContext()
        context.register_parquet("l", left)
        context.register_parquet("r", right)
        sql = "select l.*, right_value, right_id from l join r on l.key = r.key"
        for batch in context.sql(sql).execute_stream():
            yield batch.to_pyarrow()


def floor(left: str, right: str) -> Iterator[pa.RecordBatch]:
    """What sorted runs cost at the least, on one core: read all, code and sort once, probe once, gather once."""
    from sooner.kernels.keys import plan_keys
    from sooner.operators.sorted_runs import coder, sorted_runs
    from sooner.operators.two_way.output import plan_output
    from sooner.operators.two_way.pairs import pairs_of

    tables = [pq.read_table(path).combine_chunks() for path in (left, right)]
    plan = plan_keys(tables[0].schema, tables[1].schema, ["key"], ["key"])
    output = plan_output(tables[0].schema, tables[1].schema, plan, ("_l", "_r"))
    runs = [sorted_runs(table.to_batches()[0], coder(plan, side), 16) for side, table in enumerate(tables)]
    for left_run, right_run in zip(*runs, strict=True):
        yield from map(output.batch, pairs_of(left_run, right_run))


def run_engine(engine: str, folder: Path, rows: int) -> dict[str, Any]:
    """One run: when the first result, a tenth, a half and all of them were there, and what memory it took."""
    __import__("sooner" if engine == "floor" else engine.split("_")[0])
    left, right = str(folder / "left.parquet"), str(folder / "right.parquet")
    arrivals: list[tuple[float, int]] = []
    resident_bytes, results = None, 0
    started = time.perf_counter()
    for batch in batches(engine, left, right, memory_bytes=rows * 2 * BYTES_PER_ROW // 10):
        if hasattr(batch, "peak_bytes"):
            resident_bytes = batch.peak_bytes
            continue
        results += batch.num_rows
        arrivals.append((time.perf_counter() - started, results))
    seconds = {f"{share:.0%}": next(t for t, n in arrivals if n >= share * results) for share in FRACTIONS}
    return {
        "results": results,
        "seconds": {"first": arrivals[0][0], **seconds},
        "peak_resident_bytes": resident_bytes,
        "rss_bytes": peak_bytes(),
    }


def peak_bytes() -> int:
    """The most memory that this process had; what `getrusage` tells begins with that of the process that started it."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def measure(engines: list[str], rows: int, repetitions: int) -> dict[str, list[dict[str, Any]]]:
    runs: dict[str, list[dict[str, Any]]] = {engine: [] for engine in engines}
    with tempfile.TemporaryDirectory() as folder:
        write_inputs(Path(folder), rows)
        for _ in range(repetitions):
            for engine in engines:  # in turn, so that a busy neighbour disturbs all of them
                command = [sys.executable, __file__, "--engine", engine, "--folder", folder, "--rows", str(rows)]
                output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                runs[engine].append(json.loads(output))
    return runs


def median_seconds(runs: list[dict[str, Any]], mark: str) -> float:
    return statistics.median(run["seconds"][mark] for run in runs)


def claims(runs: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    duckdb = median_seconds(runs["duckdb"], "100%")
    unlimited = median_seconds(runs["sooner"], "100%") / duckdb
    limited = median_seconds(runs["sooner_10_percent"], "100%") / duckdb
    first = max(median_seconds(runs[engine], "first") for engine in ("sooner", "sooner_10_percent"))
    counts = {run["results"] for some in runs.values() for run in some}
    return [
        claim("all engines give the same number of results", 1, len(counts), len(counts) == 1),
        claim("end to end, memory for all, times DuckDB's time", "<= 3", round(unlimited, 2), unlimited <= 3),
        claim("end to end, memory for 10%, times DuckDB's time", "<= 4", round(limited, 2), limited <= 4),
        claim("first results, seconds after the query starts", "<= 0.1", round(first, 3), first <= 0.1),
    ]


def claim(what: str, expected: object, ours: object, holds: bool) -> dict[str, Any]:
    return {"what": what, "expected": expected, "ours": ours, "holds": holds}


def report(runs: dict[str, list[dict[str, Any]]], results: list[dict[str, Any]]) -> None:
    print(f"{'seconds (medians)':<20}{'first':>9}{'10%':>9}{'50%':>9}{'100%':>9}{'RSS MB':>9}{'peak MB':>9}")
    for engine, some in runs.items():
        marks = "".join(f"{median_seconds(some, mark):9.3f}" for mark in ("first", "10%", "50%", "100%"))
        rss = statistics.median(run["rss_bytes"] for run in some) / 2**20
        peak = some[0]["peak_resident_bytes"]
        print(f"{engine:<20}{marks}{rss:9.0f}{peak / 2**20 if peak else float('nan'):9.1f}")
    for one in results:
        print(f"{'holds' if one['holds'] else 'FAILS'}: {one['what']}: {one['ours']} (bar: {one['expected']})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the measurements to this file")
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--engine", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.engine:
        print(json.dumps(run_engine(arguments.engine, arguments.folder, arguments.rows)))
        return
    engines = ["sooner", "sooner_10_percent", "floor", "duckdb", "polars", "datafusion"]
    runs = measure(engines, arguments.rows, arguments.repetitions)
    results = claims(runs)
    report(runs, results)
    if arguments.json:
        machine = {"cores": os.cpu_count(), "python": platform.python_version(), "system": platform.system()}
        document = {"name": "local", "machine": machine, "claims": results, "series": runs}
        arguments.json.write_text(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
