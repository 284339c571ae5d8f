"""How rows of two inputs are compared by an attribute that both have: in which type, and how far apart they may be."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pyarrow as pa

from sooner.errors import InvalidJoin
from sooner.kernels.array_types import Codes, Positions
from sooner.kernels.columns import Named
from sooner.kernels.keys import NO_KEYS, KeyPlan, plan_keys, require_usable_columns
from sooner.kernels.matching import Reach
from sooner.kernels.ranges import RangePlan, plan_range
from sooner.operators.multiway.graph import Attribute, Graph
from sooner.operators.order import Order, by_hashes, by_lines, by_values
from sooner.sides import LEFT


@dataclass(frozen=True)
class Comparison:
    """`keys` and `near` are of the first and the second input of the attribute; the types are the same for all."""

    attribute: Attribute
    keys: KeyPlan
    near: RangePlan | None = None

    def between(self, left: int, right: int, order: Literal["hashes", "values"] = "hashes") -> Order:
        """As a two-way join of these inputs has it; an input has the same codes beside whichever other."""
        if self.near is not None:
            as_asked = by_lines(self.keys, self.near, copied=LEFT)
            return as_asked if left == self.attribute.inputs[LEFT] else _from_the_right(as_asked)
        columns = self.attribute.by_input
        keys = replace(self.keys, left=columns[left], right=columns[right])
        return by_values(keys) if order == "values" and keys.exact else by_hashes(keys)

    def renamed(self, name: Callable[[int, str], str]) -> "Comparison":
        """The same, where a column of an input is called otherwise."""
        columns = [(which, tuple(name(which, one) for one in some)) for which, some in self.attribute.columns]
        attribute = replace(self.attribute, columns=tuple(columns))
        (left, left_keys), (right, right_keys), *_ = columns
        keys, near = replace(self.keys, left=left_keys, right=right_keys), self.near
        if near is not None:
            near = replace(near, left=name(left, near.left), right=name(right, near.right))
        return Comparison(attribute, keys, near)


def _from_the_right(order: Order) -> Order:
    """The same order with its sides exchanged."""
    matching = order.only_matching
    assert matching is not None, "rows near each other are looked at"

    def only_matching(
        left: Named, right: Named, at_left: Positions, at_right: Positions
    ) -> tuple[Positions, Positions]:
        at_right, at_left = matching(right, left, at_right, at_left)
        return at_left, at_right

    return replace(order, coders=order.coders[::-1], reach=order.reach.from_the_right(), only_matching=only_matching)


def reached(lowest: Codes, highest: Codes, reach: Reach) -> tuple[Codes, Codes]:
    """From where to where codes between these reach, as far as there are codes."""
    low = lowest - np.minimum(lowest, np.uint64(reach.below))
    high = highest + np.minimum(~highest, np.uint64(reach.above))
    return low, high


def comparison_of(graph: Graph, attribute: Attribute, schemas: Sequence[pa.Schema]) -> Comparison:
    """How inputs with these columns are compared, or a sentence that says why they cannot be."""
    keys = _keys_of(graph, attribute, schemas) if attribute.has_equal_columns else NO_KEYS
    return Comparison(attribute, keys, _range_of(graph, attribute, schemas))


def _keys_of(graph: Graph, attribute: Attribute, schemas: Sequence[pa.Schema]) -> KeyPlan:
    """One type for all inputs: if two of them met in another, who equals whom would be a matter of order."""
    plans = [
        plan_keys(schemas[one], schemas[other], columns, other_columns, (graph.inputs[one], graph.inputs[other]))
        for at, (one, columns) in enumerate(attribute.columns)
        for other, other_columns in attribute.columns[at + 1 :]
    ]
    for plan in plans[1:]:
        if plan.types != plans[0].types:
            types = " and ".join(str(one) for one in (*plans[0].types, *plan.types))
            raise InvalidJoin(
                f"{graph.in_words(attribute)} cannot be compared in one type, since they meet as {types}; cast them "
                "before."
            )
    return plans[0]


def _range_of(graph: Graph, attribute: Attribute, schemas: Sequence[pa.Schema]) -> RangePlan | None:
    if (near := attribute.near) is None:
        return None
    left, right = attribute.inputs
    for which, column in ((left, near.left), (right, near.right)):
        require_usable_columns(graph.inputs[which], schemas[which], [column])
    try:
        return plan_range(schemas[left], schemas[right], *near)
    except InvalidJoin as error:
        raise InvalidJoin(f"{graph.in_words(attribute)} cannot be: {error}") from error
