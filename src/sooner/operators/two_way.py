"""The two-way join: one mechanism, driven by a flush policy and a react policy.

`arrive` joins new rows with what is in memory and takes them in; when memory is full, the flush policy says what
leaves. `perform` does a piece of disk work that the react policy chose. `clean_up` covers what is left once both sides
have ended. Each is a generator of results, which are what `result_of` makes of found pairs; it must be exhausted before
the next call. Between calls the state is whole, and `snapshot` writes it down as plain data. There is no clock and no
random source in here. With several workers the order of results may vary, and nothing else.

Scratch memory beyond the budget: a merge of resident runs or a slab of runs from disk, at most `scratch_bytes` each
and one block per run; pairs in flight, at most PAIRS_AT_ONCE.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, Final, Generic, TypeVar

import numpy as np
import pyarrow as pa

from sooner.algorithms import Algorithm
from sooner.budget import Budget, format_bytes
from sooner.errors import BudgetTooSmall
from sooner.kernels.keys import KeyPlan
from sooner.operators.arrivals import CodeRows, sorted_runs
from sooner.operators.covering import InMemory, MergedOutput, OnDisk, PartBlock, cover
from sooner.operators.events import Arrived, Entered, Event, Flushed, Listener, Merged, Scanned
from sooner.operators.merging import MergePlan, open_share, plan_merge
from sooner.operators.pairs import Pairs, drop_collisions, drop_met, pairs_of
from sooner.operators.parallel import map_together, together
from sooner.operators.phases import Phase, Phases
from sooner.operators.statistics import Statistics
from sooner.policies.view import (
    LEFT,
    RIGHT,
    SIDES,
    DeviceCosts,
    DiskDisk,
    Evict,
    JoinView,
    MemoryDisk,
    Task,
    opposite,
)
from sooner.runs.files import EncodedBlock, RunFiles, SpilledRun
from sooner.runs.ledger import Block, CoveredCells
from sooner.runs.resident import ResidentRuns
from sooner.runs.run import NEVER, STILL_HERE, Run, merge

FLUSH_FRACTION: Final = 0.1  # of the memory, when it is full: rarely enough to write in large pieces
ROWS_WORTH_THREADS: Final = 100_000  # fewer are joined faster than handed over
LEAST_SCRATCH_BYTES: Final = 4 * 2**20
MOST_SCRATCH_BYTES: Final = 256 * 2**20


@dataclass
class Partition:
    """The rows of one side in one range of codes."""

    resident: ResidentRuns = field(default_factory=ResidentRuns)
    spilled: list[SpilledRun] = field(default_factory=list)
    met_disk: int = NEVER  # tick of the last memory-disk task with this side in memory
    next_number: int = 1

    def new_number(self) -> int:
        self.next_number += 1
        return self.next_number - 1


@dataclass(frozen=True)
class Departure:
    """What an eviction means for one side and partition: rows that go, rows that stay, bytes that get free."""

    side: int
    partition: int
    going: Run
    encoded: list[EncodedBlock]
    staying: Run | None
    freed_bytes: int


R = TypeVar("R")


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
    ) -> None:
        self._result_of = result_of
        self._workers = workers
        self._counting = threading.Lock()
        self._coders = coders
        self._files = files
        self._algorithm = algorithm
        self._budget = budget
        self._device = device or DeviceCosts()
        self._flush_bytes = int(budget.limit_bytes * flush_fraction)
        self._scratch_bytes = min(max(budget.limit_bytes // 4, LEAST_SCRATCH_BYTES), MOST_SCRATCH_BYTES)
        self._listener = listener
        self._filters = () if keys.exact else (drop_collisions(keys),)
        self._partitions = tuple([Partition() for _ in range(partitions)] for _ in SIDES)
        self._cells = [CoveredCells() for _ in range(partitions)]
        self._ended = [False, False]
        self._cleaned = 0  # partitions that the clean-up has done
        self._phases = Phases()
        self._tick = NEVER
        self._busy = False
        self.statistics = Statistics(partitions)

    @property
    def phase(self) -> Phase:
        return self._phases.now

    @property
    def ended(self) -> tuple[bool, bool]:
        return self._ended[LEFT], self._ended[RIGHT]

    @property
    def budget(self) -> Budget:
        return self._budget

    def view(self) -> JoinView:
        return self.statistics.view(self._tick, self.ended, self._device)

    # What happens to a join

    def arrive(self, left: Sequence[pa.RecordBatch], right: Sequence[pa.RecordBatch], now: float) -> Iterator[R]:
        """Join these rows with each other and with what is in memory, and take them in. `now` is in seconds."""
        return self._exclusively(self._arrive((left, right), now))

    def end(self, side: int) -> None:
        """This side has no more rows."""
        self._ended[side] = True
        if all(self._ended):
            self._enter("clean-up")

    def choose_task(self) -> Task | None:
        """The disk work that the react policy wants done now."""
        return self._algorithm.react.choose(self.view())

    def perform(self, task: Task) -> Iterator[R]:
        """Do a piece of disk work."""
        work = self._scan_disk(task) if isinstance(task, MemoryDisk) else self._merge_disk(task)
        return self._exclusively(work)

    def clean_up(self) -> Iterator[R]:
        """Cover all that is left of the next partitions; after the last one the join is done."""
        return self._exclusively(self._clean_partitions())

    def _exclusively(self, work: Iterator[R]) -> Iterator[R]:
        if self._busy:
            raise RuntimeError("The results of the last call were not read to their end; read them first.")
        self._busy = True
        yield from work
        self._busy = False

    def _result(self, pairs: Pairs) -> R:
        with self._counting:
            self.statistics.results += len(pairs)
        return self._result_of(pairs)

    def _results(self, found: Iterator[Pairs]) -> Iterator[R]:
        return map(self._result, found)

    # Arriving

    def _arrive(self, batches: tuple[Sequence[pa.RecordBatch], Sequence[pa.RecordBatch]], now: float) -> Iterator[R]:
        self._phases.require("arriving", "reactive")
        left_rows, right_rows = (sum(batch.num_rows for batch in some) for some in batches)
        if not left_rows and not right_rows:
            return
        workers = self._workers if left_rows + right_rows >= ROWS_WORTH_THREADS else 1
        self._enter("arriving")
        arrivals = map_together(lambda side: self._sorted(side, batches[side]), SIDES, workers)
        self._make_room(sum(run.n_bytes for runs in arrivals for run in runs if run is not None))
        self._tick += 1
        for side, rows in enumerate((left_rows, right_rows)):
            self.statistics.recent.add(side, rows, now)
        compared = self.statistics.compared_pairs.sum()
        yield from together([self._admit(p, runs) for p, runs in enumerate(zip(*arrivals, strict=True))], workers)
        compared = int(self.statistics.compared_pairs.sum() - compared)
        self._report(Arrived(self._tick, (left_rows, right_rows), compared))

    def _sorted(self, side: int, batches: Sequence[pa.RecordBatch]) -> list[Run | None]:
        if not batches:
            return [None] * len(self._cells)
        together = pa.concat_batches(batches) if len(batches) > 1 else batches[0]
        return sorted_runs(together, self._coders[side], len(self._cells))

    def _admit(self, p: int, runs: Sequence[Run | None]) -> Iterator[R]:
        """New rows of one partition meet the other side's rows in memory, and are in memory themselves from then on."""
        for side, run in enumerate(runs):
            if run is None:
                continue
            run = replace(run, arrived=self._tick)
            others = self._partitions[opposite(side)][p].resident
            matches = 0
            for other in others:
                for pairs in pairs_of(*_in_order(side, run, other), *self._filters):
                    matches += len(pairs)
                    yield self._result(pairs)
            self._budget.reserve(run.n_bytes)
            resident = self._partitions[side][p].resident
            resident.add(run, self._budget.try_reserve, self._scratch_bytes)
            self.statistics.rows_compared(p, len(run) * others.n_rows, matches)
            self.statistics.rows_arrived(side, p, len(run))
            self._count_resident(side, p)

    # Leaving memory

    def _make_room(self, needed_bytes: int) -> None:
        """Flush until so many bytes are free."""
        while self._budget.free_bytes < needed_bytes:
            goal_bytes = max(needed_bytes - self._budget.free_bytes, self._flush_bytes)
            if not self._spill(self._choose_evictions(goal_bytes)):
                raise BudgetTooSmall(self._why_no_room(needed_bytes))

    def _choose_evictions(self, goal_bytes: int) -> list[Evict]:
        chosen: list[Evict] = []
        for eviction in self._algorithm.flush.choose(self.view(), goal_bytes):
            chosen.append(eviction)
            resident_bytes = self._partitions[eviction.side][eviction.partition].resident.n_bytes
            if eviction.codes is None:  # a policy that names codes knows itself when it is enough
                goal_bytes -= min(resident_bytes, eviction.at_most_bytes or resident_bytes)
            if goal_bytes <= 0:
                break
        return chosen

    def _spill(self, evictions: Sequence[Evict]) -> int:
        """Write what goes, one file a side; only with the rows safe on disk does memory change. Gives bytes freed."""
        self._tick += 1
        departures = [d for d in map_together(self._departure, evictions, self._workers) if d is not None]
        written: list[SpilledRun] = []
        with ExitStack() as open_files:
            writers = {
                side: open_files.enter_context(self._files[side].writer())
                for side in sorted({departure.side for departure in departures})
            }
            for leaving in departures:
                partition = self._partitions[leaving.side][leaving.partition]
                writers[leaving.side].append(leaving.encoded)
                written.append(writers[leaving.side].end_run(partition.new_number()))
        for leaving, spilled in zip(departures, written, strict=True):
            self._settle_departure(leaving, spilled)
        return sum(departure.freed_bytes for departure in departures)

    def _departure(self, eviction: Evict) -> Departure | None:
        partition = self._partitions[eviction.side][eviction.partition]
        everything = partition.resident.as_one()
        if everything is None:
            return None
        before = partition.resident.n_bytes
        going, staying = _split(everything, eviction)
        if staying is not None and staying.n_bytes >= before:
            going, staying = everything, None  # a bitmap that few rows needed now weighs on all: nothing was won
        if not len(going):
            return None
        going = replace(going, left_memory=self._tick, met_disk=partition.met_disk)
        freed_bytes = before - (staying.n_bytes if staying is not None else 0)
        encoded = self._files[eviction.side].encode(going)
        return Departure(eviction.side, eviction.partition, going, encoded, staying, freed_bytes)

    def _settle_departure(self, leaving: Departure, spilled: SpilledRun) -> None:
        side, p = leaving.side, leaving.partition
        partition = self._partitions[side][p]
        partition.spilled.append(spilled)
        partition.resident.replace(leaving.staying)
        self._budget.release(leaving.freed_bytes)
        self._count_resident(side, p)
        self._count_spilled(side, p)
        unseen = _arrived_after(leaving.going, partition.met_disk)
        self.statistics.rows_spilled(side, p, self._tick, leaving.going, unseen)
        self._report(Flushed(self._tick, side, p, spilled.n_rows, spilled.n_bytes))

    def _why_no_room(self, needed_bytes: int) -> str:
        if needed_bytes > self._budget.limit_bytes:
            return (
                f"{format_bytes(needed_bytes)} of rows arrived at once, but the memory for rows is "
                f"{format_bytes(self._budget.limit_bytes)}; raise `memory` or send smaller batches."
            )
        return (
            f"The memory for rows ({format_bytes(self._budget.limit_bytes)}) is full and the algorithm "
            f"{self._algorithm.name!r} does not spill; raise `memory` or choose another algorithm, such as 'rpj'."
        )

    # Using the disk

    def _scan_disk(self, task: MemoryDisk) -> Iterator[R]:
        """Memory of one side with disk of the other (RPJ sec. 5.1). Only rows that came since the last such
        task can find anything: what left memory earlier they met then, what left later they met in memory.
        """
        self._phases.require("arriving", "reactive")
        self._enter("reactive")
        self._tick += 1
        p, other = task.partition, opposite(task.side)
        partition = self._partitions[task.side][p]
        spilled = self._partitions[other][p].spilled
        found = cover(self._memory_blocks(task.side, p), self._unmet_pairs, self._scratch_bytes)
        yield from self._results(found)
        partition.met_disk = self._tick
        self.statistics.met_disk(task.side, p)
        self._report(Scanned(self._tick, task.side, p, len(spilled), sum(run.n_bytes for run in spilled)))

    def _merge_disk(self, task: DiskDisk) -> Iterator[R]:
        """The next merge of runs on both sides of a partition, joined on the way (PSMJ, RPJ sec. 5.2)."""
        self._phases.require("arriving", "reactive")
        self._enter("reactive")
        self._tick += 1
        p = task.partition
        left, right = self._spilled(LEFT, p), self._spilled(RIGHT, p)
        plan = plan_merge(left, right, self._cells[p], task.fan_in)
        if plan is None:
            self.statistics.merged_on_disk(p, self._tick, share=1)
            return
        share = open_share(left, right, self._cells[p], plan.blocks)
        read = [run for side in SIDES for run in self._spilled(side, p) if run.number in plan.reads(side)]
        parts = [self._disk_parts(side, p) for side in SIDES]
        blocks = [_part_block(parts, block) for block in plan.blocks]
        with ExitStack() as open_files:
            outputs = {
                side: MergedOutput(
                    [parts[side][number] for number in group.members],
                    self._files[side],
                    open_files.enter_context(self._files[side].writer()),
                )
                for side, group in enumerate(plan.groups)
                if len(group.members) > 1
            }
            found = cover(blocks, self._unmet_pairs, self._scratch_bytes, list(outputs.values()))
            yield from self._results(found)
            merged = {
                side: output.writer.end_run(self._partitions[side][p].new_number(), plan.level)
                for side, output in outputs.items()
            }
        for block in plan.blocks:
            self._cells[p].cover(*block)
        for side in SIDES:
            self._settle(side, p, plan, merged.get(side))
        self.statistics.merged_on_disk(p, self._tick, share)
        read_bytes, written_bytes = (sum(run.n_bytes for run in runs) for runs in (read, merged.values()))
        self._report(Merged(self._tick, p, len(read), read_bytes, written_bytes))

    def _settle(self, side: int, p: int, plan: MergePlan, merged: SpilledRun | None) -> None:
        """The members of a merge go up a level: as one run, if they were several."""
        members = plan.groups[side].members
        spilled = self._spilled(side, p)
        if merged is None:
            lifted = [replace(run, level=plan.level) if run.number in members else run for run in spilled]
        else:
            lifted = [merged, *(run for run in spilled if run.number not in members)]
            self._cells[p].merge(side, members, merged.number)
        self._partitions[side][p].spilled = lifted
        self._count_spilled(side, p)
        if merged is not None:
            for run in spilled:
                if run.number in members:
                    self._files[side].remove(run)

    def _clean_partitions(self) -> Iterator[R]:
        """Memory with disk, disk with memory, disk with disk; then nobody needs these partitions any more."""
        self._phases.require("clean-up")
        self._tick += 1
        partitions = range(self._cleaned, min(self._cleaned + self._workers, len(self._cells)))
        self._free_memory_for(partitions)
        scratch_bytes = max(self._scratch_bytes, self._budget.free_bytes) // len(partitions)
        yield from together([self._cover_rest(p, scratch_bytes) for p in partitions], self._workers)
        for p in partitions:
            read = [run for side in SIDES for run in self._spilled(side, p)]
            self._report(Merged(self._tick, p, len(read), sum(run.n_bytes for run in read), written_bytes=0))
            self.statistics.merged_on_disk(p, self._tick, share=1)
            for side in SIDES:
                self._forget(side, p)
        self._cleaned = partitions.stop
        if self._cleaned == len(self._cells):
            self._enter("done")

    def _cover_rest(self, p: int, scratch_bytes: int) -> Iterator[R]:
        parts = [self._disk_parts(side, p) for side in SIDES]
        open_cells = self._cells[p].open_blocks(list(parts[LEFT]), list(parts[RIGHT]))
        blocks = [_part_block(parts, block) for block in open_cells]
        blocks += self._memory_blocks(LEFT, p) + self._memory_blocks(RIGHT, p)
        return self._results(cover(blocks, self._unmet_pairs, scratch_bytes))

    def _free_memory_for(self, partitions: range) -> None:
        """Let later partitions leave memory if the runs of these do not fit beside them: nothing arrives any more,
        and runs that fit are read once.
        """
        spilled = [run for p in partitions for side in SIDES for run in self._spilled(side, p)]
        needed_bytes = min(sum(run.n_bytes for run in spilled), MOST_SCRATCH_BYTES)
        for later in reversed(range(partitions.stop, len(self._cells))):
            if max(self._scratch_bytes, self._budget.free_bytes) >= needed_bytes:
                return
            self._spill([Evict(side, later) for side in SIDES])

    def _forget(self, side: int, p: int) -> None:
        partition = self._partitions[side][p]
        spilled, partition.spilled = partition.spilled, []
        self._budget.release(partition.resident.n_bytes)
        partition.resident.replace(None)
        self._count_resident(side, p)
        self._count_spilled(side, p)
        self.statistics.met_disk(side, p)
        for run in spilled:
            self._files[side].remove(run)

    def _memory_blocks(self, side: int, p: int) -> list[PartBlock]:
        """What is in memory of one side and has not met the disk of the other since it came."""
        partition = self._partitions[side][p]
        disk = list(self._disk_parts(opposite(side), p).values())
        everything = partition.resident.as_one()
        if everything is None or not disk:
            return []
        unseen = _arrived_after(everything, partition.met_disk)
        return [_in_order(side, [InMemory(unseen)], disk)] if len(unseen) else []

    def _unmet_pairs(self, left: Run, right: Run) -> Iterator[Pairs]:
        return pairs_of(left, right, drop_met, *self._filters)

    def _disk_parts(self, side: int, p: int) -> dict[int, OnDisk]:
        return {run.number: OnDisk(self._files[side], run) for run in self._spilled(side, p)}

    def _spilled(self, side: int, p: int) -> list[SpilledRun]:
        return self._partitions[side][p].spilled

    # Bookkeeping

    def _count_resident(self, side: int, p: int) -> None:
        resident = self._partitions[side][p].resident
        self.statistics.resident_rows[side, p] = resident.n_rows
        self.statistics.resident_bytes[side, p] = resident.n_bytes

    def _count_spilled(self, side: int, p: int) -> None:
        spilled = self._spilled(side, p)
        self.statistics.spilled_runs[side, p] = len(spilled)
        self.statistics.spilled_rows[side, p] = sum(run.n_rows for run in spilled)
        self.statistics.spilled_bytes[side, p] = sum(run.n_bytes for run in spilled)

    def _enter(self, phase: Phase) -> None:
        if phase != self.phase:
            self._phases.enter(phase)
            self._report(Entered(self._tick, phase))

    def _report(self, event: Event) -> None:
        if self._listener is not None:
            self._listener(event)

    # Saving and going on

    def snapshot(self) -> dict[str, Any]:
        """The whole state as plain data; rows in memory are written to run files, which it names."""
        if self._busy:
            raise RuntimeError("The results of the last call were not read to their end; read them first.")
        return {
            "tick": self._tick,
            "phase": self.phase,
            "ended": self._ended[:],
            "cleaned": self._cleaned,
            "partitions": [[self._save(side, p) for p in range(len(self._cells))] for side in SIDES],
            "cells": [cells.to_plain() for cells in self._cells],
            "statistics": self.statistics.to_plain(),
        }

    def restore(self, data: dict[str, Any]) -> None:
        """Go on from a snapshot, once; this join must be new, and made with the same arguments."""
        self._tick = data["tick"]
        self._phases = Phases((data["phase"],))
        self._ended = list(data["ended"])
        self._cleaned = data["cleaned"]
        self._cells = [CoveredCells((left, right) for left, right in cells) for cells in data["cells"]]
        self.statistics.load_plain(data["statistics"])
        for side in SIDES:
            for p, saved in enumerate(data["partitions"][side]):
                self._load(side, p, saved)
                self._count_resident(side, p)  # rows may weigh less now: files keep no bitmap without a null

    def _save(self, side: int, p: int) -> dict[str, Any]:
        partition = self._partitions[side][p]
        return {
            "resident": [self._write(side, run).to_plain() for run in partition.resident],
            "spilled": [run.to_plain() for run in partition.spilled],
            "met_disk": partition.met_disk,
            "next_number": partition.next_number,
        }

    def _write(self, side: int, run: Run) -> SpilledRun:
        with self._files[side].writer() as writer:
            writer.append(self._files[side].encode(run))
            return writer.end_run(NEVER)

    def _load(self, side: int, p: int, saved: dict[str, Any]) -> None:
        partition = self._partitions[side][p]
        for written in map(SpilledRun.from_plain, saved["resident"]):
            run = merge(list(self._files[side].read(written, written.blocks)))
            run = replace(run, left_memory=STILL_HERE, met_disk=NEVER)
            self._budget.reserve(run.n_bytes)
            partition.resident.add(run, self._budget.try_reserve, merge_up_to_bytes=0)
            self._files[side].remove(written)
        partition.spilled = [SpilledRun.from_plain(run) for run in saved["spilled"]]
        for spilled in partition.spilled:
            self._files[side].adopt(spilled)
        partition.met_disk, partition.next_number = saved["met_disk"], saved["next_number"]


def _in_order(side: int, mine: Any, others: Any) -> tuple[Any, Any]:
    """Left before right, whichever of them is mine."""
    return (mine, others) if side == LEFT else (others, mine)


def _part_block(parts: Sequence[dict[int, OnDisk]], block: Block) -> PartBlock:
    left, right = block
    return [parts[LEFT][number] for number in left], [parts[RIGHT][number] for number in right]


def _arrived_after(run: Run, tick: int) -> Run:
    """The rows that came after this tick."""
    if isinstance(run.arrived, int):
        return run if run.arrived > tick else run.take(np.empty(0, np.int64))
    later = run.arrived > tick
    return run if later.all() else run.take(np.flatnonzero(later))


def _split(run: Run, eviction: Evict) -> tuple[Run, Run | None]:
    """The rows that an eviction means, and the others, each in buffers of their own. No code is ever split by size."""
    if eviction.codes is not None:
        going = np.isin(run.codes, eviction.codes)
    elif eviction.at_most_bytes is not None and eviction.at_most_bytes < run.n_bytes:
        wanted_rows = max(1, -(-eviction.at_most_bytes * len(run) // run.n_bytes))
        going = run.codes <= run.codes[wanted_rows - 1]
    else:
        return run, None
    if going.all():
        return run, None
    return run.take(np.flatnonzero(going)), run.take(np.flatnonzero(~going))
