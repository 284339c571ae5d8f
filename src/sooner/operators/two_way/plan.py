"""A two-way equi-join as plain data: what it needs to be made wherever it runs."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from sooner.how import INNER, Kind
from sooner.kernels.keys import KeyPlan, plan_keys
from sooner.named_algorithms import Algorithm
from sooner.operators.inputs import Input
from sooner.operators.operator import Means
from sooner.operators.order import Order, by_hashes, by_values
from sooner.operators.two_way.join import TwoWayJoin
from sooner.operators.two_way.output import OutputPlan, plan_output

INPUTS = ("left", "right")


@dataclass(frozen=True)
class TwoWayPlan:
    left_on: tuple[str, ...]
    right_on: tuple[str, ...]
    suffixes: tuple[str, str]
    algorithm: Algorithm
    kind: Kind = INNER

    def keys(self, schemas: Sequence[pa.Schema]) -> KeyPlan:
        left, right = schemas
        return plan_keys(left, right, self.left_on, self.right_on)

    def columns(self, schemas: Sequence[pa.Schema]) -> OutputPlan:
        left, right = schemas
        return plan_output(left, right, self.keys(schemas), self.suffixes, self.kind)

    def order(self, schemas: Sequence[pa.Schema]) -> Order:
        keys = self.keys(schemas)
        return by_values(keys) if self.algorithm.order == "values" and keys.exact else by_hashes(keys)

    def output(self, schemas: Sequence[pa.Schema]) -> pa.Schema:
        return self.columns(schemas).schema

    def make(self, inputs: Sequence[Input], means: Means) -> TwoWayJoin[pa.RecordBatch]:
        left, right = inputs
        schemas = [one.schema for one in inputs]
        result_of = self.columns(schemas).batch
        return TwoWayJoin((left, right), self.order(schemas), self.algorithm, result_of, means, kind=self.kind)
