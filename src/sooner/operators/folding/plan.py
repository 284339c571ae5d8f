"""An aggregate over a two-way join as plain data: what it needs to be made wherever it runs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from sooner.estimation.workings import JoinedColumn, Workings
from sooner.kernels.keys import KeyPlan, plan_keys
from sooner.named_algorithms import Algorithm
from sooner.operators.folding.join import FoldingJoin, kept_schema
from sooner.operators.inputs import Storage
from sooner.operators.operator import Means
from sooner.operators.order import Order, by_hashes, by_values
from sooner.operators.two_way.plan import TwoWayPlan
from sooner.sides import LEFT, RIGHT, SIDES


@dataclass(frozen=True)
class FoldingPlan:
    """Partitions stay as they are: their rectangles could not be cut anew."""

    left_on: tuple[str, ...]
    right_on: tuple[str, ...]
    algorithm: Algorithm
    workings: Workings
    guided: int | None = None  # the side whose rows meet all that they can match when they come

    def order(self, schemas: Sequence[pa.Schema]) -> Order:
        """By values where blocks of neighbours come together: they meet few others, and often are in order already."""
        keys = self._keys(schemas)
        return by_values(keys) if self.guided is not None and keys.exact else by_hashes(keys)

    def output(self, schemas: Sequence[pa.Schema]) -> pa.Schema:
        self._keys(schemas)
        return pa.schema([])

    def make(self, names: Sequence[str], schemas: Sequence[pa.Schema], storage: Storage, means: Means) -> FoldingJoin:
        order = self.order(schemas)
        left, right = storage.inputs(order, names, [kept_schema(self.workings, side) for side in SIDES])
        algorithm = replace(self.algorithm, partitions="of equal ranges")
        return FoldingJoin((left, right), order, algorithm, self.workings, means, self.guided)

    def _keys(self, schemas: Sequence[pa.Schema]) -> KeyPlan:
        left, right = schemas
        return plan_keys(left, right, self.left_on, self.right_on)


def joined_columns(plan: TwoWayPlan, schemas: Sequence[pa.Schema]) -> dict[str, JoinedColumn]:
    """Where the columns of the joined row come from, by the names that a join gives them."""
    found = {}
    for column in plan.columns(schemas).columns:
        name, side = column.field.name, LEFT if column.left is not None else RIGHT
        at = column.left if column.left is not None else column.right
        assert at is not None
        shared = name in plan.left_on and name in plan.right_on
        found[name] = JoinedColumn(side, schemas[side].names[at], shared)
    return found
