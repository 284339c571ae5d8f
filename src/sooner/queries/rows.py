"""The rows that a statement wants of a join: what is left of the inputs, and of what is joined."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from sooner.expressions.checking import Typed, condition, typed
from sooner.expressions.tree import Column, Node, columns_of, renamed
from sooner.kernels.arrays import to_arrow
from sooner.queries.joining import Joining
from sooner.queries.naming import ColumnAt, Place, require_distinct
from sooner.queries.statement import Item, Star

Outputs = Sequence[tuple[str, Node]]  # names, and what is called so


class RowsWanted:
    """Columns have the names of their tables in front as long as they are joined, so that none is like another."""

    def __init__(self, joining: Joining, outputs: Outputs) -> None:
        self._joining = joining
        self._scope = joining.scope
        self._outputs = outputs
        require_distinct([name for name, _ in outputs])

    def of_input(self, table: int) -> tuple[list[Typed], list[tuple[str, str]]]:
        """The conditions that rows of a table are held to before they are joined, and its columns by both names."""
        rest = [(one.node, one.part) for one in self._joining.conditions_of(None)]
        here = [(node, "SELECT") for _, node in self._outputs] + rest
        places = {place for node, part in here for place in self._scope.places(node, part)}
        needed = {place.name for place in places if table in self._scope.sources(place)}
        needed |= {*self._joining.keys(table), *(one.name for one, _ in self._joining.not_in if one.table == table)}
        schema, everywhere = self._scope.schemas[table], self._scope.among(range(len(self._scope.tables)))
        needed = needed or set(schema.names[:1])  # without any column rows could not be counted
        filters = [
            condition(everywhere.resolved(one.node, one.part, lambda place: Column(place.name)), schema, one.part)
            for one in self._joining.conditions_of(table)
        ]
        return filters, [(name, self.name(ColumnAt(table, name))) for name in schema.names if name in needed]

    def selection(self, joined: pa.Schema) -> "Selection":
        """What becomes of rows that were joined."""
        rest = self._joining.conditions_of(None)
        filters = tuple(condition(self._joined(one.node, one.part), joined, one.part) for one in rest)
        outputs: list[tuple[str, str | Typed]] = []
        for name, node in self._outputs:
            of = self._joined(node, "SELECT")
            outputs.append((name, of.name if isinstance(of, Column) else typed(of, joined, "SELECT")))
        return Selection(filters, tuple(outputs), joined)

    def name(self, column: ColumnAt) -> str:
        """What it is called while it is joined."""
        return str(self._scope.named(column))

    def column(self, place: Place) -> Node:
        """What a place is in joined rows."""
        node = self._joining.column(place)
        return renamed(node, {column: Column(str(column)) for column in columns_of(node)})

    def _joined(self, node: Node, part: str) -> Node:
        return self._scope.resolved(node, part, self.column)


def outputs_of(items: Sequence[Item | Star], joining: Joining, everything: Mapping[str, Node]) -> Outputs:
    """What a select list without aggregates asks for; `everything` is what * stands for."""
    outputs: list[tuple[str, Node]] = []
    for item in items:
        if isinstance(item, Item):
            outputs.append((item.name, item.node))
        elif item.table is None:
            outputs += everything.items()
        else:
            table = joining.scope.table(item.table, f"SELECT has {item.table}.*")
            names = joining.scope.schemas[table].names
            outputs += [(name, joining.scope.named(ColumnAt(table, name))) for name in names]
    return outputs


def all_columns(joining: Joining) -> dict[str, Node]:
    """In the order of the tables: a key that several have by one name comes once, and others of one name are told apart
    by the names of their tables.
    """
    scope = joining.scope
    found: list[tuple[ColumnAt, Node]] = []
    for table in scope.seen:
        for name in scope.schemas[table].names:
            tables = scope.tables_with(ColumnAt(table, name))
            if tables[0] == table:
                found.append((ColumnAt(table, name), joining.column(Place(tables, name))))
    often = Counter(column.name for column, _ in found)
    return {
        column.name if often[column.name] == 1 else f"{column.name}_{scope.tables[column.table].alias}": node
        for column, node in found
    }


def filtered(batch: pa.RecordBatch, filters: Sequence[Typed]) -> pa.RecordBatch:
    for one in filters:
        mask = one.mask(batch)
        batch = batch if mask.all() else batch.filter(to_arrow(mask))
    return batch


@dataclass(frozen=True)
class Selection:
    """What becomes of joined rows: some are left out, of the others there are columns and expressions by names."""

    filters: tuple[Typed, ...]
    outputs: tuple[tuple[str, str | Typed], ...]  # the name, and a column or an expression
    joined: pa.Schema

    @property
    def schema(self) -> pa.Schema:
        return pa.schema(
            [
                self.joined.field(of).with_name(name) if isinstance(of, str) else pa.field(name, type_of(of))
                for name, of in self.outputs
            ]
        )

    def of(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = self.schema
        for batch in batches:
            kept = filtered(batch, self.filters)
            if kept.num_rows:
                arrays = [kept.column(of) if isinstance(of, str) else values_of(of, kept) for _, of in self.outputs]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def type_of(expression: Typed) -> pa.DataType:
    kind = expression.kind
    return pa.decimal128(38, kind.scale) if kind.is_exact and kind.scale else kind.type


def values_of(expression: Typed, batch: pa.RecordBatch) -> pa.Array:
    """The values of rows. Exact numbers are evaluated without their point, which is put back here."""
    found, type_ = expression.evaluate(batch), type_of(expression)
    if pa.types.is_decimal(type_):
        unscaled = found.cast(pa.decimal128(19, 0))
        return pa.Array.from_buffers(type_, len(unscaled), unscaled.buffers(), offset=unscaled.offset)
    return found if found.type == type_ else found.cast(type_)
