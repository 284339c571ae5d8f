"""The work on spilled rows: memory with disk, disk with disk, and whatever is left, at the end or before."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace

from sooner.operators.events import Merged, Scanned
from sooner.operators.two_way.covering import InMemory, JoinRuns, MergedOutput, OnDisk, PartBlock, Workbench, cover
from sooner.operators.two_way.merging import MergePlan, open_share, plan_merge
from sooner.operators.two_way.pairs import Pairs
from sooner.operators.two_way.state import JoinState, Partition
from sooner.policies.view import DiskDisk, MemoryDisk
from sooner.runs.files import SpilledRun
from sooner.runs.ledger import Rectangle
from sooner.runs.run import Run, merge
from sooner.sides import LEFT, RIGHT, SIDES, opposite


def scan_disk(state: JoinState, task: MemoryDisk, join: JoinRuns, bench: Workbench) -> Iterator[Pairs]:
    """Memory of one side with disk of the other (RPJ sec. 5.1).

    Only rows that came since the last such task can find anything: what left memory before it they met then, what left
    later they met in memory (RPJ's Lemma 2).
    """
    state.tick += 1
    side, p = task.side, task.partition
    spilled = state.spilled(opposite(side), p)
    disk = list(_disk_parts(state, opposite(side), p).values())
    yield from cover(_memory_blocks(state, side, p, disk, bench), join, bench)
    state.partitions[side][p].met_disk = state.tick
    state.statistics.met_disk(side, p)
    state.report(Scanned(state.tick, side, p, len(spilled), sum(run.n_bytes for run in spilled)))


def merge_disk(state: JoinState, task: DiskDisk, join: JoinRuns, bench: Workbench) -> Iterator[Pairs]:
    """The next merge of runs on both sides of a partition, joined on the way (PSMJ, RPJ sec. 5.2)."""
    state.tick += 1
    p = task.partition
    left, right, cells = state.spilled(LEFT, p), state.spilled(RIGHT, p), state.cells[p]
    plan = plan_merge(left, right, cells, task.fan_in)
    if plan is None:
        state.statistics.merged_on_disk(p, state.tick, share=1)
        return
    share = open_share(left, right, cells, plan.rectangles)
    read_runs = [run for side in SIDES for run in state.spilled(side, p) if run.number in plan.reads(side)]
    parts = [_disk_parts(state, side, p) for side in SIDES]
    with ExitStack() as open_files:
        outputs = _merged_outputs(state, plan, parts, open_files)
        blocks = [_part_block(parts, block) for block in plan.rectangles]
        yield from cover(blocks, join, bench, list(outputs.values()))
        merged = {
            side: output.writer.end_run(state.partitions[side][p].new_number(), plan.level)
            for side, output in outputs.items()
        }
    for block in plan.rectangles:
        cells.cover(*block)
    for side in SIDES:
        _settle(state, side, p, plan, merged.get(side))
    state.statistics.merged_on_disk(p, state.tick, share)
    read_bytes, written_bytes = (sum(run.n_bytes for run in runs) for runs in (read_runs, merged.values()))
    state.report(Merged(state.tick, p, len(read_runs), read_bytes, written_bytes))


def cover_rest(state: JoinState, p: int, join: JoinRuns, bench: Workbench) -> Iterator[Pairs]:
    """All that has not met in one partition, when nothing arrives any more."""
    parts = [_disk_parts(state, side, p) for side in SIDES]
    open_cells = state.cells[p].open_rectangles(list(parts[LEFT]), list(parts[RIGHT]))
    blocks = [_part_block(parts, block) for block in open_cells]
    for side in SIDES:
        blocks += _memory_blocks(state, side, p, list(parts[opposite(side)].values()), bench)
    return cover(blocks, join, bench)


def is_open(state: JoinState, p: int) -> bool:
    """Whether rows of this partition may match that have not met: by stamps and cells, which are no estimates."""
    left, right = ([run.number for run in state.spilled(side, p)] for side in SIDES)
    if state.cells[p].open_rectangles(left, right):
        return True
    return any(bool(state.spilled(opposite(side), p) and _unseen(state.partitions[side][p])) for side in SIDES)


def settle(state: JoinState, p: int, join: JoinRuns, bench: Workbench) -> Iterator[Pairs]:
    """All that has not met in one partition, although more may arrive."""
    state.tick += 1
    yield from cover_rest(state, p, join, bench)
    left, right = (state.spilled(side, p) for side in SIDES)
    state.cells[p].cover([run.number for run in left], [run.number for run in right])
    for side in SIDES:
        state.partitions[side][p].met_disk = state.tick
        state.statistics.met_disk(side, p)
    state.statistics.merged_on_disk(p, state.tick, share=1)
    read_bytes = sum(run.n_bytes for run in (*left, *right))
    state.report(Merged(state.tick, p, len(left) + len(right), read_bytes, written_bytes=0))


def forget_partition(state: JoinState, p: int) -> None:
    """Everything in this partition has met: its memory and its files are free."""
    read_runs = [run for side in SIDES for run in state.spilled(side, p)]
    read_bytes = sum(run.n_bytes for run in read_runs)
    state.report(Merged(state.tick, p, len(read_runs), read_bytes, written_bytes=0))
    state.statistics.merged_on_disk(p, state.tick, share=1)
    for side in SIDES:
        state.forget(side, p)


def _memory_blocks(state: JoinState, side: int, p: int, disk: Sequence[OnDisk], bench: Workbench) -> list[PartBlock]:
    """What is in memory of one side and has not met the disk of the other since it came."""
    partition = state.partitions[side][p]
    runs = _unseen(partition)
    if not runs or not disk:
        return []
    if sum(run.n_bytes for run in runs) <= bench.merge_bytes:  # then every slab looks at one run
        runs = [merge(runs)]
    memory = [InMemory(run, partition.met_disk) for run in runs]
    return [(memory, disk) if side == LEFT else (disk, memory)]


def _unseen(partition: Partition) -> list[Run]:
    """Runs in memory with rows that came after the last memory-disk task."""
    return [run for run in partition.resident if run.newest > partition.met_disk]


def _disk_parts(state: JoinState, side: int, p: int) -> dict[int, OnDisk]:
    return {run.number: OnDisk(state.files[side], run) for run in state.spilled(side, p)}


def _part_block(parts: Sequence[Mapping[int, OnDisk]], block: Rectangle) -> PartBlock:
    left, right = block
    return [parts[LEFT][number] for number in left], [parts[RIGHT][number] for number in right]


def _merged_outputs(
    state: JoinState, plan: MergePlan, parts: Sequence[Mapping[int, OnDisk]], open_files: ExitStack
) -> dict[int, MergedOutput]:
    """A new run for each side that has several to merge."""
    return {
        side: MergedOutput(
            [parts[side][number] for number in group.members],
            state.files[side],
            open_files.enter_context(state.files[side].writer()),
        )
        for side, group in enumerate(plan.groups)
        if len(group.members) > 1
    }


def _settle(state: JoinState, side: int, p: int, plan: MergePlan, merged: SpilledRun | None) -> None:
    """The members of a merge go up a level: as one run, if they were several."""
    members = plan.groups[side].members
    spilled = state.spilled(side, p)
    if merged is None:
        lifted = [replace(run, level=plan.level) if run.number in members else run for run in spilled]
        state.set_spilled(side, p, lifted)
        return
    state.replace_spilled(side, p, members, merged)
