"""A join of which only sums over its pairs are wanted: an operator around a two-way join that folds what it finds.

Rows arrive as `Preparation` makes them, with tallies among them; of a group's values only its number is kept.
"""

import threading
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from sooner.budget import Account
from sooner.errors import InvalidJoin
from sooner.estimation.preparation import BY, TAG
from sooner.estimation.tags import Tags
from sooner.estimation.workings import Workings
from sooner.kernels.array_types import Flags
from sooner.kernels.arrays import to_arrow, to_numpy
from sooner.kernels.matching import EQUAL
from sooner.named_algorithms import Algorithm
from sooner.operators.folding.collector import GROUP, FoldCollector
from sooner.operators.folding.folds import Folds
from sooner.operators.folding.guided import GuidedArrival
from sooner.operators.folding.together import told_by
from sooner.operators.inputs import Input
from sooner.operators.operator import Means, Operator
from sooner.operators.order import Order
from sooner.operators.pairs import Findings, bundled
from sooner.operators.shell import Shell
from sooner.operators.two_way.join import ROWS_WORTH_THREADS, TwoWayJoin
from sooner.operators.two_way.making import horizons_of, state_of, statistics_of
from sooner.parallel import ALONE
from sooner.phases import Phase
from sooner.policies.view import JoinView, Surroundings
from sooner.progress import Progress
from sooner.runs.run import Run
from sooner.sides import LEFT, SIDES, opposite

WHY_NOT: Final = {
    "rpj": "keeps the rows in memory that match best, so what it has joined is no random sample",
    "diner": "keeps the values in memory that match best, so what it has joined is no random sample",
}


def require_sampling(algorithm: Algorithm) -> None:
    """Refuse what covers no rectangle of random rows."""
    if algorithm.waits in ("once memory was full", "always"):
        return
    family = next((why for name, why in WHY_NOT.items() if algorithm.name.startswith(name)), None)
    reason = family or "covers no rectangle of the first rows of both inputs once memory is full"
    raise InvalidJoin(
        f"algorithm={algorithm.name!r} {reason}: no interval can be given; choose 'pr_join', 'ripple' or 'grace'."
    )


def kept_schema(workings: Workings, side: int) -> pa.Schema:
    """Of rows of one side as they are kept: a number stands for their group."""
    schema = workings.sides[side].schema
    fields = [field for field in schema if not field.name.startswith(BY)]
    return pa.schema([*fields, pa.field(GROUP, pa.int32())] if len(fields) < len(schema) else fields)


def without_tallies(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, Tags]:
    """The rows of a batch, and the tallies that are among them."""
    tags = to_numpy(batch.column(TAG))
    rows: Flags = tags >= 0
    if not rows.all():
        last = len(rows) - 1
        batch = batch.slice(0, last) if not rows[last] and rows[:last].all() else batch.filter(to_arrow(rows))
    return batch, tags[~rows]


class FoldingJoin(Operator[Folds]):
    """After each call it gives what has been folded by then."""

    def __init__(
        self,
        inputs: tuple[Input, Input],
        order: Order,
        algorithm: Algorithm,
        workings: Workings,
        means: Means,
        guided: int | None = None,
    ) -> None:
        memory_bytes = means.memory_bytes or means.account.share_bytes
        self.folds = Folds(workings, len(inputs[LEFT].partitions), means.account, memory_bytes, guided)
        self._shell = Shell(means.listener)
        self._statistics = statistics_of(inputs, algorithm, means)
        self._horizons = horizons = horizons_of(inputs, algorithm, self._statistics, self._shell)
        told = inputs, order, workings, self.folds, horizons, self._statistics, self._shell.breathe
        self._collector = FoldCollector(*told)
        horizons.watcher = self._collector
        if horizons.rows_wait:
            self._collector.begin_waiting()
        state = state_of(inputs, order, algorithm, means, self._shell, self._statistics, horizons)
        on_arrival = horizons if guided is None else GuidedArrival(horizons, guided)
        self._join = TwoWayJoin(state, self._collector, on_arrival, algorithm, means)
        self._counting = threading.Lock()
        self._counts_keys = guided is None and order.reach == EQUAL and order.is_spread

    @property
    def inputs(self) -> Sequence[Input]:
        return self._join.inputs

    @property
    def phase(self) -> Phase:
        return self._join.phase

    @property
    def account(self) -> Account:
        return self._join.account

    @property
    def worked_bytes(self) -> int:
        return self._join.worked_bytes

    def expect(self, n_bytes: int) -> None:
        """Only all pieces together are a random sample.

        So all of them wait if there is no room for all, and what waits is joined by `work`, after the last of them.
        """
        self._join.leave_due_joins_to_work()
        if not self._horizons.rows_wait and n_bytes > self.account.free_bytes:
            self._horizons.begin_waiting(self._shell.tick)

    def arrive(self, rows: Sequence[Sequence[pa.RecordBatch]], now: float) -> Iterator[Folds]:
        """Fold these rows with each other and with what is in memory, and take them in."""
        self.folds.rows_come()
        kept = [[self._kept(side, batch) for batch in some] for side, some in enumerate(rows)]
        self.folds.make_room_for_groups()
        kept = [[batch for batch in some if batch.num_rows] for some in kept]
        for side in SIDES if self._counts_keys else ():
            self._count_keys(side, kept[side])
        yield from self._at_the_end_of(self._arrive(kept, now))

    def end(self, which: int) -> None:
        self._join.end(which)

    def has_work(self, around: Surroundings) -> bool:
        return self._join.has_work(around)

    def work(self, quantum_bytes: int, around: Surroundings) -> Iterator[Folds]:
        return self._at_the_end_of(self._join.work(quantum_bytes, around))

    def told(self) -> dict[str, Any]:
        """Its sums, which those of other partitions are added to."""
        return told_by(self.folds, [one.ended for one in self.inputs], done=self.phase == "done")

    def view(self, around: Surroundings) -> JoinView:
        return self._join.view(around)

    def progress(self) -> Progress:
        return self._join.progress()

    def snapshot(self) -> dict[str, Any]:
        return self._join.snapshot() | {"folds": self.folds.to_plain()}

    def restore(self, data: dict[str, Any]) -> None:
        self.folds.load_plain(data["folds"])
        self._join.restore(data)

    def interrupt(self) -> None:
        self._join.interrupt()

    def close(self) -> None:
        self._join.close()
        self.folds.room.account.close()

    def _kept(self, side: int, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Without tallies, and with the numbers of groups."""
        batch, tallies = without_tallies(batch)
        if len(tallies):
            self.folds.came(side, tallies)
        by = [name for name in batch.schema.names if name.startswith(BY)]
        if not by:
            return batch
        numbers = self.folds.groups[side].numbers_of([batch.column(name) for name in by])
        others = [name for name in batch.schema.names if name not in by]
        columns = [*(batch.column(name) for name in others), to_arrow(numbers)]
        return pa.RecordBatch.from_arrays(columns, schema=self.inputs[side].schema)

    def _count_keys(self, side: int, batches: Sequence[pa.RecordBatch]) -> None:
        """They tell of rows of the other side that are still to come, if there are any."""
        if self.inputs[opposite(side)].ended:
            return
        for batch in batches:
            codes, wanted = self.inputs[side].code(batch)
            self.folds.keys_came(side, codes if wanted is None else codes[wanted])

    def _at_the_end_of(self, results: Iterator[Folds]) -> Iterator[Folds]:
        for _ in results:
            pass
        self.folds.rows_are_in()
        yield self.folds

    def _arrive(self, batches: Sequence[Sequence[pa.RecordBatch]], now: float) -> Iterator[Folds]:
        """Rows that meet all that they can match when they come are folded block by block, and not kept."""
        side = self.folds.guided
        if side is None or self._horizons.rows_wait:
            yield from self._join.arrive(batches, now)
            return
        other = opposite(side)
        for batch in batches[other]:  # each by itself: its rows are neighbours, and may be in order already
            yield from self._join.arrive([[batch] if which == other else [] for which in SIDES], now)
        if self._horizons.rows_wait:  # there was no room for all of the others
            yield from self._join.arrive([some if which == side else [] for which, some in enumerate(batches)], now)
            return
        yield from self._shell.exclusively(self._meet_once(side, batches[side], now))

    def _meet_once(self, side: int, batches: Sequence[pa.RecordBatch], now: float) -> Iterator[Folds]:
        rows = sum(batch.num_rows for batch in batches)
        crew = self._join.crew if rows >= ROWS_WORTH_THREADS else ALONE
        there = [list(partition.resident) for partition in self.inputs[opposite(side)].partitions]
        if self._collector.by_codes:
            self._collector.know_operands(opposite(side), (run for some in there for run in some))
        works = [self._met_once(side, batch, there) for batch in batches]
        yield from crew.together([self._join.results(bundled(work)) for work in works])
        self._shell.advance()
        self._statistics.rows_received(side, rows, now)

    def _met_once(self, side: int, batch: pa.RecordBatch, there: Sequence[Sequence[Run]]) -> Iterator[Findings]:
        rows = np.zeros(len(there), np.int64)
        for p, run in enumerate(self.inputs[side].sorted([batch]).runs):
            if run is not None:
                yield from self._collector.fold_block(side, run, there[p])
                rows[p] = len(run)
        with self._counting:
            self._statistics.rows_forgotten(side, rows)
