"""Pairs are added up where they are found, and nowhere built.

Where codes tell keys apart, two sorted runs are folded by one compiled loop. Otherwise pairs are found by position
first, and for expressions over both sides the columns that matter are gathered for a batch of pairs at a time.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sooner.estimation.preparation import COLUMN, FACTOR, TAG
from sooner.estimation.workings import Workings
from sooner.how import INNER
from sooner.kernels.array_types import Flags
from sooner.kernels.arrays import to_arrow, to_numpy
from sooner.kernels.folding import MET, NEW, NOT_YET, Ages, Factors, Operand, Sums
from sooner.kernels.gathering import gather
from sooner.kernels.looking_up import CodeIndex
from sooner.kernels.matching import EQUAL
from sooner.operators.folding.evaluated import factors_of
from sooner.operators.folding.folds import Folds
from sooner.operators.inputs import Input
from sooner.operators.ledgers.horizons import Horizons
from sooner.operators.ledgers.open_pairs import JoinStatistics
from sooner.operators.order import Order
from sooner.operators.pairs import Bundle, Filter, Findings, Folded, Pairs, pairs_by_index, pairs_of
from sooner.operators.sweeping.parts import JoinRuns
from sooner.operators.two_way.collecting import filters_of
from sooner.runs.run import Run, Stamp
from sooner.sides import LEFT, RIGHT

GROUP: Final = "#group"


class FoldCollector:
    """It also watches the ledger, since partitions are rectangles of their own once rows wait."""

    def __init__(
        self,
        inputs: Sequence[Input],
        order: Order,
        workings: Workings,
        folds: Folds,
        horizons: Horizons,
        statistics: JoinStatistics,
        breathe: Callable[[], None],
    ) -> None:
        self._inputs = inputs
        self._reach = order.reach
        self._filters = filters_of(order, INNER, breathe)
        self._workings = workings
        self._folds = folds
        self._horizons = horizons
        self._statistics = statistics
        self._breathe = breathe
        self.by_codes = order.only_matching is None and order.reach == EQUAL and workings.pairs is None
        self._operands: dict[int, tuple[Run, Operand]] = {}  # of runs in memory that blocks meet, by their identity
        self._one_at_a_time = threading.Lock()

    def pairs_of(self, left: Run, right: Run) -> Iterator[Findings]:
        with self._folds.of_all() as sums:
            n_pairs = self._fold_all(left, right, sums)
        yield Folded(n_pairs)

    def pairs_by_index(
        self, side: int, rows: Run, wanted: Flags | None, other: Run, index: CodeIndex
    ) -> Iterator[Findings]:
        for pairs in pairs_by_index(side, rows, wanted, other, index, self._reach, *self._filters):
            with self._folds.of_all() as sums:
                n_pairs = self._fold_found(pairs, sums)
            yield Folded(n_pairs)

    def open_pairs_of(self, p: int, until: int) -> JoinRuns:
        """Into what is pending of its partition."""

        def fold(left: Run, right: Run) -> Iterator[Findings]:
            horizon = self._horizons.horizons[p]
            with self._folds.pending_of(p) as sums:
                if self.by_codes:
                    ages = _ages(left, horizon.left, until), _ages(right, horizon.right, until)
                    n_pairs = self._fold_runs(left, right, sums, ages)
                else:
                    n_pairs = self._fold_pairs(left, right, sums, self._horizons.only_open(p, until))
            yield Folded(n_pairs)

        return fold

    def result_of(self, bundle: Bundle) -> Folds:  # noqa: ARG002 - it is in the sums by now
        return self._folds

    # What the ledger tells of partitions

    def begin_waiting(self) -> None:
        """Until now partitions were not told apart; what is in memory is folded once more for each of them."""
        self._operands = {}  # no block meets them from now on, and they are to leave memory
        all_is_there = not self._statistics.forgotten_rows.any()
        for p, sums in enumerate(self._folds.begin_waiting(all_is_there=all_is_there)):
            lefts, rights = (one.partitions[p].resident for one in self._inputs)
            for left in lefts:
                for right in rights:
                    self._fold_all(left, right, sums)

    def whole_begins(self, p: int) -> None:
        self._folds.whole_begins(p)

    def is_whole(self, p: int) -> None:
        self._folds.is_whole(p)

    # Blocks that meet all that they can match when they come

    def know_operands(self, side: int, runs: Iterable[Run]) -> None:
        """What is multiplied of a run is looked for once, however many blocks meet it."""
        known = self._operands
        self._operands = {id(run): known.get(id(run)) or (run, self._operand(side, run)) for run in runs}

    def fold_block(self, side: int, block: Run, others: Sequence[Run]) -> Iterator[Findings]:
        """With runs of the other side, in each of which it skips what is not between its own codes."""
        if self.by_codes:
            operands = [self._operands[id(other)][1] for other in others]
            with self._folds.of_all() as sums:
                n_pairs = sums.fold_many(side, self._operand(side, block), operands)
            yield Folded(n_pairs)
            return
        for other in others:
            yield from self.pairs_of(*((block, other) if side == LEFT else (other, block)))

    # How runs are folded

    def _fold_all(self, left: Run, right: Run, sums: Sums) -> int:
        return self._fold_runs(left, right, sums) if self.by_codes else self._fold_pairs(left, right, sums)

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
        by = [one.evaluate(both) for one in step.by]
        with self._one_at_a_time:  # a group that is new makes all sums larger, also those of other workers
            groups = self._folds.groups[LEFT].numbers_of(by) if by else None
            self._folds.make_room_for_groups()
            factors = factors_of(self._workings, values, (tags[LEFT], tags[RIGHT]), groups)
            self._folds.now_in(sums).fold_pairs(*factors, None, None)
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
