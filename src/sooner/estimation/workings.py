"""How a question is answered: what is made of the rows of each side, which sums are folded, what is read off them.

Where an aggregate is a sum of products of a left part and a right part, nothing but these parts is kept of a row, and
no joined row is ever built. Otherwise the columns that matter are kept, and expressions are evaluated for the pairs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple

import pyarrow as pa

from sooner.errors import InvalidJoin
from sooner.estimation.formulas import Formula
from sooner.estimation.preparation import COLUMN, Factor, Preparation
from sooner.estimation.question import Question
from sooner.expressions.checking import Typed, condition, typed
from sooner.expressions.kinds import FLOAT
from sooner.expressions.separation import Product, Products, of_count, of_sum
from sooner.expressions.tree import Column, Node, all_of, columns_of, conjuncts, renamed
from sooner.sides import LEFT, SIDES

MakeProducts = Callable[..., Products | None]
DEVIATIONS: Final = ("variance", "stddev")


class Term(NamedTuple):
    """Which factor of either side is multiplied; whole numbers of a scale or not."""

    factors: tuple[int | None, int | None]
    is_whole: bool
    scale: int


class Part(NamedTuple):
    """A folded sum that is part of a sum: of whole numbers of a scale or not, and which it is."""

    is_whole: bool
    at: int
    scale: int


class Measure(NamedTuple):
    """An aggregate, read off sums: which of them has how many values there are, and which the values.

    Of variances and deviations it is moments that have them, of numbers with so many decimals.
    """

    name: str
    function: str
    n: int
    total: int | None = None
    moments: int | None = None
    scale: int = 0


class GroupColumn(NamedTuple):
    """A column to group by, of one side, or of pairs where the side is None."""

    name: str
    side: int | None
    type: pa.DataType
    scale: int = 0  # of decimals, which are grouped by as whole numbers

    @property
    def type_of_values(self) -> pa.DataType:
        return pa.decimal128(38, self.scale) if self.scale else self.type

    def known(self, values: pa.Array) -> pa.Array:
        """Values of the column as users know them."""
        if not self.scale:
            return values
        whole = values.cast(pa.decimal128(19, 0))
        return pa.Array.from_buffers(self.type_of_values, len(whole), whole.buffers(), offset=whole.offset)


class JoinedColumn(NamedTuple):
    """Where a column of the joined row comes from."""

    side: int
    name: str
    shared: bool = False  # the other side has it too, since it is a key of one name


@dataclass(frozen=True)
class PairStep:
    """What is evaluated for pairs, on rows with the columns that matter."""

    where: Typed | None
    by: tuple[Typed, ...]
    factors: tuple[Factor, ...]


@dataclass(frozen=True)
class Workings:
    sides: tuple[Preparation, Preparation]
    sums: tuple[tuple[Part, ...], ...]
    measures: tuple[Measure, ...]
    by: tuple[GroupColumn, ...]
    terms: tuple[tuple[int | None, int | None], ...]  # of each folded sum, which factor of either side it multiplies
    are_whole: tuple[bool, ...]  # of each folded sum
    moments: tuple[tuple[int | None, int | None], ...] = ()  # of which factor, of one side
    pairs: PairStep | None = None
    shown: tuple[Formula, ...] | None = None  # as the question has it

    @property
    def results(self) -> tuple[Measure | Formula, ...]:
        """What is read off: aggregates, and formulas over them."""
        if self.shown is None:
            return self.measures
        by_name = {one.name: one for one in self.measures}
        return tuple(
            by_name[one.node.name]._replace(name=one.name) if isinstance(one.node, Column) else one
            for one in self.shown
        )


def workings_of(
    question: Question,
    schemas: Sequence[pa.Schema],
    keys: Sequence[Sequence[str]],
    joined: Mapping[str, JoinedColumn],
) -> Workings:
    """Refuses what does not fit the columns."""
    fields = [schemas[column.side].field(column.name).with_name(name) for name, column in joined.items()]
    schema = pa.schema(fields)
    _check(question, schema)
    for key_side in SIDES:  # a key that both sides have may be taken from either
        maker = _Maker(question, schemas, keys, joined, schema, key_side)
        if (found := maker.of_products()) is not None:
            return found
    return maker.of_pairs()


def workings_of_rows(question: Question, schema: pa.Schema) -> Workings:
    """The same of rows that are joined already: all of their columns count as the left's."""
    joined = {name: JoinedColumn(LEFT, name) for name in schema.names}
    return workings_of(question, (schema, pa.schema([])), ((), ()), joined)


def _check(question: Question, schema: pa.Schema) -> None:
    for one in question.aggregates:
        if one.of is None:
            continue
        kind = typed(one.of, schema, one.what).kind
        if not kind.is_numeric and one.function != "count":
            raise InvalidJoin(f"{one.what} is {one.function} of {one.of}, which is {kind}; give a number.")
    for name, node in question.by:
        typed(node, schema, f"by={name!r}")
    if question.where is not None:
        condition(question.where, schema, "where=")


@dataclass
class _Side:
    factors: list[Factor] = field(default_factory=list)
    filters: list[Typed] = field(default_factory=list)
    by: list[Typed] = field(default_factory=list)

    def place_of(self, factor: Factor) -> int:
        if factor not in self.factors:
            self.factors.append(factor)
        return self.factors.index(factor)


class _Maker:
    def __init__(
        self,
        question: Question,
        schemas: Sequence[pa.Schema],
        keys: Sequence[Sequence[str]],
        joined: Mapping[str, JoinedColumn],
        schema: pa.Schema,
        key_side: int,
    ) -> None:
        self._question = question
        self._schemas = schemas
        self._keys = keys
        self._joined = joined
        self._schema = schema
        self._key_side = key_side
        self._sides = (_Side(), _Side())
        self._terms: list[tuple[int | None, int | None]] = []
        self._are_whole: list[bool] = []
        self._sums: list[tuple[Part, ...]] = []
        self._moments: list[tuple[int | None, int | None]] = []

    # Products of one-sided parts

    def of_products(self) -> Workings | None:
        for one in () if self._question.where is None else conjuncts(self._question.where):
            if (side := self._side_of(one)) is None:
                return None
            self._sides[side].filters.append(self._on(side, one, "where=", condition))
        groups = []
        for name, node in self._question.by:
            if (side := self._side_of(node)) is None:
                return None
            on_side = self._on(side, node, f"by={name!r}", typed)
            self._sides[side].by.append(on_side)
            groups.append(GroupColumn(name, side, on_side.kind.type, on_side.kind.scale))
        if (measures := self._measures(self._products_of, self._term_of)) is None:
            return None
        sides = tuple(self._preparation(side) for side in SIDES)
        return self._workings((sides[0], sides[1]), measures, tuple(groups))

    def _products_of(self, make: MakeProducts, node: Node) -> Products | None:
        return make(node, self._column_side, self._may_be_null, self._is_number)

    def _term_of(self, product: Product, what: str) -> Term:
        parts = [None if node is None else self._on(side, node, what, typed) for side, node in enumerate(product)]
        is_whole = all(part is None or part.kind != FLOAT for part in parts)  # what is always null is either
        places = [
            None if part is None else self._sides[side].place_of(Factor(part, is_whole))
            for side, part in enumerate(parts)
        ]
        scale = sum(part.kind.scale for part in parts if part is not None) if is_whole else 0
        return Term((places[0], places[1]), is_whole, scale)

    def _part_at(self, term: Term) -> Part:
        for at, known in enumerate(zip(self._terms, self._are_whole, strict=True)):
            if known == (term.factors, term.is_whole):
                return Part(term.is_whole, at, term.scale)
        self._terms.append(term.factors)
        self._are_whole.append(term.is_whole)
        return Part(term.is_whole, len(self._terms) - 1, term.scale)

    def _moments_at(self, term: Term) -> int:
        if term.factors not in self._moments:
            self._moments.append(term.factors)
        return self._moments.index(term.factors)

    def _preparation(self, side: int) -> Preparation:
        mine = self._sides[side]
        return Preparation(
            tuple(self._keys[side]), self._schemas[side], tuple(mine.filters), tuple(mine.by), tuple(mine.factors)
        )

    def _on(self, side: int, node: Node, what: str, check: Callable[[Node, pa.Schema, str], Typed]) -> Typed:
        names = {Column(name): Column(column.name) for name, column in self._joined.items()}
        return check(renamed(node, names), self._schemas[side], what)

    def _column_side(self, column: Column) -> int:
        found = self._joined[column.name]
        return self._key_side if found.shared else found.side

    def _side_of(self, node: Node) -> int | None:
        sides = {self._column_side(column) for column in columns_of(node)}
        return None if len(sides) > 1 else next(iter(sides), 0)

    def _may_be_null(self, column: Column) -> bool:
        nullable: bool = self._schema.field(column.name).nullable
        return nullable

    def _is_number(self, node: Node) -> bool:
        return typed(node, self._schema, "aggregates=").kind.name in ("number", "float", "null")

    # Pairs

    def of_pairs(self) -> Workings:
        """All of it is evaluated for pairs, but for conditions on one side."""
        self._terms, self._are_whole, self._sums, self._moments = [], [], [], []
        self._sides = (_Side(), _Side())
        rest = []
        for one in () if self._question.where is None else conjuncts(self._question.where):
            if (side := self._side_of(one)) is None:
                rest.append(one)
            else:
                self._sides[side].filters.append(self._on(side, one, "where=", condition))
        factors: list[Factor] = []
        measures = self._measures(self._products_of_pairs, partial(self._term_of_pairs, factors))
        assert measures is not None, "what is evaluated for pairs may be anything"
        by = tuple(typed(self._in_pairs(node), self._pair_schema, f"by={name!r}") for name, node in self._question.by)
        where = None if not rest else condition(self._in_pairs(all_of(rest)), self._pair_schema, "where=")
        step = PairStep(where, by, tuple(factors))
        needed = self._needed([*rest, *(node for _, node in self._question.by)])
        sides = tuple(
            Preparation(
                tuple(self._keys[side]),
                self._schemas[side],
                tuple(self._sides[side].filters),
                columns=tuple(
                    (COLUMN + name, self._joined[name].name) for name in needed if self._joined[name].side == side
                ),
            )
            for side in SIDES
        )
        groups = tuple(
            GroupColumn(name, None, one.kind.type, one.kind.scale)
            for (name, _), one in zip(self._question.by, by, strict=True)
        )
        return self._workings((sides[0], sides[1]), measures, groups, step)

    def _products_of_pairs(self, make: MakeProducts, node: Node) -> Products | None:
        """The only product of an expression that is all on one side is the expression, or whether it is there."""
        return make(self._in_pairs(node), lambda _: 0, lambda _: True)

    def _term_of_pairs(self, factors: list[Factor], product: Product, what: str) -> Term:
        assert product.left is not None
        value = typed(product.left, self._pair_schema, what)
        factors.append(Factor(value, value.kind.is_exact))
        return Term((len(factors) - 1, None), value.kind.is_exact, value.kind.scale if value.kind.is_exact else 0)

    @property
    def _pair_schema(self) -> pa.Schema:
        return pa.schema([one.with_name(COLUMN + one.name) for one in self._schema])

    def _in_pairs(self, node: Node) -> Node:
        return renamed(node, {Column(name): Column(COLUMN + name) for name in self._joined})

    def _needed(self, nodes: Sequence[Node]) -> list[str]:
        asked = [one.of for one in self._question.aggregates if one.of is not None]
        return sorted({column.name for node in [*asked, *nodes] for column in columns_of(node)})

    # Both

    def _measures(
        self, products_of: Callable[[MakeProducts, Node], Products | None], term_of: Callable[[Product, str], Term]
    ) -> tuple[Measure, ...] | None:
        every = self._add_sum([self._part_at(Term((None, None), True, 0))])
        measures = []
        for one in self._question.aggregates:
            if one.of is None:
                measures.append(Measure(one.name, "count", every))
                continue
            may_be_null = typed(one.of, self._schema, one.what).may_be_null
            counted = products_of(of_count, one.of) if may_be_null else ()
            summed = products_of(of_sum, one.of) if one.function != "count" else ()
            if counted is None or summed is None:
                return None
            n = self._add_sum([self._part_at(term_of(each, one.what)) for each in counted]) if may_be_null else every
            if one.function == "count":
                measures.append(Measure(one.name, one.function, n))
            elif one.function in DEVIATIONS:
                if len(summed) > 1 or None not in summed[0]:
                    return None  # the square of what both sides have is a product for none of them
                term = term_of(summed[0], one.what)
                measures.append(Measure(one.name, one.function, n, moments=self._moments_at(term), scale=term.scale))
            else:
                total = self._add_sum([self._part_at(term_of(each, one.what)) for each in summed])
                measures.append(Measure(one.name, one.function, n, total))
        return tuple(measures)

    def _add_sum(self, parts: list[Part]) -> int:
        self._sums.append(tuple(parts))
        return len(self._sums) - 1

    def _workings(
        self,
        sides: tuple[Preparation, Preparation],
        measures: tuple[Measure, ...],
        by: tuple[GroupColumn, ...],
        pairs: PairStep | None = None,
    ) -> Workings:
        sums, terms, wholes = tuple(self._sums), tuple(self._terms), tuple(self._are_whole)
        moments = tuple(self._moments)
        return Workings(sides, sums, measures, by, terms, wholes, moments, pairs, self._question.shown)
