"""Keep the runs on disk few while nobody has time to join them: merge those that are alike, in tiers.

A stream that never falls silent spills for days without a task that would merge its runs. Runs of about the same size
that have met the same runs of the other side can become one at any time: their rows keep their stamps, and the ledger
loses nothing. So each side and partition has O(log n) runs of each kind, and each row is rewritten O(log n) times.
"""

from collections.abc import Iterator
from functools import partial
from typing import Final

import numpy as np

from sooner.operators.parallel import Crew
from sooner.operators.two_way.covering import MergedOutput, OnDisk, Workbench, cover
from sooner.operators.two_way.state import JoinState
from sooner.runs.files import SpilledRun
from sooner.runs.run import tier_of
from sooner.sides import SIDES

CROWD: Final = 8  # runs that are alike, unless told otherwise: a power of two


def compact(state: JoinState, bench: Workbench, crew: Crew, crowd: int) -> None:
    """Merge wherever so many runs are alike."""
    for side in SIDES:
        while crowds := list(_crowds(state, side, crowd)):
            work = partial(_merge, state, side, bench.divided(min(crew.workers, len(crowds))))
            merged = list(crew.in_order(work, crowds))
            for (p, members), run in zip(crowds, merged, strict=True):
                state.replace_spilled(side, p, [member.number for member in members], run)


def _crowds(state: JoinState, side: int, crowd: int) -> Iterator[tuple[int, list[SpilledRun]]]:
    """At most one crowd in each partition."""
    for p in np.flatnonzero(state.statistics.spilled_runs[side] >= crowd).tolist():
        alike: dict[object, list[SpilledRun]] = {}
        met = state.cells[p].met(side)
        for run in state.spilled(side, p):
            kind = (tier_of(run.n_rows, crowd), run.level, frozenset(met.get(run.number, ())))
            members = alike.setdefault(kind, [])
            members.append(run)
            if len(members) == crowd:
                yield p, members
                break


def _merge(state: JoinState, side: int, bench: Workbench, crowded: tuple[int, list[SpilledRun]]) -> SpilledRun:
    p, members = crowded
    files = state.files[side]
    with files.writer() as writer:
        output = MergedOutput([OnDisk(files, run) for run in members], files, writer)
        for _ in cover([], lambda *_: iter(()), bench, [output]):
            pass
        return writer.end_run(state.partitions[side][p].new_number(), members[0].level)
