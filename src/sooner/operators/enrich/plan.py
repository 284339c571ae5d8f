"""An enrichment as plain data: what it needs to be made wherever it runs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import pyarrow as pa

from sooner.how import INNER, Kind
from sooner.kernels.keys import KeyPlan, plan_keys
from sooner.operators.enrich.answers import Answers
from sooner.operators.enrich.balance import TRACKED_SCHEMA, Balance
from sooner.operators.enrich.cache import CENSUS_SCHEMA, KeyCache
from sooner.operators.enrich.enrichment import Enrichment, Manner
from sooner.operators.enrich.master import Master
from sooner.operators.enrich.probing import Probe
from sooner.operators.enrich.scanning import Scan
from sooner.operators.enrich.waiting import Waiting
from sooner.operators.inputs import Input, Storage
from sooner.operators.leaving.room import scratch_bytes_of
from sooner.operators.operator import Means
from sooner.operators.order import Order, by_hashes
from sooner.operators.shell import Shell
from sooner.operators.sweeping.parts import Workbench
from sooner.operators.two_way.output import OutputPlan, plan_output

INPUTS: Final = ("stream", "master")
MannerName = Literal["probe", "ssbj", "meshjoin"]


@dataclass(frozen=True)
class EnrichPlan:
    """`switching_factor` is SSBJ's: above 1, keys change places more rarely."""

    stream_on: tuple[str, ...]
    master_on: tuple[str, ...]
    suffixes: tuple[str, str]
    algorithm: MannerName = "probe"
    kind: Kind = INNER
    switching_factor: float = 1.0

    def keys(self, schemas: Sequence[pa.Schema]) -> KeyPlan:
        stream, master = schemas
        return plan_keys(stream, master, self.stream_on, self.master_on)

    def columns(self, schemas: Sequence[pa.Schema]) -> OutputPlan:
        stream, master = schemas
        return plan_output(stream, master, self.keys(schemas), self.suffixes, self.kind)

    def order(self, schemas: Sequence[pa.Schema]) -> Order:
        return by_hashes(self.keys(schemas))

    def output(self, schemas: Sequence[pa.Schema]) -> pa.Schema:
        return self.columns(schemas).schema

    def make(self, names: Sequence[str], schemas: Sequence[pa.Schema], storage: Storage, means: Means) -> Enrichment:
        account, shell, order = means.account, Shell(means.listener), self.order(schemas)
        bench = Workbench(scratch_bytes_of(account), shell.breathe)
        whole = replace(storage, partitions=1)
        stream, rows = whole.inputs(order, names, schemas)
        answers = Answers(order, self.kind, shell.breathe)
        stream.follows_matches = answers.examines
        master = Master(rows, account, shell, bench, is_probed=self.algorithm == "probe")
        of_master = order.coders[1]

        def inner(name: str, schema: pa.Schema) -> Input:
            """An input that nobody gives rows but the operator itself."""
            [made] = whole.inputs(Order([of_master]), [name], [schema])
            return made

        def cache() -> KeyCache:
            return KeyCache(inner("cache", rows.schema), inner("census", CENSUS_SCHEMA), account, bench.merge_bytes)

        manner: Manner
        if self.algorithm == "probe":
            manner = Probe(master, cache(), answers, bench)
        else:
            waiting = Waiting(stream, account, answers, bench.merge_bytes)
            if self.algorithm == "meshjoin":
                manner = Scan(master, waiting, answers, account, bench)
            else:
                kept = cache()
                moving = inner("tracked", TRACKED_SCHEMA), inner("moving", rows.schema)
                balance = Balance(master, kept, *moving, account, self.switching_factor)
                manner = Scan(master, waiting, answers, account, bench, balance, kept)
        return Enrichment(stream, master, manner, answers, self.columns(schemas).batch, account, shell, bench)
