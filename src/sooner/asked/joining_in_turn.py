"""From columns that are equal or near each other to joins one after the other: a left-deep plan."""

from collections.abc import Mapping, Sequence
from typing import NoReturn

from sooner.errors import InvalidJoin
from sooner.how import INNER, Kind
from sooner.kernels.ranges import Within
from sooner.operators.multiway.graph import ColumnOf, Graph, Range, graph_of
from sooner.operators.plans.plan import Apart, JoinsPlan, JoinWith


def joins_of(
    names: Sequence[str],
    equalities: Sequence[tuple[ColumnOf, ColumnOf]],
    ranges: Sequence[Range],
    kinds: Mapping[str, Kind],
) -> tuple[JoinWith, ...]:
    """Inputs join in their order. One that hangs on none before it waits until one does, if all joins are inner: then
    it is the same answer.
    """
    for left, right in [*equalities, *((one.left, one.right) for one in ranges)]:
        if left.input == right.input:
            raise InvalidJoin(
                f"{left} and {right} are columns of one input; filter it before, or give it twice by two names."
            )
    joined, waiting, joins = [names[0]], list(names[1:]), []
    while waiting:
        found = ((name, _joined_with(name, joined, equalities, ranges, kinds.get(name, INNER))) for name in waiting)
        name, join = next(((name, join) for name, join in found if join is not None), (waiting[0], None))
        if join is None or (name != waiting[0] and kinds):
            _refuse(waiting[0], joined, in_order=join is None)
        joins.append(join)
        joined.append(name)
        waiting.remove(name)
    return tuple(joins)


def in_turn(graph: Graph, order: Sequence[int] = (0,)) -> tuple[JoinWith, ...]:
    """What hangs together as a tree, one input after the other: these first, each of which hangs on some before it."""
    joins = []
    for step in graph.steps_through(order):
        attribute, parent, name = graph.attributes[step.attribute], graph.inputs[step.parent], graph.inputs[step.input]
        columns, apart = attribute.by_input, None
        if (near := attribute.near) is not None:
            one, other = (graph.inputs[which] for which in attribute.inputs)
            apart = _apart(Range(ColumnOf(one, near.left), ColumnOf(other, near.right), near.within), name)
        equal = zip(columns[step.parent], columns[step.input], strict=True)
        joins.append(JoinWith(name, tuple((ColumnOf(parent, left), right) for left, right in equal), apart=apart))
    return tuple(joins)


def graph_of_plan(plan: JoinsPlan) -> Graph:
    """The graph of its inputs, or a sentence that says why they are no tree."""
    equalities = [(earlier, ColumnOf(join.input, own)) for join in plan.joins for earlier, own in join.equal]
    ranges = [
        Range(join.apart.earlier, ColumnOf(join.input, join.apart.column), join.apart.within)
        for join in plan.joins
        if join.apart is not None
    ]
    return graph_of(plan.inputs, equalities, ranges)


def _joined_with(
    name: str,
    joined: Sequence[str],
    equalities: Sequence[tuple[ColumnOf, ColumnOf]],
    ranges: Sequence[Range],
    kind: Kind,
) -> JoinWith | None:
    """By all that is said of it and of inputs that are joined already; None if nothing is."""
    equal = []
    for one, other in equalities:
        for earlier, own in ((one, other), (other, one)):
            if own.input == name and earlier.input in joined:
                equal.append((earlier, own.column))
    with_earlier = [one for one in ranges if {one.left.input, one.right.input} <= {*joined, name}]
    apart = [found for one in with_earlier if (found := _apart(one, name)) is not None]
    if len(apart) > 1:
        raise InvalidJoin(
            f"{name!r} has several ranges with inputs before it ({apart[0].earlier} and {apart[1].earlier}); give one "
            "of them, and filter the results by the other."
        )
    return JoinWith(name, tuple(equal), kind, apart[0] if apart else None) if equal or apart else None


def _apart(one: Range, name: str) -> Apart | None:
    if one.right.input == name:
        return Apart(one.left, one.right.column, one.within)
    return Apart(one.right, one.left.column, _from_the_right(one.within)) if one.left.input == name else None


def _from_the_right(within: Within) -> Within:
    """The same distance, where the one that was on the left is on the right."""
    if not isinstance(within, tuple):
        return within
    low, high = (None if limit is None else -limit for limit in within)
    return high, low


def _refuse(name: str, joined: Sequence[str], *, in_order: bool) -> NoReturn:
    before = ", ".join(map(repr, joined))
    if in_order:
        raise InvalidJoin(
            f"{name!r} has no column in common with {before}: a plan joins one input after the other; say in on= what "
            "is equal, or join the others by themselves (a bushy plan) and give the result as an input."
        )
    raise InvalidJoin(
        f"{name!r} has no column in common with {before}, which come before it, and with how= the order of the inputs "
        "counts; name it after the input that it hangs on."
    )
