"""Where a master table comes from on Spark: whatever it is, a streaming DataFrame that ends."""

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as arrow_parquet
from pyspark.sql import DataFrame, SparkSession

from sooner.errors import InvalidCall, InvalidJoin
from sooner.runs.custody.private_files import create, make_directory
from sooner.sources.opening import open_source
from sooner.sources.source import Source
from sooner.spark.joins.static_inputs import COMPLETE, copied, require_same_columns, write_rows
from sooner.spark.shuffle.shared_columns import quoted
from sooner.spark.sources.delta_changes import delta_changes
from sooner.spark.sources.parquet_files import find_parquet, is_delta, newest_version
from sooner.spark.sources.parquet_source import parquet
from sooner.spark.step.state_directory import open_state

VERSION: Final = "master-version.json"  # in the state, of a Delta table
COPY: Final = "master"  # the folder in the state with the rows of a master that is not in files of its own
ROWS_IN_GROUP: Final = 2**18
BATCH_BYTES: Final = 256 * 2**20

Kept = Callable[[Sequence[str]], list[str]]  # which of the master's columns are needed


def master_stream(spark: SparkSession, master: object, kept: Kept, location: str) -> DataFrame:
    """The rows of the master as a stream that ends, with the columns that are needed.

    A table that is in no Parquet files is first written to some, in the state: rows that are read again after a crash
    must be the same.
    """
    if isinstance(master, DataFrame):
        if master.isStreaming:
            return _only(master, kept)
        rows = _only(master, kept)
        return _copied(spark, location, rows.columns, write_rows(rows))
    if isinstance(master, str | Path):
        try:
            version = _pinned_version(str(master), location) if is_delta(str(master)) else None
            return _only(_in_large_batches(spark, str(master), version), kept)
        except InvalidCall as error:
            raise InvalidJoin(f"master={str(master)!r}: {error}.") from error
    source = open_source(master, "master")
    names = kept(source.schema.names)
    return _copied(spark, location, names, partial(_write, source, names))


def changes_of(spark: SparkSession, master: object, location: str) -> DataFrame:
    """What changes in a Delta table after the version that this state was made with."""
    if not isinstance(master, str | Path) or not is_delta(str(master)):
        raise InvalidJoin("follow=True is for a master that is the path of a Delta table; of others give changes=.")
    return delta_changes(spark, str(master), after=_pinned_version(str(master), location))


def _only(rows: DataFrame, kept: Kept) -> DataFrame:
    names = kept(rows.columns)
    return rows if names == rows.columns else rows.select(*map(quoted, names))


def _copied(spark: SparkSession, location: str, names: Sequence[str], write: Callable[[str], Any]) -> DataFrame:
    """The rows from a folder in the state, to which they are written if they are not there as a whole."""
    rows = _in_large_batches(spark, copied(location, COPY, write))
    require_same_columns(location, "master", rows.columns, names)
    return rows


def _pinned_version(path: str, location: str) -> int:
    """The version of a Delta table that this state was made with; of a new state the newest, which it keeps."""
    filesystem, folder = open_state(location)
    file = f"{folder}/{VERSION}"
    if filesystem.get_file_info(file).type == pafs.FileType.File:
        with filesystem.open_input_stream(file) as saved:
            return int(json.loads(saved.read())["version"])
    version = newest_version(path)
    make_directory(filesystem, folder)
    with create(filesystem, file) as new:
        new.write(json.dumps({"version": version}).encode())
    return version


def _in_large_batches(spark: SparkSession, path: str, version: int | None = None) -> DataFrame:
    """Nothing comes out before the last of its rows is there, and each batch has its price."""
    row_bytes = find_parquet(path, None, version).row_bytes
    return parquet(spark, path, rows_per_batch=max(1, int(BATCH_BYTES / max(row_bytes, 1))), version=version)


def _write(source: Source, names: list[str], location: str) -> None:
    filesystem, path = open_state(location)
    schema = pa.schema([source.schema.field(name) for name in names])
    filesystem.create_dir(path, recursive=True)
    with arrow_parquet.ParquetWriter(f"{path}/rows.parquet", schema, filesystem=filesystem) as file:
        for batch in source.batches():
            file.write_batch(batch.select(names), row_group_size=ROWS_IN_GROUP)
    with filesystem.open_output_stream(f"{path}/{COMPLETE}"):
        pass
