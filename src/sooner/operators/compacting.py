"""Keep the runs on disk few while nobody has time to join them: merge those that are alike, in tiers.

A stream that never falls silent spills for days without a task that would merge its runs. Runs of about the same size
that have met the same runs of the other side can become one at any time: their rows keep their stamps, and the ledger
loses nothing. So each side and partition has O(log n) runs of each kind, and each row is rewritten O(log n) times.
"""

from collections.abc import Iterator
from functools import partial
from typing import Final

from sooner.operators.covering import MergedOutput, OnDisk, Workbench, cover
from sooner.operators.parallel import map_together
from sooner.operators.state import JoinState
from sooner.policies.view import SIDES
from sooner.runs.files import SpilledRun
from sooner.runs.run import tier_of

CROWD: Final = 16  # runs that are alike


def compact(state: JoinState, bench: Workbench, workers: int) -> None:
    """Merge whatever is crowded."""
    for side in SIDES:
        while crowds := list(_crowds(state, side)):
            work = partial(_merge, state, side, bench.divided(min(workers, len(crowds))))
            merged = map_together(work, crowds, workers)
            for (p, crowd), run in zip(crowds, merged, strict=True):
                state.replace_spilled(side, p, [member.number for member in crowd], run)


def _crowds(state: JoinState, side: int) -> Iterator[tuple[int, list[SpilledRun]]]:
    """At most one crowd in each partition."""
    for p in range(state.n_partitions):
        alike: dict[object, list[SpilledRun]] = {}
        met = state.cells[p].met(side)
        for run in state.spilled(side, p):
            kind = (tier_of(run.n_rows, CROWD), run.level, frozenset(met.get(run.number, ())))
            crowd = alike.setdefault(kind, [])
            crowd.append(run)
            if len(crowd) == CROWD:
                yield p, crowd
                break


def _merge(state: JoinState, side: int, bench: Workbench, crowded: tuple[int, list[SpilledRun]]) -> SpilledRun:
    p, crowd = crowded
    files = state.files[side]
    with files.writer() as writer:
        output = MergedOutput([OnDisk(files, run) for run in crowd], files, writer)
        for _ in cover([], lambda *_: iter(()), bench, [output]):
            pass
        return writer.end_run(state.partitions[side][p].new_number(), crowd[0].level)
