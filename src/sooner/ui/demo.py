"""`sooner demo`: two bursty inputs on Spark, a memory far smaller than they are, and results from the first seconds.

Orders and their lines, from TPC-H, are replayed on local Spark, in bursts with long pauses, while a sum over them is
estimated in process. In the end, what was written is compared with Spark's batch join of the same tables. Then the same
query runs in a driver of its own, which is killed in the middle, and goes on in this one.
"""

import math
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from rich.console import Console

import sooner.spark as ss
from sooner.budget import format_bytes
from sooner.runs.custody.shared_memory_directory import SHARED_MEMORY
from sooner.sources.arrival_patterns import ArrivalPattern, Fixed, ParetoBursts, Pauses, Seconds, arrival_times
from sooner.spark.joins.checking import LEAST_PARTITION_BYTES
from sooner.spark.session.session import end_local_session
from sooner.spark.sources import replay
from sooner.trace import read_trace
from sooner.ui.demo_estimate import EarlySum
from sooner.ui.demo_restart import Restart, results_when_killed
from sooner.ui.demo_summary import BatchJoin, Outcome, farewell, summarise
from sooner.ui.interrupts import Interrupts
from sooner.ui.milestones import Milestones
from sooner.ui.tpch import SCALE, Table, make_tables
from sooner.ui.watching import QUESTION_SECONDS, Watch

PARTITIONS: Final = 2
MEMORY_SHARE: Final = 4  # of all rows, one part in so many fits
LINES_SECONDS: Final = 4.0  # without the pauses
ORDERS_SECONDS: Final = 4.0
WARM_ROWS: Final = 100
RESTART_BATCHES: Final = 8  # of the query that is killed, whose rows are all there
# Such a short program ends before thorough compilation pays.
QUICK_START: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"


@dataclass(frozen=True)
class Stream:
    """A table, and how its rows arrive."""

    table: Table
    arrivals: ArrivalPattern
    seed: int
    speed: float = 1.0
    rows_per_batch: int | None = None

    def frame(self, spark: SparkSession) -> DataFrame:
        # In random order: TPC-H sorts both tables by the key, and they would walk in step.
        return replay(
            spark,
            str(self.table.file),
            self.arrivals,
            seed=self.seed,
            speed=self.speed,
            rows_per_batch=self.rows_per_batch,
            order="random",
            order_seed=self.seed,
            partitions=1,
        )

    @property
    def arrival_seconds(self) -> Seconds:
        """Of each row, since the first."""
        seconds: Seconds = arrival_times(self.arrivals, self.table.rows, self.seed) / self.speed
        return seconds


@dataclass(frozen=True)
class Demo:
    """A join of two streams, and where it keeps its things."""

    lines: Stream
    orders: Stream
    folder: Path
    shared_memory: Path

    @property
    def memory_bytes(self) -> int:
        rows_bytes = self.lines.table.n_bytes + self.orders.table.n_bytes
        return max(rows_bytes // MEMORY_SHARE, PARTITIONS * LEAST_PARTITION_BYTES)

    @property
    def trace(self) -> Path:
        return self.folder / "trace"

    @property
    def last_arrival(self) -> float:
        """Seconds from the first row to the last."""
        return float(max(stream.arrival_seconds[-1] for stream in (self.lines, self.orders)))

    def start(self, spark: SparkSession, listener: Callable[[ss.JoinProgress], None] | None = None) -> ss.Query:
        joined = ss.join(
            self.lines.frame(spark),
            self.orders.frame(spark),
            left_on="l_orderkey",
            right_on="o_orderkey",
            memory=self.memory_bytes,
            partitions=PARTITIONS,
            state=self.folder / "state",
            shared_memory=self.shared_memory,
            trace=self.trace,
        )
        writer = joined.writeStream.format("parquet").option("checkpointLocation", str(self.folder / "checkpoint"))
        return ss.start(writer, str(self.folder / "answer"), listener=listener)

    def written(self, spark: SparkSession) -> Row:
        return fingerprint(spark.read.parquet(str(self.folder / "answer")))

    def batch_join(self, spark: SparkSession) -> BatchJoin:
        """What Spark's batch join gives of the same tables, and how long that takes."""
        started = time.monotonic()
        lines, orders = (spark.read.parquet(str(stream.table.file)) for stream in (self.lines, self.orders))
        expected = fingerprint(lines.join(orders, lines.l_orderkey == orders.o_orderkey))
        return BatchJoin(time.monotonic() - started, expected)


def demo_to_be_killed(folder: Path, shared_memory: Path, tables: tuple[Table, Table]) -> Demo:
    """The same join without waiting for rows, in several batches."""
    lines, orders = (
        Stream(table, Fixed(0.0), seed, rows_per_batch=math.ceil(table.rows / RESTART_BATCHES))
        for seed, table in enumerate(tables)
    )
    return Demo(lines, orders, folder / "restarted", shared_memory)


def run_demo(
    console: Console, seed: int = 0, speed: float = 1.0, scale: float = SCALE, picture: Path | None = None
) -> bool:
    """Show the join as it happens; True if the answer is right. `picture` gets its curve as a PNG."""
    with Interrupts() as interrupts, _temporary_folders() as (folder, shared_memory):
        lines, orders = tables = make_tables(folder, scale)
        demo = Demo(
            Stream(lines, _bursts(lines.rows), seed, speed),
            Stream(orders, _pauses(orders.rows), seed + 1, speed),
            folder / "demo",
            shared_memory,
        )
        _introduce(console, demo)
        spark = start_spark(folder / "java")
        interrupts.raise_noted()
        _warm_up(spark, demo, folder, interrupts)
        watch = Watch(console, "lineitem x orders", demo.memory_bytes)
        query = demo.start(spark, watch.note)
        console.print(f"See it in a browser while it runs: {ss.dashboard(query).url}\n", soft_wrap=True)
        sum_of_it = EarlySum(demo.lines, demo.orders)
        watch.until_done(query, interrupts)
        batch_join = demo.batch_join(spark)
        outcome = Outcome(demo.last_arrival, batch_join, demo.written(spark), sum_of_it.answer())
        summarise(console, watch, outcome)
        if picture is not None:
            _draw(demo, watch, outcome, picture)
        again = demo_to_be_killed(folder, shared_memory, tables)
        console.print("\n[dim]Once more, in a driver that is killed in the middle (kill -9) ...[/dim]")
        results = results_when_killed([str(folder), str(shared_memory)], interrupts)
        restart = Restart(results, _seconds_to_go_on(spark, again, interrupts))
        same: bool = batch_join.answer == again.written(spark)
        farewell(console, restart, same)
        return same and outcome.right


def _draw(demo: Demo, watch: Watch, outcome: Outcome, picture: Path) -> None:
    from sooner.ui.demo_picture import Drawn, draw_demo  # here, because matplotlib takes a second to load

    draw_demo(
        Drawn(
            milestones=Milestones.of(read_trace(demo.trace), watch.started),
            label=f"sooner, {format_bytes(demo.memory_bytes)} of memory",
            arrivals={"order lines": demo.lines.arrival_seconds, "orders": demo.orders.arrival_seconds},
            batch_end=outcome.batch_end,
            percent_after=outcome.early.seconds,
        ),
        picture,
    )


def _seconds_to_go_on(spark: SparkSession, again: Demo, interrupts: Interrupts) -> float:
    """Run the rest of a query whose driver was killed; how long it takes to the end of the first batch."""
    started = time.monotonic()
    batch_ends: list[float] = []
    query = again.start(spark, lambda _: batch_ends.append(time.monotonic()))
    while not query.awaitTermination(QUESTION_SECONDS):
        interrupts.raise_noted()
    return batch_ends[0] - started


def fingerprint(rows: DataFrame) -> Row:
    """The number of rows, and a sum over hashes of all columns: equal for equal rows in any order."""
    checksum = F.sum(F.xxhash64(*sorted(rows.columns)).cast("decimal(38,0)"))
    found = rows.agg(F.count("*"), checksum).first()
    assert found is not None
    return Row(*found)


@contextmanager
def _temporary_folders() -> Iterator[tuple[Path, Path]]:
    """One on disk and one in shared memory; gone at the end, with the Spark that writes to them."""
    shared_memory = str(SHARED_MEMORY) if SHARED_MEMORY.is_dir() else None
    prefix = f"sooner-demo-{os.getpid()}-"  # should the process be killed, it can be seen whose they were
    with (
        tempfile.TemporaryDirectory(prefix=prefix) as on_disk,
        tempfile.TemporaryDirectory(prefix=prefix, dir=shared_memory) as in_memory,
    ):
        try:
            yield Path(on_disk), Path(in_memory)
        finally:
            end_local_session()


def _introduce(console: Console, demo: Demo) -> None:
    lines, orders = demo.lines.table, demo.orders.table
    console.print(
        f"[bold]sooner[/bold] joins {lines.rows:,} order lines with {orders.rows:,} orders of TPC-H on Spark while "
        "they arrive, in bursts with pauses. All rows together are "
        f"{format_bytes(lines.n_bytes + orders.n_bytes)}, the memory is {format_bytes(demo.memory_bytes)}.\n",
        soft_wrap=not console.is_terminal,
    )
    console.print("[dim]Starting Spark and warming it up ...[/dim]")


def start_spark(java: Path) -> SparkSession:
    """`java` is a folder for what Java leaves behind."""
    java.mkdir(exist_ok=True)
    settings = {
        "spark__driver__extraJavaOptions": f'{QUICK_START} "-Djava.io.tmpdir={java}"',
        "spark__local__dir": str(java),
        "spark__sql__warehouse__dir": str(java / "warehouse"),
        "spark__sql__codegen__wholeStage": "false",  # compiling takes longer than such small batches
    }
    # In a thread of its own: in the main thread PySpark would take Ctrl-C for itself.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(ss.local_session, **settings).result()


def _warm_up(spark: SparkSession, demo: Demo, folder: Path, interrupts: Interrupts) -> None:
    """Run the same query on a few rows: a Spark that has never run one takes many seconds for its first batch."""
    few = folder / "few"
    few.mkdir()
    lines, orders = (
        Stream(stream.table.head(WARM_ROWS, few / stream.table.file.name), Fixed(0.0), 0)
        for stream in (demo.lines, demo.orders)
    )
    query = Demo(lines, orders, few, demo.shared_memory).start(spark)
    Watch(Console(quiet=True), "", 0).until_done(query, interrupts)


def _bursts(rows: int) -> ArrivalPattern:
    return ParetoBursts(LINES_SECONDS / rows, max(rows / 6, 1), shortest_pause_seconds=1.2, shape=3.0)


def _pauses(rows: int) -> ArrivalPattern:
    return Pauses(Fixed(ORDERS_SECONDS / rows), every_rows=max(rows // 3, 1), seconds=2.0)
