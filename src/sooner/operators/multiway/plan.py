"""A join of many inputs as plain data: what it needs to be made wherever it runs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import pyarrow as pa

from sooner.errors import InvalidJoin
from sooner.kernels.array_types import Codes, Flags
from sooner.kernels.codes import code_rows
from sooner.kernels.keys import KeyPlan, plan_keys
from sooner.operators.inputs import Storage
from sooner.operators.leaving.room import scratch_bytes_of
from sooner.operators.multiway.accesses import Accesses
from sooner.operators.multiway.combining import Combining
from sooner.operators.multiway.graph import Attribute, Graph
from sooner.operators.multiway.join import MultiJoin
from sooner.operators.multiway.output import output_columns
from sooner.operators.operator import Means
from sooner.operators.order import CodeRows, Order
from sooner.operators.shell import Shell

MultiAlgorithm = Literal["mjoin"]


@dataclass(frozen=True)
class MultiPlan:
    graph: Graph
    algorithm: MultiAlgorithm = "mjoin"

    def keys(self, schemas: Sequence[pa.Schema]) -> list[KeyPlan]:
        """The type in which each attribute is compared."""
        return [_keys_of(self.graph, attribute, schemas) for attribute in self.graph.attributes]

    def coders(self, schemas: Sequence[pa.Schema]) -> list[list[CodeRows]]:
        """For each input how its rows get codes, by each of its attributes."""
        keys = self.keys(schemas)
        return [
            [_coder(self.graph.attributes[at].by_input[which], keys[at]) for at in self.graph.of_input(which)]
            for which in range(len(self.graph.inputs))
        ]

    def order(self, schemas: Sequence[pa.Schema]) -> Order:
        return Order([partial(_of_all, coders) for coders in self.coders(schemas)])

    def output(self, schemas: Sequence[pa.Schema]) -> pa.Schema:
        self.keys(schemas)  # it may be impossible
        return pa.schema([column.field for column in output_columns(self.graph, schemas)])

    def make(self, names: Sequence[str], schemas: Sequence[pa.Schema], storage: Storage, means: Means) -> MultiJoin:
        inputs = replace(storage, partitions=1).inputs(self.order(schemas), names, schemas)
        accesses = [Accesses(coders) for coders in self.coders(schemas)]
        combining = Combining(self.graph, accesses, self.keys(schemas))
        columns = output_columns(self.graph, schemas)
        return MultiJoin(
            self.graph, inputs, accesses, combining, columns, storage, means, Shell(means.listener),
            scratch_bytes_of(means.account),
        )  # fmt: skip


def _coder(columns: tuple[str, ...], keys: KeyPlan) -> CodeRows:
    return lambda batch: code_rows(batch, columns, keys.types)


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
