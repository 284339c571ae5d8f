"""A join of many inputs as plain data: what it needs to be made wherever it runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations

import pyarrow as pa

from sooner.kernels.array_types import Codes, Flags
from sooner.kernels.keys import KeyPlan
from sooner.operators.inputs import Storage
from sooner.operators.leaving.room import scratch_bytes_of
from sooner.operators.multiway.accesses import Accesses
from sooner.operators.multiway.algorithms import MULTI_ALGORITHMS, MultiAlgorithm
from sooner.operators.multiway.combining import Combining
from sooner.operators.multiway.comparing import Comparison, comparison_of
from sooner.operators.multiway.graph import Graph, Step
from sooner.operators.multiway.join import MultiJoin
from sooner.operators.multiway.leaving import Leaving
from sooner.operators.multiway.nested_loop import NestedLoop
from sooner.operators.multiway.output import OutputColumn, output_columns
from sooner.operators.operator import Means
from sooner.operators.order import CodeRows, Order
from sooner.operators.shell import Shell
from sooner.operators.statistics.arrivals import Statistics
from sooner.operators.two_way.join import TwoWayJoin
from sooner.operators.two_way.making import two_way_join
from sooner.operators.two_way.output import OutputColumn as PairColumn
from sooner.operators.two_way.output import OutputPlan
from sooner.sides import LEFT, RIGHT, SIDES


@dataclass(frozen=True)
class MultiPlan:
    graph: Graph
    algorithm: MultiAlgorithm = MULTI_ALGORITHMS["miner"]
    guided: int | None = None  # the input whose rows come after all that they can match

    def comparisons(self, schemas: Sequence[pa.Schema]) -> list[Comparison]:
        return [comparison_of(self.graph, attribute, schemas) for attribute in self.graph.attributes]

    def keys(self, schemas: Sequence[pa.Schema]) -> list[KeyPlan]:
        """The type in which each attribute is compared."""
        return [comparison.keys for comparison in self.comparisons(schemas)]

    def orders(self, schemas: Sequence[pa.Schema]) -> dict[Step, Order]:
        """How rows are compared in each step from one input to another."""
        return {
            Step(right, at, left): comparison.between(left, right, self.algorithm.order)
            for at, comparison in enumerate(self.comparisons(schemas))
            for left, right in permutations(comparison.attribute.inputs, 2)
        }

    def coders(self, orders: Mapping[Step, Order]) -> list[list[CodeRows]]:
        """For each input how its rows get codes, by each of its attributes."""
        by_place = {(step.parent, step.attribute): order.coders[LEFT] for step, order in orders.items()}
        graph = self.graph
        return [[by_place[which, at] for at in graph.of_input(which)] for which in range(len(graph.inputs))]

    def _accesses(self, orders: Mapping[Step, Order]) -> list[Accesses]:
        graph = self.graph
        columns = [
            [graph.attributes[at].compared(which) for at in graph.of_input(which)] for which in range(len(graph.inputs))
        ]
        return list(map(Accesses, self.coders(orders), columns))

    def order(self, schemas: Sequence[pa.Schema]) -> Order:
        orders = self.orders(schemas)
        if self._is_of_two:
            return orders[Step(RIGHT, 0, LEFT)]
        return Order([partial(_of_all, coders) for coders in self.coders(orders)])

    def output(self, schemas: Sequence[pa.Schema]) -> pa.Schema:
        self.comparisons(schemas)  # they may be impossible
        return pa.schema([column.field for column in output_columns(self.graph, schemas)])

    @property
    def _is_of_two(self) -> bool:
        """Whether it is a two-way join: that works partition by partition, with all the workers that there are."""
        return len(self.graph.inputs) == len(SIDES) and self.algorithm.of_two is not None

    def make(
        self, names: Sequence[str], schemas: Sequence[pa.Schema], storage: Storage, means: Means
    ) -> MultiJoin | TwoWayJoin[pa.RecordBatch]:
        if self._is_of_two:
            assert self.algorithm.of_two is not None
            order, columns = self.order(schemas), output_columns(self.graph, schemas)
            left, right = storage.inputs(order, names, schemas)
            return two_way_join((left, right), order, self.algorithm.of_two, _of_pairs(columns).batch, means)
        return self._multi_join(names, schemas, storage, means)

    def _multi_join(
        self, names: Sequence[str], schemas: Sequence[pa.Schema], storage: Storage, means: Means
    ) -> MultiJoin:
        inputs = replace(storage, partitions=1).inputs(self.order(schemas), names, schemas)
        orders = self.orders(schemas)
        accesses, accesses_of_loop = (self._accesses(orders) for _ in range(2))
        shell, statistics = Shell(means.listener), Statistics(len(inputs), 1)
        scratch_bytes = scratch_bytes_of(means.account)
        share_bytes = scratch_bytes // (2 * len(inputs))
        outer_bytes = share_bytes if self.algorithm.react is None else self.algorithm.react.max_outer_bytes
        combining_of_loop = Combining(self.graph, accesses_of_loop, orders)
        return MultiJoin(
            self.graph, inputs, accesses, Combining(self.graph, accesses, orders),
            Leaving(inputs, accesses, self.algorithm, self.graph, statistics, means, shell),
            NestedLoop(self.graph, inputs, accesses_of_loop, combining_of_loop, share_bytes, outer_bytes),
            self.algorithm.react, output_columns(self.graph, schemas), statistics, storage, means, shell, scratch_bytes,
            self.guided,
        )  # fmt: skip


def _of_pairs(columns: Sequence[OutputColumn]) -> OutputPlan:
    """The same columns, as results of pairs."""
    return OutputPlan(
        tuple(
            PairColumn(one.field, left=one.column) if one.input == LEFT else PairColumn(one.field, right=one.column)
            for one in columns
        )
    )


def _of_all(coders: Sequence[CodeRows], batch: pa.RecordBatch) -> tuple[Codes, Flags | None]:
    """The codes of the first attribute, and which rows have a value of all: others match nothing."""
    codes, wanted = coders[0](batch)
    for coder in coders[1:]:
        _, has_value = coder(batch)
        if has_value is not None:
            wanted = has_value if wanted is None else wanted & has_value
    return codes, wanted
