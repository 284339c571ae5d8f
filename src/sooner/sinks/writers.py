"""Rows as the bytes of a file: Parquet, Arrow, delimited text, lines of JSON."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

import pyarrow as pa

from sooner.errors import InvalidCall

_DIGITS_OF_DOUBLES: Final = 15


class Writer(Protocol):
    def write_table(self, table: pa.Table) -> None: ...

    def close(self) -> None: ...


MakeWriter = Callable[[pa.NativeFile, pa.Schema], Writer]


def parquet_writer(file: pa.NativeFile, schema: pa.Schema) -> Writer:
    from pyarrow.parquet import ParquetWriter

    return ParquetWriter(file, schema)  # type: ignore[no-any-return]


def arrow_writer(file: pa.NativeFile, schema: pa.Schema) -> Writer:
    return pa.ipc.new_file(file, schema)  # type: ignore[no-any-return]


def csv_writer(file: pa.NativeFile, schema: pa.Schema) -> Writer:
    from pyarrow.csv import CSVWriter

    return CSVWriter(file, schema)  # type: ignore[no-any-return]


def tsv_writer(file: pa.NativeFile, schema: pa.Schema) -> Writer:
    from pyarrow.csv import CSVWriter, WriteOptions

    return CSVWriter(file, schema, write_options=WriteOptions(delimiter="\t"))  # type: ignore[no-any-return]


class JsonWriter:
    """An object a line. Dates and times are texts as in ISO 8601, and what is no finite number is null."""

    def __init__(self, file: pa.NativeFile, schema: pa.Schema) -> None:
        self._file = file
        for field in schema:
            if pa.types.is_binary(field.type) or pa.types.is_large_binary(field.type):
                raise InvalidCall(f"column {field.name!r} is {field.type}, for which JSON has no form")

    def write_table(self, table: pa.Table) -> None:
        said = pa.table({name: _sayable(table.column(name)) for name in table.column_names})
        lines = (json.dumps(row, ensure_ascii=False, default=_in_words) + "\n" for row in said.to_pylist())
        self._file.write("".join(lines).encode())

    def close(self) -> None:
        """The file is closed by who opened it."""


WRITERS: Final[Mapping[str, MakeWriter]] = {
    ".parquet": parquet_writer,
    ".csv": csv_writer,
    ".tsv": tsv_writer,
    ".jsonl": JsonWriter,
    ".ndjson": JsonWriter,
    ".arrow": arrow_writer,
    ".feather": arrow_writer,
    ".ipc": arrow_writer,
}
PACK_THEMSELVES: Final = (parquet_writer, arrow_writer)


def require_writable(schema: pa.Schema, make: MakeWriter, what: str) -> None:
    """Refuse columns that such a file cannot have, by writing a row of nulls to nowhere."""
    for name in schema.names:
        if schema.names.count(name) > 1 and make is JsonWriter:
            raise InvalidCall(f"{what} cannot have {schema.names.count(name)} columns {name!r}; rename all but one")
    for field in schema:
        alone = pa.schema([field.with_nullable(True)])
        try:
            writer = make(pa.BufferOutputStream(), alone)
            writer.write_table(pa.table([pa.nulls(1, field.type)], schema=alone))
            writer.close()
        except (pa.ArrowException, InvalidCall) as error:
            raise InvalidCall(
                f"{what} cannot have the column {field.name!r}, which is {field.type}: {error}"
            ) from error


def _sayable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow.compute as pc

    if pa.types.is_floating(column.type):
        return pc.if_else(pc.is_finite(column), column, pa.scalar(None, column.type))
    if pa.types.is_decimal(column.type):
        return column.cast(pa.float64() if column.type.precision <= _DIGITS_OF_DOUBLES else pa.string())
    return column


def _in_words(value: Any) -> str:
    return str(value.isoformat()) if hasattr(value, "isoformat") else str(value)
