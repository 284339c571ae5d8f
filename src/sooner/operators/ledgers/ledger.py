"""The ledger of a join: which of its rows have met already, and so what each task must still bring together.

There are two. `Stamps` knows it of each row, `Horizons` of each partition. Both know it of runs on disk, by cells.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from sooner.kernels.array_types import Codes
from sooner.operators.inputs import Input
from sooner.operators.pairs import Filter
from sooner.operators.sweeping.parts import Drives, OnDisk, Part, PartRectangle
from sooner.policies.view import Together
from sooner.runs.ledger import CoveredCells, Rectangle
from sooner.runs.run import NEVER, Run, Stamp, Ticks
from sooner.runs.store import counted


class PartsOfPartition(Protocol):
    """The rows of a partition that a task can reach, which knows what was there when it began."""

    @property
    def partition(self) -> int: ...

    @property
    def runs(self) -> Rectangle:
        """On disk when the task began."""

    @property
    def since(self) -> Rectangle:
        """What has left memory after that, as far as the task has to look for it."""

    def on_disk(self, side: int, numbers: Sequence[int]) -> Sequence[OnDisk]:
        """These runs, in this order."""

    def rectangles(self, cells: Sequence[Rectangle]) -> list[PartRectangle]:
        """These runs on disk."""

    def in_memory(self, side: int, after: int) -> Sequence[Part]:
        """What is in memory of one side, came after a tick, and was there when the task began."""


class OnArrival(Protocol):
    """What rows that arrive meet at once; the ledger says it, unless somebody knows more of the order of arrivals."""

    def met_on_arrival(self, side: int, p: int) -> Sequence[Run]:
        """What rows of a side meet."""

    def is_probed(self, p: int) -> bool:
        """Whether rows look for matches among those in memory."""

    def is_met_at_once(self, side: int, p: int) -> bool:
        """Whether rows of this side meet in memory all that they can match; nobody needs them then."""


class Ledger(OnArrival, Protocol):
    """Who inherits from it knows nothing of rows in memory, unless it says so: those parts have a body here."""

    drives: Drives
    cells: list[CoveredCells]  # of each partition: which runs on disk have met as wholes
    full_since: int | None  # the tick since which rows wait instead of meeting what is in memory, if they do

    def is_known_in_memory(self, side: int, p: int) -> bool:
        """Whether rows in memory know for certain if anything matches them."""

    def is_open(self, p: int) -> bool:
        """Whether rows of this partition may match that have not met."""

    def only_open(self, p: int, until: int) -> Filter:
        """Keep the pairs of a partition that have not met, for a task that began at a tick."""

    def open_rectangles(self, parts: PartsOfPartition) -> list[PartRectangle]:
        """All that a task must bring together so that nothing is open that was there when it began."""

    def met_disk_until(self, side: int, p: int) -> int:  # noqa: ARG002
        """Rows in memory that came up to this tick have met all of the other side's disk."""
        return NEVER

    def when_met_disk(self, side: int, p: int, codes: Codes) -> Stamp:  # noqa: ARG002
        """The last memory-disk task that rows in memory with these codes took part in."""
        return NEVER

    def unseen_arrivals(self, side: int, p: int) -> Ticks:  # noqa: ARG002
        """When the rows in memory came that have met nothing on disk since, where that is noted."""
        return np.empty(0, np.int32)

    def left_since(self, p: int, runs: Rectangle) -> Rectangle:
        """Runs that have left memory in the middle of a task, and in which it has to look for rows."""

    def rows_leave(self, evictions: Together, tick: int) -> None:  # noqa: ARG002
        """Such rows are about to leave memory."""
        return

    def memory_met_disk(self, side: int, p: int, tick: int, up_to_code: int | None) -> None:  # noqa: ARG002
        """What was in memory at this tick has met what was on disk then: all of it, or below a code."""
        return

    def whole_begins(self, p: int, tick: int) -> None:  # noqa: ARG002
        """A task has begun to bring all of a partition together."""
        return

    def met_as_whole(self, p: int, runs: Rectangle, tick: int) -> None:
        """All that was there at a tick has met, in memory and in these runs."""

    def to_plain(self) -> dict[str, Any]: ...

    def load_plain(self, data: dict[str, Any]) -> None:
        """Go on from what was saved, once."""


def numbers_on_disk(inputs: Sequence[Input], p: int) -> Rectangle:
    """Of the runs on disk of either side."""
    left, right = (tuple(run.number for run in one.partitions[p].spilled) for one in inputs)
    return left, right


def saved_cells(cells: Sequence[CoveredCells]) -> list[Any]:
    return [one.to_plain() for one in cells]


def loaded_cells(data: Sequence[Any], partitions: int) -> list[CoveredCells]:
    both = zip(data, range(partitions), strict=True)
    return [CoveredCells((counted(left), counted(right)) for left, right in cells) for cells, _ in both]
