"""Which spilled runs of a partition become one next, as pure functions of the runs and of what has met.

The papers' pass (PSMJ; RPJ sec. 2.2 and 5.2) is a run's level: a merge takes at most `fan_in` runs of the lowest level
from each side and puts its results one level up. What is left over alone on a level goes up with the next one, and the
last pass takes all.

A stream that never falls silent spills for days without such a merge. So runs are kept few in another way too: those of
one level that have met the same runs of the other side are alike and can become one at any time, with nothing joined;
their rows keep their stamps, and the ledger loses nothing. When a crowd of runs is alike, the smaller ones become one:
all but those that are large beside what would be merged with them. So their number has a bound that does not grow with
the rows, and a row is rewritten only into a run several times as large, which is O(log n) times.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sooner.runs.ledger import CoveredCells, Group, Rectangle
from sooner.runs.store import RunOnDisk
from sooner.sides import LEFT, RIGHT

GROWTH: Final = 3  # a run is rewritten when it grows by so many times its own size


@dataclass(frozen=True)
class DiskTask:
    """A disk-disk task: the merges that make one run of each side, of those there were at its begin (RPJ sec. 5.2).

    `runs` are what has become of those by now, and so many of their pairs are open.
    """

    fan_in: int
    runs: Rectangle
    open_pairs: float

    def after(self, plan: "MergePlan", merged: Sequence[int | None], covered_pairs: float) -> "DiskTask":
        """What is left of it when a merge is done that made these runs, where it made any."""
        left, right = (
            tuple(number for number in self.runs[side] if number not in plan.groups[side].members or new is None)
            + (() if new is None else (new,))
            for side, new in enumerate(merged)
        )
        return DiskTask(self.fan_in, (left, right), self.open_pairs - covered_pairs)

    def to_plain(self) -> list[Any]:
        return [self.fan_in, self.runs, self.open_pairs]

    @staticmethod
    def from_plain(data: list[Any]) -> "DiskTask":
        fan_in, (left, right), open_pairs = data
        return DiskTask(fan_in, (tuple(left), tuple(right)), open_pairs)


@dataclass(frozen=True)
class MergePlan:
    groups: tuple[Group, Group]
    rectangles: tuple[Rectangle, ...]
    levels: tuple[int, int]  # of what comes out

    def reads(self, side: int) -> tuple[int, ...]:
        """Numbers of the runs of one side that must be read."""
        joined = {number for rectangle in self.rectangles for number in rectangle[side]}
        members = self.groups[side].members
        return tuple(sorted(joined | set(members) if len(members) > 1 else joined))

    def to_plain(self) -> dict[str, Any]:
        return {
            "members": [group.members for group in self.groups],
            "rectangles": self.rectangles,
            "levels": self.levels,
        }

    @staticmethod
    def from_plain(data: dict[str, Any]) -> "MergePlan":
        left, right = (Group(tuple(members), ()) for members in data["members"])
        rectangles = tuple((tuple(lefts), tuple(rights)) for lefts, rights in data["rectangles"])
        return MergePlan((left, right), rectangles, (data["levels"][LEFT], data["levels"][RIGHT]))


def plan_merge(
    left: Sequence[RunOnDisk], right: Sequence[RunOnDisk], cells: CoveredCells, task: DiskTask
) -> MergePlan | None:
    """The next merge of a task, or None when each side is at most one run and the two have met."""
    of_task = [[run for run in runs if run.number in task.runs[side]] for side, runs in enumerate((left, right))]
    for left_numbers, right_numbers, level in _candidates(of_task[LEFT], of_task[RIGHT], task.fan_in):
        groups = _group(left, left_numbers), _group(right, right_numbers)
        rectangles = cells.rectangles_to_merge(*groups)
        if rectangles or any(len(group.members) > 1 for group in groups):
            return MergePlan(groups, tuple(rectangles), (level + 1, level + 1))
    return None


def _candidates(
    left: Sequence[RunOnDisk], right: Sequence[RunOnDisk], fan_in: int
) -> Iterator[tuple[list[int], list[int], int]]:
    """Groups to merge, in the order of preference: everything if it fits, else level by level."""
    levels = sorted({run.level for run in (*left, *right)})
    if levels and max(len(left), len(right)) <= fan_in:
        yield [run.number for run in left], [run.number for run in right], levels[-1]
        return
    waiting: tuple[list[int], list[int]] = ([], [])
    for level in levels:
        for runs, numbers in zip((left, right), waiting, strict=True):
            numbers += [run.number for run in runs if run.level == level]
        yield waiting[0][:fan_in], waiting[1][:fan_in], level


def plan_tidying(
    left: Sequence[RunOnDisk], right: Sequence[RunOnDisk], cells: CoveredCells, crowd: int
) -> MergePlan | None:
    """The smaller ones of `crowd` or more runs that are alike, of each side that has them; None if none has."""
    crowds = [_crowd(runs, cells.met(side), crowd) for side, runs in ((LEFT, left), (RIGHT, right))]
    if not any(crowds):
        return None
    groups = [Group(tuple(run.number for run in runs), ()) for runs in crowds]
    levels = [runs[0].level if runs else 0 for runs in crowds]
    return MergePlan((groups[LEFT], groups[RIGHT]), (), (levels[LEFT], levels[RIGHT]))


def _crowd(runs: Sequence[RunOnDisk], met: dict[int, list[int]], crowd: int) -> list[RunOnDisk]:
    alike: dict[object, list[RunOnDisk]] = {}
    for run in runs if len(runs) >= crowd else ():
        alike.setdefault((run.level, frozenset(met.get(run.number, ()))), []).append(run)
    return next((_smaller_ones(members) for members in alike.values() if len(members) >= crowd), [])


def _smaller_ones(runs: Sequence[RunOnDisk]) -> list[RunOnDisk]:
    """Without those to which all smaller ones together would add too little; at least two."""
    largest_first = sorted(runs, key=lambda run: (-run.n_rows, run.number))
    smaller_rows = sum(run.n_rows for run in runs)
    for position, run in enumerate(largest_first[:-2]):
        smaller_rows -= run.n_rows
        if smaller_rows >= GROWTH * run.n_rows:
            return largest_first[position:]
    return largest_first[-2:]


def covered_pairs(
    left: Sequence[RunOnDisk], right: Sequence[RunOnDisk], cells: CoveredCells, task: DiskTask, plan: MergePlan
) -> float:
    """How many of a task's open pairs a merge covers: its share by area of what is open between the runs."""
    rows = [{run.number: run.n_rows for run in runs} for runs in (left, right)]

    def area(some: Sequence[Rectangle]) -> int:
        return sum(sum(rows[0][n] for n in rect[0]) * sum(rows[1][n] for n in rect[1]) for rect in some)

    all_open = area(cells.open_rectangles(*task.runs))
    return task.open_pairs * min(1.0, area(plan.rectangles) / all_open if all_open else 1.0)


def _group(runs: Sequence[RunOnDisk], members: Sequence[int]) -> Group:
    return Group(tuple(members), tuple(run.number for run in runs if run.number not in members))
