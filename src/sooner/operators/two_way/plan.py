"""A two-way join as plain data: what it needs to be made wherever it runs."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from sooner.how import INNER, Kind
from sooner.kernels.keys import NO_KEYS, KeyPlan, plan_keys
from sooner.kernels.ranges import Near, RangePlan, Width, plan_range, units_of_lateness
from sooner.named_algorithms import Algorithm
from sooner.operators.deciding.expiry import ByLateness, ByRetention, Expiry
from sooner.operators.inputs import Storage
from sooner.operators.operator import Means
from sooner.operators.order import Order, by_hashes, by_lines, by_values
from sooner.operators.two_way.join import TwoWayJoin
from sooner.operators.two_way.making import two_way_join
from sooner.operators.two_way.output import OutputPlan, plan_output
from sooner.sides import SIDES

INPUTS = ("left", "right")


@dataclass(frozen=True)
class TwoWayPlan:
    """`near` are a column of each side whose values may be so far apart; without it, there are keys alone."""

    left_on: tuple[str, ...]
    right_on: tuple[str, ...]
    suffixes: tuple[str, str]
    algorithm: Algorithm
    kind: Kind = INNER
    near: Near | None = None
    lateness: Width | None = None
    retention: dt.timedelta | None = None

    def keys(self, schemas: Sequence[pa.Schema]) -> KeyPlan:
        left, right = schemas
        if self.near is not None and not self.left_on:
            return NO_KEYS
        return plan_keys(left, right, self.left_on, self.right_on)

    def range(self, schemas: Sequence[pa.Schema]) -> RangePlan | None:
        left, right = schemas
        return None if self.near is None else plan_range(left, right, *self.near)

    def columns(self, schemas: Sequence[pa.Schema]) -> OutputPlan:
        left, right = schemas
        return plan_output(left, right, self.keys(schemas), self.suffixes, self.kind)

    def order(self, schemas: Sequence[pa.Schema]) -> Order:
        keys, near = self.keys(schemas), self.range(schemas)
        if near is not None:
            return by_lines(keys, near, self.copied)
        return by_values(keys) if self.algorithm.order == "values" and keys.exact else by_hashes(keys)

    @property
    def copied(self) -> int | None:
        """A side of which nobody asks what becomes of each row: it may be there several times."""
        return next((side for side in SIDES if side not in self.kind.examined), None)

    @property
    def compared_of_right(self) -> list[str]:
        """All columns of the right that say whether rows match."""
        return [*self.right_on, *(() if self.near is None or self.near.right in self.right_on else (self.near.right,))]

    @property
    def forgets(self) -> bool:
        """Whether rows are forgotten although their inputs go on."""
        return self.lateness is not None or self.retention is not None

    def expiry(self, schemas: Sequence[pa.Schema], partitions: int, *, alone: bool) -> Expiry | None:
        """Which rows are forgotten and when, if any are."""
        if self.retention is not None:
            return ByRetention(partitions, self.kind.examined, self.retention.total_seconds())
        near = self.range(schemas)
        if near is None or self.lateness is None:
            return None
        return ByLateness(partitions, self.kind.examined, near, units_of_lateness(self.lateness, near), alone=alone)

    def output(self, schemas: Sequence[pa.Schema]) -> pa.Schema:
        self.expiry(schemas, 1, alone=True)  # it may be impossible, as may be the range
        self.range(schemas)
        return self.columns(schemas).schema

    def make(
        self, names: Sequence[str], schemas: Sequence[pa.Schema], storage: Storage, means: Means
    ) -> TwoWayJoin[pa.RecordBatch]:
        order, result_of = self.order(schemas), self.columns(schemas).batch
        left, right = storage.inputs(order, names, schemas)
        expiry = self.expiry(schemas, len(left.partitions), alone=means.alone)
        return two_way_join((left, right), order, self.algorithm, result_of, means, self.kind, expiry)
