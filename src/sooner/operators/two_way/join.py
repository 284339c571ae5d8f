"""The two-way join: one mechanism, driven by a flush policy and a react policy. It keeps the contract of an operator.

`arrive` joins new rows with what is in memory and takes them in; when memory is full, the flush policy says what
leaves. `work` does a quantum of what is most urgent: the clean-up once both sides have ended; a task that has begun;
runs on disk that are too many; what is open, if all is to be settled; and what the react policy chooses.

Scratch memory beyond the budget: `scratch_bytes`, an eighth of the memory, for all workers together, in which runs are
merged, flushed and read slab by slab; a block of each run that is read; and for each worker PAIRS_AT_ONCE
pairs whose rows weigh PAIRS_BYTES. Whatever is free of the memory is used for larger slabs at the end.
"""

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

import pyarrow as pa

from sooner.budget import Account
from sooner.named_algorithms import Algorithm
from sooner.operators.deciding.expiry import SOON, Expiry
from sooner.operators.events import Arrived
from sooner.operators.inputs import Input
from sooner.operators.leaving.making_room import RoomMaker
from sooner.operators.leaving.room import CLEAN_UP_BYTES, scratch_bytes_of
from sooner.operators.ledgers.ledger import OnArrival
from sooner.operators.ledgers.open_pairs import JoinStatistics
from sooner.operators.operator import Means, Operator
from sooner.operators.pairs import Bundle, bundled
from sooner.operators.state.state import JoinState
from sooner.operators.sweeping.parts import COPIES, Workbench
from sooner.operators.tasks import beginning
from sooner.operators.tasks.task import Task
from sooner.operators.two_way.agenda import first_crowded, first_open, first_to_forget, first_to_part, has_runs
from sooner.operators.two_way.collecting import Collector
from sooner.operators.two_way.reception import Reception
from sooner.parallel import ALONE, Crew
from sooner.phases import Phase
from sooner.policies.view import BUSY, EvictAll, JoinView, MemoryDisk, Surroundings, Together, WholePartitions
from sooner.policies.view import Task as ChosenTask
from sooner.progress import Progress
from sooner.sides import LEFT, RIGHT, SIDES

ROWS_WORTH_THREADS: Final = 300000  # fewer are joined faster than handed over
ALL_OF_IT: Final = sys.maxsize  # bytes of disk work

R = TypeVar("R")


class TwoWayJoin(Operator[R]):
    """Put together by `making.py`, from what varies between joins: the state has the ledger, which says what has met;
    the collector makes results of what is found; `on_arrival` says what rows that come meet at once, and
    `after_arrival` is called when they are in.
    """

    worked_bytes = 0

    def __init__(
        self,
        state: JoinState,
        collector: Collector[R],
        on_arrival: OnArrival,
        algorithm: Algorithm,
        means: Means,
        after_arrival: Callable[[], None] | None = None,
    ) -> None:
        self._state = state
        self._collector = collector
        self._algorithm = algorithm
        self._device = means.device
        self._expected_rows = means.expected_rows
        self._crowd = means.crowd
        self._after_arrival = after_arrival
        self._joins_due = True
        self.crew = Crew(means.workers, means.account)
        self._bench = Workbench(scratch_bytes_of(state.account), state.shell.breathe)
        self._room = RoomMaker(state, algorithm, means, self._bench, self.crew, self.view, self._let_go_of_memory)
        self._reception = Reception(state, on_arrival, collector, self._bench, self.crew, self._room.reserve)
        self._tasks: list[Task] = []  # that have begun, in different partitions
        self._counting = threading.Lock()
        algorithm.react.choose(self.view())  # what these inputs make impossible is refused before any row is read

    @property
    def inputs(self) -> Sequence[Input]:
        return self._state.inputs

    @property
    def phase(self) -> Phase:
        return self._state.shell.phase

    @property
    def account(self) -> Account:
        return self._state.account

    @property
    def statistics(self) -> JoinStatistics:
        return self._state.statistics

    def view(self, around: Surroundings = BUSY) -> JoinView:
        state, memory_bytes = self._state, self.account.share_bytes
        told = self._device, memory_bytes, self._expected_rows, state.ledger.full_since
        return self.statistics.view(state.shell.tick, state.ended, around, *told)

    def progress(self) -> Progress:
        area = self.statistics.arrived_pairs
        covered = area * self.statistics.covered_fraction + sum(task.covered_pairs for task in self._tasks)
        progress = self.statistics.progress(self.phase, self.account, area, min(covered, area))
        expiry = self._state.expiry
        if expiry is None:
            return progress
        return replace(progress, late_rows=tuple(expiry.late_rows), newest=expiry.newest_of_all)

    def arrive(self, rows: Sequence[Sequence[pa.RecordBatch]], now: float) -> Iterator[R]:
        """Join these rows with each other and with what is in memory, and take them in."""
        return self._state.shell.exclusively(self._in_scratch(self._arrive(rows, now)))

    def learn(self, newest: Sequence[int | float | None], now: float) -> None:
        """Report each input's high-water mark and the time."""
        assert self._state.expiry is not None, "nobody asked"
        self._state.expiry.learn(newest, self._state.shell.tick, now)

    def end(self, which: int) -> None:
        """This side has no more rows."""
        self._reception.let_go_of_ended_side()
        self._state.inputs[which].ended = True
        if all(self._state.ended):
            self._state.shell.enter("clean-up")

    def has_work(self, around: Surroundings) -> bool:
        """Whether `work` would do anything."""
        state = self._state
        if self.phase in ("clean-up", "done"):
            return self.phase == "clean-up"
        if around.after_silence:  # what rows may wait for, the react policy says
            return self._algorithm.react.choose(self.view(around)) is not None
        going_on = any(around.silent or not task.is_the_policys for task in self._tasks)
        if going_on or first_crowded(state, self._crowd) is not None or first_to_part(state, around) is not None:
            return True
        if first_to_forget(state, around) is not None:
            return True
        if around.settling:
            return bool(self._tasks) or first_open(state) is not None
        return self._algorithm.react.choose(self.view(around)) is not None

    def work(self, quantum_bytes: int, around: Surroundings) -> Iterator[R]:
        """Go on with tasks that have begun, or begin the most urgent."""
        return self._state.shell.exclusively(self._in_scratch(self._work(quantum_bytes, around)))

    @property
    def is_busy(self) -> bool:
        """Whether it is in the middle of a call."""
        return self._state.shell.is_busy

    def evict(self, evictions: Together) -> bool:
        """Let these rows leave memory. In the middle of a call it does so only for itself: results may hold them."""
        return (self._room.is_asking or not self.is_busy) and self._room.evict(evictions)

    def leave_due_joins_to_work(self) -> None:
        """Whole partitions that the react policy wants while rows come are joined by `work` from now on."""
        self._joins_due = False

    def snapshot(self) -> dict[str, Any]:
        """The whole state as plain data; rows in memory are written to run files, which it names."""
        self._state.shell.require_idle()
        for task in self._tasks:
            task.pause()
        return self._state.to_plain() | {"tasks": [task.to_plain() for task in self._tasks]}

    def restore(self, data: dict[str, Any]) -> None:
        """Go on from a snapshot, once."""
        self._state.load_plain(data)
        self._tasks = [beginning.resume(self._state, task) for task in data["tasks"]]
        self._room.reserve(0)

    def interrupt(self) -> None:
        """Let whatever is being done end soon, with `Interrupted`; from any thread."""
        self._state.shell.interrupt()

    def close(self) -> None:
        """No more calls are coming."""
        self.crew.dismiss()
        for task in self._tasks:
            task.close()
        self._tasks = []
        super().close()

    def results(self, bundles: Iterator[Bundle]) -> Iterator[R]:
        """Of what was found, counted."""
        for bundle in bundles:
            with self._counting:
                self.statistics.results += sum(map(len, bundle))
            yield self._collector.result_of(bundle)

    def _in_scratch(self, work: Iterator[R]) -> Iterator[R]:
        """All of its scratch memory may be in use in the middle of a call."""
        with self.account.borrowed(self._bench.scratch_bytes):
            yield from work

    # Rows that arrive

    def _arrive(self, batches: Sequence[Sequence[pa.RecordBatch]], now: float) -> Iterator[R]:
        state = self._state
        state.shell.require("arriving", "reactive")
        if (expiry := state.expiry) is not None:
            batches = [[expiry.arrive(side, batch) for batch in some] for side, some in enumerate(batches)]
        rows = tuple(sum(batch.num_rows for batch in some) for some in batches)
        if not any(rows):
            return
        state.shell.enter("arriving")
        crew = self.crew if sum(rows) >= ROWS_WORTH_THREADS else ALONE
        for task in self._tasks:
            task.let_go_of_memory()  # what arrives may be merged with it
        works = self._reception.works(batches, crew)
        state.shell.advance()
        for side in SIDES:
            self.statistics.rows_received(side, rows[side], now)
        resident, arrived = self.statistics.resident_rows.copy(), self.statistics.arrived_rows.copy()
        yield from crew.together([self.results(bundled(findings)) for findings in works])
        self._reception.tidy_up(crew)
        if expiry is not None:
            expiry.tick(state.shell.tick, now)
            yield from self._forget_in_memory(expiry)
        arrived = self.statistics.arrived_rows - arrived
        compared = (arrived[LEFT] * resident[RIGHT] + arrived[RIGHT] * (resident[LEFT] + arrived[LEFT])).sum()
        state.shell.report(Arrived(state.shell.tick, rows, int(compared)))
        state.shell.report_reached(self.statistics)
        if self._joins_due:
            yield from self._join_due()
        if self._after_arrival is not None:
            self._after_arrival()

    def _join_due(self) -> Iterator[R]:
        """Partitions that the react policy wants to be whole before more rows come."""
        while isinstance(due := self._algorithm.react.choose(self.view()), WholePartitions):
            yield from self._finish_tasks()
            for first in range(0, len(due.partitions), self.crew.workers):
                some = due.partitions[first : first + self.crew.workers]
                tasks = [self._begin(WholePartitions((p,)), ALL_OF_IT) for p in some]
                self._tasks = [task for task in tasks if task is not None]
                yield from self._finish_tasks()

    def _finish_tasks(self) -> Iterator[R]:
        while self._tasks:
            yield from self._advance(ALL_OF_IT, self._bench)

    def _forget_in_memory(self, expiry: Expiry) -> Iterator[R]:
        """Where nothing is on disk, what is dead is known without a look at it."""
        for p in range(self._state.n_partitions):
            if expiry.is_due(p, SOON) and not has_runs(self._state, p):
                yield from self._forget(p, self._bench)

    def _forget(self, p: int, bench: Workbench) -> Iterator[R]:
        """All at once, with what is on disk."""
        assert self._state.expiry is not None
        self._reception.let_go_of_ended_side()
        task = beginning.begin_forgetting(self._state, p, self._state.expiry)
        while not task.is_done:
            found = task.advance(ALL_OF_IT, self._collector.open_pairs_of(p, task.tick), bench)
            yield from self.results(found)
        self.worked_bytes += task.worked_bytes
        task.finish()

    def _let_go_of_memory(self, partitions: set[int]) -> None:
        for task in self._tasks:
            if task.partition in partitions:
                task.let_go_of_memory()

    # Work on disk

    def _work(self, quantum_bytes: int, around: Surroundings) -> Iterator[R]:
        if not self.has_work(around):
            return
        if self.phase == "clean-up":
            self._begin_clean_up(quantum_bytes)
        else:
            self._state.shell.enter("reactive")
            if not self._tasks and (dying := first_to_forget(self._state, around)) is not None:
                yield from self._forget(dying, self._bench)
                return
            if not self._tasks and (task := self._most_urgent(quantum_bytes, around)) is not None:
                self._tasks = [task]
        bench = self._bench if self.phase != "clean-up" else replace(self._bench, scratch_bytes=self._clean_up_bytes)
        yield from self._advance(quantum_bytes, bench)
        if self.phase == "clean-up" and not self._tasks and self._state.next_to_clean == self._state.n_partitions:
            self._state.shell.enter("done")

    def _advance(self, quantum_bytes: int, bench: Workbench) -> Iterator[R]:
        """Tasks in different partitions go on at once."""
        tasks = self._tasks
        before = sum(task.worked_bytes for task in tasks)
        parts = max(len(tasks), 1)
        share, place = quantum_bytes // parts, bench.divided(parts)
        found = [task.advance(share, self._collector.open_pairs_of(task.partition, task.tick), place) for task in tasks]
        yield from self.crew.together([self.results(bundles) for bundles in found])
        self.worked_bytes += sum(task.worked_bytes for task in tasks) - before
        for task in tasks:
            if task.is_done:
                task.finish()
        following = [beginning.follow(self._state, task) if task.is_done else task for task in tasks]
        self._tasks = [task for task in following if task is not None]
        self._state.shell.report_reached(self.statistics)

    def _most_urgent(self, quantum_bytes: int, around: Surroundings) -> Task | None:
        """A new task: one at a time, since it has a block in memory of each of the many runs that it reads."""
        state = self._state
        if (crowded := first_crowded(state, self._crowd)) is not None:
            assert self._crowd is not None
            return beginning.begin_tidying(state, crowded, self._crowd)
        if (parting := first_to_part(state, around)) is not None:
            self._divide_hot_codes(parting[0], quantum_bytes)
            return beginning.begin_parting(state, *parting)
        if around.settling:
            p = first_open(state)
            return None if p is None else self._begin_rest(p, quantum_bytes)
        for _ in range(state.n_partitions):  # in each of them it may turn out that nothing is left to merge
            chosen = self._algorithm.react.choose(self.view(around))
            if chosen is not None and (task := self._begin(chosen, quantum_bytes)) is not None:
                return task
        return None

    def _begin(self, chosen: ChosenTask, quantum_bytes: int) -> Task | None:
        """What a policy chose; None if there is nothing of it left to do."""
        if isinstance(chosen, MemoryDisk | WholePartitions) or not self._state.kind.pairs:
            self._divide_hot_codes(chosen.partition, quantum_bytes)
        return beginning.begin(self._state, chosen)

    def _begin_rest(self, p: int, quantum_bytes: int) -> Task:
        self._divide_hot_codes(p, quantum_bytes)
        return beginning.begin_rest(self._state, p)

    def _divide_hot_codes(self, p: int, quantum_bytes: int) -> None:
        if evictions := beginning.in_pieces_on_disk(self._state, p, self._bench.slab_within(quantum_bytes)):
            self._room.evict(evictions)

    def _begin_clean_up(self, quantum_bytes: int) -> None:
        """As many partitions at once as there are workers; what is in its middle is finished first."""
        state = self._state
        self._tasks = [task for task in self._tasks if not (task.is_the_policys and task.is_untouched)]
        if any(task.kind != "clean-up" for task in self._tasks):
            return
        while len(self._tasks) < self.crew.workers and state.next_to_clean < state.n_partitions:
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
            self._room.evict([EvictAll(side, later) for side in SIDES])

    @property
    def _clean_up_bytes(self) -> int:
        """The scratch memory, or what is free of the memory if that is more."""
        return max(self._bench.scratch_bytes, min(self.account.free_bytes, CLEAN_UP_BYTES))
