"""Which runs on disk a nested loop joins next, as pure functions of the runs and of what has met (DINER sec. 3.4).

The paper's three integers are a *loop* (which side is the outer one, and up to which of its runs it has come) and the
cursor of the task. Up to where the inner side has been joined is the ledger's matter: a chunk meets all runs that it
has not met, also those that have left memory since the loop began. Roles change when the outer side is through (Point
3).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sooner.runs.ledger import CoveredCells, Rectangle
from sooner.runs.store import RunOnDisk
from sooner.sides import LEFT, RIGHT, opposite


@dataclass(frozen=True)
class Loop:
    outer: int
    joined_outer: int = 0  # runs of the outer side up to this number have had their turn

    def to_plain(self) -> list[int]:
        return [self.outer, self.joined_outer]


@dataclass(frozen=True)
class Chunk:
    """Runs of both sides that a loop joins; the loop is as it is when that is done."""

    runs: Rectangle
    share: float  # by area, of all that is open on disk
    loop: Loop


def next_chunk(
    left: Sequence[RunOnDisk], right: Sequence[RunOnDisk], cells: CoveredCells, loop: Loop, max_outer_bytes: int
) -> Chunk | None:
    """None if all runs have met."""
    numbers = [[run.number for run in runs] for runs in (left, right)]
    is_open = cells.open_rectangles(numbers[LEFT], numbers[RIGHT])
    if not is_open:
        return None
    open_runs = [{number for rectangle in is_open for number in rectangle[side]} for side in (LEFT, RIGHT)]
    sides = (left, right)
    outer, after = loop.outer, loop.joined_outer
    waiting = [run for run in sides[outer] if run.number in open_runs[outer] and run.number > after]
    if not waiting:
        outer = opposite(outer)
        waiting = [run for run in sides[outer] if run.number in open_runs[outer]]
    members = _first_of(sorted(waiting, key=lambda run: run.number), max_outer_bytes)
    rows = [{run.number: run.n_rows for run in runs} for runs in sides]
    met_now = _of_members(is_open, outer, {*members})
    inner = tuple(sorted({number for rectangle in met_now for number in rectangle[opposite(outer)]}))
    runs = (members, inner) if outer == LEFT else (inner, members)
    share = _area(met_now, rows) / _area(is_open, rows)
    return Chunk(runs, share, Loop(outer, members[-1]))


def _first_of(runs: Sequence[RunOnDisk], at_most_bytes: int) -> tuple[int, ...]:
    """As many as weigh no more than this, or one that does."""
    members: list[int] = []
    for run in runs:
        at_most_bytes -= run.n_bytes
        if members and at_most_bytes < 0:
            break
        members.append(run.number)
    return tuple(members)


def _of_members(rectangles: Sequence[Rectangle], side: int, members: set[int]) -> list[Rectangle]:
    """That part of these rectangles that is of certain runs of a side."""
    some = []
    for left, right in rectangles:
        mine = tuple(number for number in (left, right)[side] if number in members)
        if mine:
            some.append((mine, right) if side == LEFT else (left, mine))
    return some


def _area(rectangles: Sequence[Rectangle], rows: Sequence[dict[int, int]]) -> int:
    return sum(sum(rows[LEFT][a] for a in left) * sum(rows[RIGHT][b] for b in right) for left, right in rectangles)
