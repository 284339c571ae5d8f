"""What has met is known of partitions: of each the rectangle of rows that came first, by when they came.

Until rows leave memory for the first time all that is there has met, as in any other join. From then on what arrives
waits, and a partition has a *horizon*: all that came before it has met (PR-Join sec. 4.2). Cells say of runs as wholes
what follows from it, so that nothing is read for nothing.

Left rows may still meet the right rows that came before that, as long as these are in memory (hash ripple join). Then
the rectangle has no end on the left.
"""

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Any, Protocol

from sooner.operators.inputs import Input
from sooner.operators.ledgers.ledger import Ledger, PartsOfPartition, loaded_cells, numbers_on_disk, saved_cells
from sooner.operators.ledgers.open_pairs import JoinStatistics
from sooner.operators.ledgers.stamps import can_meet_at_once, met_in_memory
from sooner.operators.pairs import Filter
from sooner.operators.sweeping.parts import Drives, Part, PartRectangle
from sooner.policies.view import EvictSince, Together
from sooner.runs.ledger import CoveredCells, Horizon, Rectangle
from sooner.runs.run import NEVER, STILL_HERE, Run, arrived_between
from sooner.runs.store import counts_of_each
from sooner.sides import LEFT, RIGHT, SIDES, opposite


class Watcher(Protocol):
    """Who must know when partitions are told apart, and when one is whole."""

    def begin_waiting(self) -> None:
        """All that is there has met; what comes from now on waits."""

    def whole_begins(self, p: int) -> None:
        """A task has begun to bring all of a partition together."""

    def is_whole(self, p: int) -> None:
        """It has done so."""


class Horizons(Ledger):
    """`keeps_rights`: left rows go on meeting the right rows that came before memory was full."""

    drives: Drives = "left"

    def __init__(self, inputs: Sequence[Input], statistics: JoinStatistics, *, keeps_rights: bool) -> None:
        self._inputs = inputs
        self._statistics = statistics
        self._keeps_rights = keeps_rights
        partitions = len(inputs[LEFT].partitions)
        self.cells = [CoveredCells() for _ in range(partitions)]
        self.horizons = [Horizon()] * partitions
        self.full_since: int | None = None
        self.is_evened_out = False
        self.watcher: Watcher | None = None

    @property
    def rows_wait(self) -> bool:
        return self.full_since is not None

    def begin_waiting(self, tick: int) -> None:
        """All that is there has met; what comes from now on waits."""
        self.full_since = tick
        self._statistics.begin_waiting(keeps_rights=self._keeps_rights)
        self.horizons = [Horizon(STILL_HERE if self._keeps_rights else tick, tick)] * len(self.cells)
        if self.watcher is not None:
            self.watcher.begin_waiting()

    def met_on_arrival(self, side: int, p: int) -> Sequence[Run]:
        """Nothing once rows wait, unless left rows meet the right rows that came before that."""
        if not self.rows_wait:
            return met_in_memory(self._inputs, side, p)
        if side != LEFT or not self._keeps_first_rights(p):
            return []
        rights = met_in_memory(self._inputs, side, p)
        return [first for run in rights if len(first := arrived_between(run, NEVER, self.horizons[p].right))]

    def is_probed(self, p: int) -> bool:
        return not self.rows_wait or self._keeps_first_rights(p)

    def is_met_at_once(self, side: int, p: int) -> bool:
        return not self.rows_wait and can_meet_at_once(self._inputs, side, p)

    def is_known_in_memory(self, side: int, p: int) -> bool:
        return not self.rows_wait and not self._inputs[opposite(side)].partitions[p].spilled

    def is_open(self, p: int) -> bool:
        return self._statistics.open_pairs(p) > 0

    def only_open(self, p: int, until: int) -> Filter:
        """Pairs beyond the horizon."""
        beyond = partial(self.horizons[p].only_beyond, until)
        return lambda pairs: pairs.only(*beyond(pairs.left, pairs.right, pairs.at_left, pairs.at_right))

    def open_rectangles(self, parts: PartsOfPartition) -> list[PartRectangle]:
        """All rows with all, in memory too, but for runs that have met: each run is read once and merged once."""
        if not self.is_open(parts.partition):
            return []
        cells = self.cells[parts.partition]
        groups = cells.alike(*(parts.runs[side] + parts.since[side] for side in SIDES))
        disk: list[list[Sequence[Part]]] = [[parts.on_disk(side, group) for group in groups[side]] for side in SIDES]
        memory = [[parts.in_memory(side, NEVER)] for side in SIDES]
        on_disk = [
            (disk[LEFT][i], disk[RIGHT][j])
            for i, lefts in enumerate(groups[LEFT])
            for j, rights in enumerate(groups[RIGHT])
            if not cells.have_met(lefts, rights)
        ]
        in_memory = [*product(memory[LEFT], disk[RIGHT] + memory[RIGHT]), *product(disk[LEFT], memory[RIGHT])]
        return on_disk + [(left, right) for left, right in in_memory if left and right]

    def left_since(self, p: int, runs: Rectangle) -> Rectangle:
        """Rows do not say whether a task had met them by then: it finds them wherever they are, by when they came."""
        now = numbers_on_disk(self._inputs, p)
        left, right = (tuple(number for number in now[side] if number not in runs[side]) for side in SIDES)
        return left, right

    def rows_leave(self, evictions: Together, tick: int) -> None:
        """From then on rows that arrive wait."""
        if not self.rows_wait:
            self.begin_waiting(tick)
        for eviction in evictions:
            if eviction.input == RIGHT and not isinstance(eviction, EvictSince):
                self._first_rights_leave(eviction.partition, tick)

    def whole_begins(self, p: int, tick: int) -> None:
        """What comes in the middle of it waits, or the rectangle would have a step."""
        self._first_rights_leave(p, tick)
        if self.watcher is not None:
            self.watcher.whole_begins(p)

    def met_as_whole(self, p: int, runs: Rectangle, tick: int) -> None:
        self.cells[p].cover(*runs)
        self.horizons[p] = Horizon(tick, tick)
        self._statistics.kept_rights[p] = 0
        if self.watcher is not None:
            self.watcher.is_whole(p)

    def _keeps_first_rights(self, p: int) -> bool:
        return self.horizons[p].left == STILL_HERE

    def _first_rights_leave(self, p: int, tick: int) -> None:
        """Left rows that come from now on do not meet them any more."""
        if self._keeps_first_rights(p):
            self.horizons[p] = self.horizons[p]._replace(left=tick)
            self._statistics.kept_rights[p] = 0

    def to_plain(self) -> dict[str, Any]:
        return {
            "cells": saved_cells(self.cells),
            "full_since": self.full_since,
            "horizons": self.horizons,
            "is_evened_out": self.is_evened_out,
        }

    def load_plain(self, data: dict[str, Any]) -> None:
        self.cells = loaded_cells(data["cells"], len(self.cells))
        self.full_since, self.is_evened_out = data["full_since"], data["is_evened_out"]
        self._statistics.rows_wait = self.rows_wait
        both = zip(data["horizons"], self.cells, strict=True)
        self.horizons = [Horizon(*counts_of_each(ticks, len(SIDES))) for ticks, _ in both]
