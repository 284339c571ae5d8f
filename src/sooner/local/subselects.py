"""Rows that are those of other queries: of one inside of another, of several one after the other, or of one table."""

import itertools
from collections.abc import Iterator, Sequence

import pyarrow as pa

from sooner.errors import InvalidJoin
from sooner.kernels.keys import cast_without_loss, coalesced_type, common_type
from sooner.local.rows import Rows


class Subselect:
    """A query as an input of another: a source."""

    def __init__(self, name: str, rows: Rows) -> None:
        self.name = name
        self.schema = rows.schema
        self._rows = rows

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows of the query."""
        with self._rows:
            yield from self._rows

    def close(self) -> None:
        """Stop the query."""
        self._rows.stop()


class UnionOfRows(Rows):
    """All rows of the first query, then those of the next: each has all of the memory while it runs."""

    def __init__(self, parts: Sequence[Rows]) -> None:
        self._parts = parts
        self._stopped = False
        self.schema = _common_schema([part.schema for part in parts])

    def explain(self) -> str:
        """What each of the queries will do."""
        return "\n".join(part.explain() for part in self._parts if hasattr(part, "explain"))

    def _found(self) -> Iterator[pa.RecordBatch]:
        return itertools.chain.from_iterable(map(self._of, self._parts))

    def _of(self, part: Rows) -> Iterator[pa.RecordBatch]:
        if self._stopped:
            return
        with part:
            for batch in part:
                pairs = zip(batch.columns, self.schema, strict=True)
                arrays = [one if one.type == field.type else _cast(one, field) for one, field in pairs]
                yield pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    @property
    def is_done(self) -> bool:
        return all(part.is_done for part in self._parts)

    def stop(self) -> None:
        self._stopped = True
        for part in self._parts:
            part.stop()

    def __repr__(self) -> str:
        return f"<sooner.UnionOfRows {', '.join(map(repr, self._parts))}>"


def _cast(array: pa.Array, field: pa.Field) -> pa.Array:
    return cast_without_loss(field.name, array, field.type, "UNION ALL gives all rows in one column; CAST it.")


def _common_schema(schemas: Sequence[pa.Schema]) -> pa.Schema:
    """The names of the first, and types that have the values of all."""
    fields = list(schemas[0])
    for schema in schemas[1:]:
        if len(schema) != len(fields):
            raise InvalidJoin(
                f"UNION ALL has a SELECT of {len(fields)} columns and one of {len(schema)}; name as many."
            )
        for at, (one, other) in enumerate(zip(fields, schema, strict=True)):
            type_ = one.type if one.type == other.type else _common_type(one, other)
            fields[at] = pa.field(one.name, type_, one.nullable or other.nullable)
    return pa.schema(fields)


def _common_type(one: pa.Field, other: pa.Field) -> pa.DataType:
    known = common_type(one.type, other.type)
    found = None if known is None else coalesced_type(one.type, other.type)
    if found is None:
        raise InvalidJoin(
            f"UNION ALL has {one.name}, which is {one.type}, and {other.name}, which is {other.type}; CAST one of them."
        )
    return found
