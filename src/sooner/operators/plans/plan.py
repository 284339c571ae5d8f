"""A left-deep plan of joins as plain data: what it needs to be made wherever it runs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, NamedTuple, cast

import pyarrow as pa

from sooner.how import INNER, Kind
from sooner.kernels.array_types import Codes, Flags
from sooner.kernels.ranges import Near, Within
from sooner.named_algorithms import Algorithm
from sooner.operators.events import Inside, Listener, OwnEvent
from sooner.operators.inputs import Storage
from sooner.operators.multiway.graph import ColumnOf
from sooner.operators.operator import Means
from sooner.operators.order import CodeRows, Order
from sooner.operators.plans.algorithms import PlanAlgorithm
from sooner.operators.plans.join import Door, PlanOfJoins
from sooner.operators.plans.output import Projection, named, projection_of
from sooner.operators.plans.passage import Passage
from sooner.operators.plans.room import SharedRoom
from sooner.operators.plans.stage import Stage
from sooner.operators.shell import Shell
from sooner.operators.two_way.plan import TwoWayPlan
from sooner.sides import LEFT, RIGHT

PASSAGE_SHARE: Final = 8  # of the memory, one part in so many, is free for results on their way up


class Apart(NamedTuple):
    """A column of an earlier input and one of the input that is added, whose values may be so far apart."""

    earlier: ColumnOf
    column: str
    within: Within


@dataclass(frozen=True)
class JoinWith:
    """One join of a plan: what the joins before it give, with one more input.

    `equal` are columns of earlier inputs and of this one that must be equal.
    """

    input: str
    equal: tuple[tuple[ColumnOf, str], ...]
    kind: Kind = INNER
    apart: Apart | None = None

    def two_way(self, algorithm: Algorithm) -> TwoWayPlan:
        """The join of what has the names inside of the plan."""
        near = None
        if self.apart is not None:
            near = Near(named(*self.apart.earlier), named(self.input, self.apart.column), self.apart.within)
        return TwoWayPlan(
            tuple(named(*earlier) for earlier, _ in self.equal),
            tuple(named(self.input, column) for _, column in self.equal),
            ("", ""),
            algorithm,
            self.kind,
            near,
        )

    @property
    def shared(self) -> Iterator[tuple[str, str, str]]:
        """Columns of one name that are compared, and which of them counts."""
        left, right = (self.kind.may_be_null(side) for side in (LEFT, RIGHT))
        counts = "left" if not left else "either" if right else "right"
        for earlier, column in self.equal:
            if earlier.column == column and self.kind.pairs:
                yield named(*earlier), named(self.input, column), counts


@dataclass(frozen=True)
class JoinsPlan:
    """The input that no join adds is the first; the others follow in the order of the joins."""

    inputs: tuple[str, ...]  # in the order in which they are given, and in which their columns come
    joins: tuple[JoinWith, ...]
    algorithm: PlanAlgorithm

    @property
    def is_inner(self) -> bool:
        """Whether all of its joins are."""
        return all(join.kind is INNER for join in self.joins)

    @property
    def first(self) -> str:
        [first] = {*self.inputs} - {join.input for join in self.joins}
        return first

    @property
    def doors(self) -> list[Door]:
        places = {join.input: Door(at, RIGHT) for at, join in enumerate(self.joins)}
        return [places.get(name, Door(0, LEFT)) for name in self.inputs]

    def inside(self, schemas: Sequence[pa.Schema]) -> dict[str, pa.Schema]:
        """The inputs with the names of columns that they have inside of the plan."""
        return {
            name: pa.schema([field.with_name(named(name, field.name)) for field in schema])
            for name, schema in zip(self.inputs, schemas, strict=True)
        }

    def two_way(self, schemas: Sequence[pa.Schema]) -> list[tuple[TwoWayPlan, list[pa.Schema]]]:
        """The joins from the base to the root, with the schemas of their sides."""
        inside = self.inside(schemas)
        left, found = inside[self.first], []
        for join in self.joins:
            plan, sides = join.two_way(self.algorithm.of_joins), [left, inside[join.input]]
            found.append((plan, sides))
            left = plan.output(sides)
        return found

    def projection(self, schemas: Sequence[pa.Schema]) -> Projection:
        plan, sides = self.two_way(schemas)[-1]
        given = [self.first, *(join.input for join in self.joins if join.kind.pairs)]
        shared = [one for join in self.joins for one in join.shared]
        return projection_of(list(zip(self.inputs, schemas, strict=True)), given, shared, plan.output(sides))

    def order(self, schemas: Sequence[pa.Schema]) -> Order:
        """That of the join to which each input comes."""
        orders, inside = [plan.order(sides) for plan, sides in self.two_way(schemas)], self.inside(schemas)
        return Order(
            [
                partial(_coded, orders[door.stage].coders[door.side], inside[name])
                for name, door in zip(self.inputs, self.doors, strict=True)
            ]
        )

    def in_words(self) -> list[str]:
        """What it does, a line each."""
        words = [f"joined by {self.algorithm.name}, one input after the other, beginning with {self.first}"]
        for join in self.joins:
            matching = [f"{earlier} = {join.input}.{column}" for earlier, column in join.equal]
            if join.apart is not None:
                matching.append(f"{join.input}.{join.apart.column} - {join.apart.earlier} within {join.apart.within}")
            words.append(f"{join.kind.name} join with {join.input}, where {' and '.join(matching)}")
        return words

    def output(self, schemas: Sequence[pa.Schema]) -> pa.Schema:
        return self.projection(schemas).schema

    def make(self, names: Sequence[str], schemas: Sequence[pa.Schema], storage: Storage, means: Means) -> PlanOfJoins:
        called = dict(zip(self.inputs, names, strict=True))
        passage = Passage(means.of_inner("results on their way", 1 / PASSAGE_SHARE).account, len(self.joins))
        room = SharedRoom(self.algorithm.room, int(means.account.share_bytes * means.flush_fraction), passage)
        stages: list[Stage] = []
        for join, (plan, sides) in zip(self.joins, self.two_way(schemas), strict=True):
            is_root = len(stages) == len(self.joins) - 1
            inner = replace(
                means.of_inner(f"the join with {join.input}", 1 / len(self.joins)),
                room=room.made_for(join.input),
                workers=means.workers if is_root else 1,  # what goes on must come in the same order each time
                listener=_inside(means.listener, join.input),
                expected_rows=None,
            )
            both = f"results of {len(stages)} joins" if stages else called[self.first], called[join.input]
            stages.append(Stage(join.input, plan, both, sides, self.algorithm, storage, inner, is_root=is_root))
            room.members[join.input] = stages[-1]
        told = self.algorithm, self.projection(schemas), room, passage, means.account, Shell(means.listener)
        return PlanOfJoins(stages, self.doors, *told)


def _inside(listener: Listener | None, join: str) -> Listener | None:
    """Hears what happens in one of the joins, for who hears of the plan."""
    return None if listener is None else lambda event: listener(Inside(join, cast(OwnEvent, event)))


def _coded(code: CodeRows, schema: pa.Schema, batch: pa.RecordBatch) -> tuple[Codes, Flags | None]:
    return code(pa.RecordBatch.from_arrays(batch.columns, schema=schema))
