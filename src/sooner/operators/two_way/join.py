"""The two-way join: one mechanism, driven by a flush policy and a react policy.

`arrive` joins new rows with what is in memory and takes them in; when memory is full, the flush policy says what
leaves. `perform` does a piece of disk work that the react policy chose. `settle` covers what is open while the sides go
on, `clean_up` what is left once both have ended. Each is a generator of results, which are what `result_of` makes of
found pairs; it must be exhausted before the next call. Between calls the state is whole, and `snapshot` writes it down
as plain data. There is no clock and no random source in here. With several workers the order of results may vary, and
nothing else.

Scratch memory beyond the budget: `scratch_bytes`, an eighth of the memory, for all workers together, in which runs are
merged, flushed and read slab by slab; a block of each run that is read; and for each worker PAIRS_AT_ONCE
pairs whose rows weigh PAIRS_BYTES. Whatever is free of the memory is used for larger slabs at the end.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, Generic, TypeVar

import pyarrow as pa

from sooner.budget import Budget, format_bytes
from sooner.errors import BudgetTooSmall
from sooner.kernels.gathering import as_one
from sooner.kernels.keys import KeyPlan
from sooner.named_algorithms import Algorithm
from sooner.operators.events import Arrived, Listener
from sooner.operators.parallel import ALONE, Crew
from sooner.operators.phases import Phase
from sooner.operators.sorted_runs import CodeRows, sorted_runs
from sooner.operators.two_way.compacting import CROWD, compact
from sooner.operators.two_way.covering import COPIES, Workbench
from sooner.operators.two_way.disk_work import cover_rest, forget_partition, is_open, merge_disk, scan_disk, settle
from sooner.operators.two_way.flushing import spill
from sooner.operators.two_way.pairs import Pairs, drop_collisions, drop_met, pairs_of
from sooner.operators.two_way.state import JoinState
from sooner.operators.two_way.statistics import Statistics
from sooner.policies.view import DeviceCosts, Evict, JoinView, MemoryDisk, Task
from sooner.runs.files import RunFiles
from sooner.runs.run import Run
from sooner.runs.saved_runs import SavedRuns
from sooner.sides import LEFT, SIDES, opposite

FLUSH_FRACTION: Final = 0.1  # of the memory, when it is full: rarely enough to write in large pieces
ROWS_WORTH_THREADS: Final = 100_000  # fewer are joined faster than handed over
SCRATCH_SHARE: Final = 8  # of the memory, one part in so many
LEAST_SCRATCH_BYTES: Final = 4 * 2**20
MOST_SCRATCH_BYTES: Final = 256 * 2**20
CLEAN_UP_BYTES: Final = 32 * 2**20  # if so much is free: larger slabs save nothing more

R = TypeVar("R")


class Interrupted(Exception):  # noqa: N818 - not an error: somebody wished it
    """The join was told to end in the middle of its work."""


class TwoWayJoin(Generic[R]):
    def __init__(
        self,
        keys: KeyPlan,
        coders: tuple[CodeRows, CodeRows],
        files: tuple[RunFiles, RunFiles],
        algorithm: Algorithm,
        budget: Budget,
        partitions: int,
        result_of: Callable[[Pairs], R],
        device: DeviceCosts | None = None,
        flush_fraction: float = FLUSH_FRACTION,
        listener: Listener | None = None,
        workers: int = 1,
        saved_runs: tuple[SavedRuns, SavedRuns] | None = None,
    ) -> None:
        self._coders = coders
        self._algorithm = algorithm
        self._result_of = result_of
        self._device = device or DeviceCosts()
        self._crew = Crew(workers)
        self._filters = (self._going_on,) if keys.exact else (self._going_on, drop_collisions(keys))
        self._flush_bytes = int(budget.limit_bytes * flush_fraction)
        self._state = JoinState(files, budget, partitions, listener, saved_runs)
        scratch_bytes = min(max(budget.limit_bytes // SCRATCH_SHARE, LEAST_SCRATCH_BYTES), MOST_SCRATCH_BYTES)
        self._bench = Workbench(scratch_bytes, self._breathe)
        self._counting = threading.Lock()
        self._busy = False
        self._interrupted = False
        self._failure: Exception | None = None

    @property
    def phase(self) -> Phase:
        return self._state.phase

    @property
    def ended(self) -> tuple[bool, bool]:
        return self._state.ended

    @property
    def budget(self) -> Budget:
        return self._state.budget

    @property
    def statistics(self) -> Statistics:
        return self._state.statistics

    def view(self) -> JoinView:
        return self.statistics.view(self._state.tick, self.ended, self._device)

    def arrive(self, left: Sequence[pa.RecordBatch], right: Sequence[pa.RecordBatch], now: float) -> Iterator[R]:
        """Join these rows with each other and with what is in memory, and take them in. `now` is in seconds."""
        return self._exclusively(self._arrive((left, right), now))

    def end(self, side: int) -> None:
        """This side has no more rows."""
        self._state.end(side)
        if all(self.ended):
            self._state.enter("clean-up")

    def choose_task(self) -> Task | None:
        """The disk work that the react policy wants done now."""
        return self._algorithm.react.choose(self.view())

    def perform(self, task: Task) -> Iterator[R]:
        """Do a piece of disk work."""
        return self._exclusively(self._perform(task))

    @property
    def is_settled(self) -> bool:
        """Whether all rows that have arrived have met those that they match."""
        return self.phase == "done" or (self.phase != "clean-up" and self._first_open() is None)

    def settle(self) -> Iterator[R]:
        """Cover all that is open of one partition in which something is; the sides stay as they are."""
        return self._exclusively(self._settle())

    def clean_up(self) -> Iterator[R]:
        """Cover all that is left of the next partitions; after the last one the join is done."""
        return self._exclusively(self._clean_up())

    def compact(self, crowd: int = CROWD) -> None:
        """Merge runs on disk where so many are alike; the results to come do not change."""
        self._require_idle()
        compact(self._state, self._bench, self._crew, crowd)

    def interrupt(self) -> None:
        """Let whatever is being done end soon, with `Interrupted`; from any thread. What comes after does so too."""
        self._interrupted = True

    def close(self) -> None:
        """No more work is coming: its threads end."""
        self._crew.dismiss()

    def snapshot(self) -> dict[str, Any]:
        """The whole state as plain data; rows in memory are written to run files, which it names."""
        self._require_idle()
        return self._state.to_plain()

    def restore(self, data: dict[str, Any]) -> None:
        """Go on from a snapshot, once; this join must be new, and made with the same arguments.

        Only the memory may differ: if it is less than the rows in it take, some leave it at once.
        """
        self._state.load_plain(data)
        self._reserve(0)

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

    def _arrive(self, batches: tuple[Sequence[pa.RecordBatch], Sequence[pa.RecordBatch]], now: float) -> Iterator[R]:
        state = self._state
        state.require("arriving", "reactive")
        left_rows, right_rows = (sum(batch.num_rows for batch in some) for some in batches)
        if not left_rows and not right_rows:
            return
        state.enter("arriving")
        crew = self._crew if left_rows + right_rows >= ROWS_WORTH_THREADS else ALONE
        arrivals = list(crew.in_order(lambda side: self._sorted(side, batches[side]), SIDES))
        self._reserve(sum(run.n_bytes for runs in arrivals for run in runs if run is not None))
        state.tick += 1
        for side, rows in enumerate((left_rows, right_rows)):
            self.statistics.rows_received(side, rows, now)
        compared = self.statistics.compared_pairs.sum()
        yield from crew.together([self._admit(p, runs) for p, runs in enumerate(zip(*arrivals, strict=True))])
        compared = int(self.statistics.compared_pairs.sum() - compared)
        state.report(Arrived(state.tick, (left_rows, right_rows), compared))

    def _sorted(self, side: int, batches: Sequence[pa.RecordBatch]) -> list[Run | None]:
        if not batches:
            return [None] * self._state.n_partitions
        return sorted_runs(as_one(batches), self._coders[side], self._state.n_partitions)

    def _admit(self, p: int, runs: Sequence[Run | None]) -> Iterator[R]:
        """New rows of one partition meet the other side's rows in memory, and are in memory themselves from then on."""
        state, merge_bytes = self._state, self._bench.divided(self._crew.workers).merge_bytes
        for side, arrived in enumerate(runs):
            if arrived is None:
                continue
            run = replace(arrived, arrived=state.tick)
            others = state.partitions[opposite(side)][p].resident
            matches = 0
            for other in others:
                left, right = (run, other) if side == LEFT else (other, run)
                for pairs in pairs_of(left, right, *self._filters):
                    matches += len(pairs)
                    yield self._result(pairs)
            state.partitions[side][p].resident.add(run, state.budget.try_reserve, merge_bytes)
            state.count_resident(side, p)
            self.statistics.rows_compared(p, len(run) * others.n_rows, matches)
            self.statistics.rows_arrived(side, p, len(run))

    def _reserve(self, needed_bytes: int) -> None:
        """Flush until so many bytes are free, and take them, before a merge of runs can."""
        while self.budget.free_bytes < needed_bytes:
            goal_bytes = max(needed_bytes - self.budget.free_bytes, self._flush_bytes)
            if not spill(self._state, self._choose_evictions(goal_bytes), self._bench, self._crew):
                raise BudgetTooSmall(self._why_no_room(needed_bytes))
        self.budget.reserve(needed_bytes)

    def _choose_evictions(self, goal_bytes: int) -> list[Evict]:
        chosen: list[Evict] = []
        for eviction in self._algorithm.flush.choose(self.view(), goal_bytes):
            chosen.append(eviction)
            resident_bytes = self._state.partitions[eviction.side][eviction.partition].resident.n_bytes
            if eviction.codes is None:  # a policy that names codes knows itself when it is enough
                goal_bytes -= min(resident_bytes, eviction.at_most_bytes or resident_bytes)
            if goal_bytes <= 0 and not eviction.and_next:
                break
        return chosen

    def _why_no_room(self, needed_bytes: int) -> str:
        limit = format_bytes(self.budget.limit_bytes)
        if needed_bytes > self.budget.limit_bytes:
            return (
                f"{format_bytes(needed_bytes)} of rows arrived at once, but the memory for rows is {limit}; "
                "raise `memory`."
            )
        return (
            f"The memory for rows ({limit}) is full and the algorithm {self._algorithm.name!r} does not spill; "
            "raise `memory` or choose another algorithm, such as 'rpj'."
        )

    def _perform(self, task: Task) -> Iterator[R]:
        self._state.require("arriving", "reactive")
        self._state.enter("reactive")
        if isinstance(task, MemoryDisk):
            found = scan_disk(self._state, task, self._unmet_pairs, self._bench)
        else:
            found = merge_disk(self._state, task, self._unmet_pairs, self._bench)
        yield from map(self._result, found)

    def _first_open(self) -> int | None:
        return next((p for p in range(self._state.n_partitions) if is_open(self._state, p)), None)

    def _settle(self) -> Iterator[R]:
        self._state.require("arriving", "reactive")
        p = self._first_open()
        if p is None:
            return
        self._state.enter("reactive")
        yield from map(self._result, settle(self._state, p, self._unmet_pairs, self._bench))

    def _clean_up(self) -> Iterator[R]:
        """Work on as many partitions at once as there are workers."""
        state = self._state
        state.require("clean-up")
        state.tick += 1
        partitions = range(state.cleaned, min(state.cleaned + self._crew.workers, state.n_partitions))
        self._free_memory_for(partitions)
        bench = Workbench(self._clean_up_bytes, self._breathe)
        found = [cover_rest(state, p, self._unmet_pairs, bench.divided(len(partitions))) for p in partitions]
        yield from self._crew.together([map(self._result, pairs) for pairs in found])
        for p in partitions:
            forget_partition(state, p)
        state.cleaned = partitions.stop
        if state.cleaned == state.n_partitions:
            state.enter("done")

    def _free_memory_for(self, partitions: range) -> None:
        """Let later partitions leave memory for larger slabs of these: nothing arrives any more to meet them."""
        spilled = [run for p in partitions for side in SIDES for run in self._state.spilled(side, p)]
        needed_bytes = min(COPIES * sum(run.n_bytes for run in spilled), CLEAN_UP_BYTES)
        for later in reversed(range(partitions.stop, self._state.n_partitions)):
            if self._clean_up_bytes >= needed_bytes:
                return
            spill(self._state, [Evict(side, later) for side in SIDES], self._bench, self._crew)

    @property
    def _clean_up_bytes(self) -> int:
        """The scratch memory, or what is free of the memory if that is more."""
        return max(self._bench.scratch_bytes, min(self.budget.free_bytes, CLEAN_UP_BYTES))

    def _unmet_pairs(self, left: Run, right: Run) -> Iterator[Pairs]:
        return pairs_of(left, right, drop_met, *self._filters)

    def _going_on(self, pairs: Pairs) -> Pairs:
        """Also where everything has come out before, and nobody sees a result for long."""
        self._breathe()
        return pairs

    def _result(self, pairs: Pairs) -> R:
        with self._counting:
            self.statistics.results += len(pairs)
        return self._result_of(pairs)
