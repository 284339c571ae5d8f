"""Delimited text and JSON, streamed: a megabyte at a time, packed or not.

Types are guessed from the first megabyte; a later value of another type fails the source.

Not covered: fields of JSON that first appear later than that. They fail the source, too.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from sooner.sources.formats import are_json_lines, delimiter_in, is_json_array
from sooner.sources.json_items import ItemsAsLines
from sooner.sources.paths import File


@dataclass(frozen=True)
class DelimitedText:
    """Values between commas or other delimiters, below a line of names."""

    said: ClassVar[str] = "CSV"
    has_all_fields: ClassVar[bool] = True

    delimiter: str | None = None  # None: the one that is in the first line
    column_types: Mapping[str, pa.DataType] | None = None

    def schema(self, file: File) -> pa.Schema:
        with self._open(file, None, self.column_types) as reader:
            self._require_text(reader.schema)
            return reader.schema

    def _require_text(self, schema: pa.Schema) -> None:
        """Arrow gives what is no UTF-8 as bytes, which would meet no text."""
        for field in schema:
            if pa.types.is_binary(field.type) and field.name not in (self.column_types or {}):
                raise pa.ArrowInvalid(
                    f"column {field.name!r} is no text in UTF-8; convert the file, for example by iconv -f latin1 "
                    "-t utf-8, or take the column as bytes by sooner.sources.csv(..., column_types={name: pa.binary()})"
                )

    def batches(self, file: File, schema: pa.Schema, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        types = {field.name: field.type for field in schema}
        with self._open(file, columns, types) as reader:
            yield from reader

    @contextmanager
    def _open(
        self, file: File, columns: Sequence[str] | None, types: Mapping[str, pa.DataType] | None
    ) -> Iterator[pa.RecordBatchReader]:
        import pyarrow.csv as arrow_csv  # here, because most queries read no text

        parse = arrow_csv.ParseOptions(delimiter=self.delimiter or delimiter_in(file.beginning()) or ",")
        convert = arrow_csv.ConvertOptions(include_columns=columns, column_types=types)
        with file.open() as stream, arrow_csv.open_csv(stream, parse_options=parse, convert_options=convert) as reader:
            yield reader


@dataclass(frozen=True)
class JsonText:
    """JSON objects, one after the other or in an array."""

    said: ClassVar[str] = "JSON"
    has_all_fields: ClassVar[bool] = False

    def schema(self, file: File) -> pa.Schema:
        with self._open(file, None) as reader:
            return reader.schema

    def batches(self, file: File, schema: pa.Schema, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        with self._open(file, schema) as reader:
            for batch in reader:
                yield batch if columns is None else batch.select(columns)

    @contextmanager
    def _open(self, file: File, schema: pa.Schema | None) -> Iterator[pa.RecordBatchReader]:
        import pyarrow.json as arrow_json

        begin = file.beginning()
        is_array = is_json_array(begin)
        options = arrow_json.ParseOptions(
            explicit_schema=schema,
            newlines_in_values=not is_array and not are_json_lines(begin),
            unexpected_field_behavior="infer" if schema is None else "error",
        )
        with file.open() as stream:
            rows = ItemsAsLines(stream, file.address) if is_array else stream
            with arrow_json.open_json(rows, parse_options=options) as reader:
                yield reader
