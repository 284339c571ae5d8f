"""The two-way join: one mechanism, driven by a flush policy and a react policy. It keeps the contract of an operator.

`arrive` joins new rows with what is in memory and takes them in; when memory is full, the flush policy says what
leaves. `work` does a quantum of what is most urgent: the clean-up once both sides have ended; a task that has begun;
runs on disk that are too many; what is open, if all is to be settled; and what the react policy chooses.

Scratch memory beyond the budget: `scratch_bytes`, an eighth of the memory, for all workers together, in which runs are
merged, flushed and read slab by slab; a block of each run that is read; and for each worker PAIRS_AT_ONCE
pairs whose rows weigh PAIRS_BYTES. Whatever is free of the memory is used for larger slabs at the end.
"""

import math
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, Generic, TypeVar

import numpy as np
import pyarrow as pa

from sooner.budget import Budget
from sooner.errors import BudgetTooSmall
from sooner.how import INNER, Kind
from sooner.kernels.array_types import Flags
from sooner.kernels.looking_up import CodeIndex
from sooner.named_algorithms import Algorithm
from sooner.operators.events import Arrived
from sooner.operators.inputs import Input
from sooner.operators.operator import Interrupted, Means
from sooner.operators.order import Order
from sooner.operators.parallel import ALONE, Crew
from sooner.operators.two_way import invariants
from sooner.operators.two_way.beginning import (
    begin,
    begin_forgetting,
    begin_parting,
    begin_rest,
    begin_tidying,
    follow,
    in_pieces_on_disk,
    resume,
    tidying_plan,
)
from sooner.operators.two_way.covering import COPIES, JoinRuns, Workbench
from sooner.operators.two_way.existence import Existence
from sooner.operators.two_way.expiry import LATER, SOON, Expiry
from sooner.operators.two_way.flushing import freed_by, spill, why_no_room
from sooner.operators.two_way.pairs import (
    Bundle,
    Findings,
    Pairs,
    bundled,
    note_matches,
    only_by_rows,
    pairs_by_index,
    pairs_of,
)
from sooner.operators.two_way.reception import Finding, Reception
from sooner.operators.two_way.room import CLEAN_UP_BYTES, enough_of, flush_bytes_of, regions_of, scratch_bytes_of
from sooner.operators.two_way.state import JoinState
from sooner.operators.two_way.statistics import JoinStatistics
from sooner.operators.two_way.tasks import Task
from sooner.phases import Phase
from sooner.policies.view import BUSY, Evict, JoinView, MemoryDisk, Surroundings, Together, WholePartitions
from sooner.policies.view import Task as ChosenTask
from sooner.progress import Progress
from sooner.runs.run import Run, next_tick
from sooner.sides import LEFT, RIGHT, SIDES, opposite

ROWS_WORTH_THREADS: Final = 300000  # fewer are joined faster than handed over
ALL_OF_IT: Final = sys.maxsize  # bytes of disk work

R = TypeVar("R")
MakeRoom = Callable[[int], bool]


class TwoWayJoin(Generic[R]):
    """`result_of` makes results of found pairs. `room` is asked when memory is full: it frees so many bytes or more, by
    `evict` of this join or of others with the same budget, and says whether anything was freed; by default the
    algorithm's flush policy decides.
    """

    new_state: Callable[..., JoinState] = JoinState

    def __init__(
        self,
        inputs: tuple[Input, Input],
        order: Order,
        algorithm: Algorithm,
        result_of: Callable[[Bundle], R],
        means: Means,
        room: MakeRoom | None = None,
        kind: Kind = INNER,
        expiry: Expiry | None = None,
    ) -> None:
        budget = means.budget
        self._algorithm = algorithm
        self._kind = kind
        self._result_of = result_of
        self._device = means.device
        self._expected_rows = means.expected_rows
        self._crowd = means.crowd
        self._room = room or self.flush
        self._crew = Crew(means.workers)
        self._reach = order.reach
        checks = () if order.only_matching is None else (only_by_rows(order.only_matching),)
        self._filters = (self._going_on, *checks, *((note_matches,) if kind.examined else ()))
        self._flush_bytes = flush_bytes_of(algorithm, means)
        existence = Existence(order.reach, order.only_matching, self._breathe)
        regions, splits_codes = (
            regions_of(algorithm, len(inputs[LEFT].partitions), means),
            algorithm.splits != "no code",
        )
        self._state = self.new_state(inputs, budget, existence, kind, means.listener, expiry, regions, splits_codes)
        self._bench = Workbench(scratch_bytes_of(budget), self._breathe)
        finding = Finding(self._join_runs, self._join_by_index)
        self._reception = Reception(self._state, finding, self._bench, self._crew, self._reserve)
        self._tasks: list[Task] = []  # that have begun, in different partitions
        self._counting = threading.Lock()
        self._busy = False
        self._interrupted = False
        self._failure: Exception | None = None
        self.worked_bytes = 0
        algorithm.react.choose(self.view())  # what these inputs make impossible is refused before any row is read

    @property
    def inputs(self) -> Sequence[Input]:
        return self._state.inputs

    @property
    def phase(self) -> Phase:
        return self._state.phase

    @property
    def budget(self) -> Budget:
        return self._state.budget

    @property
    def statistics(self) -> JoinStatistics:
        return self._state.statistics

    def view(self, around: Surroundings = BUSY) -> JoinView:
        state, memory_bytes = self._state, self.budget.limit_bytes
        return self.statistics.view(state.tick, state.ended, around, self._device, memory_bytes, self._expected_rows)

    def progress(self) -> Progress:
        area = self.statistics.arrived_pairs
        progress = self.statistics.progress(self.phase, self.budget, area, area * self.statistics.covered_fraction)
        expiry = self._state.expiry
        if expiry is None:
            return progress
        return replace(progress, late_rows=tuple(expiry.late_rows), newest=expiry.newest_of_all)

    def arrive(self, rows: Sequence[Sequence[pa.RecordBatch]], now: float) -> Iterator[R]:
        """Join these rows with each other and with what is in memory, and take them in."""
        return self._exclusively(self._arrive(rows, now))

    def learn(self, newest: Sequence[int | float | None], now: float) -> None:
        """So new are the newest rows of each side, wherever they came, and so late is it."""
        assert self._state.expiry is not None, "nobody asked"
        self._state.expiry.learn(newest, self._state.tick, now)

    def end(self, which: int) -> None:
        """This side has no more rows."""
        self._reception.let_go_of_ended_side()
        self._state.inputs[which].ended = True
        if all(self._state.ended):
            self._state.enter("clean-up")

    def has_work(self, around: Surroundings) -> bool:
        """Whether `work` would do anything."""
        if self.phase in ("clean-up", "done"):
            return self.phase == "clean-up"
        if around.after_silence:  # what rows may wait for, the react policy says
            return self._algorithm.react.choose(self.view(around)) is not None
        going_on = any(around.silent or not task.is_the_policys for task in self._tasks)
        if going_on or self._first_crowded() is not None or self._first_to_part(around) is not None:
            return True
        if self._first_to_forget(around) is not None:
            return True
        if around.settling:
            return bool(self._tasks) or self._first_open() is not None
        return self._algorithm.react.choose(self.view(around)) is not None

    def work(self, quantum_bytes: int, around: Surroundings) -> Iterator[R]:
        """Go on with tasks that have begun, or begin the most urgent."""
        return self._exclusively(self._work(quantum_bytes, around))

    def flush(self, needed_bytes: int) -> bool:
        """Let so many bytes leave memory, or a little more, as the flush policy chooses. Whether any did."""
        goal_bytes = max(needed_bytes, self._flush_bytes)
        view = replace(self.view(), regions=self._state.seen_regions())
        return self.evict(
            enough_of(self._algorithm.flush.choose(view, goal_bytes), goal_bytes, partial(freed_by, self._state))
        )

    def evict(self, evictions: Together) -> bool:
        """Let these rows leave memory; between calls, or when room is asked for. Whether any did."""
        partitions = {eviction.partition for eviction in evictions}
        for task in self._tasks:
            if task.partition in partitions:
                task.let_go_of_memory()
        before = self.budget.used_bytes
        for p in partitions:
            self._let_useless_go(p)
        return spill(self._state, evictions, self._bench, self._crew) or self.budget.used_bytes < before

    def snapshot(self) -> dict[str, Any]:
        """The whole state as plain data; rows in memory are written to run files, which it names."""
        self._require_idle()
        for task in self._tasks:
            task.pause()
        return self._state.to_plain() | {"tasks": [task.to_plain() for task in self._tasks]}

    def restore(self, data: dict[str, Any]) -> None:
        """Go on from a snapshot, once."""
        self._state.load_plain(data)
        self._tasks = [resume(self._state, task) for task in data["tasks"]]
        self._reserve(0)

    def check_invariants(self) -> None:
        """Raise an AssertionError if the state is not what it must be between calls."""
        invariants.check(self._state, self._tasks)

    def interrupt(self) -> None:
        """Let whatever is being done end soon, with `Interrupted`; from any thread."""
        self._interrupted = True

    def close(self) -> None:
        """No more calls are coming."""
        self._crew.dismiss()
        for task in self._tasks:
            task.close()
        self._tasks = []

    def _exclusively(self, work: Iterator[R]) -> Iterator[R]:
        self._require_idle()
        self._busy = True
        try:
            yield from work
        except BudgetTooSmall:  # found out before anything was taken in
            self._busy = False
            raise
        except Exception as error:
            self._failure = error
            raise
        self._busy = False

    def _require_idle(self) -> None:
        if self._failure is not None:
            reason = f"{type(self._failure).__name__}: {self._failure}"
            raise RuntimeError(f"The last call failed in the middle ({reason}); go on from the last snapshot.")
        if self._busy:
            raise RuntimeError("The results of the last call were not read to their end; read them first.")

    def _breathe(self) -> None:
        if self._interrupted:
            raise Interrupted

    # Rows that arrive

    def _arrive(self, batches: Sequence[Sequence[pa.RecordBatch]], now: float) -> Iterator[R]:
        state = self._state
        state.require("arriving", "reactive")
        if (expiry := state.expiry) is not None:
            batches = [[expiry.arrive(side, batch) for batch in some] for side, some in enumerate(batches)]
        rows = tuple(sum(batch.num_rows for batch in some) for some in batches)
        if not any(rows):
            return
        state.enter("arriving")
        crew = self._crew if sum(rows) >= ROWS_WORTH_THREADS else ALONE
        for task in self._tasks:
            task.let_go_of_memory()  # what arrives may be merged with it
        works = self._reception.works(batches, crew)
        state.tick = next_tick(state.tick)
        for side in SIDES:
            self.statistics.rows_received(side, rows[side], now)
        resident, arrived = self.statistics.resident_rows.copy(), self.statistics.arrived_rows.copy()
        yield from crew.together([self._results(bundled(findings)) for findings in works])
        self._reception.tidy_up(crew)
        if expiry is not None:
            expiry.tick(state.tick, now)
            yield from self._forget_in_memory(expiry)
        arrived = self.statistics.arrived_rows - arrived
        compared = (arrived[LEFT] * resident[RIGHT] + arrived[RIGHT] * (resident[LEFT] + arrived[LEFT])).sum()
        state.report(Arrived(state.tick, rows, int(compared)))
        state.report_reached()
        yield from self._join_due()

    def _join_due(self) -> Iterator[R]:
        """Partitions that the react policy wants to be whole before more rows come."""
        while isinstance(due := self._algorithm.react.choose(self.view()), WholePartitions):
            yield from self._finish_tasks()
            for first in range(0, len(due.partitions), self._crew.workers):
                some = due.partitions[first : first + self._crew.workers]
                tasks = [self._begin(WholePartitions((p,)), ALL_OF_IT) for p in some]
                self._tasks = [task for task in tasks if task is not None]
                yield from self._finish_tasks()

    def _finish_tasks(self) -> Iterator[R]:
        while self._tasks:
            yield from self._advance(ALL_OF_IT, self._bench)

    def _forget_in_memory(self, expiry: Expiry) -> Iterator[R]:
        """Where nothing is on disk, what is dead is known without a look at it."""
        for p in range(self._state.n_partitions):
            if expiry.is_due(p, SOON) and not any(self._state.run_numbers(p)):
                yield from self._forget(p, self._bench)

    def _forget(self, p: int, bench: Workbench) -> Iterator[R]:
        """All at once, with what is on disk."""
        assert self._state.expiry is not None
        self._reception.let_go_of_ended_side()
        task = begin_forgetting(self._state, p, self._state.expiry)
        while not task.is_done:
            yield from self._results(task.advance(ALL_OF_IT, self._open_pairs_of(task), bench))
        self.worked_bytes += task.worked_bytes
        task.finish()

    def _first_to_forget(self, around: Surroundings) -> int | None:
        """A partition with rows that nothing will match any more: in silence any, else if enough have come together."""
        expiry, state = self._state.expiry, self._state
        if expiry is None:
            return None
        at_leisure = around.silent or around.settling
        parts = [
            math.inf if at_leisure else LATER if any(state.run_numbers(p)) else SOON for p in range(state.n_partitions)
        ]
        return next((p for p, share in enumerate(parts) if expiry.is_due(p, share)), None)

    def _reserve(self, needed_bytes: int) -> None:
        """Ask for room until so many bytes are free, and take them, before a merge of runs can."""
        if self.budget.free_bytes < needed_bytes:
            for p in range(self._state.n_partitions):
                self._let_useless_go(p)
        while self.budget.free_bytes < needed_bytes:
            if not self._room(needed_bytes - self.budget.free_bytes):
                raise BudgetTooSmall(why_no_room(needed_bytes, self.budget, self._algorithm))
        self.budget.reserve(needed_bytes)

    def _let_useless_go(self, p: int) -> None:
        """Rows in memory that nobody needs any more."""
        if not self._kind.pairs:
            self._state.let_matched_go(LEFT, p)
        for side in SIDES:
            self._state.let_gone_go(side, p)

    # Work on disk

    def _work(self, quantum_bytes: int, around: Surroundings) -> Iterator[R]:
        if not self.has_work(around):
            return
        if self.phase == "clean-up":
            self._begin_clean_up(quantum_bytes)
        else:
            self._state.enter("reactive")
            if not self._tasks and (dying := self._first_to_forget(around)) is not None:
                yield from self._forget(dying, self._bench)
                return
            if not self._tasks and (task := self._most_urgent(quantum_bytes, around)) is not None:
                self._tasks = [task]
        bench = self._bench if self.phase != "clean-up" else replace(self._bench, scratch_bytes=self._clean_up_bytes)
        yield from self._advance(quantum_bytes, bench)
        if self.phase == "clean-up" and not self._tasks and self._state.next_to_clean == self._state.n_partitions:
            self._state.enter("done")

    def _advance(self, quantum_bytes: int, bench: Workbench) -> Iterator[R]:
        """Tasks in different partitions go on at once."""
        tasks = self._tasks
        before = sum(task.worked_bytes for task in tasks)
        parts = max(len(tasks), 1)
        found = [
            task.advance(quantum_bytes // parts, self._open_pairs_of(task), bench.divided(parts)) for task in tasks
        ]
        yield from self._crew.together([self._results(bundles) for bundles in found])
        self.worked_bytes += sum(task.worked_bytes for task in tasks) - before
        for task in tasks:
            if task.is_done:
                task.finish()
        following = [follow(self._state, task) if task.is_done else task for task in tasks]
        self._tasks = [task for task in following if task is not None]
        self._state.report_reached()

    def _most_urgent(self, quantum_bytes: int, around: Surroundings) -> Task | None:
        """A new task: one at a time, since it has a block in memory of each of the many runs that it reads."""
        state = self._state
        if (crowded := self._first_crowded()) is not None:
            assert self._crowd is not None
            return begin_tidying(state, crowded, self._crowd)
        if (parting := self._first_to_part(around)) is not None:
            self._divide_hot_codes(parting[0], quantum_bytes)
            return begin_parting(state, *parting)
        if around.settling:
            p = self._first_open()
            return None if p is None else self._begin_rest(p, quantum_bytes)
        for _ in range(state.n_partitions):  # in each of them it may turn out that nothing is left to merge
            chosen = self._algorithm.react.choose(self.view(around))
            if chosen is not None and (task := self._begin(chosen, quantum_bytes)) is not None:
                return task
        return None

    def _begin(self, chosen: ChosenTask, quantum_bytes: int) -> Task | None:
        """What a policy chose; None if there is nothing of it left to do."""
        if isinstance(chosen, MemoryDisk | WholePartitions) or not self._kind.pairs:
            self._divide_hot_codes(chosen.partition, quantum_bytes)
        return begin(self._state, chosen)

    def _first_crowded(self) -> int | None:
        """A partition with so many runs that are alike that some are to become one."""
        if self._crowd is None:
            return None
        many = np.flatnonzero((self.statistics.spilled_runs >= self._crowd).any(axis=0)).tolist()
        state, crowd = self._state, self._crowd
        return next((p for p in many if tidying_plan(state, p, crowd) is not None), None)

    def _first_to_part(self, around: Surroundings) -> tuple[int, int] | None:
        """A partition and a side of it of which rows can be decided, since the other side has ended.

        While rows come that costs no more than twice what it decides: rows on disk are read once for as many that wait.
        """
        state, statistics = self._state, self.statistics
        for side in self._kind.examined:
            if state.inputs[side].ended or not state.inputs[opposite(side)].ended:
                continue
            waiting = statistics.undecided_rows[side]
            enough = 1 if around.silent or around.settling else statistics.spilled_rows[opposite(side)]
            due = np.flatnonzero((waiting > 0) & (waiting >= enough))
            if len(due):
                return int(due[0]), side
        return None

    def _first_open(self) -> int | None:
        return next((p for p in range(self._state.n_partitions) if self._state.is_open(p)), None)

    def _begin_rest(self, p: int, quantum_bytes: int) -> Task:
        self._divide_hot_codes(p, quantum_bytes)
        return begin_rest(self._state, p)

    def _divide_hot_codes(self, p: int, quantum_bytes: int) -> None:
        if evictions := in_pieces_on_disk(self._state, p, self._bench.slab_within(quantum_bytes)):
            self.evict(evictions)

    def _begin_clean_up(self, quantum_bytes: int) -> None:
        """As many partitions at once as there are workers; what is in its middle is finished first."""
        state = self._state
        self._tasks = [task for task in self._tasks if not (task.is_the_policys and task.is_untouched)]
        if any(task.kind != "clean-up" for task in self._tasks):
            return
        while len(self._tasks) < self._crew.workers and state.next_to_clean < state.n_partitions:
            p = state.next_to_clean
            state.next_to_clean += 1
            self._free_memory_for(p)
            self._tasks.append(self._begin_rest(p, quantum_bytes))

    def _free_memory_for(self, p: int) -> None:
        """Let later partitions leave memory for larger slabs of this one: nothing arrives any more to meet them."""
        spilled = [run for side in SIDES for run in self._state.spilled(side, p)]
        needed_bytes = min(COPIES * sum(run.n_bytes for run in spilled), CLEAN_UP_BYTES)
        for later in reversed(range(p + 1, self._state.n_partitions)):
            if self._clean_up_bytes >= needed_bytes:
                return
            self.evict([Evict(side, later) for side in SIDES])

    @property
    def _clean_up_bytes(self) -> int:
        """The scratch memory, or what is free of the memory if that is more."""
        return max(self._bench.scratch_bytes, min(self.budget.free_bytes, CLEAN_UP_BYTES))

    def _open_pairs_of(self, task: Task) -> JoinRuns:
        """How a task joins two runs."""
        only_open = self._state.only_open(task.partition, task.tick)
        return lambda left, right: pairs_of(left, right, self._reach, only_open, *self._filters)

    def _join_runs(self, left: Run, right: Run) -> Iterator[Findings]:
        """Where all pairs are new."""
        return pairs_of(left, right, self._reach, *self._filters)

    def _join_by_index(
        self, side: int, rows: Run, wanted: Flags | None, other: Run, index: CodeIndex
    ) -> Iterator[Findings]:
        """The same with rows of one side in no order, and an index of the other."""
        return pairs_by_index(side, rows, wanted, other, index, self._reach, *self._filters)

    def _going_on(self, pairs: Pairs) -> Pairs:
        """Also where everything has come out before, and nobody sees a result for long."""
        self._breathe()
        return pairs

    def _results(self, bundles: Iterator[Bundle]) -> Iterator[R]:
        for bundle in bundles:
            with self._counting:
                self.statistics.results += sum(map(len, bundle))
            yield self._result_of(bundle)
