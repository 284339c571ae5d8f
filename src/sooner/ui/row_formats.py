"""Rows as CSV, JSON, Parquet or Arrow, written as they come. In every format an unfinished answer is a whole file."""

import datetime as dt
import json
import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final, Protocol

import pyarrow as pa

ROW_GROUP: Final = 2**17  # rows: what comes is smaller, and a row group for each batch would be slow to read


class RowWriter(Protocol):
    """Takes batches of one schema."""

    def write_batch(self, batch: pa.RecordBatch) -> None: ...

    def close(self) -> None:
        """What was written is whole from then on."""


class CsvRows:
    """With a header line; lists and structs are written as JSON."""

    def __init__(self, sink: Any, schema: pa.Schema) -> None:
        import pyarrow.csv as arrow_csv

        self._nested = [at for at, field in enumerate(schema) if pa.types.is_nested(field.type)]
        for at in self._nested:
            schema = schema.set(at, schema.field(at).with_type(pa.string()))
        self._writer = arrow_csv.CSVWriter(sink, schema)
        self._schema = schema

    def write_batch(self, batch: pa.RecordBatch) -> None:
        columns = list(batch.columns)
        for at in self._nested:
            texts = (None if value is None else _json(value) for value in columns[at].to_pylist())
            columns[at] = pa.array(texts, pa.string())
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=self._schema))

    def close(self) -> None:
        self._writer.close()


class JsonRows:
    """An object for each row, in a line of its own, as they come."""

    def __init__(self, sink: Any, schema: pa.Schema) -> None:  # noqa: ARG002 - the contract
        self._sink = sink

    def write_batch(self, batch: pa.RecordBatch) -> None:
        self._sink.write("".join(_json(row) + "\n" for row in batch.to_pylist()).encode())

    def close(self) -> None: ...


class ParquetRows:
    """In row groups of many rows."""

    def __init__(self, sink: Any, schema: pa.Schema) -> None:
        import pyarrow.parquet as arrow_parquet

        self._writer = arrow_parquet.ParquetWriter(sink, schema)
        self._schema = schema
        self._held: list[pa.RecordBatch] = []

    def write_batch(self, batch: pa.RecordBatch) -> None:
        self._held.append(batch)
        if sum(one.num_rows for one in self._held) >= ROW_GROUP:
            self._write_group()

    def close(self) -> None:
        self._write_group()
        self._writer.close()

    def _write_group(self) -> None:
        if self._held:
            self._writer.write_table(pa.Table.from_batches(self._held, self._schema))
            self._held = []


FORMATS: Final[Mapping[str, Callable[[Any, pa.Schema], RowWriter]]] = {
    "csv": CsvRows,
    "json": JsonRows,
    "parquet": ParquetRows,
    "arrow": pa.ipc.new_stream,
}
ENDINGS: Final = {
    ".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".parquet": "parquet", ".arrow": "arrow",
    ".feather": "arrow",
}  # fmt: skip


def writer_of(format_: str, sink: Any, schema: pa.Schema, *, is_file: bool) -> RowWriter:
    """What writes such rows. Arrow has a form for files, which can be read anywhere, and one for streams."""
    if format_ == "arrow" and is_file:
        found: RowWriter = pa.ipc.new_file(sink, schema)
        return found
    return FORMATS[format_](sink, schema)


def _json(value: object) -> str:
    return json.dumps(_plain(value), ensure_ascii=False, separators=(", ", ": "))


def _plain(value: Any) -> Any:
    """In the types that JSON has: what is no number there is null, and what has digits that it might lose is a text."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {str(name): _plain(one) for name, one in value.items()}
        case list() | tuple():
            return [_plain(one) for one in value]
        case bytes():
            return value.decode(errors="backslashreplace")
        case dt.date() | dt.time():
            return value.isoformat()
        case Decimal() | dt.timedelta():
            return str(value)
    return value
