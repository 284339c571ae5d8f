"""An enrichment as plain data: what it needs to be made wherever it runs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Literal

import pyarrow as pa

from sooner.how import INNER, Kind
from sooner.kernels.keys import KeyPlan, plan_keys
from sooner.operators.enrich.answers import Answers
from sooner.operators.enrich.as_of import AsOf, Validity
from sooner.operators.enrich.balance import TRACKED_SCHEMA, Balance
from sooner.operators.enrich.cache import CENSUS_SCHEMA, KeyCache
from sooner.operators.enrich.enrichment import Enrichment, Manner
from sooner.operators.enrich.gathered import Gathered
from sooner.operators.enrich.master import Master
from sooner.operators.enrich.probing import Probe
from sooner.operators.enrich.scanning import Queue, Scan
from sooner.operators.enrich.versions import Versioning
from sooner.operators.enrich.waiting import Waiting
from sooner.operators.inputs import Input, Storage
from sooner.operators.leaving.room import scratch_bytes_of
from sooner.operators.operator import Means
from sooner.operators.order import Order, by_hashes
from sooner.operators.shell import Shell
from sooner.operators.sweeping.parts import Workbench
from sooner.operators.two_way.output import OutputPlan, plan_output

INPUTS: Final = ("stream", "master")
CHANGES: Final = "changes"  # the third input, if there is one
MannerName = Literal["probe", "ssbj", "meshjoin"]


@dataclass(frozen=True)
class EnrichPlan:
    """`added` are the columns of the master that results have, or all. `switching_factor` is SSBJ's."""

    stream_on: tuple[str, ...]
    master_on: tuple[str, ...]
    suffixes: tuple[str, str]
    algorithm: MannerName = "probe"
    kind: Kind = INNER
    switching_factor: float = 1.0
    added: tuple[str, ...] | None = None
    versioning: Versioning | None = None
    as_of: AsOf | None = None
    queue: Queue = "block"

    def keys(self, schemas: Sequence[pa.Schema]) -> KeyPlan:
        stream, master, *_ = schemas
        return plan_keys(stream, master, self.stream_on, self.master_on, INPUTS)

    def columns(self, schemas: Sequence[pa.Schema]) -> OutputPlan:
        """Columns of the master that are kept for other reasons do not come out."""
        stream, master, *_ = schemas
        kept = self.stored(schemas)
        shown_names = master.names if self.added is None else [*self.master_on, *self.added]
        names = [name for name in kept.names if name in shown_names]
        shown = plan_output(
            stream, pa.schema([kept.field(name) for name in names]), self.keys(schemas), self.suffixes, self.kind
        )
        places = [kept.get_field_index(name) for name in names]
        return OutputPlan(
            tuple(
                column if column.right is None else column._replace(right=places[column.right])
                for column in shown.columns
            )
        )

    def stored(self, schemas: Sequence[pa.Schema]) -> pa.Schema:
        """The columns of the master as they are kept."""
        return schemas[1] if self.versioning is None else self.versioning.stored(schemas[1], schemas[2:])

    def gathers(self, *, alone: bool) -> bool:
        """Whether rows that are probed wait for others.

        What changes later must not be met, and an engine with others beside it gives its rows in few calls.
        """
        return alone and self.versioning is None

    def order(self, schemas: Sequence[pa.Schema]) -> Order:
        order = by_hashes(self.keys(schemas))
        return replace(order, coders=[*order.coders, *order.coders[1:]][: len(schemas)])

    def output(self, schemas: Sequence[pa.Schema]) -> pa.Schema:
        if self.as_of is not None:
            self.as_of.type_of(schemas[0], schemas[1])  # it may be impossible
        if self.versioning is not None:
            self.versioning.require_order(self.stored(schemas))
        return self.columns(schemas).schema

    def make(self, names: Sequence[str], schemas: Sequence[pa.Schema], storage: Storage, means: Means) -> Enrichment:
        account, shell, order = means.account, Shell(means.listener), self.order(schemas)
        bench = Workbench(scratch_bytes_of(account), shell.breathe)
        whole = replace(storage, partitions=1)
        stored = self.stored(schemas)
        stream, rows, *changes = whole.inputs(order, names, [schemas[0], stored, *schemas[2:]])
        answers = Answers(order, self.kind, shell.breathe, self._validity(schemas, order))
        stream.follows_matches = answers.examines
        is_plain = self.versioning is None and self.as_of is None
        master = Master(
            rows, account, shell, bench, is_probed=self.algorithm == "probe", is_plain=is_plain,
            versioning=self.versioning,
        )  # fmt: skip

        def inner(name: str, schema: pa.Schema) -> Input:
            """An input that nobody gives rows but the operator itself."""
            [made] = whole.inputs(Order(order.coders[1:2]), [name], [schema])
            return made

        kept = partial(KeyCache, inner("cache", stored), inner("census", CENSUS_SCHEMA), account, bench.merge_bytes)
        manner: Manner
        if self.algorithm == "probe":
            gathered = Gathered(stream, account, answers, bench.merge_bytes)
            gathers = self.gathers(alone=means.alone)
            manner = Probe(master, kept(), answers, bench, account, gathered, gathers=gathers)
        else:
            waiting = Waiting(stream, account, answers, bench.merge_bytes)
            if self.algorithm == "meshjoin":
                manner = Scan(master, waiting, answers, account, bench, queue=self.queue)
            else:
                cache, moving = kept(), (inner("tracked", TRACKED_SCHEMA), inner("moving", stored))
                balance = Balance(master, cache, *moving, account, self.switching_factor)
                manner = Scan(master, waiting, answers, account, bench, balance, cache, self.queue)
        result_of = self.columns(schemas).batch
        changing = changes[0] if changes else None
        return Enrichment(stream, master, changing, manner, answers, result_of, account, shell, bench)

    def _validity(self, schemas: Sequence[pa.Schema], order: Order) -> Validity | None:
        if self.as_of is None:
            return None
        return Validity(self.as_of, self.as_of.type_of(schemas[0], schemas[1]), order.only_matching)
