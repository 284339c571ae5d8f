"""Plans of joins under one budget: beside fixed shares of memory, over time, and SQL over many tables beside DuckDB.

    python benchmarks/plans.py --json results.json
    python benchmarks/plans.py --brief --json results.json
    python benchmarks/plans.py --parts shares --rows 50000 --rounds 1 --tries 4 --even-if-busy

*shares*: five joins of six tables, with 4, 0.5, 3, 0.5 and 1 matches a row, in a tenth of the memory that a plan of
them takes with memory for all. `multijoin` shares it by itself. Beside it are chains of `sooner.join` that feed each
other, each with a fixed share. Shares are searched for: equal ones, those of what each join keeps with memory for all,
random ones, and then what is near the best. The best three run again, in turn with the plan.

*time*: the same tables, where rows come in bursts: when a share of the results is out, with each algorithm in the same
memory. One operator for all inputs is among them.

*queries*: TPC-H Q3, Q5 and Q10 as they are, beside DuckDB. Early figures are of the same joins and groups, without the
order and the limit, and of Q3 and Q10, whose groups are single orders and customers, of all groups together. The floor
is what Arrow takes to decode the columns that a query looks at, on two threads, and nothing else.

Every run has a process of its own; ratios are of medians, of wall and of CPU seconds. Before each part, a join of
5 M x 5 M rows by DuckDB shows whether the machine is free for it.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from multi_join import BUSY_SECONDS, MEGABYTE, Run, Runs, busy_seconds, ratios, reached, report
from report import write_report

import local
import sooner
from local import claim, cpu_seconds, peak_bytes
from sooner.sources import ParetoBursts, paced

MATCHES = (4, 0.5, 3, 0.5, 1)  # of a row of the left in each join
INPUTS = [f"r{at}" for at in range(len(MATCHES) + 1)]
EQUAL = [(f"r{at}.k{at}", f"r{at + 1}.k{at}") for at in range(len(MATCHES))]
OF_ALL_MEMORY = 10  # one part in so many
SMALLEST_SHARE = 0.02  # of the memory, for one join
FINALISTS = 3
BRIEF_TRIES = 8
ALGORITHMS = ("agf", "state_spill", "rpj", "hmj", "miner")
FIXED = "hmj"  # of joins with fixed shares: of the two-way algorithms it leaves least to do on disk
BURST_SECONDS, BURSTS = 10.0, 6


def write_inputs(folder: Path, rows: int) -> None:
    rng = np.random.default_rng(1)
    values = [int(rows / matches) for matches in MATCHES]
    for at, name in enumerate(INPUTS):
        keys = {f"k{join}": rng.integers(0, values[join], rows) for join in (at - 1, at) if 0 <= join < len(MATCHES)}
        pq.write_table(pa.table({**keys, f"v{at}": rng.integers(0, 2**40, rows)}), folder / f"{name}.parquet")


def tables_in(folder: Path) -> dict[str, pa.Table]:
    return {name: pq.read_table(folder / f"{name}.parquet") for name in INPUTS}


def measured(batches: Iterable[pa.RecordBatch], began: float, cpu_before: float, loaded_bytes: int) -> Run:
    arrivals, results = [], 0
    for batch in batches:
        results += batch.num_rows
        arrivals.append((time.perf_counter() - began, results))
    return {
        "results": results,
        "seconds": {**reached(arrivals, results), "end": time.perf_counter() - began},
        "cpu_seconds": cpu_seconds() - cpu_before,
        "rss_bytes": peak_bytes(),
        "loaded_bytes": loaded_bytes,
    }


def run_plan(folder: str, algorithm: str, memory: int | None, in_bursts: bool) -> Run:
    """All inputs at once; the most bytes of rows in memory are told too."""
    inputs: dict[str, Any] = dict(tables_in(Path(folder)))
    small = {name: rows.slice(0, 100) for name, rows in inputs.items()}
    sooner.multijoin(small, on=EQUAL, algorithm=algorithm).to_table()  # type: ignore[arg-type]
    if in_bursts:
        rows = inputs["r0"].num_rows
        pattern = ParetoBursts(BURST_SECONDS / rows, rows / BURSTS, shortest_pause_seconds=0.6, shape=3.0)
        inputs = {name: paced(table, pattern, seed=at) for at, (name, table) in enumerate(inputs.items())}
    began = time.perf_counter(), cpu_seconds(), peak_bytes()
    query = sooner.multijoin(inputs, on=EQUAL, algorithm=algorithm, memory=memory)  # type: ignore[arg-type]
    most = 0

    def watched() -> Iterable[pa.RecordBatch]:
        nonlocal most
        for batch in query:
            most = max(most, query.progress.resident_bytes)
            yield batch

    return {**measured(watched(), *began), "most_bytes": most}


def chained(inputs: dict[str, pa.Table], shares: Sequence[int | None]) -> list[sooner.Query]:
    """The last of them gives the results."""
    rows: Any = inputs[INPUTS[0]]
    queries = []
    for at, share in enumerate(shares):
        rows = sooner.join(rows, inputs[INPUTS[at + 1]], on=f"k{at}", memory=share, algorithm=FIXED)
        queries.append(rows)
    return queries


def run_chain(folder: str, shares: Sequence[int | None]) -> Run:
    inputs = tables_in(Path(folder))
    chained({name: rows.slice(0, 100) for name, rows in inputs.items()}, shares)[-1].to_table()
    began = time.perf_counter(), cpu_seconds(), peak_bytes()
    queries = chained(inputs, shares)
    most = [0] * len(queries)

    def watched() -> Iterable[pa.RecordBatch]:
        for batch in queries[-1]:
            for at, query in enumerate(queries):
                most[at] = max(most[at], query.progress.resident_bytes)
            yield batch

    return {**measured(watched(), *began), "most_bytes": most}


RUNS = {"plan": run_plan, "chain": run_chain}


def alone(what: object, *arguments: object) -> Run:
    """In a process of its own; one that cannot do it says why."""
    command = [sys.executable, __file__, "--alone", str(what), json.dumps(arguments, default=str)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1]}
    found: Run = json.loads(done.stdout)
    return found


# Shares of memory


def best_shares(folder: Path, memory: int, kept: Sequence[int], tries: int) -> dict[str, list[int]]:
    """The best of those that were tried, by their names."""
    rng = np.random.default_rng(2)
    joins = len(MATCHES)
    random = rng.dirichlet([1.5] * joins, size=max(tries // 2, 1))
    weights = {"equal": np.full(joins, 1.0), "as kept": np.array(kept, float)}
    weights |= {f"random {at}": one for at, one in enumerate(random)}
    seconds: dict[str, float] = {}
    shares: dict[str, list[int]] = {}

    def try_out(name: str) -> None:
        at_least = np.maximum(weights[name] / weights[name].sum(), SMALLEST_SHARE)
        shares[name] = [int(memory * one) for one in at_least / at_least.sum()]
        run = alone("chain", folder, shares[name])
        report(f"chain, {name}", [run])
        seconds[name] = run["seconds"]["end"] if "seconds" in run else float("inf")

    for name in list(weights):
        try_out(name)
    for at in range(tries - len(random)):
        best = min(seconds, key=seconds.__getitem__)
        near = f"near the best {at}"
        weights[near] = np.array(shares[best], float) * rng.lognormal(0, 0.5, joins)
        try_out(near)
    return {name: shares[name] for name in sorted(seconds, key=seconds.__getitem__)[:FINALISTS]}


def beside_fixed_shares(folder: Path, options: argparse.Namespace) -> tuple[list[dict[str, Any]], Runs]:
    whole, chain = alone("plan", folder, "rpj", None, False), alone("chain", folder, [None] * len(MATCHES))
    report("a plan, memory for all", [whole])
    report("a chain, memory for all", [chain])
    memory = whole["most_bytes"] // OF_ALL_MEMORY
    print(f"{memory / MEGABYTE:.1f} MB of {whole['most_bytes'] / MEGABYTE:.1f}", flush=True)
    finalists = best_shares(folder, memory, chain["most_bytes"], options.tries)
    runs: Runs = {name: [] for name in ("agf", *finalists)}
    for _ in range(options.rounds):
        runs["agf"].append(alone("plan", folder, "agf", memory, False))
        for name, shares in finalists.items():
            runs[name].append(alone("chain", folder, shares))
    for name, some in runs.items():
        report(name, some)
    best = min(finalists, key=lambda name: local.median(runs[name], "end"))
    counts = {run["results"] for some in runs.values() for run in some} | {whole["results"]}
    found = [claim("plans and chains give the same number of results", 1, len(counts), len(counts) == 1)]
    found += ratios(
        "five joins in a tenth of the memory", runs["agf"], runs[best], 1.5, "those of the best fixed shares"
    )
    return found, {**runs, "memory for all": [whole, chain]}


# Over time


def over_time(folder: Path, options: argparse.Namespace) -> tuple[list[dict[str, Any]], Runs]:
    whole = alone("plan", folder, "rpj", None, False)
    runs: Runs = {algorithm: [] for algorithm in ALGORITHMS}
    for _ in range(options.rounds):
        for algorithm in ALGORITHMS:
            runs[algorithm].append(alone("plan", folder, algorithm, whole["most_bytes"] // OF_ALL_MEMORY, True))
    for name, some in runs.items():
        report(f"{name}, bursts", some)
    counts = {run["results"] for some in runs.values() for run in some} | {whole["results"]}
    return [claim("all algorithms give the same number of results", 1, len(counts), len(counts) == 1)], runs


# SQL over many tables

TABLES = ("lineitem", "orders", "customer", "supplier", "nation", "region")
REVENUE = "SUM(l_extendedprice * (1 - l_discount)) AS revenue"
JOINED = {
    "Q3": """FROM customer, orders, lineitem
        WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey
        AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15'""",
    "Q5": """FROM customer, orders, lineitem, supplier, nation, region
        WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey
        AND c_nationkey = s_nationkey AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'ASIA'
        AND o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01'""",
    "Q10": """FROM customer, orders, lineitem, nation
        WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND o_orderdate >= DATE '1993-10-01'
        AND o_orderdate < DATE '1994-01-01' AND l_returnflag = 'R' AND c_nationkey = n_nationkey""",
}
WHOLE = {
    "Q3": f"""SELECT l_orderkey, {REVENUE}, o_orderdate, o_shippriority {JOINED["Q3"]}
        GROUP BY l_orderkey, o_orderdate, o_shippriority ORDER BY revenue DESC, o_orderdate LIMIT 10""",
    "Q5": f"SELECT n_name, {REVENUE} {JOINED['Q5']} GROUP BY n_name ORDER BY revenue DESC",
    "Q10": f"""SELECT c_custkey, c_name, {REVENUE}, c_acctbal, n_name, c_address, c_phone, c_comment {JOINED["Q10"]}
        GROUP BY c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment ORDER BY revenue DESC LIMIT 20""",
}
EARLY = {
    "Q3": f"SELECT {REVENUE} {JOINED['Q3']}",
    "Q5": f"SELECT n_name, {REVENUE} {JOINED['Q5']} GROUP BY n_name",
    "Q10": f"SELECT {REVENUE} {JOINED['Q10']}",
}
NEEDED = {
    "Q3": {
        "customer": ["c_custkey", "c_mktsegment"],
        "orders": ["o_orderkey", "o_custkey", "o_orderdate", "o_shippriority"],
        "lineitem": ["l_orderkey", "l_extendedprice", "l_discount", "l_shipdate"],
    },
    "Q5": {
        "customer": ["c_custkey", "c_nationkey"],
        "orders": ["o_orderkey", "o_custkey", "o_orderdate"],
        "lineitem": ["l_orderkey", "l_suppkey", "l_extendedprice", "l_discount"],
    },
    "Q10": {
        "customer": ["c_custkey", "c_name", "c_acctbal", "c_phone", "c_address", "c_comment", "c_nationkey"],
        "orders": ["o_orderkey", "o_custkey", "o_orderdate"],
        "lineitem": ["l_orderkey", "l_extendedprice", "l_discount", "l_returnflag"],
    },
}
DECODERS = 2
LONG_SECONDS = 1.0  # only what takes DuckDB so long is a claim


def write_tpch(folder: Path, scale: float) -> None:
    generator = Path(sys.executable).with_name("tpchgen-cli")
    command = [str(generator), "parquet", "--quiet", "-s", str(scale), "-T", ",".join(TABLES), "-o", str(folder)]
    subprocess.run(command, check=True, capture_output=True)


def run_query(folder: str, engine: str, query: str, until: str | None) -> Run:
    files = {name: Path(folder, f"{name}.parquet") for name in TABLES}
    if engine == "duckdb":
        import duckdb

        connection = duckdb.connect()
        for name, file in files.items():
            connection.sql(f"create view {name} as select * from '{file}'")
        connection.sql("select count(*) from nation join region on n_regionkey = r_regionkey").fetchall()
        began, cpu_before = time.perf_counter(), cpu_seconds()
        answer = [list(row) for row in connection.sql(query).fetchall()]
    else:
        warm = """SELECT n_name, COUNT(*) AS n FROM nation, region, supplier
            WHERE n_regionkey = r_regionkey AND s_nationkey = n_nationkey GROUP BY n_name"""
        list(sooner.sql(warm, files))
        list(sooner.sql(warm + " ORDER BY n LIMIT 3", files))
        began, cpu_before = time.perf_counter(), cpu_seconds()
        asked = sooner.sql(query, files) if until is None else sooner.sql(query, files, until=until)
        *_, last = asked
        answer = [] if until is not None else [list(row.values()) for row in last.table.to_pylist()]
    seconds = time.perf_counter() - began
    return {
        "results": json.dumps(answer, default=str),
        "seconds": {"end": seconds},
        "cpu_seconds": cpu_seconds() - cpu_before,
    }


def run_floor(folder: str, name: str) -> Run:
    """All rows of these columns are decoded, row group by row group, and let go."""

    def decode(first: int) -> None:
        for table, columns in NEEDED[name].items():
            with pq.ParquetFile(Path(folder, f"{table}.parquet"), pre_buffer=False) as file:
                for row_group in range(first, file.num_row_groups, DECODERS):
                    file.read_row_group(row_group, columns=columns, use_threads=False)

    began, cpu_before = time.perf_counter(), cpu_seconds()
    with ThreadPoolExecutor(DECODERS) as threads:
        list(threads.map(decode, range(DECODERS)))
    return {"seconds": {"end": time.perf_counter() - began}, "cpu_seconds": cpu_seconds() - cpu_before}


def queries(folder: Path, options: argparse.Namespace) -> tuple[list[dict[str, Any]], Runs]:
    write_tpch(folder, options.scale)
    runs: Runs = {}
    found: list[dict[str, Any]] = []
    for name in WHOLE:
        asked: dict[str, tuple[object, ...]] = {
            "DuckDB": ("query", folder, "duckdb", WHOLE[name], None),
            "exact": ("query", folder, "sooner", WHOLE[name], None),
            "within 1%": ("query", folder, "sooner", EARLY[name], "1%"),
            "floor": ("floor", folder, name),
        }
        here: Runs = {what: [] for what in asked}
        for _ in range(options.rounds):
            for what, arguments in asked.items():
                here[what].append(alone(*arguments))
        medians = {what: local.median(some, "end") for what, some in here.items()}
        print(name, {what: f"{seconds:.2f} s" for what, seconds in medians.items()}, flush=True)
        answers = {run["results"] for what in ("DuckDB", "exact") for run in here[what]}
        found.append(claim(f"{name} is DuckDB's answer", 1, len(answers), len(answers) == 1))
        if medians["DuckDB"] > LONG_SECONDS:
            sooner_by = medians["DuckDB"] / medians["within 1%"]
            found.append(
                claim(f"{name} within 1%, times sooner than DuckDB", ">= 3", round(sooner_by, 2), sooner_by >= 3)
            )
            found += ratios(f"{name} exact", here["exact"], here["DuckDB"], 1.5)
            floor = [local.median(here[what], "end") for what in ("floor", "DuckDB")]
            print(f"{name}: the floor takes {floor[0] / floor[1]:.2f} times as long as DuckDB", flush=True)
        runs |= {f"{name}, {what}": some for what, some in here.items()}
    return found, runs


RUNS |= {"query": run_query, "floor": run_floor}
PARTS = {"shares": beside_fixed_shares, "time": over_time, "queries": queries}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the measurements to this file")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--rows", type=int, default=200_000, help="of each of the six inputs (default: 200,000)")
    parser.add_argument("--scale", type=float, default=10, help="of TPC-H, for the queries (default: 10)")
    parser.add_argument("--rounds", type=int, default=3, help="that count (default: 3)")
    parser.add_argument("--tries", type=int, default=14, help="of random shares of memory (default: 14)")
    parser.add_argument("--brief", action="store_true", help="fewer tries, and one round but for the shares: 8 minutes")
    parser.add_argument("--even-if-busy", action="store_true", help="go on if the machine is busy, to try it out")
    parser.add_argument("--alone", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        what, arguments = options.alone
        print(json.dumps(RUNS[what](*json.loads(arguments))))
        return
    if options.brief:
        options.tries = BRIEF_TRIES
    found: list[dict[str, Any]] = []
    series: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="sooner-benchmark-", ignore_cleanup_errors=True) as name:
        write_inputs(Path(name), options.rows)
        for part in options.parts:
            seconds = busy_seconds()
            print(f"{part}: DuckDB takes {seconds:.2f} s for 5 M x 5 M rows", flush=True)
            if seconds > BUSY_SECONDS and not options.even_if_busy:
                sys.exit(f"The machine is busy: {BUSY_SECONDS} s is the most. Try again, or with --even-if-busy.")
            rounds = 1 if options.brief and part != "shares" else options.rounds
            claims, runs = PARTS[part](Path(name), argparse.Namespace(**{**vars(options), "rounds": rounds}))
            found += claims
            series[part] = {"busy_seconds": seconds, "runs": runs}
    for one in found:
        print(f"{'holds' if one['holds'] else 'FAILS'}: {one['what']}: {one['ours']} (bar: {one['expected']})")
    if options.json:
        write_report(options.json, "plans", f"plans of joins, {options.rows:,} rows an input", found, series)


if __name__ == "__main__":
    main()
