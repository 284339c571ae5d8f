"""Which inputs a join over many has, and by which attributes they hang together.

An *attribute* is what columns of two or more inputs have in common: a row of each must have the same value. Or it is a
range: values of two inputs must be near each other, and others of them may have to be equal beside that. Inputs and
attributes must be a tree: chains, stars, snowflakes and any number of inputs on one attribute are.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from sooner.errors import InvalidJoin
from sooner.kernels.ranges import Near, Within


class ColumnOf(NamedTuple):
    """A column of an input, by their names."""

    input: str
    column: str

    def __str__(self) -> str:
        return f"{self.input}.{self.column}"


class Range(NamedTuple):
    """Values of two inputs may be so far apart, as in a two-way join of them."""

    left: ColumnOf
    right: ColumnOf
    within: Within

    def __str__(self) -> str:
        return f"{self.right} - {self.left} within {self.within}"


@dataclass(frozen=True)
class Attribute:
    """The equal columns of each input that has it, as many in each, by the place of the input.

    `near` are columns of the first and of the second of two inputs, in this order; then there may be no equal columns.
    """

    columns: tuple[tuple[int, tuple[str, ...]], ...]
    near: Near | None = None

    @cached_property
    def by_input(self) -> Mapping[int, tuple[str, ...]]:
        return dict(self.columns)

    @property
    def inputs(self) -> tuple[int, ...]:
        return tuple(which for which, _ in self.columns)

    @property
    def has_equal_columns(self) -> bool:
        return any(columns for _, columns in self.columns)

    def compared(self, which: int) -> list[str]:
        """All columns of an input that say whether its rows match."""
        near = [] if self.near is None else [(self.near.left, self.near.right)[self.inputs.index(which)]]
        return list(dict.fromkeys([*self.by_input[which], *near]))


class Step(NamedTuple):
    """Another input joins those that are joined already: by this attribute, which `parent` of them has too."""

    input: int
    attribute: int
    parent: int


@dataclass(frozen=True)
class Graph:
    inputs: tuple[str, ...]
    attributes: tuple[Attribute, ...]

    def of_input(self, which: int) -> tuple[int, ...]:
        """The attributes that an input has."""
        return tuple(at for at, attribute in enumerate(self.attributes) if which in attribute.by_input)

    def beginning_at(self, first: int) -> "Graph":
        """The same, with the attributes of one input before all others: its neighbours keep their rows in their order,
        and need no other index for those that look for them.
        """
        return replace(self, attributes=tuple(sorted(self.attributes, key=lambda one: first not in one.by_input)))

    def next_steps(self, joined: Sequence[int]) -> Iterator[Step]:
        """What can be joined with these inputs next. In a tree there is one way to each of the others."""
        for at, attribute in enumerate(self.attributes):
            parents = [which for which in joined if which in attribute.by_input]
            if parents:
                yield from (Step(which, at, parents[0]) for which in attribute.inputs if which not in joined)

    def are_in_order(self, step: Step) -> bool:
        """Whether the rows of both lie in the order of the attribute that they share."""
        return all(self.of_input(which)[0] == step.attribute for which in (step.parent, step.input))

    def beyond(self, which: int, attribute: int) -> set[int]:
        """The inputs to which one gets from this one by an attribute that it has."""
        near = [other for other in self.attributes[attribute].inputs if other != which]
        further = (self.beyond(other, at) for other in near for at in self.of_input(other) if at != attribute)
        return set(near).union(*further)

    def connecting(self, some: Sequence[int]) -> list[int]:
        """These inputs, and those by which they hang together."""
        left = list(range(len(self.inputs)))
        while loose := [which for which in left if which not in some and self._is_loose(which, left)]:
            left.remove(loose[0])
        return left

    def _is_loose(self, which: int, among: Sequence[int]) -> bool:
        """Whether an input hangs on these by one attribute at most."""
        held_by = [at for at in self.of_input(which) if {*self.attributes[at].inputs} & {*among} - {which}]
        return len(held_by) <= 1

    def steps_from(self, first: int) -> list[Step]:
        """From one input to all others, those first that are named first."""
        return self.steps_through([first])

    def steps_through(self, order: Sequence[int]) -> list[Step]:
        """From the first of these inputs to the others in their order, and then to those that are not among them."""
        joined, steps = list(order[:1]), []
        while following := list(self.next_steps(joined)):
            wanted = (step for which in order if which not in joined for step in following if step.input == which)
            steps.append(next(wanted, following[0]))
            joined.append(steps[-1].input)
        return steps

    def in_words(self, attribute: Attribute) -> str:
        """What an attribute says of rows that match."""
        equal = " = ".join(f"{self.inputs[which]}.{'+'.join(columns)}" for which, columns in attribute.columns)
        if (near := attribute.near) is None:
            return equal
        (left, _), (right, _) = attribute.columns
        asked = Range(ColumnOf(self.inputs[left], near.left), ColumnOf(self.inputs[right], near.right), near.within)
        return f"{equal} with {asked}" if attribute.has_equal_columns else str(asked)


def graph_of(
    inputs: Sequence[str], equalities: Sequence[tuple[ColumnOf, ColumnOf]], ranges: Sequence[Range] = ()
) -> Graph:
    """The graph of a join, or a sentence that says why there is none."""
    groups: list[set[ColumnOf]] = []
    for pair in equalities:
        if pair[0].input == pair[1].input:
            raise InvalidJoin(
                f"{pair[0]} = {pair[1]} compares columns of one input; filter it before, or give it twice by two names."
            )
        touched = [group for group in groups if not group.isdisjoint(pair)]
        groups = [group for group in groups if group not in touched] + [set(pair).union(*touched)]
    attributes = _with_ranges(inputs, _attributes(inputs, equalities, groups), ranges)
    graph = Graph(tuple(inputs), tuple(attributes))
    _require_tree(graph)
    return graph


def _attributes(
    inputs: Sequence[str], equalities: Sequence[tuple[ColumnOf, ColumnOf]], groups: Sequence[set[ColumnOf]]
) -> list[Attribute]:
    """In the order in which they are named; those of the same inputs are one, of several columns."""
    named = list(dict.fromkeys(column for pair in equalities for column in pair))
    by_inputs: dict[tuple[int, ...], list[dict[str, str]]] = {}
    for group in sorted(groups, key=lambda group: min(named.index(column) for column in group)):
        columns: dict[str, str] = {}
        for one in sorted(group, key=named.index):
            if one.input in columns:
                raise InvalidJoin(
                    f"{one.input}.{columns[one.input]} and {one} must be equal, since both are compared with the same "
                    "columns; filter that input before, and name one of them."
                )
            columns[one.input] = one.column
        by_inputs.setdefault(tuple(sorted(map(inputs.index, columns))), []).append(columns)
    return [
        Attribute(tuple((which, tuple(columns[inputs[which]] for columns in several)) for which in members))
        for members, several in by_inputs.items()
    ]


def _with_ranges(
    inputs: Sequence[str], attributes: Sequence[Attribute], ranges: Sequence[Range]
) -> Iterable[Attribute]:
    """A range is one with what is equal in the same two inputs, if anything is."""
    by_inputs = {frozenset(attribute.inputs): attribute for attribute in attributes}
    for one in ranges:
        left, right = inputs.index(one.left.input), inputs.index(one.right.input)
        if left == right:
            raise InvalidJoin(f"{one} compares columns of one input; filter it before, or give it twice by two names.")
        equal = by_inputs.get(both := frozenset((left, right)), Attribute(((left, ()), (right, ()))))
        if equal.near is not None:
            raise InvalidJoin(
                f"{one} is a second range between {one.left.input!r} and {one.right.input!r}; two inputs can have one: "
                "leave it out, and compare its columns in the result."
            )
        columns = tuple((which, equal.by_input[which]) for which in (left, right))
        by_inputs[both] = Attribute(columns, Near(one.left.column, one.right.column, one.within))
    return by_inputs.values()


def _require_tree(graph: Graph) -> None:
    reached = {0, *(step.input for step in graph.steps_from(0))}
    if alone := [name for which, name in enumerate(graph.inputs) if which not in reached]:
        raise InvalidJoin(
            f"Nothing connects {graph.inputs[0]!r} with {', '.join(map(repr, alone))}; name columns of both in `on` "
            "or in `within`."
        )
    memberships = sum(len(attribute.columns) for attribute in graph.attributes)
    if memberships != len(graph.inputs) + len(graph.attributes) - 1:
        named = "; ".join(map(graph.in_words, graph.attributes))
        raise InvalidJoin(
            f"There is a circle among {named}: two inputs hang together in two ways. Leave one out, and compare its "
            "columns in the result; or take a plan of two-way joins, such as algorithm='rpj'."
        )
