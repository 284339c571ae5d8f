"""The in-process join beside DuckDB, Polars and DataFusion: one run, same data, same machine.

    python benchmarks/local.py --json results.json

Two Parquet files of 5 M rows (an int64 key out of 2 M values, a double, an int64); all 12.5 M results are consumed as
Arrow batches. Then other shapes of rows and keys, and other joins of 5 M x 500 k rows in which half of the left rows
match nothing, with memory for all, beside DuckDB. And PR-Join beside GRACE, which is as fast as it gets but gives
nothing before the end, and block ripple join, which gives the same samples: with memory for a tenth of the rows, and
for a fortieth, which is the paper's ratio. Each engine runs in a process of its own, several times, in turn; ratios
are of medians, of wall and of CPU seconds, with modules loaded before the clock starts. One figure is from `import
sooner` on, in a fresh process.
"""

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from report import write_report

BYTES_PER_ROW = 3 * 8
TENTHS = [tenth / 10 for tenth in range(1, 11)]
LIMITED_BYTES = 100 * 2**20  # DuckDB fails with 24 MB and with 50 MB here
ENGINES = ["sooner", "sooner_10_percent", "sooner_100MB", "floor", "duckdb", "duckdb_100MB", "polars", "datafusion"]
RIVALS = ["pr_join", "grace", "ripple"]
SHARES = {"10_percent": 10, "2.5_percent": 40}  # of the rows fit into memory: one part in so many
MOMENTS = 400  # of a run, at which it is noted how many results there are
HOWS = ["left", "right", "full", "semi", "anti"]  # shapes of other joins than inner ones
Columns = dict[str, Any]


def integers(rng: np.random.Generator, rows: int, side: str) -> Columns:
    keys = rng.integers(0, rows * 2 // 5, rows)
    return {"key": keys, f"{side}_value": rng.random(rows), f"{side}_id": rng.integers(0, 2**40, rows)}


def texts(rng: np.random.Generator, rows: int, side: str) -> Columns:
    return integers(rng, rows, side) | {"key": as_texts(rng.integers(0, rows * 2 // 5, rows), 16)}


def composite(rng: np.random.Generator, rows: int, side: str) -> Columns:
    keys = rng.integers(0, rows * 2 // 5, rows)
    return integers(rng, rows, side) | {"key": keys // 1000, "key_2": as_texts(keys % 1000, 8)}


def foreign_key(rng: np.random.Generator, rows: int, side: str) -> Columns:
    """Each left row matches one of a tenth as many right rows."""
    if side == "left":
        return integers(rng, rows, side) | {"key": rng.integers(0, rows // 10, rows)}
    return integers(rng, rows // 10, side) | {"key": rng.permutation(rows // 10)}


def skew(rng: np.random.Generator, rows: int, side: str) -> Columns:
    """The same with few keys that most left rows have."""
    shares = np.cumsum(np.arange(1, rows // 10 + 1) ** -1.1)
    drawn = np.searchsorted(shares, rng.random(rows) * shares[-1])
    return foreign_key(rng, rows, side) | ({"key": drawn} if side == "left" else {})


def half_matched(rng: np.random.Generator, rows: int, side: str) -> Columns:
    """Half of the left rows match one of a tenth as many right rows, and half match nothing."""
    return foreign_key(rng, rows, side) | ({"key": rng.integers(0, rows // 5, rows)} if side == "left" else {})


def wide(rng: np.random.Generator, rows: int, side: str) -> Columns:
    return integers(rng, rows, side) | {f"{side}_{number}": rng.random(rows) for number in range(7)}


def as_texts(numbers: "np.ndarray[Any, np.dtype[np.int64]]", length: int) -> pa.Array:
    content = np.char.zfill(numbers.astype(f"U{length}"), length).astype(f"S{length}")
    offsets = np.arange(0, (len(numbers) + 1) * length, length, dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), len(numbers), [None, pa.py_buffer(offsets), pa.py_buffer(content)])


SHAPES: dict[str, Callable[[np.random.Generator, int, str], Columns]] = {
    "integers": integers,
    "texts": texts,
    "composite": composite,
    "foreign_key": foreign_key,
    "skew": skew,
    "wide": wide,
    **dict.fromkeys(HOWS, half_matched),
}


def write_inputs(folder: Path, rows: int, shape: str) -> None:
    rng = np.random.default_rng(1)
    for side in ("left", "right"):
        pq.write_table(pa.table(SHAPES[shape](rng, rows, side)), folder / f"{side}.parquet")


def batches(engine: str, left: str, right: str, rows: int, how: str) -> Iterator[Any]:
    """All results of one engine. Libraries are imported before the clock starts, by `run_engine`."""
    keys = [name for name in pq.read_schema(left).names if name.startswith("key")]
    if engine.startswith("sooner"):
        import sooner

        memory, _, algorithm = engine.removeprefix("sooner").removeprefix("_").partition(":")
        limits = {name: rows * 2 * BYTES_PER_ROW // share for name, share in SHARES.items()} | {"100MB": LIMITED_BYTES}
        query = sooner.join(left, right, on=keys, how=how, memory=limits.get(memory), algorithm=algorithm or "rpj")
        yield from query
        yield query.progress
    elif engine.startswith("duckdb"):
        import duckdb

        if engine != "duckdb":
            duckdb.sql(f"set memory_limit='{LIMITED_BYTES // 2**20}MiB'")
        sql = f"select * from '{left}' {how} join '{right}' using ({', '.join(keys)})"
        yield from duckdb.sql(sql).to_arrow_reader(65_536)
    elif engine == "floor":
        yield from floor(left, right)
    elif engine == "polars":
        import polars

        joined = polars.scan_parquet(left).join(polars.scan_parquet(right), on=keys)
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
    from sooner.operators.order import by_hashes, equal_ranges, sorted_runs
    from sooner.operators.pairs import bundled, pairs_of
    from sooner.operators.two_way.output import plan_output

    tables = [pq.read_table(path).combine_chunks() for path in (left, right)]
    plan = plan_keys(tables[0].schema, tables[1].schema, ["key"], ["key"])
    output = plan_output(tables[0].schema, tables[1].schema, plan, ("_l", "_r"))
    order, bounds = by_hashes(plan), equal_ranges(16)
    coded = zip(tables, order.coders, strict=True)
    runs = [sorted_runs(table.to_batches()[0], code, bounds).runs for table, code in coded]
    for left_run, right_run in zip(*runs, strict=True):
        yield from map(output.batch, bundled(pairs_of(left_run, right_run, order.reach)))


def run_engine(engine: str, folder: Path, rows: int, how: str) -> dict[str, Any]:
    """One run: when the first result, a tenth, a half and all of them were there, and what memory it took."""
    load("sooner" if engine == "floor" else engine.split("_")[0])
    left, right = str(folder / "left.parquet"), str(folder / "right.parquet")
    arrivals: list[tuple[float, int]] = []
    resident_bytes, results = None, 0
    started, cpu_before = time.perf_counter(), cpu_seconds()
    for batch in batches(engine, left, right, rows, how):
        if hasattr(batch, "peak_bytes"):
            resident_bytes = batch.peak_bytes
            continue
        results += batch.num_rows
        arrivals.append((time.perf_counter() - started, results))
    seconds = {f"{share:.0%}": next(t for t, n in arrivals if n >= share * results) for share in TENTHS}
    return {
        "results": results,
        "seconds": {"first": arrivals[0][0], **seconds},
        "curve": arrivals[:: -(-len(arrivals) // MOMENTS)],
        "cpu_seconds": cpu_seconds() - cpu_before,
        "peak_resident_bytes": resident_bytes,
        "rss_bytes": peak_bytes(),
    }


def load(library: str) -> None:
    module = __import__(library)
    if library == "sooner":
        module.join  # noqa: B018 - what it needs is loaded when it is first looked at


def first_result_after_import(folder: Path) -> float:
    """Seconds in a process that has loaded nothing before, of modules that were compiled as an installer does it."""
    program = (
        "import time; started = time.perf_counter(); import sys, sooner; "
        "next(iter(sooner.join(sys.argv[1], sys.argv[2], on='key'))); print(time.perf_counter() - started)"
    )
    command = [sys.executable, "-c", program, str(folder / "left.parquet"), str(folder / "right.parquet")]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return float(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def peak_bytes() -> int:
    """The most memory that this process had; what `getrusage` tells begins with that of the process that started it."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def measure(shape: str, engines: list[str], rows: int, repetitions: int) -> dict[str, list[dict[str, Any]]]:
    runs: dict[str, list[dict[str, Any]]] = {engine: [] for engine in engines}
    with tempfile.TemporaryDirectory() as folder:
        write_inputs(Path(folder), rows, shape)
        for _ in range(repetitions):
            for engine in engines:  # in turn, so that a busy neighbour disturbs all of them
                what = ["--engine", engine, "--folder", folder, "--rows", str(rows)]
                command = [sys.executable, __file__, *what, "--how", shape if shape in HOWS else "inner"]
                output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                runs[engine].append(json.loads(output))
            if "sooner_10_percent" in engines:
                runs["sooner"][-1]["first_after_import"] = first_result_after_import(Path(folder))
    return runs


def median(runs: list[dict[str, Any]], mark: str) -> float:
    return statistics.median(run["cpu_seconds"] if mark == "cpu" else run["seconds"][mark] for run in runs)


def claims(runs: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    first = max(median(runs[engine], "first") for engine in ("sooner", "sooner_10_percent"))
    imported = statistics.median(run["first_after_import"] for run in runs["sooner"])
    counts = {run["results"] for some in runs.values() for run in some}
    return [
        claim("all engines give the same number of results", 1, len(counts), len(counts) == 1),
        *ratios("memory for all", runs["sooner"], runs["duckdb"], 1.2),
        *ratios("memory for 10%", runs["sooner_10_percent"], runs["duckdb"], 2.0),
        *ratios("both with 100 MB", runs["sooner_100MB"], runs["duckdb_100MB"], 1.5),
        claim("first results, seconds after the query starts", "<= 0.05", round(first, 3), first <= 0.05),
        claim("first results, seconds after `import sooner`", "<= 0.35", round(imported, 3), imported <= 0.35),
    ]


def claims_of_rivals(memory: str, runs: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """PR-Join end to end, and what it has at half of its time."""
    pr_join, grace, ripple = (runs[f"sooner_{memory}:{name}"] for name in RIVALS)
    half = median(pr_join, "100%") / 2
    early = statistics.median(results_at(half, run) for run in pr_join) / statistics.median(
        results_at(half, run) for run in ripple
    )
    what = f"pr_join with memory for {memory.replace('_percent', '%')}"
    return [
        *ratios(what, pr_join, grace, 1.2, "GRACE's"),
        claim(f"{what}: results at half of its time, times block ripple's", ">= 3", round(early, 2), early >= 3),
    ]


def results_at(seconds: float, run: dict[str, Any]) -> int:
    return max((results for moment, results in run["curve"] if moment <= seconds), default=1)


def ratios(
    what: str, ours: list[dict[str, Any]], theirs: list[dict[str, Any]], bar: float, whose: str = "DuckDB's"
) -> list[dict[str, Any]]:
    found = []
    for name, mark in (("seconds", "100%"), ("CPU seconds", "cpu")):
        ratio = median(ours, mark) / median(theirs, mark)
        found.append(claim(f"{what}: {name}, times {whose}", f"<= {bar}", round(ratio, 2), ratio <= bar))
    return found


def claim(what: str, expected: object, ours: object, holds: bool) -> dict[str, Any]:
    return {"what": what, "expected": expected, "ours": ours, "holds": holds}


def report(shape: str, runs: dict[str, list[dict[str, Any]]], results: list[dict[str, Any]]) -> None:
    print(f"{shape + ' (medians)':<24}{'first':>9}{'10%':>9}{'50%':>9}{'100%':>9}{'CPU':>9}{'RSS MB':>9}{'peak MB':>9}")
    for engine, some in runs.items():
        marks = "".join(f"{median(some, mark):9.3f}" for mark in ("first", "10%", "50%", "100%", "cpu"))
        rss = statistics.median(run["rss_bytes"] for run in some) / 2**20
        peak = some[0]["peak_resident_bytes"]
        print(f"{engine:<24}{marks}{rss:9.0f}{peak / 2**20 if peak else float('nan'):9.1f}")
    for one in results:
        print(f"{'holds' if one['holds'] else 'FAILS'}: {one['what']}: {one['ours']} (bar: {one['expected']})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the measurements to this file")
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--shapes", nargs="+", choices=[*SHAPES, *SHARES], default=[*SHAPES, *SHARES])
    parser.add_argument("--engine", help=argparse.SUPPRESS)
    parser.add_argument("--how", default="inner", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.engine:
        print(json.dumps(run_engine(arguments.engine, arguments.folder, arguments.rows, arguments.how)))
        return
    results, series = [], {}
    for shape in arguments.shapes:
        engines = ENGINES if shape == "integers" else ["sooner", "duckdb"]
        if shape in SHARES:
            engines = [f"sooner_{shape}:{name}" for name in RIVALS]
        runs = measure("integers" if shape in SHARES else shape, engines, arguments.rows, arguments.repetitions)
        what = f"{shape} join, half of the left unmatched" if shape in HOWS else shape
        if shape in SHARES:
            found = claims_of_rivals(shape, runs)
        else:
            found = claims(runs) if shape == "integers" else ratios(what, runs["sooner"], runs["duckdb"], 1.5)
        report(shape, runs, found)
        results += found
        for run in (run for some in runs.values() for run in some):
            del run["curve"]  # the tenths of `seconds` tell enough
        series |= {engine if shape == "integers" else f"{shape}: {engine}": some for engine, some in runs.items()}
    if arguments.json:
        write_report(arguments.json, "local", "local", results, series, system=platform.system())


if __name__ == "__main__":
    main()
