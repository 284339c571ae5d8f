"""How often 95% intervals hold, over many seeds: python benchmarks/coverage.py [--seeds 1000] [--json FILE]

Tables with uniform and Zipf keys, foreign keys and many-to-many, filters of 1%, groups, blocks; at 5%, 20% and 50% read.
Figures for Pareto values and deviations are reported whatever they are.
"""

import argparse
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from report import write

from sooner.testing.coverage import Survey, coverage

SHARES = (0.05, 0.2, 0.5)
ALL = {"count": "count", "sum": ("sum", "x"), "avg": ("avg", "x")}
LEFT_ROWS, RIGHT_ROWS = 40_000, 20_000


def zipf(dice: np.random.Generator, keys: int, rows: int, skew: float) -> Any:
    weights = 1 / np.arange(1, keys + 1) ** skew
    return dice.choice(keys, rows, p=weights / weights.sum())


def surveys() -> dict[str, Survey]:
    dice = np.random.default_rng(7)
    x = dice.gamma(2, 10, LEFT_ROWS)
    g = pa.array(dice.choice(["a", "b", "c", "d"], LEFT_ROWS))

    def left(keys: Any, values: Any = x) -> pa.Table:
        return pa.table({"k": keys, "x": values, "g": g, "p": dice.random(LEFT_ROWS)})

    many = pa.table({"k": dice.integers(0, 1000, RIGHT_ROWS)})
    small = pa.table({"k": np.arange(1000)})
    large = pa.table({"k": np.arange(10_000)})
    uniform = left(dice.integers(0, 1000, LEFT_ROWS))
    return {
        "foreign key, uniform": Survey(left(dice.integers(0, 10_000, LEFT_ROWS)), large, ALL),
        "foreign key, small dimension, Zipf 1": Survey(left(zipf(dice, 1000, LEFT_ROWS, 1.0)), small, ALL),
        "foreign key, large dimension, Zipf 0.5": Survey(left(zipf(dice, 10_000, LEFT_ROWS, 0.5)), large, ALL),
        "foreign key, large dimension, Zipf 1": Survey(left(zipf(dice, 10_000, LEFT_ROWS, 1.0)), large, ALL),
        "many-to-many, uniform": Survey(uniform, many, ALL),
        "many-to-many, Zipf 1": Survey(
            left(zipf(dice, 1000, LEFT_ROWS, 1.0)), pa.table({"k": zipf(dice, 1000, RIGHT_ROWS, 1.0)}), ALL
        ),
        "many-to-many, a filter of 1%": Survey(uniform, many, ALL, where="p < 0.01"),
        "many-to-many, by groups": Survey(uniform, many, ALL, by="g"),
        "many-to-many, a filter of 10%, by groups": Survey(uniform, many, ALL, by="g", where="p < 0.1"),
        "many-to-many, blocks of 100 rows": Survey(uniform, many, ALL, order="random blocks"),
        "many-to-many, sorted by what is summed (biased)": Survey(uniform.sort_by("x"), many, ALL, order="sorted"),
        "many-to-many, Pareto 1.5": Survey(left(uniform["k"], dice.pareto(1.5, LEFT_ROWS) + 1), many, ALL),
        "many-to-many, deviations": Survey(uniform, many, {"stddev": ("stddev", "x"), "variance": ("variance", "x")}),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--only")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    for name, survey in surveys().items():
        if options.only and options.only not in name:
            continue
        began = time.perf_counter()
        found = coverage(survey, SHARES, range(options.seeds))
        for (share, aggregate), hits in found.items():
            width = statistics.median(hits.widths) if hits.widths else None
            rows.append([name, aggregate, share, round(hits.share, 4), hits.none, width])
            shown = "none" if width is None else f"{width:.4f}"
            print(
                f"{name}, {aggregate}, {share:.0%} read: {hits.share:.1%} hold, none {hits.none}, median width {shown}"
            )
        print(f"  ({time.perf_counter() - began:.0f} s)", flush=True)
    if options.json:
        write(options.json, "coverage", rows)


if __name__ == "__main__":
    main()
