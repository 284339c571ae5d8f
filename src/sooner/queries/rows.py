"""The rows that a statement without aggregates wants of a join: what is left of the inputs, and of what is joined."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from sooner.errors import InvalidJoin
from sooner.estimation.workings import JoinedColumn
from sooner.expressions.checking import Typed, condition, typed
from sooner.expressions.tree import Coalesce, Column, Node, conjuncts
from sooner.kernels.arrays import to_arrow
from sooner.queries.naming import Place, Scope, require_distinct
from sooner.queries.statement import Item, Star, Statement
from sooner.sides import LEFT, RIGHT, SIDES


class RowsWanted:
    """Columns have the names of their tables in front as long as they are joined, so that none is like another."""

    def __init__(
        self, statement: Statement, scope: Scope, where: Node | None, columns: Callable[[], Mapping[str, JoinedColumn]]
    ) -> None:
        self._scope = scope
        self._how = statement.how
        self._columns = columns  # of the joined row without those names, where * asks for them
        self._side_of_keys = None if statement.how == "full" else RIGHT if statement.how == "right" else LEFT
        self._outputs = [output for item in statement.items for output in self._of_item(item)]
        require_distinct([name for name, _ in self._outputs])
        self._pushed: tuple[list[Node], list[Node]] = ([], [])
        self._rest: list[Node] = []
        for one in [] if where is None else conjuncts(where):
            side = self._side_of(one)
            (self._rest if side is None else self._pushed[side]).append(one)

    def keys(self, side: int) -> tuple[str, ...]:
        return tuple(self._name(side, key[side]) for key in self._scope.keys)

    def of_input(self, side: int) -> tuple[list[Typed], list[tuple[str, str]]]:
        """The conditions that rows of a side are held to before they are joined, and its columns by both names."""
        here = [(one, "SELECT") for _, one in self._outputs] + [(one, "WHERE") for one in self._rest]
        places = {place for node, part in here for place in self._scope.places(node, part)}
        needed = {place.name for place in places if place.side == side}
        needed |= {key[side] for key in self._scope.keys}
        schema = self._scope.schemas[side]
        filters = [
            condition(self._scope.resolved(one, "WHERE", lambda place: Column(place.name)), schema, "WHERE")
            for one in self._pushed[side]
        ]
        return filters, [(name, self._name(side, name)) for name in schema.names if name in needed]

    def selection(self, joined: pa.Schema) -> "Selection":
        """What becomes of rows that were joined."""
        filters = tuple(condition(self._joined(one, "WHERE"), joined, "WHERE") for one in self._rest)
        outputs: list[tuple[str, str | Typed]] = []
        for name, node in self._outputs:
            of = self._joined(node, "SELECT")
            outputs.append((name, of.name if isinstance(of, Column) else typed(of, joined, "SELECT")))
        return Selection(filters, tuple(outputs), joined)

    def _of_item(self, item: Item | Star) -> list[tuple[str, Node]]:
        """Names, and what is called so."""
        if isinstance(item, Item):
            return [(item.name, item.node)]
        schemas, aliases = self._scope.schemas, [table.alias for table in self._scope.tables]
        if item.table is not None:
            side = self._scope.side(item.table, f"SELECT has {item.table}.*")
            return [(name, Column(name, aliases[side])) for name in schemas[side].names]
        return [
            (name, Column(name) if (name, name) in self._scope.keys else Column(one.name, aliases[one.side]))
            for name, one in self._columns().items()
        ]

    def _side_of(self, one: Node) -> int | None:
        """On which side a condition can be asked before rows are joined, if on any."""
        places = self._scope.places(one, "WHERE")
        sides = {self._side_of_keys if place.side is None else place.side for place in places}
        side = sides.pop() if len(sides) == 1 else None
        asked_before = {"inner": SIDES, "right": (RIGHT,), "full": ()}.get(self._how, (LEFT,))
        return side if side in asked_before else None

    def _joined(self, node: Node, part: str) -> Node:
        return self._scope.resolved(node, part, self._in_joined)

    def _in_joined(self, place: Place) -> Node:
        if place.side == RIGHT and self._how in ("semi", "anti"):
            table = self._scope.tables[RIGHT].alias
            raise InvalidJoin(
                f"The query asks for {table}.{place.name}, but {self._how.upper()} JOIN gives those of the left alone."
            )
        side = self._side_of_keys if place.side is None else place.side
        if side is None:
            return Coalesce(tuple(Column(self._name(side, place.name)) for side in SIDES))
        return Column(self._name(side, place.name))

    def _name(self, side: int, name: str) -> str:
        return f"{self._scope.tables[side].alias}.{name}"


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
                self.joined.field(of).with_name(name) if isinstance(of, str) else pa.field(name, _type(of))
                for name, of in self.outputs
            ]
        )

    def of(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = self.schema
        for batch in batches:
            kept = filtered(batch, self.filters)
            if kept.num_rows:
                arrays = [kept.column(of) if isinstance(of, str) else _values(of, kept) for _, of in self.outputs]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _type(expression: Typed) -> pa.DataType:
    kind = expression.kind
    return pa.decimal128(38, kind.scale) if kind.is_exact and kind.scale else kind.type


def _values(expression: Typed, batch: pa.RecordBatch) -> pa.Array:
    """Exact numbers are evaluated without their point, which is put back here."""
    found, type_ = expression.evaluate(batch), _type(expression)
    if pa.types.is_decimal(type_):
        unscaled = found.cast(pa.decimal128(19, 0))
        return pa.Array.from_buffers(type_, len(unscaled), unscaled.buffers(), offset=unscaled.offset)
    return found if found.type == type_ else found.cast(type_)
