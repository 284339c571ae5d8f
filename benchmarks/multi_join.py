"""Many inputs in one operator: beside DuckDB in process, beside Spark's joins on Spark, and beside a chain of our own.

    python benchmarks/multi_join.py --json results.json
    python benchmarks/multi_join.py --brief --json results.json
    python benchmarks/multi_join.py --parts process --scale 0.1 --rounds 1 --limits 64 32 --even-if-busy

`lineitem`, `orders`, `customer` and `nation` of TPC-H, joined by their keys, from Parquet files without the comments. A
line has one order, an order one customer, and a customer one nation, so there are as many results as lines.

*process*: all results as Arrow batches, beside DuckDB, with memory for all and with the same limit for both. Each run
has a process of its own, in turn; ratios are of medians, of wall and of CPU seconds. Modules are loaded before the
clock starts, by a small join. Opening the files is told apart from the first rows. A limit with which DuckDB fails is
no claim. The peak is the kernel's (VmHWM), and so is what the libraries had before. Decimals are integers in the files,
as their generator, Spark and DuckDB write them; with memory for all also bytes, as PyArrow writes them, which takes it
four times as long to read.

*statistics*: what the statistics of regions cost that `miner` keeps: beside the same without them, with memory for all.

*state*: three inputs that are paced alike, where two of them have ten times as many results as rows and the third lets
go of nine in ten. One operator beside `sooner.join` that feeds `sooner.join`: the most bytes in memory, and with little
memory the most bytes of files. While inputs arrive, both keep all that may match. At the end, the one operator finds
what is missing by a chain of its own; the most until then is a claim by itself.

*spark*: the four files at full speed and in bursts, results written as Parquet. Ours is beside Spark's batch join, and
beside Spark's own chain of stream-stream joins with RocksDB at its best, which is given up after some minutes. One warm
session, a round that does not count, then several in turn; bursts and the chain run once.

Before each part, a join of 5 M x 5 M rows by DuckDB shows whether the machine is free for it.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from report import write_report

import local
import sooner
from local import claim, cpu_seconds, peak_bytes
from sooner.operators.multiway.algorithms import MULTI_ALGORITHMS
from sooner.policies.multiway.buckets import Buckets
from sooner.sources import Fixed, ParetoBursts, arrival_times, paced

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = {
    "lineitem": ["l_orderkey", "l_linenumber", "l_quantity", "l_extendedprice", "l_discount", "l_shipdate"],
    "orders": ["o_orderkey", "o_custkey", "o_totalprice", "o_orderdate", "o_orderpriority"],
    "customer": ["c_custkey", "c_name", "c_nationkey", "c_mktsegment"],
    "nation": ["n_nationkey", "n_name"],
}
EQUAL = [
    ("lineitem.l_orderkey", "orders.o_orderkey"),
    ("orders.o_custkey", "customer.c_custkey"),
    ("customer.c_nationkey", "nation.n_nationkey"),
]
ROW_GROUP = 122_880
AS_BYTES = "decimals as bytes"
SHARES = (0.01, 0.1, 0.5, 1.0)
BUSY_SECONDS, BUSY_ROWS = 1.3, 5_000_000
LIMITS = [256, 128, 64]  # megabytes, of 465 that the rows of scale 1 have
BLIND = "miner without statistics"  # which it does not need as long as nothing leaves memory
BRIEF_ROUNDS, BRIEF_PATIENCE = 3, 45.0
MEGABYTE = 2**20
Run = dict[str, Any]
Runs = dict[str, list[Run]]


class Engine(NamedTuple):
    """One that joins the four files in a process of its own."""

    library: str
    limit: int | None = None  # megabytes
    algorithm: str = "auto"

    def __str__(self) -> str:
        limit = "" if self.limit is None else f", {self.limit} MB"
        return self.library + limit + ("" if self.algorithm == "auto" else f", {self.algorithm}")


def write_tables(folder: Path, scale: float) -> None:
    generator, raw = Path(sys.executable).with_name("tpchgen-cli"), folder / "raw"
    command = [str(generator), "parquet", "--quiet", "-s", str(scale), "-T", ",".join(COLUMNS), "-o", str(raw)]
    subprocess.run(command, check=True, capture_output=True)
    for name, columns in COLUMNS.items():
        table = pq.read_table(raw / f"{name}.parquet", columns=columns)
        types = [pa.string() if field.type == pa.string_view() else field.type for field in table.schema]  # for Spark
        table = table.cast(pa.schema(list(zip(columns, types, strict=True))))
        for where, as_integers in ((folder, True), (folder / AS_BYTES, False)):
            where.mkdir(exist_ok=True)
            file = where / f"{name}.parquet"
            pq.write_table(table, file, row_group_size=ROW_GROUP, store_decimal_as_integer=as_integers)
    shutil.rmtree(raw)


def files_of(folder: Path) -> dict[str, Path]:
    return {name: folder / f"{name}.parquet" for name in COLUMNS}


def rows_of(file: Path) -> int:
    return int(pq.read_metadata(file).num_rows)


def busy_seconds() -> float:
    """What DuckDB takes for a join of which it is known what it should take."""
    with tempfile.TemporaryDirectory(prefix="sooner-benchmark-") as folder:
        local.write_inputs(Path(folder), BUSY_ROWS, "integers")
        command = [sys.executable, local.__file__, "--engine", "duckdb", "--folder", folder]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return float(json.loads(output)["seconds"]["100%"])


# In process, beside DuckDB


def asked(engine: Engine, folder: Path) -> Iterable[pa.RecordBatch]:
    """The query of one engine: files are open, and no row is read."""
    if engine.library == "sooner":
        memory, algorithm = engine.limit and engine.limit * MEGABYTE, engine.algorithm
        if algorithm == BLIND:
            MULTI_ALGORITHMS["miner"] = replace(MULTI_ALGORITHMS["miner"], sees="buckets", flush=Buckets())
            algorithm = "miner"
        return sooner.multijoin(files_of(folder), on=EQUAL, memory=memory, algorithm=algorithm)  # type: ignore[arg-type]
    import duckdb

    limit = {} if engine.limit is None else {"memory_limit": f"{engine.limit}MiB"}
    connection = duckdb.connect(config={**limit, "temp_directory": str(folder / "duckdb")})
    first, *others = (f"'{file}' {name}" for name, file in files_of(folder).items())
    joins = [f"join {other} on {left} = {right}" for other, (left, right) in zip(others, EQUAL, strict=True)]
    return executed(connection.sql(f"select * from {first} {' '.join(joins)}"))


def executed(relation: Any) -> Iterator[pa.RecordBatch]:
    yield from relation.to_arrow_reader(65_536)


def warm_up(engine: Engine, folder: Path) -> None:
    """A join of nations loads all that a join needs."""
    nations = folder / "nation.parquet"
    if engine.library == "sooner":
        sooner.multijoin({"one": nations, "other": nations}, on="n_nationkey").to_table()
    else:
        import duckdb

        connection = duckdb.connect()
        connection.sql(f"select * from '{nations}' one join '{nations}' other using (n_nationkey)").to_arrow_table()


def run_engine(engine: Engine, folder: Path) -> Run:
    """One run; an engine that cannot do it says why."""
    warm_up(engine, folder)
    loaded_bytes, arrivals, results = peak_bytes(), [], 0
    began, cpu_before = time.perf_counter(), cpu_seconds()
    try:
        query = asked(engine, folder)
        opened = time.perf_counter() - began
        for batch in query:
            results += batch.num_rows
            arrivals.append((time.perf_counter() - began, results))
        ended = time.perf_counter() - began  # the last rows may be out long before that is known
    except Exception as error:  # too little memory, or an algorithm that is not there
        return {"failed": f"{type(error).__name__}: {str(error).splitlines()[0]}"}
    return {
        "results": results,
        "seconds": {"opened": opened, "first": arrivals[0][0], **reached(arrivals, results), "end": ended},
        "cpu_seconds": cpu_seconds() - cpu_before,
        "rss_bytes": peak_bytes(),
        "loaded_bytes": loaded_bytes,
    }


def reached(arrivals: list[tuple[float, int]], results: int) -> dict[str, float]:
    """When each share of the results was there, of those that ever were."""
    found = {}
    for share in SHARES:
        moments = [seconds for seconds, so_far in arrivals if so_far >= share * results]
        if moments:
            found[f"{share:.0%}"] = moments[0]
    return found


def in_turn(engines: list[Engine], folder: Path, rounds: int) -> Runs:
    runs: Runs = {str(engine): [] for engine in engines}
    for _ in range(rounds):
        for engine in engines:  # in turn, so that a busy neighbour disturbs all of them
            runs[str(engine)].append(alone("engine", engine, folder))
    for name, some in runs.items():
        report(name, some)
    return runs


def alone(what: str, *arguments: object) -> Run:
    """In a process of its own."""
    command = [sys.executable, __file__, "--alone", what, json.dumps(arguments, default=str)]
    found: Run = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return found


def report(name: str, runs: list[Run]) -> None:
    if why := failure_of(runs):
        print(f"{name:44} {why}", flush=True)
        return
    marks = [f"{mark} {local.median(runs, mark):.3f}" for mark in runs[0]["seconds"]]
    if "cpu_seconds" in runs[0]:
        peak = statistics.median(run["rss_bytes"] - run["loaded_bytes"] for run in runs) / MEGABYTE
        marks += [f"CPU {local.median(runs, 'cpu'):.3f}", f"peak {peak:.0f} MB beyond the libraries"]
    print(f"{name:44} {runs[0]['results']:>11,} results: {'  '.join(marks)}", flush=True)


def failure_of(runs: list[Run]) -> str:
    return next((run["failed"] for run in runs if "failed" in run), "")


def in_process(folder: Path, rounds: int, limits: list[int]) -> tuple[list[dict[str, Any]], Runs]:
    engines = [Engine(library, limit) for limit in (None, *limits) for library in ("sooner", "duckdb")]
    runs = in_turn(engines, folder, rounds)
    done = {name: some for name, some in runs.items() if not failure_of(some)}
    counts = {run["results"] for some in done.values() for run in some}
    found = [
        claim("all engines give the same number of results", 1, len(counts), len(counts) == 1),
        *ratios("memory for all", runs["sooner"], runs["duckdb"], 1.3),
    ]
    for limit in limits:
        ours, theirs = (str(Engine(library, limit)) for library in ("sooner", "duckdb"))
        if theirs in done:
            what = f"both with {limit} MB"
            if ours in done:
                found += ratios(what, done[ours], done[theirs], 2.0)
            else:
                found.append(claim(f"{what}: ours runs", True, failure_of(runs[ours]), False))
    first = max(after_opening(some) for name, some in done.items() if name.startswith("sooner"))
    found.append(claim("first rows, seconds after the files are open", "<= 0.05", round(first, 3), first <= 0.05))
    print(f"{AS_BYTES}:")
    of_bytes = in_turn(engines[:2], folder / AS_BYTES, rounds)
    found += ratios(f"memory for all, {AS_BYTES}", of_bytes["sooner"], of_bytes["duckdb"], 1.3)
    return found, runs | {f"{name}, {AS_BYTES}": some for name, some in of_bytes.items()}


def ratios(
    what: str, ours: list[Run], theirs: list[Run], bar: float, whose: str = "DuckDB's"
) -> Iterator[dict[str, Any]]:
    """Until the end, which a query tells when it has made sure of it."""
    for name, mark in (("seconds", "end"), ("CPU seconds", "cpu")):
        ratio = local.median(ours, mark) / local.median(theirs, mark)
        yield claim(f"{what}: {name}, times {whose}", f"<= {bar}", round(ratio, 2), ratio <= bar)


def after_opening(runs: list[Run]) -> float:
    return float(statistics.median(run["seconds"]["first"] - run["seconds"]["opened"] for run in runs))


def cost_of_statistics(folder: Path, rounds: int) -> tuple[list[dict[str, Any]], Runs]:
    with_them, without = (Engine("sooner", algorithm=algorithm) for algorithm in ("miner", BLIND))
    runs = in_turn([with_them, without], folder, rounds)
    if failure_of(runs[str(with_them)]):
        return [], runs
    return [*ratios("statistics of regions", runs[str(with_them)], runs[str(without)], 1.1, "those without")], runs


# State, beside a chain of two-way joins

STATE_ROWS = 400_000  # of each input at scale 1
STATE_SECONDS = 20.0  # in which they arrive
MATCHES = 10  # of a row of the first input in the second; and of so many of those, the third input has one
LITTLE = 4  # times less memory than the rows of the inputs take
STATE_COLUMNS = {"first": ["key", "first_id"], "second": ["key", "part", "second_id"], "third": ["part", "third_id"]}


def write_many_to_many(folder: Path, scale: float) -> None:
    rng, rows = np.random.default_rng(1), int(STATE_ROWS * scale)
    parts = {"second": rng.integers(0, rows * MATCHES, rows), "third": rng.permutation(rows * MATCHES)[:rows]}
    for name, columns in STATE_COLUMNS.items():
        made = {
            "key": rng.integers(0, rows // MATCHES, rows),
            "part": parts.get(name),
            f"{name}_id": rng.integers(0, 2**40, rows),
        }
        pq.write_table(pa.table({column: made[column] for column in columns}), folder / f"{name}.parquet")


def chained(sources: Mapping[str, Any], memory: int | None, spill_dir: Path) -> list[sooner.Query]:
    """The last of them gives the results."""
    share = None if memory is None else memory // 2
    pairs = sooner.join(sources["first"], sources["second"], on="key", memory=share, spill_dir=spill_dir)
    return [pairs, sooner.join(pairs, sources["third"], on="part", memory=share, spill_dir=spill_dir)]


def at_once(sources: Mapping[str, Any], memory: int | None, spill_dir: Path) -> list[sooner.Query]:
    on = ["first.key = second.key", "second.part = third.part"]
    return [sooner.multijoin(sources, on=on, memory=memory, spill_dir=spill_dir)]


MANNERS: dict[str, Callable[[Mapping[str, Any], int | None, Path], list[sooner.Query]]] = {
    "multijoin": at_once,
    "a chain of joins": chained,
}


class StateWatch:
    """The most that queries had in memory and in files: while their inputs arrived, and until the end."""

    def __init__(self, queries: list[sooner.Query], spill_dir: Path) -> None:
        self.most = {f"{where} {when}": 0 for where in ("memory", "files") for when in ("arriving", "until the end")}
        self._queries = queries
        self._spill_dir = spill_dir
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "StateWatch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(0.01):
            progress = [query.progress for query in self._queries]
            arriving = progress[-1].phase in ("arriving", "reactive")
            sizes = {"memory": sum(one.resident_bytes for one in progress), "files": files_bytes(self._spill_dir)}
            for where, n_bytes in sizes.items():
                for when in ("arriving", "until the end") if arriving else ("until the end",):
                    self.most[f"{where} {when}"] = max(self.most[f"{where} {when}"], n_bytes)


def files_bytes(folder: Path) -> int:
    n_bytes = 0
    for parent, _, names in os.walk(folder):  # files and folders may go while one looks
        for name in names:
            with suppress(FileNotFoundError):
                n_bytes += Path(parent, name).stat().st_size
    return n_bytes


def run_state(manner: str, folder: Path, is_little: bool) -> Run:
    files = {name: folder / f"{name}.parquet" for name in STATE_COLUMNS}
    sources = {name: paced(file, Fixed(STATE_SECONDS / rows_of(file))) for name, file in files.items()}
    memory = sum(pq.read_table(file).nbytes for file in files.values()) // LITTLE if is_little else None
    with tempfile.TemporaryDirectory(dir=folder) as name:
        loaded_bytes, began, cpu_before, results = peak_bytes(), time.perf_counter(), cpu_seconds(), 0
        queries = MANNERS[manner](sources, memory, Path(name))
        with StateWatch(queries, Path(name)) as watch:
            for batch in queries[-1]:
                results += batch.num_rows
    return {
        "results": results,
        "seconds": {"end": time.perf_counter() - began},
        "cpu_seconds": cpu_seconds() - cpu_before,
        "rss_bytes": peak_bytes(),
        "loaded_bytes": loaded_bytes,
        "most_bytes": watch.most,
    }


def state(folder: Path, rounds: int) -> tuple[list[dict[str, Any]], Runs]:
    found, runs = [], {}
    for is_little, memory in ((False, "memory for all"), (True, f"memory for one row in {LITTLE}")):
        here: Runs = {manner: [] for manner in MANNERS}
        for _ in range(rounds):
            for manner in MANNERS:
                here[manner].append(alone("state", manner, folder, is_little))
        where = "files" if is_little else "memory"
        for manner, some in here.items():
            report(f"{manner}, {memory}", some)
            print(" " * 44, {what: f"{most_bytes(some, what) / MEGABYTE:.1f} MB" for what in some[0]["most_bytes"]})
            runs[f"{manner}, {memory}"] = some
        for when in ("arriving", "until the end"):
            ours, theirs = (most_bytes(some, f"{where} {when}") for some in here.values())
            words = "while inputs arrive" if when == "arriving" else when
            what = f"{memory}: the most bytes in {where} {words}, times those of a chain of joins"
            found.append(claim(what, "<= 0.5", round(ours / theirs, 2), ours <= theirs / 2))
    counts = {run["results"] for some in runs.values() for run in some}
    found.append(claim("one operator and a chain give the same number of results", 1, len(counts), len(counts) == 1))
    return found, runs


def most_bytes(runs: list[Run], what: str) -> float:
    return float(statistics.median(run["most_bytes"][what] for run in runs))


# On Spark

BURST_SECONDS = 20.0  # in which rows come, without the pauses
BURSTS = 6  # of each input, about
STREAMED_FILES = 10  # of a large input of Spark's chain, one in a batch
POLL_SECONDS = 0.05
BATCH, OURS, CHAIN = "Spark, batch join", "sooner", "Spark, chain of stream-stream joins"
Streams = Callable[["SparkSession", Path], dict[str, "DataFrame"]]


def joined(frames: Mapping[str, "DataFrame"]) -> "DataFrame":
    """Spark's own joins of them, one after the other."""
    rows, *others = frames.values()
    for other, equal in zip(others, EQUAL, strict=True):
        left, right = (name.partition(".")[2] for name in equal)
        rows = rows.join(other, rows[left] == other[right])
    return rows


def batch_join(spark: "SparkSession", folder: Path, work: Path) -> Run:
    began = time.perf_counter()
    rows = joined({name: spark.read.parquet(str(file)) for name, file in files_of(folder).items()})
    rows.write.parquet(str(work / "out"))
    return {"seconds": {"end": time.perf_counter() - began}}


def at_full_speed(spark: "SparkSession", folder: Path) -> dict[str, "DataFrame"]:
    import sooner.spark as ss

    return {name: ss.sources.parquet(spark, str(file)) for name, file in files_of(folder).items()}


def in_bursts(spark: "SparkSession", folder: Path) -> dict[str, "DataFrame"]:
    """In random order: TPC-H sorts lines and orders by the key, and they would walk in step."""
    import sooner.spark as ss

    return {
        name: ss.sources.replay(spark, str(file), bursts(file), seed=seed, order="random", order_seed=seed)
        for seed, (name, file) in enumerate(files_of(folder).items())
    }


def bursts(file: Path) -> ParetoBursts:
    rows = rows_of(file)
    return ParetoBursts(BURST_SECONDS / rows, max(rows / BURSTS, 1), shortest_pause_seconds=1.2, shape=3.0)


def last_arrival(folder: Path) -> float:
    """Seconds until the last row in bursts is there: nobody has all results before, and a batch join begins then."""
    files = enumerate(files_of(folder).values())
    return max(float(arrival_times(bursts(file), rows_of(file), seed)[-1]) for seed, file in files)


def ours(spark: "SparkSession", folder: Path, work: Path, streams: Streams) -> Run:
    import sooner.spark as ss

    rows = ss.multijoin(streams(spark, folder), on=EQUAL, memory="4GB", state=work / "state")
    writer = ss.sinks.parquet(rows, str(work / "out")).option("checkpointLocation", str(work / "checkpoint"))
    seen: list[tuple[float, int]] = []
    began = time.perf_counter()
    query = ss.start(
        writer, listener=lambda progress: seen.append((time.perf_counter() - began, progress.total.results))
    )
    query.awaitTermination()
    ended = time.perf_counter() - began
    assert query.is_complete
    return {"seconds": {**reached(seen, seen[-1][1]), "end": ended}, "batches": len(seen)}


def split_files(spark: "SparkSession", folder: Path, work: Path) -> dict[str, "DataFrame"]:
    """Streams of Spark's own; a large file is cut, so that its rows come in several batches."""
    frames = {}
    for name, file in files_of(folder).items():
        rows, there = spark.read.parquet(str(file)), str(work / name)
        rows.repartition(STREAMED_FILES if rows_of(file) > ROW_GROUP else 1).write.parquet(there)
        frames[name] = spark.readStream.schema(rows.schema).option("maxFilesPerTrigger", 1).parquet(there)
    return frames


def chain(spark: "SparkSession", folder: Path, work: Path, frames: Mapping[str, "DataFrame"], patience: float) -> Run:
    """Or what it has until it is given up."""
    from pyspark.sql import functions as F  # noqa: N812

    expected = rows_of(folder / "lineitem.parquet")
    rows = joined(frames).observe("found", F.count("*").alias("results"))
    with rocksdb_at_its_best(spark):
        writer = rows.writeStream.format("parquet").option("checkpointLocation", str(work / "checkpoint"))
        began = time.perf_counter()
        query = writer.start(str(work / "out"))
        of_batches: dict[int, int] = {}  # Spark remembers the last hundred of them
        seen = [(0.0, 0)]
        while query.isActive and seen[-1][1] < expected and time.perf_counter() - began < patience:
            time.sleep(POLL_SECONDS)
            done = [one for one in query.recentProgress if "found" in one["observedMetrics"]]
            of_batches |= {one["batchId"]: one["observedMetrics"]["found"]["results"] for one in done}
            seen.append((time.perf_counter() - began, sum(of_batches.values())))
        failure = query.exception()
        query.stop()
    if failure is not None:
        return {"failed": str(failure).splitlines()[0], "complete": False}
    seconds, results = seen[-1]
    marks = {**reached(seen, expected), "end": seconds}
    return {"results": results, "complete": results == expected, "seconds": marks, "batches": len(of_batches)}


@contextmanager
def rocksdb_at_its_best(spark: "SparkSession") -> Iterator[None]:
    from spark_join import AT_ITS_BEST

    for setting, value in AT_ITS_BEST.items():
        spark.conf.set(setting, value)
    try:
        yield
    finally:
        for setting in AT_ITS_BEST:
            spark.conf.unset(setting)


def on_spark(folder: Path, rounds: int, patience: float) -> tuple[list[dict[str, Any]], Runs]:
    import sooner.spark as ss

    spark = ss.local_session("local[2]", spark__driver__memory="8g")

    def measured(run: Callable[[Path], Run], name: str) -> Run:
        work = Path(tempfile.mkdtemp(prefix="sooner-benchmark-"))
        try:
            found = run(work)
            if "results" not in found and "failed" not in found:
                found["results"] = spark.read.parquet(str(work / "out")).count()
        finally:
            shutil.rmtree(work, ignore_errors=True)
        report(name, [found])
        return found

    in_turns: dict[str, Callable[[Path], Run]] = {
        BATCH: lambda work: batch_join(spark, folder, work),
        OURS: lambda work: ours(spark, folder, work, at_full_speed),
    }
    once: dict[str, Callable[[Path], Run]] = {
        f"{OURS}, bursts": lambda work: ours(spark, folder, work, in_bursts),
        CHAIN: lambda work: chain(spark, folder, work, split_files(spark, folder, work), patience),
        f"{CHAIN}, bursts": lambda work: chain(spark, folder, work, in_bursts(spark, folder), patience),
    }
    runs: Runs = {name: [] for name in (*in_turns, *once)}
    for number in range(rounds + 1):
        for name, run in in_turns.items():
            found = measured(run, name if number else f"({name})")
            runs[name] += [found] if number else []
    for name, run in once.items():
        of_bursts = {"last_arrival_seconds": last_arrival(folder)} if name.endswith("bursts") else {}
        runs[name].append(measured(run, name) | of_bursts)
    return claims_on_spark(runs), runs


def claims_on_spark(runs: Runs) -> list[dict[str, Any]]:
    counts = {run["results"] for some in runs.values() for run in some if run.get("complete", True)}
    ratio = local.median(runs[OURS], "end") / local.median(runs[BATCH], "end")
    return [
        claim("on Spark all that are complete give the same number of results", 1, len(counts), len(counts) == 1),
        claim("on Spark, complete: times Spark's batch join", "<= 1", round(ratio, 2), ratio <= 1),
    ]


PARTS = ("process", "statistics", "state", "spark")


def run_alone(what: str, arguments: list[Any]) -> Run:
    if what == "engine":
        return run_engine(Engine(*arguments[0]), Path(arguments[1]))
    manner, folder, is_little = arguments
    return run_state(manner, Path(folder), is_little)


def run_part(part: str, folder: Path, options: argparse.Namespace) -> tuple[list[dict[str, Any]], Runs]:
    few = part in ("process", "statistics")  # take few seconds
    rounds = (BRIEF_ROUNDS if few else 1) if options.brief else options.rounds
    if part == "process":
        return in_process(folder, rounds, options.limits)
    if part == "statistics":
        return cost_of_statistics(folder, rounds)
    if part == "state":
        return state(folder, rounds)
    return on_spark(folder, rounds, options.patience)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the measurements to this file")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--scale", type=float, default=1.0, help="of TPC-H, and of the state's inputs (default: 1)")
    parser.add_argument("--rounds", type=int, default=5, help="that count (default: 5)")
    parser.add_argument("--limits", type=int, nargs="*", default=LIMITS, help="of memory, in MB, for both in process")
    parser.add_argument("--patience", type=float, default=300, help="seconds until Spark's chain is given up")
    parser.add_argument("--brief", action="store_true", help="3 rounds in process, one of the others: about 8 minutes")
    parser.add_argument("--even-if-busy", action="store_true", help="go on if the machine is busy, to try it out")
    parser.add_argument("--alone", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        print(json.dumps(run_alone(options.alone[0], json.loads(options.alone[1]))))
        return
    if options.brief:
        options.patience = min(options.patience, BRIEF_PATIENCE)
    found: list[dict[str, Any]] = []
    series: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="sooner-benchmark-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        write_tables(folder, options.scale)
        write_many_to_many(folder, options.scale)
        for part in options.parts:
            seconds = busy_seconds()
            print(f"{part}: DuckDB takes {seconds:.2f} s for 5 M x 5 M rows", flush=True)
            if seconds > BUSY_SECONDS and not options.even_if_busy:
                sys.exit(f"The machine is busy: {BUSY_SECONDS} s is the most. Try again, or with --even-if-busy.")
            claims, runs = run_part(part, folder, options)
            found += claims
            series[part] = {"busy_seconds": seconds, "runs": runs}
    for one in found:
        print(f"{'holds' if one['holds'] else 'FAILS'}: {one['what']}: {one['ours']} (bar: {one['expected']})")
    if options.json:
        write_report(options.json, "multi_join", f"many inputs at once, TPC-H scale {options.scale:g}", found, series)


if __name__ == "__main__":
    main()
