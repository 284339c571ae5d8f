"""What has met is known of rows, by their stamps, and of runs, by cells: rules 1 to 3 of `runs/ledger.py`."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from sooner.kernels.array_types import Codes
from sooner.operators.inputs import Input
from sooner.operators.ledgers.ledger import Ledger, PartsOfPartition, loaded_cells, numbers_on_disk, saved_cells
from sooner.operators.pairs import Filter, drop_met
from sooner.operators.sweeping.parts import Drives, PartRectangle
from sooner.runs.ledger import CoveredCells, Rectangle
from sooner.runs.run import NEVER, Run, Stamp, Ticks
from sooner.runs.store import counts_of_each
from sooner.sides import LEFT, SIDES, opposite


class Stamps(Ledger):
    drives: Drives = "memory"
    full_since = None

    def __init__(self, inputs: Sequence[Input]) -> None:
        self._inputs = inputs
        partitions = len(inputs[LEFT].partitions)
        self.cells = [CoveredCells() for _ in range(partitions)]
        # [side][partition]: the last memory-disk task with this side in memory, and one that is only at some code
        self._met_disk = [[NEVER] * partitions for _ in SIDES]
        self._meeting_disk: list[dict[int, tuple[int, int]]] = [{} for _ in SIDES]

    def met_on_arrival(self, side: int, p: int) -> Sequence[Run]:
        return met_in_memory(self._inputs, side, p)

    def is_probed(self, p: int) -> bool:  # noqa: ARG002 - in other ledgers it can depend on the partition
        return True

    def is_met_at_once(self, side: int, p: int) -> bool:
        return can_meet_at_once(self._inputs, side, p)

    def is_known_in_memory(self, side: int, p: int) -> bool:
        return not self._inputs[opposite(side)].partitions[p].spilled

    def is_open(self, p: int) -> bool:
        """By stamps and cells, which are no estimates."""
        if self.cells[p].open_rectangles(*numbers_on_disk(self._inputs, p)):
            return True
        return any(not self.is_known_in_memory(side, p) and len(self.unseen_arrivals(side, p)) for side in SIDES)

    def only_open(self, p: int, until: int) -> Filter:  # noqa: ARG002 - rows say it themselves
        return drop_met

    def open_rectangles(self, parts: PartsOfPartition) -> list[PartRectangle]:
        cells = self.cells[parts.partition].open_rectangles(*parts.runs)
        with_memory = [rectangle for side in SIDES for rectangle in memory_with_disk(self, side, parts)]
        return parts.rectangles(cells) + with_memory

    def met_disk_until(self, side: int, p: int) -> int:
        return self._met_disk[side][p]

    def when_met_disk(self, side: int, p: int, codes: Codes) -> Stamp:
        before = self._met_disk[side][p]
        tick, up_to_code = self._meeting_disk[side].get(p, (before, 0))
        return np.where(codes < np.uint64(up_to_code), np.int32(tick), np.int32(before)) if up_to_code else before

    def unseen_arrivals(self, side: int, p: int) -> Ticks:
        runs = self._inputs[side].partitions[p].resident
        return arrivals_after((run, self.when_met_disk(side, p, run.codes)) for run in runs)

    def left_since(self, p: int, runs: Rectangle) -> Rectangle:  # noqa: ARG002
        """None: rows say themselves how far a task had come by then."""
        return (), ()

    def memory_met_disk(self, side: int, p: int, tick: int, up_to_code: int | None) -> None:
        if up_to_code is None:
            self._met_disk[side][p] = tick
            self._meeting_disk[side].pop(p, None)
        else:
            self._meeting_disk[side][p] = tick, up_to_code

    def met_as_whole(self, p: int, runs: Rectangle, tick: int) -> None:
        self.cells[p].cover(*runs)
        for side in SIDES:
            self.memory_met_disk(side, p, tick, None)

    def to_plain(self) -> dict[str, Any]:
        return {"cells": saved_cells(self.cells), "met_disk": self._met_disk}

    def load_plain(self, data: dict[str, Any]) -> None:
        partitions = len(self.cells)
        self.cells = loaded_cells(data["cells"], partitions)
        self._met_disk = [counts_of_each(ticks, partitions) for ticks, _ in zip(data["met_disk"], SIDES, strict=True)]


def met_in_memory(inputs: Sequence[Input], side: int, p: int) -> Sequence[Run]:
    """All that is in memory of the other side."""
    return list(inputs[opposite(side)].partitions[p].resident)


def can_meet_at_once(inputs: Sequence[Input], side: int, p: int) -> bool:
    """Whether the other side has ended, and has nothing on disk."""
    other = inputs[opposite(side)]
    return other.ended and not other.partitions[p].spilled


def memory_with_disk(ledger: Ledger, side: int, parts: PartsOfPartition) -> list[PartRectangle]:
    """What is in memory of one side, has not met the disk of the other since it came, and was there at the begin.

    Only such rows can find anything: what left memory before the last memory-disk task they met then, what left later
    they met in memory (RPJ's Lemma 2).
    """
    memory = parts.in_memory(side, ledger.met_disk_until(side, parts.partition))
    disk = parts.on_disk(opposite(side), parts.runs[opposite(side)])
    if not memory or not disk:
        return []
    return [(memory, disk) if side == LEFT else (disk, memory)]


def arrivals_after(runs: Iterable[tuple[Run, Stamp]]) -> Ticks:
    """When the rows of these runs came that came after the tick beside them."""
    later = [np.empty(0, np.int32)]
    for run, ticks in runs:
        arrived = np.broadcast_to(np.asarray(run.arrived, np.int32), len(run))
        later.append(arrived[arrived > ticks])
    return np.concatenate(later)
