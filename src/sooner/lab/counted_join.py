"""The two-way join's twin for the lab: it counts rows by key where the other keeps them.

It has the same statistics, view, evictions, tasks and events, and asks the very same policies, in the same order; a
test holds each event of the one against the other's. So it gives the same history, hundreds of times faster: a step
costs what the keys of a partition cost, however many rows they have.

Not covered: keys that share a code or match others than themselves, joins that give more than pairs, quanta of a task,
more than one worker, snapshots.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sooner.errors import BudgetTooSmall, InvalidCall
from sooner.kernels.array_types import Flags, Positions
from sooner.lab.counted_memory import CountedMemory
from sooner.lab.counted_partition import CountedPartition, KeyCounts
from sooner.lab.traces import Keys, key_codes
from sooner.named_algorithms import Algorithm
from sooner.operators.events import Arrived, Entered, Event, Flushed, Looped, Merged, Reached, Scanned
from sooner.operators.leaving.room import CLEAN_UP_BYTES, enough_of, flush_bytes_of, regions_of, scratch_bytes_of
from sooner.operators.ledgers.open_pairs import JoinStatistics
from sooner.operators.operator import Means
from sooner.operators.state.looping import Chunk, Loop, next_chunk
from sooner.operators.sweeping.parts import COPIES
from sooner.operators.tasks.merging import DiskTask, MergePlan, covered_pairs, plan_merge
from sooner.phases import Phase, Phases
from sooner.policies.view import (
    BUSY,
    Counts,
    DiskDisk,
    Evict,
    EvictAll,
    EvictCodes,
    EvictUpTo,
    JoinView,
    MemoryDisk,
    NestedLoop,
    Surroundings,
    Task,
    Together,
)
from sooner.runs.run import NEVER
from sooner.sides import LEFT, RIGHT, SIDES, opposite


@dataclass(frozen=True)
class Arriving:
    """Rows that arrive, the left ones first; places are those of KeyCounts in one row."""

    lefts: int  # how many are left ones
    mine: Positions  # the place of each row's key on its own side
    other: Positions  # and on the other side
    of_side: Positions  # the place of each row's side and partition
    counts: Counts  # [side, partition]: rows

    def only(self, wanted: Flags) -> "Arriving":
        """Those of some sides and partitions."""
        chosen = wanted.reshape(-1)[self.of_side]
        lefts = int(chosen[: self.lefts].sum())
        mine, other, of_side = (some[chosen] for some in (self.mine, self.other, self.of_side))
        return Arriving(lefts, mine, other, of_side, np.where(wanted, self.counts, 0))


@dataclass(frozen=True)
class Merging:
    """A merge that has begun."""

    partition: int
    tick: int
    task: DiskTask
    plan: MergePlan
    pairs: float  # that it covers, of those that are open


class CountedJoin:
    def __init__(self, domain: int, partitions: int, row_bytes: int, algorithm: Algorithm, means: Means) -> None:
        if algorithm.waits != "never":
            raise InvalidCall(f"Rows that wait are not counted; simulate {algorithm.name!r} with real rows.")
        self._algorithm = algorithm
        self._means = means
        self._account = means.account
        self._row_bytes = row_bytes
        self._flush_bytes = flush_bytes_of(algorithm, means)
        regions = regions_of(algorithm, partitions, means)
        self._keys = -(-domain // partitions)  # of a partition
        self._counts = KeyCounts.of_nothing(partitions, self._keys)
        self._flat = self._counts.in_one_row()
        self._partitions = [CountedPartition(self._counts.of_partition(p)) for p in range(partitions)]
        codes = key_codes(self._keys * partitions, partitions).reshape(self._keys, partitions)
        self._statistics = JoinStatistics(partitions, regions)
        splits_codes = algorithm.splits != "no code"
        self._memory = CountedMemory(self._counts, codes, row_bytes, regions, splits_codes=splits_codes)
        self._ended = [False for _ in SIDES]
        self._phases = Phases()
        self._tick = NEVER
        self._next_to_clean = 0
        self._merging: Merging | None = None  # what comes next of a disk-disk task
        self._loops: dict[int, Loop] = {}  # of partitions in which a nested loop has begun, and something is open
        self._choice: tuple[object, Task | None] = (None, None)  # of the react policy, and when it was asked

    @property
    def phase(self) -> Phase:
        return self._phases.now

    def measures(self) -> Mapping[str, float]:
        return {"results": self._statistics.results, "memory_bytes": self._account.used_bytes}

    def view(self, around: Surroundings = BUSY) -> JoinView:
        means, ended = self._means, tuple(self._ended)
        return self._statistics.view(self._tick, ended, around, means.device, means.account.share_bytes)

    def arrive(self, keys: Sequence[Keys], now: float) -> None:
        """Rows with these keys of each side meet what is in memory, and are in memory from then on."""
        self._phases.require("arriving", "reactive")
        rows = tuple(map(len, keys))
        if not any(rows):
            return
        self._enter("arriving")
        arriving = self._arriving(keys)
        self._make_room(arriving.counts)
        self._tick += 1
        statistics, counts = self._statistics, arriving.counts
        for side in SIDES:
            statistics.rows_received(side, rows[side], now)
        resident = statistics.resident_rows
        compared = counts[LEFT] * resident[RIGHT] + counts[RIGHT] * (resident[LEFT] + counts[LEFT])
        statistics.compared_pairs += compared
        self._admit(arriving)
        self._report(Arrived(self._tick, rows, int(compared.sum())))
        self._report_reached()

    def end(self, which: int) -> None:
        self._ended[which] = True
        if all(self._ended):
            self._enter("clean-up")

    def has_work(self, around: Surroundings) -> bool:
        if self.phase in ("clean-up", "done"):
            return self.phase == "clean-up"
        return (around.silent and self._merging is not None) or self._chosen(around) is not None

    def work(self, around: Surroundings) -> None:
        """The most urgent task, all of it."""
        if not self.has_work(around):
            return
        if self.phase == "clean-up":
            self._clean_up()
        else:
            self._enter("reactive")
            self._react(around)
        self._report_reached()
        if self.phase == "clean-up" and self._next_to_clean == len(self._partitions):
            self._enter("done")

    def rehearse(self, around: Surroundings) -> Event | None:
        """What the next task would report, with nothing done; only as far as it costs anything."""
        chosen = self._merging or self._chosen(around)
        if isinstance(chosen, NestedLoop):
            chunk = self._next_chunk(chosen)
            return None if chunk is None else self._looped(chosen.partition, chunk)
        if isinstance(chosen, MemoryDisk):
            runs = self._partitions[chosen.partition].disk[opposite(chosen.input)].runs
            n_bytes = sum(run.n_bytes for run in runs)
            return Scanned(self._tick, chosen.input, chosen.partition, len(runs), n_bytes)
        if isinstance(chosen, DiskDisk):
            left, right = (disk.runs for disk in self._partitions[chosen.partition].disk)
            plan = plan_merge(left, right, self._partitions[chosen.partition].cells, self._disk_task(chosen))
            return None if plan is None else self._merged(chosen.partition, self._tick, plan)
        return self._merged(chosen.partition, chosen.tick, chosen.plan) if isinstance(chosen, Merging) else None

    # Rows that arrive

    def _arriving(self, keys: Sequence[Keys]) -> Arriving:
        partitions, lefts = len(self._partitions), len(keys[LEFT])
        together = np.concatenate(keys)
        of_partition = together % partitions
        place = of_partition * np.int64(self._keys) + together // partitions
        mine, other, of_side = place, place.copy(), of_partition.astype(np.int64)
        mine[lefts:] += partitions * self._keys
        other[:lefts] += partitions * self._keys
        of_side[lefts:] += partitions
        counts = np.bincount(of_side, minlength=2 * partitions).reshape(2, partitions)
        return Arriving(lefts, mine, other, of_side, counts)

    def _make_room(self, arrived: Counts) -> None:
        reserved = 0
        while (kept := self._bytes_to_keep(arrived)) > reserved:
            self._reserve(kept - reserved)
            reserved = kept

    def _bytes_to_keep(self, arrived: Counts) -> int:
        if any(self._ended):
            arrived = np.array([np.where(self._is_kept(side), arrived[side], 0) for side in SIDES])
        return int(arrived.sum()) * self._memory.row_bytes

    def _is_kept(self, side: int) -> Flags:
        """[partition]: whether rows of this side that arrive may match something that they do not meet at once."""
        other = opposite(side)
        kept: Flags = (self._statistics.spilled_rows[other] > 0) | (not self._ended[other])
        return kept

    def _admit(self, arriving: Arriving) -> None:
        """Left rows first: those of the right that come with them meet them too."""
        statistics, flat, counts = self._statistics, self._flat, arriving.counts
        spilled = statistics.spilled_rows[::-1]  # of the other side
        matches = flat.memory[arriving.other]
        statistics.arrived_rows += counts
        statistics.unmet_with_disk += counts * spilled
        kept, are_kept = arriving, np.ones(counts.shape, np.bool_)
        if any(self._ended):
            are_kept = np.array([self._is_kept(side) for side in SIDES])
            statistics.forgotten_rows += np.where(are_kept, 0, counts)
            kept = arriving.only(are_kept)
        lefts = kept.mine[: kept.lefts]
        np.add.at(flat.memory, lefts, 1)
        matches[arriving.lefts :] = flat.memory[arriving.other[arriving.lefts :]]
        np.add.at(flat.memory, kept.mine[kept.lefts :], 1)
        np.add.at(flat.unseen, kept.mine, 1)
        np.add.at(flat.unmet_matches, kept.mine, flat.on_disk[kept.other])
        unmet_pairs = spilled.reshape(-1)[kept.of_side]
        np.add.at(flat.unmet_pairs, kept.mine, unmet_pairs)
        self._memory.note_ages(kept.mine, unmet_pairs, self._tick)
        matched = np.bincount(arriving.of_side, matches, minlength=counts.size).reshape(counts.shape)
        statistics.matched_pairs += matched.sum(axis=0)
        statistics.results += int(matches.sum())
        statistics.resident_rows += kept.counts
        statistics.resident_bytes += kept.counts * self._memory.row_bytes
        if statistics.regions is not None:
            keys = flat.memory.size // len(SIDES)
            joins = np.bincount(arriving.mine % keys, matches, minlength=keys).astype(np.int64)
            self._memory.note_joins(joins.reshape(self._counts.memory.shape[1:]), are_kept)

    # Rows that leave memory

    def _reserve(self, needed_bytes: int) -> None:
        while self._account.free_bytes < needed_bytes:
            if not self._flush(needed_bytes - self._account.free_bytes):
                raise BudgetTooSmall(f"The memory is full and the algorithm {self._algorithm.name!r} does not spill.")
        self._account.reserve(needed_bytes)

    def _flush(self, needed_bytes: int) -> bool:
        goal_bytes = max(needed_bytes, self._flush_bytes)
        groups = self._algorithm.flush.choose(replace(self.view(), regions=self._memory.seen_regions()), goal_bytes)
        return self._evict(enough_of(groups, goal_bytes, self._freed_by))

    def _freed_by(self, eviction: Evict) -> int:
        if isinstance(eviction, EvictCodes):
            chosen_bytes = int(self._memory.leaving(eviction).sum()) * self._memory.row_bytes
            return min(chosen_bytes, eviction.at_most_bytes or chosen_bytes)
        resident_bytes = int(self._statistics.resident_bytes[eviction.input, eviction.partition])
        return min(resident_bytes, eviction.at_most_bytes) if isinstance(eviction, EvictUpTo) else resident_bytes

    def _evict(self, evictions: Together) -> bool:
        self._tick += 1
        places: dict[tuple[int, int], Counts] = {}
        for one in evictions:
            place, rows = (one.input, one.partition), self._memory.leaving(one)
            places[place] = np.maximum(places[place], rows) if place in places else rows
        leaving = [(*place, rows) for place, rows in places.items() if rows.any()]
        for side, p, rows in leaving:
            statistics, unmet_pairs = self._statistics, self._memory.take_out(side, p, rows)
            run = self._partitions[p].leave(side, rows, unmet_pairs, self._row_bytes)
            freed_bytes = run.n_rows * self._memory.row_bytes
            self._account.release(freed_bytes)
            statistics.resident_rows[side, p] -= run.n_rows
            statistics.resident_bytes[side, p] -= freed_bytes
            statistics.spilled_rows[side, p] += run.n_rows
            statistics.spilled_bytes[side, p] += run.n_bytes
            statistics.spilled_runs[side, p] += 1
            statistics.carry_over(side, p, int(unmet_pairs.sum()))
            self._report(Flushed(self._tick, side, p, run.n_rows, run.n_bytes, run.number))
        for side in sorted({side for side, _, _ in leaving}):
            self._memory.renew_regions(side)
        return bool(leaving)

    # Work on disk

    def _chosen(self, around: Surroundings) -> Task | None:
        """What the react policy wants; it is asked once while nothing has happened."""
        moment = (self._tick, *self._ended, around)
        if self._choice[0] != moment:
            self._choice = moment, self._algorithm.react.choose(self.view(around))
        return self._choice[1]

    def _react(self, around: Surroundings) -> None:
        if self._merging is not None:
            return self._merge(self._merging)
        for _ in self._partitions:  # in each of them it may turn out that nothing is left to merge
            chosen = self._chosen(around)
            if isinstance(chosen, MemoryDisk):
                self._tick += 1
                return self._scan(chosen.input, chosen.partition)
            if isinstance(chosen, NestedLoop):
                if self._loop(chosen):
                    return None
            elif isinstance(chosen, DiskDisk):
                self._merging = self._next_merge(chosen.partition, self._disk_task(chosen))
                if self._merging is not None:
                    return self._merge(self._merging)
        return None

    def _loop(self, chosen: NestedLoop) -> bool:
        """The next chunk of a nested loop; whether there was one."""
        self._tick += 1
        p, statistics, chunk = chosen.partition, self._statistics, self._next_chunk(chosen)
        unmet = float(statistics.unmet_on_disk[p])
        if chunk is None:
            self._loops.pop(p, None)
            statistics.met_on_disk(p, self._tick, unmet)
            return False
        statistics.results += self._partitions[p].meet_on_disk([chunk.runs])
        self._loops[p] = chunk.loop
        statistics.met_on_disk(p, self._tick, unmet * chunk.share)
        self._report(self._looped(p, chunk))
        return True

    def _next_chunk(self, chosen: NestedLoop) -> Chunk | None:
        partition, loop = self._partitions[chosen.partition], self._loops.get(chosen.partition, Loop(chosen.outer))
        left, right = (disk.runs for disk in partition.disk)
        return next_chunk(left, right, partition.cells, loop, chosen.max_outer_bytes)

    def _looped(self, p: int, chunk: Chunk) -> Looped:
        """What is told of a chunk."""
        disk = self._partitions[p].disk
        read = [run for side in SIDES for run in disk[side].runs if run.number in {*chunk.runs[side]}]
        n_bytes = sum(run.n_bytes for run in read)
        return Looped(self._tick, p, chunk.loop.outer, len(read), n_bytes, (chunk.runs,))

    def _disk_task(self, chosen: DiskDisk) -> DiskTask:
        left, right = (disk.numbers for disk in self._partitions[chosen.partition].disk)
        return DiskTask(chosen.fan_in, (left, right), float(self._statistics.unmet_on_disk[chosen.partition]))

    def _scan(self, side: int, p: int) -> None:
        read = self._partitions[p].disk[opposite(side)].runs
        self._statistics.results += self._partitions[p].meet_disk(side)
        self._memory.met_disk(side, p, self._tick)
        self._statistics.unmet_with_disk[side, p] = 0
        n_bytes, numbers = sum(run.n_bytes for run in read), tuple(run.number for run in read)
        self._report(Scanned(self._tick, side, p, len(read), n_bytes, numbers))

    def _next_merge(self, p: int, task: DiskTask) -> Merging | None:
        """The next merge of a task begins, if there is one."""
        self._tick += 1
        cells, (left, right) = self._partitions[p].cells, (disk.runs for disk in self._partitions[p].disk)
        plan = plan_merge(left, right, cells, task)
        if plan is None:
            self._statistics.met_on_disk(p, self._tick, task.open_pairs)
            return None
        return Merging(p, self._tick, task, plan, covered_pairs(left, right, cells, task, plan))

    def _merge(self, merging: Merging) -> None:
        """A merge is done, and then the next of the same task begins."""
        p, plan, statistics = merging.partition, merging.plan, self._statistics
        event = self._merged(p, merging.tick, plan)
        statistics.results += self._partitions[p].meet_on_disk(plan.rectangles)
        merged = [self._lift(p, side, plan) for side in SIDES]
        statistics.met_on_disk(p, merging.tick, merging.pairs)
        self._report(event)
        self._merging = self._next_merge(p, merging.task.after(plan, merged, merging.pairs))

    def _merged(self, p: int, tick: int, plan: MergePlan) -> Merged:
        """What is told of a merge."""
        disk = self._partitions[p].disk
        read = [run for side in SIDES for run in disk[side].runs if run.number in plan.reads(side)]
        groups = [plan.groups[side].members for side in SIDES]
        several = [group if len(group) > 1 else () for group in groups]
        written = [run for side in SIDES for run in disk[side].runs if run.number in several[side]]
        n_bytes, written_bytes = (sum(run.n_bytes for run in runs) for runs in (read, written))
        return Merged(tick, p, len(read), n_bytes, written_bytes, plan.rectangles, "merge")

    def _lift(self, p: int, side: int, plan: MergePlan) -> int | None:
        """The members of a merge go up a level; as one run, whose number this gives, if they were several."""
        partition, members, level = self._partitions[p], plan.groups[side].members, plan.levels[side]
        merged = None
        if len(members) > 1:
            merged = partition.become_one(side, members, level).number
        else:
            partition.disk[side].lift(members, level)
        self._statistics.count_spilled(side, p, partition.disk[side].runs)
        return merged

    def _clean_up(self) -> None:
        self._merging = None
        p = self._next_to_clean
        self._next_to_clean += 1
        self._free_memory_for(p)
        self._tick += 1
        partition, statistics = self._partitions[p], self._statistics
        left, right = (disk.numbers for disk in partition.disk)
        statistics.results += sum(partition.meet_disk(side) for side in SIDES)
        statistics.results += partition.meet_on_disk([(left, right)])
        runs = [run for disk in partition.disk for run in disk.runs]
        statistics.met_as_whole(p, self._tick, 0, int(statistics.arrived_rows[:, p].sum()))
        n_bytes = sum(run.n_bytes for run in runs)
        self._report(Merged(self._tick, p, len(runs), n_bytes, 0, ((left, right),), "clean-up"))
        self._account.release(int(statistics.resident_bytes[:, p].sum()))
        partition.forget()
        for side in SIDES:
            statistics.count_resident(side, p, 0, 0)
            statistics.count_spilled(side, p, [])
        statistics.forget(p)

    def _free_memory_for(self, p: int) -> None:
        """As the real one does: later partitions leave memory for larger slabs of this one."""
        needed_bytes = min(COPIES * int(self._statistics.spilled_bytes[:, p].sum()), CLEAN_UP_BYTES)
        scratch_bytes = scratch_bytes_of(self._account)
        for later in reversed(range(p + 1, len(self._partitions))):
            if max(scratch_bytes, min(self._account.free_bytes, CLEAN_UP_BYTES)) >= needed_bytes:
                return
            self._evict([EvictAll(side, later) for side in SIDES])

    def _enter(self, phase: Phase) -> None:
        if phase != self.phase:
            self._phases.enter(phase)
            self._report(Entered(self._tick, phase))

    def _report(self, event: Event) -> None:
        if self._means.listener is not None:
            self._means.listener(event)

    def _report_reached(self) -> None:
        resident_bytes = tuple(map(tuple, self._statistics.resident_bytes.tolist()))
        self._report(Reached(self._tick, self._statistics.results, resident_bytes))
