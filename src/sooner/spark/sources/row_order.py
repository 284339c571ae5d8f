"""Numbers for the rows of a Parquet input: a fixed order, so that an offset is one integer.

Row groups follow each other in file order, or in a seeded random order with the rows inside shuffled too. The order is
a function of the seed and of nothing else, so that every process, and every later version of NumPy, finds the same row
under the same number: NumPy promises no such thing for its own permutations.

Not covered: a uniform shuffle across row groups. Rows of one group stay together, or every batch would read them all.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

Order: TypeAlias = Literal["file", "random"]
Positions: TypeAlias = npt.NDArray[np.int64]
Words: TypeAlias = npt.NDArray[np.uint64]

# A cut between two tasks moves to the end of a row group that is this near, as a part of their shares; the end of a
# batch moves back to one, as a part of the batch.
NEAR_SHARE = 0.25
NEAR_END = 0.5


@dataclass(frozen=True)
class RowGroup:
    """A row group: the `group`-th of the `file`-th file."""

    file: int
    group: int
    rows: int


@dataclass(frozen=True)
class Piece:
    """The rows `first` to `end` of a row group, counted in the order in which they are read."""

    row_group: RowGroup
    first: int
    end: int
    number: int  # of the row group, in the order in which they are read

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return self.end - self.first

    @property
    def is_whole(self) -> bool:
        """Whether it is all of its row group."""
        return self.rows == self.row_group.rows


class NumberedRows:
    """All rows of an input, from 0 on."""

    def __init__(self, row_groups: Sequence[RowGroup], order: Order, seed: int) -> None:
        filled = [row_group for row_group in row_groups if row_group.rows]
        if order == "random":
            filled = [filled[index] for index in permutation(len(filled), seed, stream=0)]
        self._row_groups = filled
        self._ends: Positions = np.cumsum([row_group.rows for row_group in filled], dtype=np.int64)

    @property
    def rows(self) -> int:
        """How many there are."""
        return int(self._ends[-1]) if self._ends.size else 0

    def batch_end(self, start: int, most_rows: int) -> int:
        """Where a batch of at most so many rows ends: with a row group if that is near, so that none is read twice."""
        limit = min(start + most_rows, self.rows)
        whole = int(np.searchsorted(self._ends, limit, side="right")) - 1
        if whole >= 0 and self._ends[whole] - start >= (limit - start) * NEAR_END:
            return int(self._ends[whole])
        return limit

    def pieces(self, start: int, end: int) -> Iterator[Piece]:
        """The row groups, or parts of them, that hold rows `start` to `end`."""
        index = int(np.searchsorted(self._ends, start, side="right"))
        while start < end:
            row_group = self._row_groups[index]
            begin = int(self._ends[index]) - row_group.rows
            piece_end = min(end, int(self._ends[index]))
            yield Piece(row_group, start - begin, piece_end - begin, index)
            start, index = piece_end, index + 1

    def shares(self, start: int, end: int, tasks: int) -> list[tuple[int, int]]:
        """Rows `start` to `end` in at most `tasks` parts of about the same size."""
        share = (end - start) / tasks
        cuts = [self._near(round(start + number * share), share * NEAR_SHARE) for number in range(1, tasks)]
        edges = sorted({start, end, *(cut for cut in cuts if start < cut < end)})
        return list(pairwise(edges))

    def _near(self, cut: int, distance: float) -> int:
        after = int(np.searchsorted(self._ends, cut))
        ends = [int(end) for end in self._ends[max(after - 1, 0) : after + 1]]
        nearest = min(ends, key=lambda end: abs(end - cut), default=cut)
        return nearest if abs(nearest - cut) <= distance else cut


def permutation(size: int, seed: int, stream: int) -> Positions:
    """The numbers below `size`, shuffled. Each stream of a seed is another shuffle.

    >>> permutation(5, seed=7, stream=1).tolist()
    [4, 2, 0, 1, 3]
    """
    start: Words = _mixed(_mixed(np.array([seed & 0xFFFF_FFFF_FFFF_FFFF], dtype=np.uint64)) ^ np.uint64(stream))
    numbers: Words = np.arange(size, dtype=np.uint64)
    # Equal draws keep their order, so that ties cannot make two machines differ.
    return np.argsort(_mixed(start + numbers), kind="stable")


def _mixed(words: Words) -> Words:
    """One step of splitmix64 for each word; overflow is part of it."""
    mixed = words + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
