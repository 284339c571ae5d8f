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
from sooner.runs.store import SpilledRun
from sooner.sides import LEFT, RIGHT

GROWTH: Final = 3  # a run is rewritten when it grows by so many times its own size


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
    left: Sequence[SpilledRun], right: Sequence[SpilledRun], cells: CoveredCells, fan_in: int
) -> MergePlan | None:
    """The next merge, or None when each side is at most one run and the two have met."""
    for left_numbers, right_numbers, level in _candidates(left, right, fan_in):
        groups = _group(left, left_numbers), _group(right, right_numbers)
        rectangles = cells.rectangles_to_merge(*groups)
        if rectangles or any(len(group.members) > 1 for group in groups):
            return MergePlan(groups, tuple(rectangles), (level + 1, level + 1))
    return None


def _candidates(
    left: Sequence[SpilledRun], right: Sequence[SpilledRun], fan_in: int
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
    left: Sequence[SpilledRun], right: Sequence[SpilledRun], cells: CoveredCells, crowd: int
) -> MergePlan | None:
    """The smaller ones of `crowd` or more runs that are alike, of each side that has them; None if none has."""
    crowds = [_crowd(runs, cells.met(side), crowd) for side, runs in ((LEFT, left), (RIGHT, right))]
    if not any(crowds):
        return None
    groups = [Group(tuple(run.number for run in runs), ()) for runs in crowds]
    levels = [runs[0].level if runs else 0 for runs in crowds]
    return MergePlan((groups[LEFT], groups[RIGHT]), (), (levels[LEFT], levels[RIGHT]))


def _crowd(runs: Sequence[SpilledRun], met: dict[int, list[int]], crowd: int) -> list[SpilledRun]:
    alike: dict[object, list[SpilledRun]] = {}
    for run in runs if len(runs) >= crowd else ():
        alike.setdefault((run.level, frozenset(met.get(run.number, ()))), []).append(run)
    return next((_smaller_ones(members) for members in alike.values() if len(members) >= crowd), [])


def _smaller_ones(runs: Sequence[SpilledRun]) -> list[SpilledRun]:
    """Without those to which all smaller ones together would add too little; at least two."""
    largest_first = sorted(runs, key=lambda run: (-run.n_rows, run.number))
    smaller_rows = sum(run.n_rows for run in runs)
    for position, run in enumerate(largest_first[:-2]):
        smaller_rows -= run.n_rows
        if smaller_rows >= GROWTH * run.n_rows:
            return largest_first[position:]
    return largest_first[-2:]


def open_share(
    left: Sequence[SpilledRun], right: Sequence[SpilledRun], cells: CoveredCells, rectangles: Sequence[Rectangle]
) -> float:
    """How much of what is open between these runs, by area, the rectangles make up."""
    rows = [{run.number: run.n_rows for run in runs} for runs in (left, right)]

    def area(some: Sequence[Rectangle]) -> int:
        return sum(sum(rows[0][n] for n in rect[0]) * sum(rows[1][n] for n in rect[1]) for rect in some)

    all_open = area(cells.open_rectangles(list(rows[0]), list(rows[1])))
    return area(rectangles) / all_open if all_open else 1.0


def _group(runs: Sequence[SpilledRun], members: Sequence[int]) -> Group:
    return Group(tuple(members), tuple(run.number for run in runs if run.number not in members))
