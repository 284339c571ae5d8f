"""All that a two-way join knows: rows in memory and on disk, what has met, statistics, phase; saved as plain data."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sooner.budget import Budget
from sooner.operators.events import Entered, Event, Listener
from sooner.operators.phases import Phase, Phases
from sooner.operators.two_way.statistics import Statistics
from sooner.runs.files import RunFiles, SpilledRun
from sooner.runs.ledger import CoveredCells
from sooner.runs.resident import ResidentRuns
from sooner.runs.run import NEVER
from sooner.runs.saved_runs import RewrittenRuns, SavedRuns
from sooner.sides import LEFT, RIGHT, SIDES


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


class JoinState:
    def __init__(
        self,
        files: tuple[RunFiles, RunFiles],
        budget: Budget,
        partitions: int,
        listener: Listener | None = None,
        saved_runs: tuple[SavedRuns, SavedRuns] | None = None,
    ) -> None:
        self.files = files
        self._written_down = saved_runs or (RewrittenRuns(files[LEFT]), RewrittenRuns(files[RIGHT]))
        self.budget = budget
        self.partitions = tuple([Partition() for _ in range(partitions)] for _ in SIDES)
        self.cells = [CoveredCells() for _ in range(partitions)]
        self.statistics = Statistics(partitions)
        self.tick = NEVER
        self.cleaned = 0  # partitions that the clean-up has done
        self._ended = [False, False]
        self._phases = Phases()
        self._listener = listener

    @property
    def n_partitions(self) -> int:
        return len(self.cells)

    @property
    def ended(self) -> tuple[bool, bool]:
        return self._ended[LEFT], self._ended[RIGHT]

    @property
    def phase(self) -> Phase:
        return self._phases.now

    def end(self, side: int) -> None:
        self._ended[side] = True

    def require(self, *phases: Phase) -> None:
        self._phases.require(*phases)

    def enter(self, phase: Phase) -> None:
        if phase != self.phase:
            self._phases.enter(phase)
            self.report(Entered(self.tick, phase))

    def report(self, event: Event) -> None:
        if self._listener is not None:
            self._listener(event)

    def spilled(self, side: int, p: int) -> list[SpilledRun]:
        return self.partitions[side][p].spilled

    def count_resident(self, side: int, p: int) -> None:
        """The statistics follow what is in memory."""
        resident = self.partitions[side][p].resident
        self.statistics.resident_rows[side, p] = resident.n_rows
        self.statistics.resident_bytes[side, p] = resident.n_bytes

    def set_spilled(self, side: int, p: int, runs: list[SpilledRun]) -> None:
        self.partitions[side][p].spilled = runs
        self.statistics.spilled_runs[side, p] = len(runs)
        self.statistics.spilled_rows[side, p] = sum(run.n_rows for run in runs)
        self.statistics.spilled_bytes[side, p] = sum(run.n_bytes for run in runs)

    def replace_spilled(self, side: int, p: int, members: Sequence[int], merged: SpilledRun) -> None:
        """These runs on disk, by their numbers, are one now."""
        spilled = self.spilled(side, p)
        self.set_spilled(side, p, [merged, *(run for run in spilled if run.number not in members)])
        self.cells[p].merge(side, members, merged.number)
        for run in spilled:
            if run.number in members:
                self.files[side].remove(run)

    def forget(self, side: int, p: int) -> None:
        """Nobody needs the rows of this side and partition any more."""
        partition, spilled = self.partitions[side][p], self.spilled(side, p)
        self.budget.release(partition.resident.n_bytes)
        partition.resident.clear()
        self.count_resident(side, p)
        self.set_spilled(side, p, [])
        self.statistics.met_disk(side, p)
        for run in spilled:
            self.files[side].remove(run)

    def to_plain(self) -> dict[str, Any]:
        """All of it; rows in memory are written to run files, which it names."""
        return {
            "tick": self.tick,
            "phase": self.phase,
            "ended": self._ended[:],
            "cleaned": self.cleaned,
            "partitions": [self._save(side) for side in SIDES],
            "cells": [cells.to_plain() for cells in self.cells],
            "statistics": self.statistics.to_plain(),
        }

    def load_plain(self, data: dict[str, Any]) -> None:
        """Go on from what was saved, once; this state must be new, and made with the same arguments."""
        self.tick = data["tick"]
        self._phases = Phases((data["phase"],))
        self._ended = list(data["ended"])
        self.cleaned = data["cleaned"]
        self.cells = [CoveredCells((left, right) for left, right in cells) for cells in data["cells"]]
        self.statistics.load_plain(data["statistics"])
        for side in SIDES:
            for p, saved in enumerate(data["partitions"][side]):
                self._load(side, p, saved)

    def _save(self, side: int) -> list[dict[str, Any]]:
        partitions = self.partitions[side]
        written = iter(self._written_down[side].save([run for partition in partitions for run in partition.resident]))
        return [
            {
                "resident": [next(written).to_plain() for _ in partition.resident],
                "spilled": [run.to_plain() for run in partition.spilled],
                "met_disk": partition.met_disk,
                "next_number": partition.next_number,
            }
            for partition in partitions
        ]

    def _load(self, side: int, p: int, saved: dict[str, Any]) -> None:
        partition = self.partitions[side][p]
        for written in saved["resident"]:
            run = self._written_down[side].load(written)
            self.budget.take(run.n_bytes)
            partition.resident.add(run, self.budget.try_reserve, merge_up_to_bytes=0)
        partition.spilled = [self.files[side].from_plain(run) for run in saved["spilled"]]
        for spilled in partition.spilled:
            self.files[side].adopt(spilled)
        partition.met_disk, partition.next_number = saved["met_disk"], saved["next_number"]
        self.count_resident(side, p)  # rows may weigh less than before: files keep no bitmap without a null
