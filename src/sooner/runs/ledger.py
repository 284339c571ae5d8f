"""The ledger: which pairs of rows are out already.

The join is the rectangle left x right. A pair is out as soon as its two rows have met, which happens in one of
three ways (design: "cells"; XJoin; RPJ sec. 5.1 and 5.2):

1. They were in memory together: each arrived before the other left.
2. A memory-disk task saw them: one was in memory when its partition last met the disk, the other had left before.
3. A disk-disk task covered the two runs that they are in.

The first two follow from three integers per row. The third is a set of pairs of runs: merging (PSMJ, RPJ sec. 5.2)
matches runs group by group, which covers rectangles along the diagonal, so a count of leading runs would not do.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from sooner.kernels.array_types import Positions
from sooner.kernels.native import address, loop, prototypes
from sooner.runs.run import NEVER, Run, stamp_table, stamps_of

_keep_unmet: Final = loop(prototypes.keep_unmet)
_keep_beyond: Final = loop(prototypes.keep_beyond)

Numbers = tuple[int, ...]  # of runs
Rectangle = tuple[Numbers, Numbers]  # of the left, of the right


def only_unmet(left: Run, right: Run, at_left: Positions, at_right: Positions) -> tuple[Positions, Positions]:
    """Those of these pairs that neither memory nor a memory-disk task has brought together. The arrays are used up."""
    n_pairs, stamps = len(at_left), [stamp_table(stamps_of(run)) for run in (left, right)]
    kept = _keep_unmet(n_pairs, address(at_left), address(at_right), n_pairs, *map(address, stamps))
    return at_left[:kept], at_right[:kept]


class Horizon(NamedTuple):
    """A rectangle that has met: all left rows that came up to one tick with all right rows up to another.

    It is all that a join has to know that brings partitions together as wholes (PR-Join sec. 4.2: record ids against
    old and new counts).
    """

    left: int = NEVER
    right: int = NEVER

    def only_beyond(
        self, until: int, left: Run, right: Run, at_left: Positions, at_right: Positions
    ) -> tuple[Positions, Positions]:
        """Those of these pairs that are not in it, of rows that came up to a tick. The arrays are used up."""
        n_pairs, stamps = len(at_left), [stamp_table(stamps_of(run)) for run in (left, right)]
        of_left, of_right = map(address, stamps)
        pairs = address(at_left), address(at_right), n_pairs
        kept = _keep_beyond(n_pairs, *pairs, of_left, of_right, self.left, self.right, until)
        return at_left[:kept], at_right[:kept]


class Group(NamedTuple):
    """Runs of one side and partition that are to be merged, and the others of that side and partition."""

    members: tuple[int, ...]
    outsiders: tuple[int, ...]


class CoveredCells:
    """Which spilled runs of one partition have met as wholes, by their numbers (left, right).

    A nested loop over blocks makes millions of cells (DINER sec. 3.4). So they are rows of bits: for each left run,
    those right runs that it has met. A right run has a bit of its own while it is there, and its successors have it
    then: numbers of runs rise as long as a stream goes on, and rows of bits are no longer than runs are many.
    """

    def __init__(self, cells: Iterable[tuple[int, int]] = ()) -> None:
        self._met: dict[int, int] = {}
        self._bit: dict[int, int] = {}  # of each right run that has met another
        self._free_bits: list[int] = []
        for a, b in cells:
            self.cover((a,), (b,))

    def cover(self, left: Iterable[int], right: Sequence[int]) -> None:
        for b in right:
            if b not in self._bit:
                self._bit[b] = self._free_bits.pop() if self._free_bits else self._new_bit
        met_now = self._bits(right)
        for a in left if met_now else ():
            self._met[a] = self._met.get(a, 0) | met_now

    def open_rectangles(self, left: Sequence[int], right: Sequence[int]) -> list[Rectangle]:
        """What is not covered of left x right, as few rectangles (left runs, right runs) as there are patterns."""
        by_pattern: dict[int, list[int]] = {}
        new_bit = self._new_bit
        every_right, bits = self._bits(right), [(b, self._bit.get(b, new_bit)) for b in right]
        for a in left:
            if missing := every_right & ~self._met.get(a, 0):
                by_pattern.setdefault(missing, []).append(a)
        return [
            (tuple(lefts), tuple(b for b, bit in bits if missing >> bit & 1)) for missing, lefts in by_pattern.items()
        ]

    def alike(self, left: Sequence[int], right: Sequence[int]) -> tuple[list[Numbers], list[Numbers]]:
        """These runs in groups of either side: those of a group have met the same groups of the other, or not."""
        by_pattern: dict[int, list[int]] = {}
        every_right = self._bits(right)
        for a in left:
            by_pattern.setdefault(every_right & self._met.get(a, 0), []).append(a)
        by_signature: dict[tuple[bool, ...], list[int]] = {}
        for b in right:
            bit = self._bits((b,))
            by_signature.setdefault(tuple(bool(met & bit) for met in by_pattern), []).append(b)
        return [tuple(group) for group in by_pattern.values()], [tuple(group) for group in by_signature.values()]

    def have_met(self, left: Sequence[int], right: Sequence[int]) -> bool:
        """Whether all of these have, of groups of runs that are alike."""
        return self._is_covered(left[0], right[0])

    def rectangles_to_merge(self, left: "Group", right: "Group") -> list[Rectangle]:
        """What must be covered before each group may become one run.

        That is their own open cells, and those of an outsider that has met some runs of a group but not all:
        the merged run could not say which of its rows the outsider has met.
        """
        rectangles = self.open_rectangles(left.members, right.members)
        for outsider in left.outsiders:
            missing = [b for b in right.members if not self._is_covered(outsider, b)]
            if 0 < len(missing) < len(right.members):
                rectangles.append(((outsider,), tuple(missing)))
        for outsider in right.outsiders:
            missing = [a for a in left.members if not self._is_covered(a, outsider)]
            if 0 < len(missing) < len(left.members):
                rectangles.append((tuple(missing), (outsider,)))
        return rectangles

    def met(self, side: int) -> dict[int, list[int]]:
        """For each run of one side the runs of the other that it has met."""
        found: dict[int, list[int]] = {}
        for cell in self._cells():
            found.setdefault(cell[side], []).append(cell[1 - side])
        return found

    def merge(self, side: int, members: Sequence[int], merged: int) -> None:
        """These runs of one side (0 is left) are one run now."""
        if side == 0:
            met_by_any = 0
            for a in members:
                met_by_any |= self._met.pop(a, 0)
            if met_by_any:
                self._met[merged] = met_by_any
            return
        met_any = [a for a, met in self._met.items() if met & self._bits(members)]
        self.forget(side, members)
        self.cover(met_any, (merged,))

    def forget(self, side: int, numbers: Sequence[int]) -> None:
        """These runs of one side are gone."""
        gone = {*numbers} if side == 0 else set()
        kept = ~self._bits(numbers) if side == 1 else -1
        self._met = {a: met & kept for a, met in self._met.items() if a not in gone and met & kept}
        if side == 1:
            self._free_bits += [self._bit.pop(b) for b in numbers if b in self._bit]

    def to_plain(self) -> list[Any]:
        return [list(cell) for cell in sorted(self._cells())]

    @property
    def _new_bit(self) -> int:
        """One that no run has yet: that of all runs that have met nobody."""
        return len(self._bit) + len(self._free_bits)

    def _bits(self, right: Iterable[int]) -> int:
        bits, new_bit = 0, self._new_bit
        for b in right:
            bits |= 1 << self._bit.get(b, new_bit)
        return bits

    def _is_covered(self, a: int, b: int) -> bool:
        return bool(self._met.get(a, 0) & self._bits((b,)))

    def _cells(self) -> Iterator[tuple[int, int]]:
        number_of = {bit: b for b, bit in self._bit.items()}
        return ((a, number_of[bit]) for a, met in self._met.items() for bit in _set_bits(met))


def _set_bits(bits: int) -> Iterator[int]:
    """Which bits are set, from the lowest up."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest
