"""Work on disk of a join that only counts its rows: each task as a whole, or a disk-disk task merge by merge."""

from dataclasses import dataclass

from sooner.lab.counted_state import CountedState
from sooner.operators.events import Event, Looped, Merged, Scanned
from sooner.operators.state.looping import Chunk, Loop, next_chunk
from sooner.operators.tasks.merging import DiskTask, MergePlan, covered_pairs, plan_merge
from sooner.policies.view import DiskDisk, MemoryDisk, NestedLoop, Task
from sooner.sides import SIDES, opposite


@dataclass(frozen=True)
class Merging:
    """A merge that has begun."""

    partition: int
    tick: int
    task: DiskTask
    plan: MergePlan
    pairs: float  # that it covers, of those that are open


class CountedTasks:
    def __init__(self, state: CountedState) -> None:
        self._state = state
        self._loops: dict[int, Loop] = {}  # of partitions in which a nested loop has begun, and something is open
        self.merging: Merging | None = None  # what comes next of a disk-disk task

    def do(self, chosen: Task | None) -> bool:
        """A task that was chosen, or its first merge; whether there was anything to do."""
        if isinstance(chosen, MemoryDisk):
            self._scan(chosen.input, chosen.partition)
            return True
        if isinstance(chosen, NestedLoop):
            return self._loop(chosen)
        if isinstance(chosen, DiskDisk):
            self.merging = self._next_merge(chosen.partition, self._disk_task(chosen))
            return self.go_on()
        return False

    def go_on(self) -> bool:
        """The merge that has begun is done, and then the next of the same task begins; whether there was one."""
        if self.merging is None:
            return False
        self._merge(self.merging)
        return True

    def rehearse(self, chosen: Task | Merging | None) -> Event | None:
        """What this would report, with nothing done."""
        state = self._state
        if isinstance(chosen, NestedLoop):
            chunk = self._next_chunk(chosen)
            return None if chunk is None else self._looped(chosen.partition, chunk)
        if isinstance(chosen, MemoryDisk):
            runs = state.partitions[chosen.partition].disk[opposite(chosen.input)].runs
            n_bytes = sum(run.n_bytes for run in runs)
            return Scanned(state.tick, chosen.input, chosen.partition, len(runs), n_bytes)
        if isinstance(chosen, DiskDisk):
            left, right = (disk.runs for disk in state.partitions[chosen.partition].disk)
            plan = plan_merge(left, right, state.partitions[chosen.partition].cells, self._disk_task(chosen))
            return None if plan is None else self._merged(chosen.partition, state.tick, plan)
        return self._merged(chosen.partition, chosen.tick, chosen.plan) if isinstance(chosen, Merging) else None

    # Memory with disk

    def _scan(self, side: int, p: int) -> None:
        state, partition, other = self._state, self._state.partitions[p], opposite(side)
        state.tick += 1
        numbers, n_bytes = partition.disk[other].numbers, int(state.statistics.spilled_bytes[other, p])
        state.statistics.results += partition.meet_disk(side)
        state.memory.met_disk(side, p, state.tick)
        state.statistics.unmet_with_disk[side, p] = 0
        state.report(Scanned(state.tick, side, p, len(numbers), n_bytes, numbers))

    # Nested loops

    def _loop(self, chosen: NestedLoop) -> bool:
        """The next chunk of a nested loop; whether there was one."""
        state, statistics, p = self._state, self._state.statistics, chosen.partition
        state.tick += 1
        chunk = self._next_chunk(chosen)
        unmet = float(statistics.unmet_on_disk[p])
        if chunk is None:
            self._loops.pop(p, None)
            statistics.met_on_disk(p, state.tick, unmet)
            return False
        statistics.results += state.partitions[p].meet_on_disk([chunk.runs])
        self._loops[p] = chunk.loop
        statistics.met_on_disk(p, state.tick, unmet * chunk.share)
        state.report(self._looped(p, chunk))
        return True

    def outer_bytes(self, chosen: NestedLoop) -> int:
        """What the outer part of the next chunk weighs."""
        chunk = self._next_chunk(chosen)
        if chunk is None:
            return 0
        disk, outer = self._state.partitions[chosen.partition].disk, chunk.loop.outer
        return sum(run.n_bytes for run in disk[outer].runs if run.number in chunk.runs[outer])

    def _next_chunk(self, chosen: NestedLoop) -> Chunk | None:
        partition = self._state.partitions[chosen.partition]
        loop = self._loops.get(chosen.partition, Loop(chosen.outer))
        left, right = (disk.runs for disk in partition.disk)
        return next_chunk(left, right, partition.cells, loop, chosen.max_outer_bytes)

    def _looped(self, p: int, chunk: Chunk) -> Looped:
        """What is told of a chunk."""
        disk = self._state.partitions[p].disk
        numbers = [{*some} for some in chunk.runs]
        read = [run for side in SIDES for run in disk[side].runs if run.number in numbers[side]]
        n_bytes = sum(run.n_bytes for run in read)
        return Looped(self._state.tick, p, chunk.loop.outer, len(read), n_bytes, (chunk.runs,))

    # Disk with disk

    def _disk_task(self, chosen: DiskDisk) -> DiskTask:
        p, state = chosen.partition, self._state
        left, right = (disk.numbers for disk in state.partitions[p].disk)
        return DiskTask(chosen.fan_in, (left, right), float(state.statistics.unmet_on_disk[p]))

    def _next_merge(self, p: int, task: DiskTask) -> Merging | None:
        """The next merge of a task begins, if there is one."""
        state, partition = self._state, self._state.partitions[p]
        state.tick += 1
        cells, (left, right) = partition.cells, (disk.runs for disk in partition.disk)
        plan = plan_merge(left, right, cells, task)
        if plan is None:
            state.statistics.met_on_disk(p, state.tick, task.open_pairs)
            return None
        return Merging(p, state.tick, task, plan, covered_pairs(left, right, cells, task, plan))

    def _merge(self, merging: Merging) -> None:
        p, plan, statistics = merging.partition, merging.plan, self._state.statistics
        event = self._merged(p, merging.tick, plan)
        statistics.results += self._state.partitions[p].meet_on_disk(plan.rectangles)
        merged = [self._lift(p, side, plan) for side in SIDES]
        statistics.met_on_disk(p, merging.tick, merging.pairs)
        self._state.report(event)
        self.merging = self._next_merge(p, merging.task.after(plan, merged, merging.pairs))

    def _merged(self, p: int, tick: int, plan: MergePlan) -> Merged:
        """What is told of a merge."""
        disk = self._state.partitions[p].disk
        reads = [{*plan.reads(side)} for side in SIDES]
        read = [run for side in SIDES for run in disk[side].runs if run.number in reads[side]]
        groups = [plan.groups[side].members for side in SIDES]
        several = [group if len(group) > 1 else () for group in groups]
        written = [run for side in SIDES for run in disk[side].runs if run.number in several[side]]
        n_bytes, written_bytes = (sum(run.n_bytes for run in runs) for runs in (read, written))
        return Merged(tick, p, len(read), n_bytes, written_bytes, plan.rectangles, "merge")

    def _lift(self, p: int, side: int, plan: MergePlan) -> int | None:
        """The members of a merge go up a level; as one run, whose number this gives, if they were several."""
        partition, members, level = self._state.partitions[p], plan.groups[side].members, plan.levels[side]
        merged = None
        if len(members) > 1:
            merged = partition.become_one(side, members, level).number
        else:
            partition.disk[side].lift(members, level)
        self._state.statistics.count_spilled(side, p, partition.disk[side].runs)
        return merged

    # The rest

    def clean_up(self, p: int, *, has_met: bool) -> None:
        """All that is open in a partition meets, unless it has met already, and the partition is forgotten."""
        state, partition, statistics = self._state, self._state.partitions[p], self._state.statistics
        state.tick += 1
        left, right = (disk.numbers for disk in partition.disk)
        runs = [] if has_met else [run for disk in partition.disk for run in disk.runs]
        statistics.results += partition.meet_as_whole()
        statistics.met_as_whole(p, state.tick, 0, int(statistics.arrived_rows[:, p].sum()))
        n_bytes = sum(run.n_bytes for run in runs)
        state.report(Merged(state.tick, p, len(runs), n_bytes, 0, ((left, right),), "clean-up"))
        state.account.release(int(statistics.resident_bytes[:, p].sum()))
        partition.forget()
        for side in SIDES:
            statistics.count_resident(side, p, 0, 0)
            statistics.count_spilled(side, p, [])
        statistics.forget(p)
