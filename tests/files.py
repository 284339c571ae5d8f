"""Files of every format for tests, as other programs write them."""

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.feather as arrow_feather
import pyarrow.parquet as arrow_parquet

COMPRESSIONS = {"": None, ".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}


def _csv(table: pa.Table, sink: pa.NativeFile) -> None:
    arrow_csv.write_csv(table, sink)


def _tsv(table: pa.Table, sink: pa.NativeFile) -> None:
    arrow_csv.write_csv(table, sink, arrow_csv.WriteOptions(delimiter="\t"))


def _json_lines(table: pa.Table, sink: pa.NativeFile) -> None:
    sink.write("".join(json.dumps(row) + "\n" for row in table.to_pylist()).encode())


def _json_array(table: pa.Table, sink: pa.NativeFile) -> None:
    sink.write(json.dumps(table.to_pylist(), indent=1).encode())


WRITERS: dict[str, Callable[[pa.Table, pa.NativeFile], None]] = {
    ".parquet": lambda table, sink: arrow_parquet.write_table(table, sink, row_group_size=7_000),
    ".csv": _csv,
    ".tsv": _tsv,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".json": _json_array,
    ".arrow": arrow_feather.write_feather,
    ".feather": arrow_feather.write_feather,
    ".ipc": lambda table, sink: arrow_feather.write_feather(table, sink, compression="uncompressed"),
}


def write_file(table: pa.Table, file: Path, *, as_ending: str | None = None, compression: str | None = None) -> Path:
    """By the ending of its name, or as a file of another ending."""
    ending = as_ending or "".join(file.suffixes)
    format_, _, packed = ending[1:].partition(".")
    with pa.output_stream(file, compression=compression or COMPRESSIONS[f".{packed}" if packed else ""]) as sink:
        WRITERS[f".{format_}"](table, sink)
    return file
