"""Begin a task, or go on with one that was saved."""

from typing import Any

import numpy as np

from sooner.operators.deciding.expiry import Expiry
from sooner.operators.state.looping import Loop
from sooner.operators.state.state import JoinState
from sooner.operators.tasks.deciding import CleanUp, Forget, Parting, Winnow
from sooner.operators.tasks.merging import DiskTask, MergePlan, covered_pairs, plan_merge, plan_tidying
from sooner.operators.tasks.nested_loop import NestedLoopTask, begin_chunk
from sooner.operators.tasks.parts import Begun
from sooner.operators.tasks.task import Rest, Scan, Task
from sooner.operators.tasks.writing import Merge, Tidying
from sooner.policies.view import DiskDisk, EvictCodes, MemoryDisk, NestedLoop, WholePartitions
from sooner.runs.slabs import hot_codes
from sooner.runs.store import adopted
from sooner.sides import LEFT, RIGHT, SIDES


def in_pieces_on_disk(state: JoinState, p: int, at_most_bytes: int) -> list[EvictCodes]:
    """Let the rows in memory leave it whose code has more on disk than this.

    A quantum can end among the rows of one code on disk, but rows in memory meet all of a code in one stride.
    """
    blocks = [part.blocks for side in SIDES for run in state.spilled(side, p) for part in run.segments]
    hot = np.array(sorted(hot_codes(blocks, at_most_bytes)), np.uint64)
    return [EvictCodes(side, p, hot) for side in SIDES] if len(hot) else []


def begin(state: JoinState, task: MemoryDisk | DiskDisk | NestedLoop | WholePartitions) -> Task | None:
    """What the react policy chose; None if there is nothing of it left to do."""
    p = task.partition
    if not state.kind.pairs:
        return begin_winnow(state, p)
    if isinstance(task, WholePartitions):
        return begin_rest(state, p)
    if isinstance(task, MemoryDisk):
        return Scan(state, Begun.now(state, p), task.input)
    if isinstance(task, NestedLoop):
        return begin_chunk(state, task)
    return _next_merge(state, p, DiskTask(task.fan_in, state.run_numbers(p), float(state.statistics.unmet_on_disk[p])))


def follow(state: JoinState, task: Task) -> Task | None:
    """What comes after a task that is done: the next merge of a disk-disk task, unless all is cleaned up anyway."""
    if not isinstance(task, Merge) or task.rest is None or state.shell.phase == "clean-up":
        return None
    return _next_merge(state, task.partition, task.rest)


def _next_merge(state: JoinState, p: int, task: DiskTask) -> Task | None:
    """None if there is nothing left to do."""
    left, right, cells = state.spilled(LEFT, p), state.spilled(RIGHT, p), state.ledger.cells[p]
    begun, plan = Begun.now(state, p), plan_merge(left, right, cells, task)
    if plan is None:
        state.statistics.met_on_disk(p, begun.tick, task.open_pairs)
        return None
    begun.runs = plan.reads(LEFT), plan.reads(RIGHT)
    return Merge(state, begun, plan, covered_pairs(left, right, cells, task, plan), task=task)


def begin_winnow(state: JoinState, p: int) -> Task | None:
    """None if nothing is open in the partition."""
    open_pairs = float(state.statistics.unmet_on_disk[p])
    if state.ledger.is_open(p):
        return Winnow(state, Begun.now(state, p), open_pairs)
    state.statistics.forget(p)
    return None


def begin_rest(state: JoinState, p: int) -> Task:
    """Cover all that is open in a partition, and forget it if nothing more arrives."""
    begun, open_pairs = Begun.now(state, p), float(state.statistics.unmet_on_disk[p])
    if state.shell.phase == "clean-up":
        return CleanUp(state, begun, open_pairs)
    return Rest(state, begun, open_pairs) if state.kind.pairs else Winnow(state, begun, open_pairs)


def begin_parting(state: JoinState, p: int, side: int) -> Task:
    """Decide the rows of this side in a partition: the other side has ended."""
    statistics = state.statistics
    undecided_rows = int(statistics.undecided_rows[side, p])
    return Parting(state, Begun.now(state, p), float(statistics.unmet_on_disk[p]), side, undecided_rows)


def begin_forgetting(state: JoinState, p: int, expiry: Expiry) -> Task:
    """Forget rows of a partition that nothing will match any more; to be done in one go."""
    return Forget(state, Begun.now(state, p), float(state.statistics.unmet_on_disk[p]), expiry)


def tidying_plan(state: JoinState, p: int, crowd: int) -> MergePlan | None:
    return plan_tidying(state.spilled(LEFT, p), state.spilled(RIGHT, p), state.ledger.cells[p], crowd)


def begin_tidying(state: JoinState, p: int, crowd: int) -> Task | None:
    plan = tidying_plan(state, p, crowd)
    if plan is None:
        return None
    begun = Begun.now(state, p)
    begun.runs = plan.reads(LEFT), plan.reads(RIGHT)
    return Tidying(state, begun, plan, open_pairs=0)


def resume(state: JoinState, data: dict[str, Any]) -> Task:
    """A task that was saved."""
    begun = Begun.from_plain(data)
    match data["kind"]:
        case Scan.kind:
            return Scan(state, begun, data["side"])
        case Rest.kind | CleanUp.kind as kind:
            return (Rest if kind == Rest.kind else CleanUp)(state, begun, data["open_pairs"])
        case NestedLoopTask.kind:
            return NestedLoopTask(state, begun, Loop(*data["loop"]), data["open_pairs"])
        case Parting.kind:
            return Parting(state, begun, data["open_pairs"], data["side"], data["undecided_rows"])
    written = [[adopted(state.inputs[side].store, one) for one in data["written"][side]] for side in SIDES]
    if data["kind"] == Winnow.kind:
        return Winnow(state, begun, data["open_pairs"], written)
    plan = MergePlan.from_plain(data["plan"])
    if data["kind"] == Tidying.kind:
        return Tidying(state, begun, plan, data["open_pairs"], written)
    return Merge(state, begun, plan, data["open_pairs"], written, DiskTask.from_plain(data["task"]))
