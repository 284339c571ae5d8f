"""Estimates over TPC-H joins on Spark, beside Spark's own batch query and DuckDB's answer: same files, same session.

    python benchmarks/spark_estimate.py --scale 10 --folder /data/tpch --json results.json

The questions and files of `estimate.py`. Of each the seconds from the call to the first estimate, to relative half
intervals of 5%, 1% and 0.1% in all groups, and until the query has ended by itself with the exact answer; estimates are
told by the query's handle, after the batch that made them. CPU seconds are of all processes together: driver, Java and
Python workers. One warm session, a round that does not count, then several in turn. At last the same with little
memory: what a Python worker takes.
"""

import argparse
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
from estimate import ERRORS, QUESTIONS, Run, duckdb_s, median, parts, same, tables
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812
from report import write_report
from spark_files import at_most, session
from spark_join import MEGABYTE, WORKER_BYTES, Watcher

import sooner.spark as ss
from local import claim

POLL_SECONDS = 0.05
LITTLE_BYTES = 64 * MEGABYTE


def cpu_seconds() -> float:
    """Of this process and all below it, also of those that have ended."""
    driver = psutil.Process()
    return sum(sum(process.cpu_times()[:4]) for process in (driver, *driver.children(recursive=True)))


def ours(spark: SparkSession, question: dict[str, Any], where: Path, memory: int | str = "4GB") -> Run:
    work = Path(tempfile.mkdtemp(prefix="sooner-benchmark-"))
    try:
        return estimated(spark, dict(question), where, memory, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def estimated(spark: SparkSession, asked: dict[str, Any], where: Path, memory: int | str, work: Path) -> Run:
    began, cpu = time.perf_counter(), cpu_seconds()
    files = [str(where / f"{asked.pop(side)}.parquet") for side in ("left", "right")]
    left, right = (ss.sources.parquet(spark, file, order="random") for file in files)
    estimates = ss.estimate(left, right, memory=memory, state=work / "state", **asked)
    query = ss.start(estimates.writeStream.format("noop").option("checkpointLocation", str(work / "checkpoint")))
    run: Run = {"batches": 0}
    while not query.awaitTermination(POLL_SECONDS):
        if query.progress is not None and query.progress.batch >= run["batches"]:
            run["batches"] = query.progress.batch + 1
            note(run, query.estimate, time.perf_counter() - began)
    run["exact"], run["cpu"] = time.perf_counter() - began, cpu_seconds() - cpu
    found = query.estimate
    assert found is not None
    assert found.exact
    run["answer"] = [(*key, *(value.value for value in group.values())) for key, group in found.values.items()]
    return run


def note(run: Run, found: Any, seconds: float) -> None:
    """What is known by now: something, and how well."""
    run.setdefault("first", seconds)
    run.setdefault("first_batch", run["batches"])
    if found.relative_error is not None:
        run.setdefault("interval", seconds)
        for limit in ERRORS:
            if found.relative_error <= limit:
                run.setdefault(f"{limit:.1%}", seconds)


def sparks(spark: SparkSession, question: dict[str, Any], where: Path) -> Run:
    began, cpu = time.perf_counter(), cpu_seconds()
    left, right = (spark.read.parquet(str(where / f"{question[side]}.parquet")) for side in ("left", "right"))
    joined = left.join(right, F.expr(f"{question['left_on']} = {question['right_on']}")).where(question["where"])
    aggregates = map(parts, question["aggregates"].values())
    sums = [F.expr(f"{function}({rest[0] if rest else '*'})") for function, *rest in aggregates]
    joined.groupBy(*([question["by"]] if "by" in question else [])).agg(*sums).collect()
    return {"exact": time.perf_counter() - began, "cpu": cpu_seconds() - cpu}


def claims(name: str, mine: list[Run], theirs: list[Run], exact: list[Any]) -> list[dict[str, Any]]:
    equal = all(same(run["answer"], exact) for run in mine)
    batch = max(run["first_batch"] for run in mine)
    seconds, cpu = (median(mine, mark) / median(theirs, mark) for mark in ("exact", "cpu"))
    return [
        claim(f"{name}: the exact answer is DuckDB's", True, equal, equal),
        claim(f"{name}: there is an estimate after this micro-batch", 1, batch, batch == 1),
        at_most(f"{name}: exact, seconds, times Spark's batch query", seconds, 1.3),
        at_most(f"{name}: exact, CPU seconds, times Spark's batch query", cpu, 1.3),
    ]


def with_little_memory(spark: SparkSession, where: Path) -> tuple[Run, list[dict[str, Any]]]:
    """Most rows have to go to disk. What workers share is counted in each of them."""
    name, question = next(iter(QUESTIONS.items()))
    with Watcher() as watcher:
        run = ours(spark, question, where, LITTLE_BYTES)
    run["worker_megabytes"] = watcher.worker_bytes / MEGABYTE
    report(f"{name}, {LITTLE_BYTES // MEGABYTE} MB", "sooner", run)
    equal = same(run["answer"], duckdb_s(question, where)["answer"])
    return run, [
        claim(f"{name}, {LITTLE_BYTES // MEGABYTE} MB of memory: the exact answer is DuckDB's", True, equal, equal),
        at_most("a Python worker, MB", run["worker_megabytes"], (LITTLE_BYTES + WORKER_BYTES) / MEGABYTE),
    ]


def figures(run: Run) -> Run:
    return {name: value for name, value in run.items() if name != "answer"}


def report(name: str, engine: str, run: Run) -> None:
    print(f"{name}, {engine}:", ", ".join(f"{mark} {value:.2f}" for mark, value in figures(run).items()), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=10)
    parser.add_argument("--folder", type=Path, default=Path("/tmp/tpch"))
    parser.add_argument("--questions", nargs="+", choices=QUESTIONS, default=list(QUESTIONS))
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    where, spark = tables(options.folder, options.scale), session()
    found, series = [], {}
    for name in options.questions:
        question = QUESTIONS[name]
        runs: dict[str, list[Run]] = {"Spark": [], "sooner": []}
        for number in range(options.repetitions + 1):
            for engine, answer in (("Spark", sparks), ("sooner", ours)):
                run = answer(spark, question, where)
                report(name if number else f"({name})", engine, run)
                if number:
                    runs[engine].append(run)
        found += claims(name, runs["sooner"], runs["Spark"], duckdb_s(question, where)["answer"])
        series |= {f"{name}: {engine}": [figures(run) for run in some] for engine, some in runs.items()}
    run, tight = with_little_memory(spark, where)
    found, series["little memory"] = found + tight, [figures(run)]
    if options.json:
        title = f"Estimates over TPC-H joins on Spark, scale {options.scale:g}"
        write_report(options.json, "spark_estimate", title, found, series, spark=spark.version)


if __name__ == "__main__":
    main()
