"""Rows and batches that come one after the other: from generators, async ones too, readers of chunks, and lists.

A thread of its own takes what comes, so rows that are there never wait for those that are not; an async generator runs
there, in a loop of its own. The columns are those of the first item, so to open it is to wait for that; where a value
of it is null, a few more rows are waited for.

Not covered: to give a generator again after a query was refused. It has begun; call for a new one.
"""

import dataclasses
import datetime as dt
import itertools
import types
import typing
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from sooner.errors import InvalidCall, SourceFailed
from sooner.finalizing import Finalizer
from sooner.sources.cutting import cut
from sooner.sources.in_memory import TableSource
from sooner.sources.pump import Pump, PumpFailed
from sooner.sources.source import Source

_ROWS_AHEAD: Final = 8_192
_BATCHES_AHEAD: Final = 2
_ROWS_LOOKED_AT: Final = 1_000  # at most, until each column has a value
_TYPES: Final = {
    int: pa.int64(), float: pa.float64(), str: pa.string(), bool: pa.bool_(), bytes: pa.binary(), dt.date: pa.date32(),
}  # fmt: skip


class _Unfit(ValueError):  # noqa: N818 - whoever watches the source says which one it is
    """An item that cannot be among the rows."""


class ItemSource:
    """What a generator gives, once."""

    def __init__(self, name: str, schema: pa.Schema, pump: Pump) -> None:
        self.name = name
        self.schema = schema
        self._pump: Pump | None = pump
        self._end = Finalizer(self, pump.stop)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, as they come."""
        if self._pump is None:
            raise SourceFailed(f"source {self.name!r} is a generator: it can be read once, and it was read already")
        pump, self._pump = self._pump, None
        return cut(itertools.chain.from_iterable(batches_of(items, self.schema) for items in pump))

    def close(self) -> None:
        """Take no more."""
        self._end()


def rows(items: object, *, schema: pa.Schema | None = None, name: str = "rows") -> Source:
    """What gives rows (dicts or dataclasses) or batches: a list, an iterator, a generator or an async generator.

    Without a schema, columns and types are those of the first item, where dataclasses say more than values; a later
    value of another type fails the source.

    >>> source = rows({"k": n, "half": n / 2} for n in range(3))
    >>> [batch.to_pylist() for batch in source.batches()][-1][-1]
    {'k': 2, 'half': 1.0}
    """
    if isinstance(items, list | tuple):
        return TableSource(name, _table(items, schema, name))
    if not isinstance(items, Iterator | AsyncIterator):
        raise InvalidCall(f"{name} is a {type(items).__name__}; give a list, an iterator or a generator of rows")
    pump = Pump(items, f"sooner-read-{name}", room=1)
    try:
        schema = schema or _schema_ahead(pump, name)
        pump.make_room(_ROWS_AHEAD if not (first := pump.first(1)) or is_row(first[0]) else _BATCHES_AHEAD)
    except BaseException:
        pump.stop()
        raise
    return ItemSource(name, schema, pump)


def is_row(item: object) -> bool:
    return isinstance(item, Mapping) or (dataclasses.is_dataclass(item) and not isinstance(item, type))


def is_batch(item: object) -> bool:
    return hasattr(item, "__arrow_c_stream__") or hasattr(item, "__arrow_c_array__")


def batches_of(items: Sequence[object], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Rows that are there together are a batch."""
    for are_rows, some in itertools.groupby(items, is_row):
        if are_rows:
            yield _batch([_fields(row) for row in some], schema)
        else:
            yield from itertools.chain.from_iterable(_table_of(item, schema).to_batches() for item in some)


def _table(items: Sequence[object], schema: pa.Schema | None, name: str) -> pa.Table:
    """All items of a list."""
    if not items and schema is None:
        raise InvalidCall(f"{name} is empty, so nobody knows its columns; give pyarrow.table with a schema")
    try:
        if schema is None:
            schema = _schema_of_rows(items) if all(map(is_row, items)) else _table_of(items[0], None).schema
        return pa.Table.from_batches(batches_of(items, schema), schema)
    except (_Unfit, PumpFailed) as error:
        raise InvalidCall(f"{name}: {error}") from error


def _schema_ahead(pump: Pump, name: str) -> pa.Schema:
    try:
        items = pump.first(1)
        if not items:
            raise InvalidCall(
                f"{name} ended before its first row, so nobody knows its columns; say them: "
                "sooner.sources.rows(..., schema=pyarrow.schema(...))"
            )
        if not is_row(items[0]):
            return _table_of(items[0], None).schema
        pump.make_room(_ROWS_LOOKED_AT)
        schema, n_rows = _schema_of_rows(items), 1
        while any(map(pa.types.is_null, schema.types)) and n_rows == len(items) < _ROWS_LOOKED_AT:
            n_rows = min(2 * n_rows, _ROWS_LOOKED_AT)
            items = pump.first(n_rows)
            schema = _schema_of_rows(items)
        return schema
    except (_Unfit, PumpFailed) as error:
        raise InvalidCall(f"{name}: {error}") from error


def _schema_of_rows(items: Sequence[Any]) -> pa.Schema:
    """The fields of all rows, in the order in which they are seen."""
    of_rows = [_fields(row) for row in items]
    said = _types_of(type(items[0]))
    names = dict.fromkeys(itertools.chain.from_iterable(of_rows))
    fields = []
    for name in names:
        type_ = said.get(name)
        fields.append(pa.field(name, type_ or _column(name, [row.get(name) for row in of_rows], None).type))
    return pa.schema(fields)


def _types_of(kind: type) -> dict[str, pa.DataType]:
    """What a dataclass says of its fields, as far as one Arrow type is meant."""
    if not dataclasses.is_dataclass(kind):
        return {}
    try:
        hints = typing.get_type_hints(kind)
    except NameError:  # a name that is only there for checkers of types
        return {}
    plain = {name: _without_none(hint) for name, hint in hints.items()}
    return {name: _TYPES[hint] for name, hint in plain.items() if hint in _TYPES}


def _without_none(hint: Any) -> Any:
    if typing.get_origin(hint) not in (typing.Union, types.UnionType):
        return hint
    others = [one for one in typing.get_args(hint) if one is not type(None)]
    return others[0] if len(others) == 1 else hint


def _fields(row: Any) -> Mapping[str, Any]:
    if isinstance(row, Mapping):
        return row
    return {field.name: getattr(row, field.name) for field in dataclasses.fields(row)}


def _batch(of_rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.RecordBatch:
    names = set(schema.names)
    for row in of_rows:
        if not names.issuperset(row):
            new = next(name for name in row if name not in names)
            raise _Unfit(f"a row has a field {new!r}, which the first had not; {_CURE}")
    columns = [_column(field.name, [row.get(field.name) for row in of_rows], field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _column(name: object, values: list[Any], type_: pa.DataType | None) -> pa.Array:
    if not isinstance(name, str):
        raise _Unfit(f"a row has a field {name!r}; names of fields are texts")
    try:
        return _array(values, type_)
    except (pa.ArrowException, OverflowError, TypeError) as error:
        was = "" if type_ is None else f" is {type_} by the first rows, and then it"
        raise _Unfit(f"column {name!r}{was} cannot be one type ({error}); {_CURE}") from error


def _array(values: list[Any], type_: pa.DataType | None) -> pa.Array:
    """Of this type; but what does not fit it is no value of it, where PyArrow would cut 1.5 to a whole number."""
    try:
        found = pa.array(values)
    except (pa.ArrowException, OverflowError):  # there are types that no value has by itself, such as maps
        return pa.array(values, type_)
    if type_ is None or found.type == type_:
        return found
    found.cast(type_)
    return pa.array(values, type_)


def _table_of(item: Any, schema: pa.Schema | None) -> pa.Table:
    """A batch of any library; those of pandas may change their types from one to the next."""
    if not is_batch(item):
        raise _Unfit(f"an item is a {type(item).__name__}; give rows (dicts or dataclasses) or Arrow batches")
    table = pa.table(item) if not isinstance(item, pa.RecordBatch) else pa.Table.from_batches([item])
    if schema is None or table.schema == schema or table.schema.names != schema.names:
        return table
    try:
        return table.cast(schema)
    except pa.ArrowException as error:
        raise _Unfit(f"a batch has other types than the first: {error}; {_CURE}") from error


_CURE: Final = "give a schema: sooner.sources.rows(..., schema=pyarrow.schema(...))"
