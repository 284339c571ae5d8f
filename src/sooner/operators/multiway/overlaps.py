"""Rows of one input that have met all that they can match: the chain need not look for their combinations again.

All combinations of a row are out if its time in memory has a moment in common with that of all rows which it may be
combined with. Of those it is known when the last of them came and the first of them left: by ranges of codes, if they
are neighbours whose rows lie in the order of the attribute that they share; else of the input as a whole. Where keys
come in order, as numbers and times mostly do, ranges that lie near each other came and left together. Values that may
be apart look at all ranges within their reach.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from sooner.kernels.array_types import Codes, Flags, Positions
from sooner.kernels.matching import Reach
from sooner.operators.inputs import Input
from sooner.operators.multiway.comparing import reached
from sooner.operators.multiway.graph import Graph, Step
from sooner.runs.run import NEVER, STILL_HERE, Run, Stamp, Ticks

RANGES: Final = 1024  # of codes, at most


class Bounds:
    """When the last rows of an input came and the first of them left, by ranges of codes."""

    def __init__(self, starts: Codes, reach: Reach) -> None:
        self._starts = starts  # of ranges, but for the first
        self._reach = reach  # from rows of the other input to these
        self.latest: Ticks = np.full(len(starts) + 1, NEVER, np.int32)
        self.earliest: Ticks = np.full(len(starts) + 1, STILL_HERE, np.int32)

    def add(self, run: Run) -> None:
        at = self._ranges_of(run.codes)
        np.maximum.at(self.latest, at, np.broadcast_to(np.asarray(run.arrived, np.int32), len(run)))
        np.minimum.at(self.earliest, at, np.broadcast_to(np.asarray(run.departed, np.int32), len(run)))

    def of(self, codes: Codes) -> tuple[Ticks, Ticks]:
        """For each row of another input, by its code: the bounds of those that it may match."""
        first, last = map(self._ranges_of, reached(codes, codes, self._reach))
        return _over(np.maximum, self.latest, first, last), _over(np.minimum, self.earliest, first, last)

    def _ranges_of(self, codes: Codes) -> Positions:
        return self._starts.searchsorted(codes, side="right")


def _over(chosen: np.ufunc, ticks: Ticks, first: Positions, last: Positions) -> Ticks:
    """The one of these ticks that is chosen from the first to the last, of each of many."""
    if (first == last).all():
        return ticks[first]
    between = np.stack([first, last + 1], axis=1).ravel()
    found: Ticks = chosen.reduceat(np.append(ticks, ticks[-1]), between)[::2]  # no stretch may begin at the very end
    return found


class Overlaps:
    """Of the first input of a chain with all others, which are added before it is asked."""

    def __init__(
        self, graph: Graph, inputs: Sequence[Input], first: int, steps: Sequence[Step], reaches: Sequence[Reach]
    ) -> None:
        self._bounds = {
            step.input: Bounds(_starts_of(graph, inputs, first, step), reach)
            for step, reach in zip(steps, reaches, strict=True)
        }

    def add(self, which: int, run: Run) -> None:
        self._bounds[which].add(run)

    def have_met_all(self, codes: Codes, arrived: Stamp, departed: Stamp, horizon: int) -> Flags:
        """Which rows of the first input, in memory from then to then, have no combination left: what came up to the
        horizon is out as well.
        """
        latest, earliest = (np.broadcast_to(np.asarray(stamp), len(codes)) for stamp in (arrived, departed))
        for bounds in self._bounds.values():
            came, left = bounds.of(codes)
            latest, earliest = np.maximum(latest, came), np.minimum(earliest, left)
        met: Flags = (latest <= earliest) | (latest <= horizon)
        return met

    def to_plain(self) -> list[list[list[int]]]:
        return [[bounds.latest.tolist(), bounds.earliest.tolist()] for bounds in self._bounds.values()]

    def load_plain(self, data: Sequence[Sequence[Sequence[int]]]) -> None:
        for bounds, (latest, earliest) in zip(self._bounds.values(), data, strict=True):
            bounds.latest[:], bounds.earliest[:] = latest, earliest


def _starts_of(graph: Graph, inputs: Sequence[Input], first: int, step: Step) -> Codes:
    """Where ranges begin: as many rows are in one as in another, about."""
    if step.parent != first or not graph.are_in_order(step):
        return np.empty(0, np.uint64)
    runs = inputs[step.input].partitions[0].spilled
    firsts = np.unique(np.concatenate([run.segments[0].blocks.first_codes for run in runs] or [np.empty(0, np.uint64)]))
    return firsts[:: max(-(-len(firsts) // RANGES), 1)]
