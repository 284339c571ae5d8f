"""Enrichments by hand: keys of a master and of a stream go in, rows of the answer come out."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from enriching import CollidingEnrichPlan
from run_building import files_in
from schedules import ROW_BYTES
from sooner.budget import Budget
from sooner.how import kind_of
from sooner.operators.enrich.enrichment import STREAM, Enrichment
from sooner.operators.enrich.master import MASTER
from sooner.operators.enrich.plan import INPUTS, EnrichPlan, MannerName
from sooner.operators.enrich.scanning import Queue
from sooner.operators.inputs import Storage
from sooner.operators.operator import Means
from sooner.policies.view import SILENT
from sooner.testing.subject import Row, require_same, rows_of
from sooner.testing.two_way import SCHEMA, joined, numbered_rows

BLOCK_BYTES = 200  # so small that a master has hundreds of them
ROWS_IN_BLOCK = BLOCK_BYTES // ROW_BYTES
MASTER_ROWS = 1_000
WHOLE = 2**62  # as a quantum: all there is
HOWS = ("inner", "left", "semi", "anti")

Keys = Sequence[int | None] | npt.NDArray[np.int64]


@dataclass
class Lookup:
    """An enrichment with memory for so many rows, and all that went in and came out of it."""

    folder: Path
    algorithm: MannerName
    how: str = "inner"
    memory_rows: int = 300
    colliding: bool = False
    switching_factor: float = 1.0
    queue: Queue = "block"
    gathers: bool = False  # whether rows that are probed may wait for others
    found: Counter[Row] = field(default_factory=Counter)
    now: float = 0.0

    def __post_init__(self) -> None:
        plan_of = CollidingEnrichPlan if self.colliding else EnrichPlan
        kind = kind_of(self.how)
        more = {"switching_factor": self.switching_factor, "queue": self.queue}
        self._plan = plan_of(("key",), ("key",), ("_left", "_right"), self.algorithm, kind, **more)
        self._given: list[list[pa.RecordBatch]] = [[], []]
        self.operator = self._made(self.memory_rows)

    def _made(self, memory_rows: int) -> Enrichment:
        storage = Storage(1, lambda schema: files_in(self.folder, schema, BLOCK_BYTES))
        means = Means(Budget(memory_rows * ROW_BYTES).account("the operator"), alone=self.gathers)
        return self._plan.make(INPUTS, (SCHEMA, SCHEMA), storage, means)

    def has_master(self, keys: Keys, rows_at_once: int = 100) -> "Lookup":
        """These rows of it, and then it has ended."""
        self.takes(keys, rows_at_once)
        self.operator.end(MASTER)
        return self

    def takes(self, keys: Keys, rows_at_once: int = 100) -> None:
        """Rows of the master, with work in between."""
        for begin in range(0, len(keys), rows_at_once):
            self._arrive(MASTER, keys[begin : begin + rows_at_once])
            while self.has_work:
                self.work()

    def ask(self, keys: Keys) -> list[Row]:
        """What comes out at once when these rows of the stream come."""
        return self._arrive(STREAM, keys)

    def _arrive(self, which: int, keys: Keys) -> list[Row]:
        batch = numbered_rows([*keys], sum(map(len, self._given[which])))
        self._given[which].append(batch)
        return self._noted(
            self.operator.arrive([[batch] if one == which else [] for one in (STREAM, MASTER)], self.now)
        )

    def work(self, quantum_bytes: int = WHOLE) -> list[Row]:
        return self._noted(self.operator.work(quantum_bytes, replace(SILENT, now=self.now)))

    def settle(self, quantum_bytes: int = WHOLE) -> list[Row]:
        """Until there is nothing to do."""
        rows: list[Row] = []
        while self.has_work:
            rows += self.work(quantum_bytes)
        return rows

    def end(self) -> None:
        """Of the stream; all that came out is the answer, and nothing is left."""
        self.operator.end(STREAM)
        while self.operator.phase != "done":
            self.work()
        require_same(self.found, self.answer())
        assert self.operator.account.used_bytes == 0
        self.operator.close()
        assert not list(self.folder.iterdir())

    def answer(self) -> Counter[Row]:
        """Of all that has come, by a nested loop."""
        return joined([pa.Table.from_batches(batches, SCHEMA) for batches in self._given], self.how)

    def cut(self, memory_rows: int | None = None) -> None:
        """Save it, and go on with a new one, which may have another memory."""
        plain = json.loads(json.dumps(self.operator.snapshot()))
        self.operator.close()
        self.operator = self._made(self.memory_rows if memory_rows is None else memory_rows)
        self.operator.restore(plain)

    @property
    def is_ready(self) -> bool:
        return self.operator.port(STREAM) == "ready"

    @property
    def has_work(self) -> bool:
        return self.operator.has_work(SILENT)

    @property
    def waiting_rows(self) -> int:
        return self.operator._manner.waiting_rows

    @property
    def master(self) -> Any:
        return self.operator._master

    @property
    def cache(self) -> Any:
        return self.operator._manner._cache  # type: ignore[attr-defined]

    def _noted(self, results: Any) -> list[Row]:
        rows = [row for result in results for row in rows_of(result)]
        self.found.update(rows)
        return rows


def master_keys(n_rows: int = MASTER_ROWS, seed: int = 0) -> npt.NDArray[np.int64]:
    """Each key once, in any order."""
    return np.random.default_rng(seed).permutation(n_rows)


def go_through_a_stream(folder: Path, algorithm: MannerName, how: str, colliding: bool, seed: int) -> None:
    """The master comes first, then rows of the stream in many calls with work in between, all of it by chance."""
    dice = np.random.default_rng(seed)
    domain = int(dice.choice([30, 300, 3_000]))
    rows = 400 if colliding or domain == 30 else MASTER_ROWS  # few codes have many pairs
    lookup = Lookup(folder, algorithm, how, int(dice.choice([150, 300])), colliding, gathers=bool(seed % 2))
    lookup.has_master(with_nulls(dice.integers(0, domain, rows), dice), int(dice.choice([40, 120])))
    skew = dice.choice([1, 4])
    for _ in range(25):
        asked = (1.2 * domain * dice.random(dice.choice([1, 10, 50])) ** skew).astype(np.int64)  # some in vain
        while not lookup.is_ready:
            lookup.work()
        lookup.ask(with_nulls(asked, dice))
        for _ in range(dice.choice([0, 1, 3])):
            lookup.work(int(dice.choice([500, 5_000, WHOLE])))
        if dice.random() < 0.1:
            lookup.cut(int(dice.choice([150, 300])))
        if dice.random() < 0.1:
            lookup.settle()
            require_same(lookup.found, lookup.answer())
    lookup.end()


def with_nulls(keys: npt.NDArray[np.int64], dice: np.random.Generator) -> list[int | None]:
    return [None if dice.random() < 0.05 else int(key) for key in keys]
