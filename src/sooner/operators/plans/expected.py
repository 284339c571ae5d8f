"""What joins of many inputs are expected to do: in one operator, and in a plan in whichever order.

One operator keeps no intermediate results, but finds them again for every row that arrives; a plan finds each once, and
keeps it. So one operator is the better by far where inputs hang together by keys, and the worse where rows find many
others on a way that ends nowhere.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sooner.operators.multiway.graph import Graph, Step


@dataclass(frozen=True)
class Expected:
    """How many rows inputs have, and how many pairs of rows of two inputs match by an attribute of both."""

    rows: Sequence[float]
    pairs: Mapping[tuple[int, int], float]  # by the places of both inputs, the lower first

    def matches(self, one: int, other: int) -> float:
        """Of a row of one input in the other."""
        return self.pairs[min(one, other), max(one, other)] / max(self.rows[one], 1)


class OrderedJoins(NamedTuple):
    inputs: list[int]
    kept_rows: float  # intermediate results, of all joins but the last


def best_order(graph: Graph, expected: Expected) -> OrderedJoins:
    """Of those that begin somewhere and go on with what has the fewest matches."""
    orders = []
    for first in range(len(graph.inputs)):
        kept = [rows for _, rows in _growing(graph, expected, first)]
        inputs = [first, *(step.input for step, _ in _growing(graph, expected, first))]
        orders.append(OrderedJoins(inputs, sum(kept[:-1])))
    return min(orders, key=lambda one: one.kept_rows)


def looked_up_rows(graph: Graph, expected: Expected) -> float:
    """What rows find in one operator, one input after the other, until they are results.

    What k inputs make is found when the last of k rows arrives: of each of them in one of k cases.
    """
    return sum(
        rows / (at + 2)
        for first in range(len(graph.inputs))
        for at, (_, rows) in enumerate(_growing(graph, expected, first))
    )


def _growing(graph: Graph, expected: Expected, first: int) -> Iterator[tuple[Step, float]]:
    """What the rows of one input make with others, one after the other, where matches are independent."""
    joined, rows = [first], expected.rows[first]
    while steps := list(graph.next_steps(joined)):
        step = min(steps, key=lambda one: (expected.matches(one.parent, one.input), one.input))
        rows *= expected.matches(step.parent, step.input)
        joined.append(step.input)
        yield step, rows
