"""What a step costs as the state grows: the same number of new rows and of results, ten times the rows in memory.

    python benchmarks/growth.py --json results.json

A step takes in 100,000 rows of each side. Merging tiers makes single steps dearer, so the mean of a stretch of steps is
compared, the two sizes in turn, and the median ratio of several repetitions is taken.
"""

import argparse
import platform
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs
from report import write_report

from sooner.budget import UNLIMITED_BYTES, Budget
from sooner.kernels.keys import plan_keys
from sooner.named_algorithms import ALGORITHMS
from sooner.operators.inputs import Input
from sooner.operators.operator import Means
from sooner.operators.order import by_hashes, equal_ranges
from sooner.operators.two_way.making import two_way_join
from sooner.runs.formats.files import RunFiles
from sooner.sides import LEFT, RIGHT, SIDES

NEW_ROWS = 100_000
STEPS = 8
PARTITIONS = 16
SCHEMA = pa.schema([("key", pa.int64()), ("value", pa.float64())])


def batch(rng: np.random.Generator, rows: int, keys: int) -> pa.RecordBatch:
    return pa.record_batch([pa.array(rng.integers(0, keys, rows)), pa.array(rng.random(rows))], schema=SCHEMA)


def mean_step_seconds(resident_rows: int, seed: int) -> float:
    """The mean of some steps when each side has so many rows in memory; as many keys keep the results alike."""
    rng = np.random.default_rng(seed)
    order, bounds = by_hashes(plan_keys(SCHEMA, SCHEMA, ["key"], ["key"])), equal_ranges(PARTITIONS)
    with tempfile.TemporaryDirectory() as folder:
        inputs = [
            Input(str(side), SCHEMA, order.coders[side], RunFiles(pafs.LocalFileSystem(), folder, SCHEMA), bounds)
            for side in SIDES
        ]
        means = Means(Budget(UNLIMITED_BYTES).account("join"))
        join = two_way_join((inputs[LEFT], inputs[RIGHT]), order, ALGORITHMS["symmetric_hash"], len, means)

        def step() -> None:
            left, right = (batch(rng, NEW_ROWS, resident_rows) for _ in SIDES)
            started = time.perf_counter()
            for _ in join.arrive([[left], [right]], 0.0):
                pass
            seconds.append(time.perf_counter() - started)

        seconds: list[float] = []
        while int(join.statistics.resident_rows.sum()) < 2 * resident_rows:
            step()
        seconds.clear()
        for _ in range(STEPS):
            step()
        return statistics.mean(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the measurements to this file")
    parser.add_argument("--rows", type=int, default=500_000, help="rows of each side in the small state")
    parser.add_argument("--repetitions", type=int, default=5)
    arguments = parser.parse_args()
    pairs = [
        (mean_step_seconds(arguments.rows, seed), mean_step_seconds(10 * arguments.rows, seed))
        for seed in range(arguments.repetitions)
    ]
    ratio = statistics.median(large / small for small, large in pairs)
    print(f"a step at 10 times the rows in memory costs {ratio:.2f} times as much (bar: 1.5)")
    if arguments.json:
        what = "mean step at 10 times the rows in memory, times that of the small state"
        claims = [{"what": what, "expected": "<= 1.5", "ours": round(ratio, 2), "holds": ratio <= 1.5}]
        write_report(arguments.json, "growth", "growth", claims, {"seconds": pairs}, system=platform.system())


if __name__ == "__main__":
    main()
