"""A join of many inputs as plain data: what it needs to be made wherever it runs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from sooner.errors import InvalidJoin
from sooner.kernels.array_types import Codes, Flags
from sooner.kernels.codes import code_rows
from sooner.kernels.keys import KeyPlan, plan_keys
from sooner.kernels.value_codes import code_values
from sooner.operators.inputs import Storage
from sooner.operators.leaving.room import scratch_bytes_of
from sooner.operators.multiway.accesses import Accesses
from sooner.operators.multiway.algorithms import MULTI_ALGORITHMS, MultiAlgorithm
from sooner.operators.multiway.combining import Combining
from sooner.operators.multiway.graph import Attribute, Graph
from sooner.operators.multiway.join import MultiJoin
from sooner.operators.multiway.leaving import Leaving
from sooner.operators.multiway.nested_loop import NestedLoop
from sooner.operators.multiway.output import OutputColumn, output_columns
from sooner.operators.operator import Means
from sooner.operators.order import CodeRows, Order, by_hashes, by_values
from sooner.operators.shell import Shell
from sooner.operators.statistics.arrivals import Statistics
from sooner.operators.two_way.join import TwoWayJoin
from sooner.operators.two_way.making import two_way_join
from sooner.operators.two_way.output import OutputColumn as PairColumn
from sooner.operators.two_way.output import OutputPlan
from sooner.sides import LEFT, SIDES


@dataclass(frozen=True)
class MultiPlan:
    graph: Graph
    algorithm: MultiAlgorithm = MULTI_ALGORITHMS["miner"]

    def keys(self, schemas: Sequence[pa.Schema]) -> list[KeyPlan]:
        """The type in which each attribute is compared."""
        return [_keys_of(self.graph, attribute, schemas) for attribute in self.graph.attributes]

    def coders(self, schemas: Sequence[pa.Schema]) -> list[list[CodeRows]]:
        """For each input how its rows get codes, by each of its attributes."""
        keys = self.keys(schemas)
        return [
            [self._coder(self.graph.attributes[at].by_input[which], keys[at]) for at in self.graph.of_input(which)]
            for which in range(len(self.graph.inputs))
        ]

    def _coder(self, columns: tuple[str, ...], keys: KeyPlan) -> CodeRows:
        if self.algorithm.order == "values" and keys.exact:
            [column], [type_] = columns, keys.types
            return lambda batch: code_values(batch, column, type_)
        return lambda batch: code_rows(batch, columns, keys.types)

    def order(self, schemas: Sequence[pa.Schema]) -> Order:
        if self._is_of_two:
            [keys] = self.keys(schemas)
            return by_values(keys) if self.algorithm.order == "values" and keys.exact else by_hashes(keys)
        return Order([partial(_of_all, coders) for coders in self.coders(schemas)])

    def output(self, schemas: Sequence[pa.Schema]) -> pa.Schema:
        self.keys(schemas)  # it may be impossible
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
        accesses, accesses_of_loop = ([Accesses(coders) for coders in self.coders(schemas)] for _ in range(2))
        keys, shell, statistics = self.keys(schemas), Shell(means.listener), Statistics(len(inputs), 1)
        scratch_bytes = scratch_bytes_of(means.account)
        share_bytes = scratch_bytes // (2 * len(inputs))
        outer_bytes = share_bytes if self.algorithm.react is None else self.algorithm.react.max_outer_bytes
        combining_of_loop = Combining(self.graph, accesses_of_loop, keys)
        return MultiJoin(
            self.graph, inputs, accesses, Combining(self.graph, accesses, keys),
            Leaving(inputs, accesses, self.algorithm, len(self.graph.attributes), statistics, means, shell),
            NestedLoop(self.graph, inputs, accesses_of_loop, combining_of_loop, share_bytes, outer_bytes),
            self.algorithm.react, output_columns(self.graph, schemas), statistics, storage, means, shell, scratch_bytes,
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


def _keys_of(graph: Graph, attribute: Attribute, schemas: Sequence[pa.Schema]) -> KeyPlan:
    """One type for all inputs: if two of them met in another, who equals whom would be a matter of order."""
    plans = [
        plan_keys(schemas[one], schemas[other], columns, other_columns, (graph.inputs[one], graph.inputs[other]))
        for at, (one, columns) in enumerate(attribute.columns)
        for other, other_columns in attribute.columns[at + 1 :]
    ]
    for plan in plans[1:]:
        if plan.types != plans[0].types:
            compared = " = ".join(f"{graph.inputs[which]}.{'+'.join(columns)}" for which, columns in attribute.columns)
            types = " and ".join(str(one) for one in (*plans[0].types, *plan.types))
            raise InvalidJoin(
                f"{compared} cannot be compared in one type, since they meet as {types}; cast them before."
            )
    return plans[0]
