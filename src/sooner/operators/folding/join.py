"""A join of which only sums over its pairs are wanted: they are folded where they are found, and nowhere built.

Rows arrive as `Preparation` makes them, with tallies among them; of a group's values only its number is kept. Where
codes tell keys apart, two sorted runs are folded by one compiled loop. Otherwise pairs are found by position first, and
for expressions over both sides the columns that matter are gathered for a batch of pairs at a time.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sooner.errors import InvalidJoin
from sooner.estimation.preparation import BY, COLUMN, FACTOR, TAG
from sooner.estimation.workings import Workings
from sooner.kernels.array_types import Flags
from sooner.kernels.arrays import to_arrow, to_numpy
from sooner.kernels.folding import MET, NEW, NOT_YET, Ages, Factors, Operand, Sums
from sooner.kernels.gathering import gather
from sooner.kernels.looking_up import CodeIndex
from sooner.kernels.matching import EQUAL
from sooner.named_algorithms import Algorithm
from sooner.operators.folding.folds import Folds
from sooner.operators.folding.state import FoldingState
from sooner.operators.inputs import Input
from sooner.operators.operator import Means
from sooner.operators.order import Order
from sooner.operators.parallel import ALONE
from sooner.operators.rectangle.join import RectangleJoin
from sooner.operators.two_way.covering import JoinRuns
from sooner.operators.two_way.join import ROWS_WORTH_THREADS
from sooner.operators.two_way.pairs import Filter, Findings, Folded, Pairs, bundled, pairs_by_index, pairs_of
from sooner.operators.two_way.tasks import Task
from sooner.policies.view import Surroundings
from sooner.runs.run import Run, Stamp, next_tick
from sooner.sides import LEFT, RIGHT, SIDES, opposite

GROUP: Final = "#group"
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


class FoldingJoin(RectangleJoin[Folds]):
    """After each call it gives what has been folded by then."""

    new_state: Callable[..., FoldingState]  # type: ignore[assignment]
    _state: FoldingState

    def __init__(
        self,
        inputs: tuple[Input, Input],
        order: Order,
        algorithm: Algorithm,
        workings: Workings,
        means: Means,
        guided: int | None = None,
    ) -> None:
        self._workings = workings
        memory_bytes = means.memory_bytes or means.budget.limit_bytes
        self.folds = Folds(workings, len(inputs[LEFT].partitions), means.budget, memory_bytes, guided)
        self._by_codes = order.only_matching is None and order.reach == EQUAL and workings.pairs is None
        self._counts_keys = guided is None and order.reach == EQUAL and order.is_spread
        self.new_state = partial(FoldingState, self.folds, self._fold_all)
        super().__init__(inputs, order, algorithm, lambda _: self.folds, means)
        self._in_pieces = False
        self._one_at_a_time = threading.Lock()

    def rows_come_in_pieces(self, n_bytes: int) -> None:
        """The calls of `arrive` from now on are pieces of one, by codes, and only all of them are a random sample.

        So all of them wait if there is no room for all, and what waits is joined by `work`, after the last of them.
        """
        self._in_pieces = True
        if not self._state.rows_wait and self.budget.used_bytes + n_bytes > self.budget.limit_bytes:
            self._state.begin_waiting()

    def _join_due(self) -> Iterator[Folds]:
        return iter(()) if self._in_pieces else super()._join_due()

    def arrive(self, rows: Sequence[Sequence[pa.RecordBatch]], now: float) -> Iterator[Folds]:
        """Fold these rows with each other and with what is in memory, and take them in."""
        self.folds.rows_come()
        kept = [[self._kept(side, batch) for batch in some] for side, some in enumerate(rows)]
        self.folds.make_room_for_groups()
        kept = [[batch for batch in some if batch.num_rows] for some in kept]
        for side in SIDES if self._counts_keys else ():
            self._count_keys(side, kept[side])
        return self._at_the_end_of(super().arrive(kept, now))

    def work(self, quantum_bytes: int, around: Surroundings) -> Iterator[Folds]:
        return self._at_the_end_of(super().work(quantum_bytes, around))

    def _kept(self, side: int, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Without tallies, and with the numbers of groups."""
        tags = to_numpy(batch.column(TAG))
        rows: Flags = tags >= 0
        if not rows.all():
            self.folds.came(side, tags)
            last = len(rows) - 1
            batch = batch.slice(0, last) if not rows[last] and rows[:last].all() else batch.filter(to_arrow(rows))
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
        if side is None or self._state.rows_wait:
            yield from super()._arrive(batches, now)
            return
        other = opposite(side)
        for batch in batches[other]:  # each by itself: its rows are neighbours, and may be in order already
            yield from super()._arrive([[batch] if which == other else [] for which in SIDES], now)
        if self._state.rows_wait:  # there was no room for all of the others
            yield from super()._arrive([some if which == side else [] for which, some in enumerate(batches)], now)
            return
        rows = sum(batch.num_rows for batch in batches[side])
        crew = self._crew if rows >= ROWS_WORTH_THREADS else ALONE
        there = [list(partition.resident) for partition in self._state.inputs[other].partitions]
        if self._by_codes:  # what is multiplied of a run is looked for once, however many blocks meet it
            known = self._state.operands
            self._state.operands = {
                id(run): known.get(id(run)) or (run, self._operand(other, run)) for some in there for run in some
            }
        works = [self._met_once(side, batch, there) for batch in batches[side]]
        yield from crew.together([self._results(bundled(work)) for work in works])
        self._state.tick = next_tick(self._state.tick)
        self.statistics.rows_received(side, rows, now)

    def _met_once(self, side: int, batch: pa.RecordBatch, there: Sequence[Sequence[Run]]) -> Iterator[Findings]:
        """With the runs of the other side, in each of which they skip what is not between their own codes."""
        for p, run in enumerate(self._state.inputs[side].sorted([batch]).runs):
            if run is None:
                continue
            if self._by_codes:
                others = [self._state.operands[id(other)][1] for other in there[p]]
                with self.folds.of_all() as sums:
                    n_pairs = sums.fold_many(side, self._operand(side, run), others)
                yield Folded(n_pairs)
            else:
                for other in there[p]:
                    yield from self._join_runs(*((run, other) if side == LEFT else (other, run)))
            with self._counting:
                self.statistics.arrived_rows[side, p] += len(run)
                self.statistics.forgotten_rows[side, p] += len(run)

    # How runs are folded

    def _join_runs(self, left: Run, right: Run) -> Iterator[Findings]:
        with self.folds.of_all() as sums:
            n_pairs = self._fold_all(left, right, sums)
        yield Folded(n_pairs)

    def _join_by_index(
        self, side: int, rows: Run, wanted: Flags | None, other: Run, index: CodeIndex
    ) -> Iterator[Findings]:
        for pairs in pairs_by_index(side, rows, wanted, other, index, self._reach, *self._filters):
            with self.folds.of_all() as sums:
                n_pairs = self._fold_found(pairs, sums)
            yield Folded(n_pairs)

    def _open_pairs_of(self, task: Task) -> JoinRuns:
        """Into what is pending of its partition."""
        p, until = task.partition, task.tick

        def fold(left: Run, right: Run) -> Iterator[Findings]:
            horizon = self._state.horizons[p]
            with self.folds.pending_of(p) as sums:
                if self._by_codes:
                    ages = _ages(left, horizon.left, until), _ages(right, horizon.right, until)
                    n_pairs = self._fold_runs(left, right, sums, ages)
                else:
                    n_pairs = self._fold_pairs(left, right, sums, self._state.only_open(p, until))
            yield Folded(n_pairs)

        return fold

    def _fold_all(self, left: Run, right: Run, sums: Sums) -> int:
        return self._fold_runs(left, right, sums) if self._by_codes else self._fold_pairs(left, right, sums)

    def _fold_runs(
        self, left: Run, right: Run, sums: Sums, ages: tuple[Ages | None, Ages | None] = (None, None)
    ) -> int:
        self._breathe()
        return sums.fold_runs(self._operand(LEFT, left), self._operand(RIGHT, right), ages)

    def _operand(self, side: int, run: Run) -> Operand:
        return Operand(run.codes, self._factors(side, run.rows))

    def _fold_pairs(self, left: Run, right: Run, sums: Sums, *filters: Filter) -> int:
        found = pairs_of(left, right, self._reach, *filters, *self._filters)
        return sum(self._fold_found(pairs, sums) for pairs in found)

    def _fold_found(self, pairs: Pairs, sums: Sums) -> int:
        if self._workings.pairs is not None:
            return self._fold_evaluated(pairs, sums)
        factors = (self._factors(LEFT, pairs.left.rows), self._factors(RIGHT, pairs.right.rows))
        sums.fold_pairs(*factors, pairs.at_left, pairs.at_right)
        return len(pairs)

    def _factors(self, side: int, rows: pa.RecordBatch) -> Factors:
        names = set(rows.schema.names)
        groups = to_numpy(rows.column(GROUP)) if GROUP in names else None
        wholes: list[npt.NDArray[Any] | None] = []
        reals: list[npt.NDArray[Any] | None] = []
        for term, is_whole in zip(self._workings.terms, self._workings.are_whole, strict=True):
            at = term[side]
            factor = None if at is None else to_numpy(rows.column(f"{FACTOR}{at}"))
            (wholes if is_whole else reals).append(factor)
        at_moments = [term[side] for term in self._workings.moments]
        numbers = [None if at is None else to_numpy(rows.column(f"{FACTOR}{at}")) for at in at_moments]
        return Factors(to_numpy(rows.column(TAG)), groups, wholes, reals, numbers)

    def _fold_evaluated(self, pairs: Pairs, sums: Sums) -> int:
        """What expressions over both sides give for these pairs."""
        step = self._workings.pairs
        assert step is not None
        rows = [_picked(run, at) for run, at in ((pairs.left, pairs.at_left), (pairs.right, pairs.at_right))]
        columns = {name: side.column(name) for side in rows for name in side.schema.names if name.startswith(COLUMN)}
        both = pa.RecordBatch.from_arrays([pa.nulls(len(pairs)), *columns.values()], ["#", *columns])
        tags = [to_numpy(side.column(TAG)) for side in rows]
        if step.where is not None:
            wanted = step.where.mask(both)
            both, tags = both.filter(to_arrow(wanted)), [some[wanted] for some in tags]
        if not both.num_rows:
            return 0
        values = [to_numpy(factor.evaluate(both)) for factor in step.factors]
        told = list(zip(self._workings.terms, self._workings.are_whole, strict=True))
        wholes, reals = (
            [None if at is None else values[at] for (at, _), is_whole in told if is_whole == kind]
            for kind in (True, False)
        )
        numbers = [None if at is None else values[at] for at, _ in self._workings.moments]
        by = [one.evaluate(both) for one in step.by]
        with self._one_at_a_time:  # a group that is new makes all sums larger, also those of other workers
            groups = self.folds.groups[LEFT].numbers_of(by) if by else None
            self.folds.make_room_for_groups()
            left = Factors(tags[LEFT], groups, wholes, reals, numbers)
            right = Factors(tags[RIGHT], None, *([None] * len(some) for some in (wholes, reals, numbers)))
            self.folds.now_in(sums).fold_pairs(left, right, None, None)
        n_pairs: int = both.num_rows
        return n_pairs


def _picked(run: Run, at: npt.NDArray[np.int64]) -> pa.RecordBatch:
    names = [name for name in run.rows.schema.names if name.startswith(COLUMN) or name == TAG]
    return gather(run.rows.select(names), at)


def _ages(run: Run, horizon: int, until: int) -> Ages | None:
    """Which rows have met those of the other side that are as old, and which came too late; None if all are new."""
    arrived: Stamp = run.arrived
    if isinstance(arrived, int):
        age = NOT_YET if arrived > until else MET if arrived <= horizon else NEW
        return None if age == NEW else np.full(len(run), age, np.uint8)
    return np.where(arrived > until, NOT_YET, np.where(arrived <= horizon, MET, NEW)).astype(np.uint8)
