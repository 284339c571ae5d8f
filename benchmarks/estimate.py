"""Estimates over TPC-H joins beside DuckDB's exact answers: one run, same files, same machine.

    python benchmarks/estimate.py --scale 10 --folder /data/tpch --json results.json

Parquet files as `tpchgen-cli` writes them (row groups of at most 122,880 rows, in the order of keys); `--scale 1` is
quick. Of each question the seconds from the call to the first estimate with intervals in all groups, to relative half
intervals of 5%, 1% and 0.1%, and to the exact answer, which must be DuckDB's to the last digit; modules are loaded
before. Medians of several repetitions in turn.
"""

import argparse
import statistics
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

from report import write_report

import sooner
from local import claim, cpu_seconds

ERRORS = (0.05, 0.01, 0.001)
REVENUE = "l_extendedprice * (1 - l_discount)"
URGENT = "o_orderpriority IN ('1-URGENT', '2-HIGH')"
ORDERS = {"left": "lineitem", "right": "orders", "left_on": "l_orderkey", "right_on": "o_orderkey"}
PARTS = {"left": "lineitem", "right": "part", "left_on": "l_partkey", "right_on": "p_partkey"}
QUESTIONS: dict[str, dict[str, Any]] = {
    "lines of orders": {
        **ORDERS,
        "aggregates": {"revenue": ("sum", REVENUE), "lines": "count", "quantity": ("avg", "l_quantity")},
        "by": "o_orderpriority",
        "where": "l_shipdate > DATE '1995-03-15'",
    },
    "Q3": {
        **ORDERS,
        "aggregates": {"revenue": ("sum", REVENUE)},
        "by": "o_shippriority",
        "where": "o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15'",
    },
    "Q12": {
        **ORDERS,
        "aggregates": {
            "high": ("sum", f"CASE WHEN {URGENT} THEN 1 ELSE 0 END"),
            "low": ("sum", f"CASE WHEN {URGENT} THEN 0 ELSE 1 END"),
        },
        "by": "l_shipmode",
        "where": "l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate "
        "AND l_receiptdate >= DATE '1994-01-01' AND l_receiptdate < DATE '1995-01-01'",
    },
    "Q14": {
        **PARTS,
        "aggregates": {
            "promotions": ("sum", f"CASE WHEN p_type LIKE 'PROMO%' THEN {REVENUE} ELSE 0 END"),
            "revenue": ("sum", REVENUE),
        },
        "where": "l_shipdate >= DATE '1995-09-01' AND l_shipdate < DATE '1995-10-01'",
    },
}
Run = dict[str, Any]


def tables(folder: Path, scale: float) -> Path:
    where = folder / f"scale-{scale:g}"
    if not (where / "part.parquet").exists():
        generator = Path(sys.executable).with_name("tpchgen-cli")
        command = [generator, "parquet", "-s", str(scale), "-T", "lineitem,orders,part", "-o", where]
        subprocess.run(command, check=True, capture_output=True)
    return where


def ours(question: dict[str, Any], where: Path) -> Run:
    asked = dict(question)
    left, right = (where / f"{asked.pop(side)}.parquet" for side in ("left", "right"))
    began, cpu = time.perf_counter(), cpu_seconds()
    run: Run = {}
    for found in sooner.estimate(left, right, memory=None, **asked):
        seconds, error = time.perf_counter() - began, found.relative_error
        run.setdefault("any", seconds)
        if error is not None:
            run.setdefault("first", seconds)
            for limit in ERRORS:
                if error <= limit:
                    run.setdefault(f"{limit:.1%}", seconds)
    run["exact"], run["cpu"] = time.perf_counter() - began, cpu_seconds() - cpu
    run["answer"] = [(*key, *(value.value for value in group.values())) for key, group in found.values.items()]
    return run


def duckdb_s(question: dict[str, Any], where: Path) -> Run:
    import duckdb

    results = [
        f"{function}({rest[0] if rest else '*'})" for function, *rest in map(parts, question["aggregates"].values())
    ]
    by = question.get("by")
    query = (
        f"SELECT {', '.join([by, *results] if by else results)} FROM '{where}/{question['left']}.parquet' "
        f"JOIN '{where}/{question['right']}.parquet' ON {question['left_on']} = {question['right_on']} "
        f"WHERE {question['where']}" + (f" GROUP BY {by} ORDER BY {by}" if by else "")
    )
    began, cpu = time.perf_counter(), cpu_seconds()
    answer = duckdb.connect().execute(query).fetchall()
    return {"exact": time.perf_counter() - began, "cpu": cpu_seconds() - cpu, "answer": answer}


def parts(aggregate: str | tuple[str, ...]) -> tuple[str, ...]:
    return (aggregate,) if isinstance(aggregate, str) else aggregate


def same(ours: list[Any], theirs: list[Any]) -> bool:
    """To the last digit, and floats within 1e-9."""

    def alike(one: Any, other: Any) -> bool:
        if isinstance(one, float) or isinstance(other, float):
            return abs(float(one) - float(other)) <= 1e-9 * abs(float(other))
        return bool(Decimal(one) == Decimal(other)) if isinstance(one, int | Decimal) else bool(one == other)

    pairs = zip(ours, theirs, strict=True)
    return all(alike(a, b) for one, other in pairs for a, b in zip(one, other, strict=True))


def median(runs: list[Run], mark: str) -> float:
    return statistics.median(run.get(mark, run["exact"]) for run in runs)


def claims(name: str, mine: list[Run], theirs: list[Run]) -> list[dict[str, Any]]:
    exact = median(theirs, "exact")
    first, percent = exact / median(mine, "first"), exact / median(mine, "1.0%")
    seconds, cpu = median(mine, "exact") / exact, median(mine, "cpu") / median(theirs, "cpu")
    equal = all(same(run["answer"], theirs[0]["answer"]) for run in mine)
    soon = (
        claim(f"{name}: the first estimate, times sooner than DuckDB's answer", ">= 20", round(first, 1), first >= 20)
        if exact > 1
        else claim(
            f"{name}: seconds to the first estimate",
            "<= 0.05",
            round(median(mine, "first"), 3),
            median(mine, "first") <= 0.05,
        )
    )
    return [
        claim(f"{name}: the exact answer is DuckDB's", True, equal, equal),
        soon,
        claim(f"{name}: 1% in all groups, times sooner than DuckDB's answer", ">= 3", round(percent, 1), percent >= 3),
        claim(f"{name}: exact, seconds, times DuckDB's", "<= 1.2", round(seconds, 2), seconds <= 1.2),
        claim(f"{name}: exact, CPU seconds, times DuckDB's", "<= 1.2", round(cpu, 2), cpu <= 1.2),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=10)
    parser.add_argument("--folder", type=Path, default=Path("/tmp/tpch"))
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    where = tables(options.folder, options.scale)
    found, series = [], {}
    for name, question in QUESTIONS.items():
        runs: dict[str, list[Run]] = {"sooner": [], "duckdb": []}
        ours(question, where)  # modules, and the files in the system's memory
        for _ in range(options.repetitions):
            runs["duckdb"].append(duckdb_s(question, where))
            runs["sooner"].append(ours(question, where))
        found += claims(name, runs["sooner"], runs["duckdb"])
        for engine, some in runs.items():
            series[f"{name}: {engine}"] = [{key: one for key, one in run.items() if key != "answer"} for run in some]
            marks = ("any", "first", "5.0%", "1.0%", "0.1%", "exact", "cpu")
            print(
                f"{name}, {engine}: "
                + ", ".join(f"{mark} {median(some, mark):.3f}" for mark in marks if mark in some[0])
            )
    for one in found:
        print(f"{'holds' if one['holds'] else 'FAILS'}: {one['what']}: {one['ours']} ({one['expected']})")
    if options.json:
        title = f"Estimates over TPC-H joins, scale {options.scale:g}"
        write_report(options.json, "estimate", title, found, series)


if __name__ == "__main__":
    main()
