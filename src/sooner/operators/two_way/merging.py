"""Which spilled runs of a partition to merge next: the passes of PSMJ (RPJ sec. 2.2 and 5.2) as a pure function.

The papers' pass is a run's level: a merge takes at most `fan_in` runs of the lowest level from each side and puts its
results one level up. What is left over alone on a level goes up with the next one, and the last pass takes all.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sooner.runs.files import SpilledRun
from sooner.runs.ledger import CoveredCells, Group, Rectangle


@dataclass(frozen=True)
class MergePlan:
    groups: tuple[Group, Group]
    rectangles: list[Rectangle]
    level: int  # of what comes out

    def reads(self, side: int) -> set[int]:
        """Numbers of the runs of one side that must be read."""
        joined = {number for rectangle in self.rectangles for number in rectangle[side]}
        members = self.groups[side].members
        return joined | set(members) if len(members) > 1 else joined


def plan_merge(
    left: Sequence[SpilledRun], right: Sequence[SpilledRun], cells: CoveredCells, fan_in: int
) -> MergePlan | None:
    """The next merge, or None when each side is at most one run and the two have met."""
    for left_numbers, right_numbers, level in _candidates(left, right, fan_in):
        groups = _group(left, left_numbers), _group(right, right_numbers)
        rectangles = cells.rectangles_to_merge(*groups)
        if rectangles or any(len(group.members) > 1 for group in groups):
            return MergePlan(groups, rectangles, level + 1)
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


def open_share(
    left: Sequence[SpilledRun], right: Sequence[SpilledRun], cells: CoveredCells, rectangles: Sequence[Rectangle]
) -> float:
    """How much of what is open between these runs, by area, the rectangles make up."""
    rows = [{run.number: run.n_rows for run in runs} for runs in (left, right)]

    def area(some: Sequence[Rectangle]) -> int:
        return sum(sum(rows[0][n] for n in rectangle[0]) * sum(rows[1][n] for n in rectangle[1]) for rectangle in some)

    all_open = area(cells.open_rectangles(list(rows[0]), list(rows[1])))
    return area(rectangles) / all_open if all_open else 1.0


def _group(runs: Sequence[SpilledRun], members: Sequence[int]) -> Group:
    return Group(tuple(members), tuple(run.number for run in runs if run.number not in members))
