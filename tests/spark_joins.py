"""Joins on real Spark for tests: tables in, a query run to its end, its output beside Spark's own batch join.

The streams are Spark's own file source, one file of each side a batch: it starts sooner than a source in Python. It
never ends, so that the case says so itself once all rows have arrived. A side may come from our source instead, packed
or, when Spark computes a column of it, not.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import and_
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark import SparkContext, TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import coalesce, col, expr
from pyspark.sql.types import StructType

import sooner.spark as ss
from patience import HANG_SECONDS, until
from sooner.how import Kind, kind_of
from sooner.operators.two_way.plan import INPUTS
from sooner.sides import SIDES
from sooner.spark.dataflow.endings import note_end
from sooner.spark.shuffle.shared_columns import quoted
from sooner.spark.step.state_directory import stored_identity

# Tests end before thorough compilation pays, and Spark's classes are sound. With simple compilation alone Java keeps
# 48 MB of compiled code, which a session of many tests fills: it would then compile again what it has thrown away.
QUICK_START = (
    "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC "
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)
QUICK_BATCHES = {
    "spark__sql__codegen__wholeStage": "false",  # as `sooner demo` has it; a submitted program has not
    "spark__sql__streaming__pollingDelay": "50ms",  # a query that waits looks for files a hundred times a second else
    "spark__buffer__pageSize": "1m",  # of 32 MB else, for rows that take kilobytes
}
NAMES = ("left", "right")
Rows = Counter[tuple[str, ...]]
_SCHEMAS: dict[pa.Schema, StructType] = {}
Way = Literal["Spark's source", "packed", "not packed"]


def skewed(rows: int, keys: int, seed: int, value: str) -> pa.Table:
    """Few keys have many rows, with about five results for each row; the row's number makes each row another."""
    rng = np.random.default_rng(seed)
    return pa.table({"k": (keys * rng.random(rows) ** 2).astype(np.int64), value: np.arange(rows)})


@dataclass
class JoinCase:
    """Two tables on disk, how to join them, and where the query keeps its things."""

    spark: SparkSession
    folder: Path
    left: pa.Table
    right: pa.Table
    batches: int = 4
    arguments: dict[str, Any] = field(default_factory=dict)
    ways: tuple[Way, Way] = ("Spark's source", "Spark's source")  # in which the rows of each side come
    near: str | None = None  # of a range join: what must hold of l and r, in Spark's words
    progress: list[ss.JoinProgress] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name, table in zip(NAMES, (self.left, self.right), strict=True):
            if not (self.folder / name).exists():
                write_files(table, self.folder / name, self.batches)

    @property
    def state(self) -> str | Path:
        state: str | Path = self.arguments.get("state", self.folder / "state")
        return state

    @property
    def output(self) -> Path:
        return self.folder / "output"

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    @property
    def on(self) -> tuple[list[str], list[str]]:
        both = self.arguments.get("on", "k")
        left, right = (self.arguments.get(f"{name}_on", both) for name in NAMES)
        by = _listed(self.arguments.get("by") or [])
        return _listed(left) + by, _listed(right) + by

    def streams(self) -> tuple[DataFrame, DataFrame]:
        left, right = (self._stream(name, way) for name, way in zip(NAMES, self.ways, strict=True))
        return left, right

    def _stream(self, name: str, way: Way) -> DataFrame:
        if way == "Spark's source":
            return stream_of(self.spark, self.folder / name)
        rows_per_batch = -(-max(self.left.num_rows, self.right.num_rows) // self.batches)
        rows = ss.sources.parquet(self.spark, str(self.folder / name), rows_per_batch=rows_per_batch)
        first, *others = (col(quoted(column)) for column in rows.columns)
        return rows if way == "packed" else rows.select(coalesce(first, first).alias(rows.columns[0]), *others)

    def joined(self, **changes: Any) -> DataFrame:
        defaults: dict[str, Any] = {"partitions": 2, "memory": "128KB", "state": self.state}
        if "left_on" not in self.arguments:
            defaults["on"] = "k"
        return ss.join(*self.streams(), **defaults | self.arguments | changes)

    def start(self, then: Callable[[DataFrame], DataFrame] | None = None, **changes: Any) -> ss.Query:
        joined = self.joined(**changes)
        rows = joined if then is None else then(joined)
        writer = rows.writeStream.format("parquet").option("checkpointLocation", str(self.checkpoint))
        return ss.start(writer, str(self.output), listener=self.listen)

    def listen(self, progress: ss.JoinProgress) -> None:
        """Say of each side that it has ended when all its rows are there."""
        self.progress.append(progress)
        identity = stored_identity(str(self.state))
        assert identity is not None
        for side in SIDES:
            if progress.total.arrived_rows[side] == self.whole_rows(side):
                note_end(str(self.state), INPUTS[side], identity["query"])

    @property
    def kind(self) -> Kind:
        return kind_of(self.arguments.get("how", "inner"))

    def whole_rows(self, side: int) -> int:
        """Rows that arrive: those without a null in what is compared, and others only where they are wanted."""
        table = (self.left, self.right)[side]
        if side in self.kind.unmatched:
            return table.num_rows
        return _whole(table, self.on[side], nan_is_none=self.near is not None)

    def run(self, **changes: Any) -> ss.Query:
        """To its end."""
        query = self.start(**changes)
        ended(query)
        assert query.is_complete
        return query

    def written(self) -> Rows:
        return rows_of(self.spark.read.parquet(str(self.output)))

    def expected(self, how: str | None = None) -> Rows:
        return rows_of(self.spark_join(how))

    def spark_join(self, how: str | None = None) -> DataFrame:
        """Spark's batch join of the same files, with its own columns in its own order; some names are others."""
        left, right = (batch_of(self.spark, self.folder / name) for name in NAMES)
        left_on, right_on = self.on
        how = how or self.kind.name
        if self.near is not None:
            return self._spark_range_join(left, right, how)
        # Names that both have are given away first: neither side may be ambiguous.
        shared = left_on if left_on == right_on else []
        right = right.toDF(*(name if name in shared else f"right {name}" for name in right.columns))
        if shared:
            return left.join(right, on=shared, how=how)
        keys = [left[quoted(a)] == right[quoted(f"right {b}")] for a, b in zip(left_on, right_on, strict=True)]
        return left.join(right, on=reduce(and_, keys), how=how)

    def _spark_range_join(self, left: DataFrame, right: DataFrame, how: str) -> DataFrame:
        """A column that must be equal comes once, and first."""
        by = self.arguments.get("by")
        condition = f"{self.near} and l.{by} = r.{by}" if by else f"{self.near}"
        joined = left.alias("l").join(right.alias("r"), on=expr(condition), how=how)
        if how in ("semi", "anti"):
            return joined
        named = (("l", left), ("r", right))
        others = [f"{side}.{name} as {side}_{name}" for side, rows in named for name in rows.columns if name != by]
        return joined.selectExpr(*([f"coalesce(l.{by}, r.{by})"] if by else []), *others)

    def run_until_batch(self, batch: int, **changes: Any) -> ss.Query:
        """Stop it there, or a little later."""
        query = self.start(**changes)

        def is_there() -> bool:
            return bool(self.progress) and self.progress[-1].batch >= batch

        until(lambda: is_there() or not query.isActive, "the batch does not come")
        query.stop()
        assert not query.is_complete
        return query

    @property
    def most_spilled_rows(self) -> int:
        return max(progress.total.spilled_rows for progress in self.progress)


def failing_once_in(batches: set[int]) -> Callable[[DataFrame], DataFrame]:
    """Tasks take all that the join gives, and fail the first time in these batches."""

    def take_all(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        taken = list(rows)
        context = TaskContext.get()
        assert context is not None
        if int(context.getLocalProperty("streaming.sql.batchId") or 0) in batches and context.attemptNumber() == 0:
            raise RuntimeError("lost on the way")
        yield from taken

    return lambda joined: joined.mapInArrow(take_all, joined.schema)


def killable_session(master: str) -> SparkSession:
    """Of a driver in a process of its own, which says first of all what its Java is."""
    quick = {f"spark__{role}__extraJavaOptions": QUICK_START for role in ("driver", "executor")}
    spark = ss.local_session(master, spark__driver__memory="1g", **quick, **QUICK_BATCHES)
    print(json.dumps({"java": SparkContext._gateway.proc.pid}), flush=True)  # type: ignore[union-attr] # noqa: T201
    return spark


def start_driver(folder: Path, program: ModuleType, *arguments: object) -> tuple["subprocess.Popen[str]", int]:
    """In a process group of its own, and so is its Java, whose number is the second."""
    with (folder / "errors").open("a") as errors:
        driver = subprocess.Popen(
            [sys.executable, str(program.__file__), str(folder), *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
    assert driver.stdout is not None
    first = driver.stdout.readline()
    assert first, (folder / "errors").read_text()[-2000:]
    return driver, int(json.loads(first)["java"])


def write_files(table: pa.Table, folder: Path, files: int) -> None:
    folder.mkdir()
    per_file = -(-table.num_rows // files)
    for number in range(files):
        path = folder / f"{number:03}.parquet"
        pq.write_table(table.slice(number * per_file, per_file), path)
        os.utime(path, (number, number))  # Spark reads the oldest first


def stream_of(spark: SparkSession, folder: Path, files_per_batch: int = 1) -> DataFrame:
    schema = schema_of(spark, folder)
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", files_per_batch).parquet(str(folder))


def batch_of(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.read.schema(schema_of(spark, folder)).parquet(str(folder))


def schema_of(spark: SparkSession, folder: Path) -> StructType:
    """As Spark reads it: it starts a job for that, so that of files of one kind the first are asked."""
    columns = pq.read_schema(next(folder.glob("*.parquet"))).remove_metadata()
    if columns not in _SCHEMAS:
        _SCHEMAS[columns] = spark.read.parquet(str(folder)).schema
    return _SCHEMAS[columns]


def ended(query: ss.Query) -> None:
    assert query.awaitTermination(HANG_SECONDS), f"still running: {query.progress}"


def rows_of(rows: DataFrame) -> Rows:
    """As a multiset; values as text, so that NaN equals NaN."""
    table = rows.toArrow()
    columns = [[repr(value) for value in column.to_pylist()] for column in table.columns]
    return Counter(zip(*columns, strict=True))


def _whole(table: pa.Table, keys: Sequence[str], nan_is_none: bool) -> int:
    valid = pa.array(np.ones(table.num_rows, np.bool_))
    for key in keys:
        column = table.column(key).combine_chunks()
        is_number = nan_is_none and pa.types.is_floating(column.type)
        valid = pc.and_(valid, pc.invert(pc.is_null(column, nan_is_null=is_number)))
    return int(pc.sum(valid).as_py() or 0)


def _listed(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)
