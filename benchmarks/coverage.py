"""How often 95% intervals of estimates hold: python benchmarks/coverage.py [--seeds 1000] [--jobs 2] [--json FILE]

Tables with uniform and Zipf keys, foreign keys and many-to-many, filters, few and many groups, blocks of rows that are
alike, values that follow the order or the number of matches; when there first is an interval, and at 5%, 20% and 50%
read. Of 300 groups each seed has 300 intervals, and a fifth of the seeds will do. Rows that are sorted by what is
summed must be found out. Figures of Pareto values and of deviations of skewed ones are reported whatever they are. An
interval of no width that is right (a count that is certain) is no failure, so coverage above 97.5% is one only where
intervals have a width.
"""

import argparse
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from report import write_report

from local import claim
from sooner.testing.coverage import FIRST, Coverage, Survey, coverage

LOOKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
CLAIMED = (FIRST, 0.05, 0.2, 0.5)
ALL = {"count": "count", "sum": ("sum", "x"), "avg": ("avg", "x")}
LIGHT = {
    f"{function} of {name}": (function, column)
    for function in ("stddev", "variance")
    for name, column in (("uniform", "u"), ("normal", "z"))
}
LEFT_ROWS, RIGHT_ROWS, BLOCK_ROWS = 40_000, 20_000, 100
LEAST, MOST = 0.93, 0.975
BIASED = "many-to-many, sorted by what is summed"
REPORTED = ("many-to-many, Pareto 1.5", "many-to-many, deviations")
CERTAIN = 1e-6  # a width that is none
MANY_GROUPS = 5  # how many times fewer seeds there are where each has hundreds of groups


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
    skewed = pa.table({"k": zipf(dice, 1000, RIGHT_ROWS, 1.0)})
    return {
        "foreign key, uniform": Survey(left(dice.integers(0, 10_000, LEFT_ROWS)), large, ALL),
        "foreign key, 1,000 keys, Zipf 1": Survey(left(zipf(dice, 1000, LEFT_ROWS, 1.0)), small, ALL),
        "foreign key, 10,000 keys, Zipf 0.5": Survey(left(zipf(dice, 10_000, LEFT_ROWS, 0.5)), large, ALL),
        "foreign key, 10,000 keys, Zipf 1": Survey(left(zipf(dice, 10_000, LEFT_ROWS, 1.0)), large, ALL),
        "many-to-many, uniform": Survey(uniform, many, ALL),
        "many-to-many, Zipf 1": Survey(left(zipf(dice, 1000, LEFT_ROWS, 1.0)), skewed, ALL),
        "many-to-many, a filter of 1%": Survey(uniform, many, ALL, where="p < 0.01"),
        "many-to-many, by groups": Survey(uniform, many, ALL, by="g"),
        "many-to-many, a filter of 10%, by groups": Survey(uniform, many, ALL, by="g", where="p < 0.1"),
        "many-to-many, blocks of 100 rows": Survey(uniform, many, ALL, order="random blocks"),
        BIASED: Survey(uniform.sort_by("x"), many, ALL, order="sorted"),
        REPORTED[0]: Survey(left(uniform["k"], dice.pareto(1.5, LEFT_ROWS) + 1), many, ALL),
        REPORTED[1]: Survey(uniform, many, {"stddev": ("stddev", "x"), "variance": ("variance", "x")}),
        **surveys_of_few_rows(uniform, many, large),
        **surveys_of_order(uniform, many),
    }


def surveys_of_few_rows(uniform: pa.Table, many: pa.Table, large: pa.Table) -> dict[str, Survey]:
    """Where groups or filters leave few."""
    dice = np.random.default_rng(8)
    weights = 1 / np.arange(1, 301)
    grouped = uniform.set_column(2, "g", pa.array(dice.integers(0, 300, LEFT_ROWS)))
    unequal = uniform.set_column(2, "g", pa.array(dice.choice(300, LEFT_ROWS, p=weights / weights.sum())))
    keys = pa.array(dice.integers(0, 10_000, LEFT_ROWS))
    light = grouped.append_column("u", pa.array(dice.random(LEFT_ROWS) * 10))
    light = light.append_column("z", pa.array(dice.normal(50, 10, LEFT_ROWS)))
    return {
        "many-to-many, a filter of 0.1%": Survey(uniform, many, ALL, where="p < 0.001"),
        "foreign key, 300 groups": Survey(grouped.set_column(0, "k", keys), large, ALL, by="g"),
        "foreign key, 300 groups of Zipf's sizes": Survey(unequal.set_column(0, "k", keys), large, ALL, by="g"),
        "many-to-many, 300 groups": Survey(grouped, many, ALL, by="g"),
        "many-to-many, deviations of light tails": Survey(light, many, LIGHT),
        "many-to-many, deviations of light tails, 300 groups": Survey(light, many, LIGHT, by="g"),
    }


def surveys_of_order(uniform: pa.Table, many: pa.Table) -> dict[str, Survey]:
    """Where values follow the order of the rows, or the number of matches."""
    dice = np.random.default_rng(9)
    rises = np.arange(LEFT_ROWS) / LEFT_ROWS * 20 + dice.gamma(2, 10, LEFT_ROWS)
    alike = np.repeat(dice.gamma(2, 10, LEFT_ROWS // BLOCK_ROWS), BLOCK_ROWS) + dice.gamma(2, 2, LEFT_ROWS)
    fans = {
        "1 to 40": pa.table({"k": np.repeat(np.arange(1000), 1 + np.arange(1000) % 40)}),
        "Zipf 0.5": pa.table({"k": zipf(dice, 1000, RIGHT_ROWS, 0.5)}),
    }

    def valued(values: Any) -> pa.Table:
        return uniform.set_column(1, "x", pa.array(values))

    return {
        "many-to-many, a trend": Survey(valued(rises), many, ALL),
        "many-to-many, a trend, blocks": Survey(valued(rises), many, ALL, order="random blocks", block_rows=BLOCK_ROWS),
        "many-to-many, clusters": Survey(valued(alike), many, ALL, order="random blocks", block_rows=BLOCK_ROWS),
        **{
            f"many-to-many, values that follow the number of matches ({name})": Survey(
                valued(np.bincount(right["k"], minlength=1000)[uniform["k"]] * dice.gamma(2, 1, LEFT_ROWS)), right, ALL
            )
            for name, right in fans.items()
        },
    }


def claims(name: str, found: Coverage) -> list[dict[str, Any]]:
    if name in REPORTED:
        return []
    if name == BIASED:
        worst = max(hits.share for (_, aggregate), hits in found.items() if aggregate != "count")
        return [claim(f"{name}: intervals of sums and averages do not hold", "< 50%", f"{worst:.1%}", worst < 0.5)]
    claims = []
    for when in CLAIMED:
        here = {aggregate: hits for (at, aggregate), hits in found.items() if at == when and hits.widths}
        wide = [hits.share for hits in here.values() if statistics.median(hits.widths) > CERTAIN]
        shown = ", ".join(f"{aggregate} {hits.share:.1%}" for aggregate, hits in here.items()) or "none yet"
        holds = all(LEAST <= one <= MOST for one in wide)
        claims.append(claim(f"{name}: intervals hold {in_words(when)}", "93% to 97.5%", shown, holds))
    return claims


def in_words(when: float | str) -> str:
    return f"at {when:.0%} read" if isinstance(when, float) else "at first"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found_claims: list[dict[str, Any]] = []
    series: dict[str, Any] = {}
    for name, survey in surveys().items():
        if options.only not in name:
            continue
        began = time.perf_counter()
        seeds = range(options.seeds // MANY_GROUPS if "300 groups" in name else options.seeds)
        found = coverage(survey, LOOKS, seeds, options.jobs)
        for (when, aggregate), hits in found.items():
            width = statistics.median(hits.widths) if hits.widths else None
            key = f"{name}, {aggregate}, {in_words(when)}"
            series[key] = {"holds": hits.share, "without an interval": hits.none, "median relative half width": width}
            print(f"{key}: {hits.share:.1%} of {len(hits.widths)}, median half width {width}")
        found_claims += claims(name, found)
        print(f"  ({time.perf_counter() - began:.0f} s)", flush=True)
    if options.json:
        title = f"How often 95% intervals hold ({options.seeds:,} seeds)"
        write_report(options.json, "coverage", title, found_claims, series)


if __name__ == "__main__":
    main()
