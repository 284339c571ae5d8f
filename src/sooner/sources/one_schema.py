"""Several files as one input: the columns of all, and those that the names of their folders add.

All files have the same columns, in any order. Where types differ they widen as Arrow widens them (int32 to int64,
integers to doubles, nothing but nulls to anything). What folders say are whole numbers, dates or texts.

Not covered: columns that only some files have. A `pyarrow.dataset.Dataset` has nulls there.
"""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from sooner.errors import InvalidCall
from sooner.sources.paths import File


def schema_of_all(
    files: Sequence[File], schemas: Sequence[pa.Schema], name: str, *, nulls_where_missing: bool = False
) -> pa.Schema:
    """Of one file its own, with its metadata; of several what has the values of all."""
    known, first = schemas[0], files[0]
    for file, schema in zip(files[1:], schemas[1:], strict=True):
        if schema.equals(known):
            continue
        if not nulls_where_missing:
            _require_columns(known, first, schema, file, name)
            _require_columns(schema, file, known, first, name)
        shared = [_wide_enough(column, schema, first, file, name) for column in known]
        known = pa.schema([*shared, *(column for column in schema if column.name not in known.names)], known.metadata)
    return known


def with_folders(schema: pa.Schema, files: Sequence[File], name: str) -> tuple[pa.Schema, list[dict[str, Any]]]:
    """The columns of files and of their folders, and the values of the latter for each file."""
    keys = list(files[0].of_folder)
    for file in files:
        if list(file.of_folder) != keys:
            raise InvalidCall(
                f"{name}: the folders of {file.address} say {_said(file)}, those of {files[0].address} say "
                f"{_said(files[0])}; give files whose folders say the same"
            )
    values = {key: _typed([file.of_folder[key] for file in files]) for key in keys}
    for key, column in values.items():
        if (at := schema.get_field_index(key)) >= 0:  # writers may leave it in the files, too
            schema = schema.remove(at)
        schema = schema.append(pa.field(key, column.type))
    return schema, [{key: column[at].as_py() for key, column in values.items()} for at in range(len(files))]


def columns_to_read(schema: pa.Schema, in_file: pa.Schema, of_folder: Mapping[str, object]) -> list[str]:
    """Those of this schema that are in a file; one at least, or nobody would know how many rows there are."""
    names = [name for name in schema.names if name in in_file.names and name not in of_folder]
    return names or in_file.names[:1]


def as_announced(batch: pa.RecordBatch, schema: pa.Schema, of_folder: Mapping[str, object]) -> pa.RecordBatch:
    """The batch with the columns of this schema, in its types and order; nulls where nothing is known."""
    columns = [
        batch.column(field.name).cast(field.type)
        if field.name in batch.schema.names and field.name not in of_folder
        else pa.repeat(pa.scalar(of_folder.get(field.name), field.type), batch.num_rows)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _require_columns(there: pa.Schema, of: File, schema: pa.Schema, file: File, name: str) -> None:
    for column in there.names:
        if column not in schema.names:
            raise InvalidCall(
                f"{name}: {file.address} has no column {column!r}, which {of.address} has; all files of an input have "
                "the same columns, or open them with pyarrow.dataset, which has nulls there"
            )


def _wide_enough(field: pa.Field, other: pa.Schema, first: File, file: File, name: str) -> pa.Field:
    if field.name not in other.names:
        return field
    if (times := other.names.count(field.name)) > 1:
        raise InvalidCall(f"{name}: {file.address} has {times} columns {field.name!r}; rename all but one")
    its = other.field(field.name)
    try:
        both = pa.unify_schemas([pa.schema([field]), pa.schema([its])], promote_options="permissive")
    except pa.ArrowTypeError:
        raise InvalidCall(
            f"{name}: column {field.name!r} is {its.type} in {file.address} and {field.type} in {first.address}; all "
            "files of an input have one schema, where only numbers may widen"
        ) from None
    return both.field(0)


def _said(file: File) -> str:
    return ", ".join(file.of_folder) or "nothing"


def _typed(values: Sequence[str | None]) -> pa.Array:
    for reads, type_ in _TYPES_OF_FOLDERS:
        try:
            return pa.array([None if value is None else reads(value) for value in values], type_)
        except (ValueError, pa.ArrowInvalid, OverflowError):
            continue
    return pa.array(values, pa.string())


def _whole_number(text: str) -> int:
    if not text.removeprefix("-").isdecimal():
        raise ValueError
    return int(text)


def _date(text: str) -> dt.date:
    if len(text) != len("2024-01-01"):
        raise ValueError
    return dt.date.fromisoformat(text)


_TYPES_OF_FOLDERS: Final[Sequence[tuple[Callable[[str], object], pa.DataType]]] = (
    (_whole_number, pa.int64()),
    (_date, pa.date32()),
)
