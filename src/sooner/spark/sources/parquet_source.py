"""`sooner.parquet`: Parquet files as a stream that ends.

An offset is the number of rows read so far, in the order of `row_order`, beside what must not change for it to mean the
same rows again: the files and the order.

    {"row": 200000, "rows": 6001215, "files": "1f0c...", "order": "random 7", "ended": false}
"""

# ruff: noqa: N802 - the names of methods are Spark's

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from sooner.errors import InvalidCall, SourceFailed
from sooner.spark.interop.spark_types import arrow_schema, spark_schema
from sooner.spark.session.versions import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow, reader_for_this_spark
from sooner.spark.shuffle.packing import OPTION as PACKING
from sooner.spark.shuffle.packing import PACKED_ROWS, Packing
from sooner.spark.sources import options as option
from sooner.spark.sources.batch_sizes import growing, most_rows, tasks_for
from sooner.spark.sources.loading import load_stream, tasks_of
from sooner.spark.sources.parquet_files import ParquetInput, find_parquet
from sooner.spark.sources.parquet_rows import ParquetShare, read_blocks, read_share
from sooner.spark.sources.row_order import NumberedRows, Order

TASKS = 2


class ParquetOptions:
    """What the user chose, checked."""

    known: ClassVar[tuple[str, ...]] = (
        "path", "columns", "order", "seed", "rows_per_batch", "partitions", "version", PACKING,
    )  # fmt: skip

    def __init__(self, options: Mapping[str, str], source: str = "sooner.parquet") -> None:
        option.only_known(options, self.known, source)
        self.path = option.required(options, "path", "a Parquet file, a directory of them or a pattern")
        self.columns = option.names(options, "columns")
        self.order = _order(options.get("order", "file"))
        self.seed = option.whole_number(options, "seed", 0)
        self.rows_per_batch = option.at_least(options, "rows_per_batch", 1, 0) or None
        self.partitions = option.at_least(options, "partitions", 1, TASKS)
        version = option.at_least(options, "version", 0, -1)  # of a Delta table
        self.version = None if version < 0 else version
        self.packing = Packing.chosen(options)

    @property
    def described_order(self) -> str:
        """The order, as an offset says it."""
        return "file" if self.order == "file" else f"random {self.seed}"


class ParquetDataSource(DataSource):
    """The format `sooner.parquet`."""

    @classmethod
    def name(cls) -> str:
        """What `format()` takes."""
        return "sooner.parquet"

    @property
    def chosen(self) -> ParquetOptions:
        return ParquetOptions(self.options)

    def schema(self) -> StructType:
        """Spark's types of the chosen columns."""
        chosen = self.chosen
        if chosen.packing is not None:
            return PACKED_ROWS
        return spark_schema(find_parquet(chosen.path, chosen.columns, chosen.version).schema, chosen.path)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """What Spark asks for offsets and rows."""
        return reader_for_this_spark(ParquetStreamReader(self.chosen, schema))


class ParquetStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets on the driver, rows in the tasks. Footers are read once in a run."""

    def __init__(self, chosen: ParquetOptions, schema: StructType) -> None:
        self._chosen = chosen
        self._schema = schema

    def initialOffset(self) -> dict[str, Any]:
        """Before the first row."""
        return self._offset(0, ended=False)

    def getDefaultReadLimit(self) -> ReadLimit:
        """A batch has no more rows than the user said, or than weigh too much together."""
        sampled = None if self._chosen.packing is None else self._chosen.packing.sampled
        memory = 0 if sampled is None else sampled.memory_bytes
        return ReadMaxRows(self._chosen.rows_per_batch or most_rows(self._input.row_bytes, memory_for_sums=memory))

    def prepareForTriggerAvailableNow(self) -> None:
        """All rows are there from the start."""

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Where the batch that begins at `start` ends."""
        self._require_same_input(start)
        if start["ended"]:
            return start
        end = self._numbered.rows
        if isinstance(limit, ReadMaxRows):
            rows = growing(start["row"], limit.max_rows, self._input.row_bytes)
            end = self._numbered.batch_end(start["row"], rows)
        return self._offset(end, ended=end == self._numbered.rows)

    def reportLatestOffset(self) -> dict[str, Any]:
        """The end of the input."""
        return self._offset(self._numbered.rows, ended=True)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """One share for each task."""
        self._require_same_input(start)
        self._require_same_input(end)
        files, first_row, last_row = self._input.files, start["row"], end["row"]
        tasks = tasks_for(last_row - first_row, self._input.row_bytes, self._chosen.partitions)
        return [
            ParquetShare(
                self._chosen.path,
                [(files[piece.row_group.file], piece) for piece in self._numbered.pieces(first, share_end)],
            )
            for first, share_end in self._numbered.shares(first_row, last_row, tasks)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one share; runs in a task."""
        assert isinstance(partition, ParquetShare)
        chosen, packing = self._chosen, self._chosen.packing
        if packing is None:
            return read_share(partition, arrow_schema(self._schema), chosen.order, chosen.seed)
        if chosen.order == "random":
            encoded = packing.takes_dictionaries
            blocks = read_blocks(partition, packing.source, chosen.order, chosen.seed, encoded=encoded)
            return packing.packed_blocks(blocks)
        return packing.packed(read_share(partition, packing.source, chosen.order, chosen.seed))

    @cached_property
    def _input(self) -> ParquetInput:
        return find_parquet(self._chosen.path, self._chosen.columns, self._chosen.version)

    @cached_property
    def _numbered(self) -> NumberedRows:
        return NumberedRows(self._input.row_groups, self._chosen.order, self._chosen.seed)

    @cached_property
    def _files(self) -> str:
        return self._input.fingerprint

    def _offset(self, row: int, *, ended: bool) -> dict[str, Any]:
        return {
            "row": row,
            "rows": self._numbered.rows,
            "files": self._files,
            "order": self._chosen.described_order,
            "ended": ended,
        }

    def _require_same_input(self, offset: Mapping[str, Any]) -> None:
        path = self._chosen.path
        if offset["order"] != self._chosen.described_order:
            raise SourceFailed(
                f"{path} was read in the order {offset['order']!r} and is asked for in the order "
                f"{self._chosen.described_order!r}; give the former again, or a new checkpoint"
            )
        if offset["files"] != self._files:
            raise SourceFailed(
                f"{path} has changed since the query started ({offset['rows']:,} rows then, "
                f"{self._numbered.rows:,} now), so that its offsets no longer mean the same rows; "
                "restore the files, or start over with a new checkpoint"
            )


def parquet(
    spark: SparkSession,
    path: str,
    *,
    rows_per_batch: int | None = None,
    order: Order = "file",
    seed: int = 0,
    columns: Sequence[str] | None = None,
    partitions: int | None = None,
    version: int | None = None,
) -> DataFrame:
    """A Parquet file, a directory of them, or a pattern, as a streaming DataFrame that ends.

    The first batch is small, so that results come at once, and each one then has several times the rows before it, up
    to `rows_per_batch`: by default a million, or 64 MB of them (of an estimate more). `order="random"` shuffles row
    groups, and which rows of each come first, by `seed`. `partitions` is how many tasks may read a batch: by default
    one for each core. `version` is for a Delta table: as of that one. Paths are local to every worker, or URIs of a
    filesystem that `pyarrow.fs` opens.
    """
    options = option.given(
        path=path,
        rows_per_batch=rows_per_batch,
        order=order,
        seed=seed,
        columns=columns,
        partitions=tasks_of(spark, partitions),
        version=version,
    )
    return load_stream(spark, ParquetDataSource, options)


def _order(text: str) -> Order:
    match text:
        case "file" | "random":
            return text
    raise InvalidCall(f"order is {text!r}; give 'file' or 'random'")
