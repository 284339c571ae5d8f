"""Tags: each row of an input belongs to one of a few random parts of it.

Where rows come in random order they are dealt out in turn, else all rows of a block go to one part. How many rows have
come of each, also of those that nobody keeps, is told by *tallies*: tags that are negative numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from sooner.kernels.array_types import Positions

MOST_TAGS: Final = 32
ALL_TAGS: Final = MOST_TAGS  # a tally of rows that were dealt out in turn
_TAG_BITS: Final = 6

Tags = npt.NDArray[np.int32]


class Tagging(Protocol):
    """Which tags the rows of a batch have."""

    def of_rows(self, positions: Positions | None) -> Tags:
        """The tags of the rows at these positions, which ascend, or of all rows."""

    def tallies(self) -> Tags:
        """The tallies of all rows."""


@dataclass(frozen=True)
class InTurn:
    """Tags dealt out in turn, beginning at the number of the first row."""

    first: int
    n_rows: int

    def of_rows(self, positions: Positions | None) -> Tags:
        numbers = np.arange(self.n_rows) if positions is None else positions
        return ((numbers + self.first) % MOST_TAGS).astype(np.int32)

    def tallies(self) -> Tags:
        return np.array([_tally(self.n_rows, ALL_TAGS)], np.int32)


@dataclass(frozen=True)
class InBlocks:
    """Blocks with these tags and so many rows, one after the other."""

    tags: Sequence[int]
    sizes: Sequence[int]

    def of_rows(self, positions: Positions | None) -> Tags:
        ends = np.cumsum(self.sizes)
        if positions is not None:
            ends = np.searchsorted(positions, ends)
        return np.repeat(np.array(self.tags, np.int32), np.diff(ends, prepend=0))

    def tallies(self) -> Tags:
        told = zip(self.sizes, self.tags, strict=True)
        return np.array([_tally(n_rows, tag) for n_rows, tag in told if n_rows], np.int32)

    def between(self, begin: int, end: int) -> "InBlocks":
        """The blocks of these rows only."""
        ends = np.clip(np.cumsum(self.sizes), begin, end)
        return InBlocks(self.tags, np.diff(ends, prepend=begin).tolist())


def _tally(n_rows: int, tag: int) -> int:
    return ~(n_rows << _TAG_BITS | tag)


def rows_by_tags(tallies: npt.NDArray[np.int64], n_tags: int) -> npt.NDArray[np.float64]:
    """[..., tag]: how many rows have come, by tallies that were added up; tags that differ by `n_tags` are one."""
    in_turn = (tallies[..., ALL_TAGS:] + np.arange(MOST_TAGS)[::-1]) // MOST_TAGS
    rows = (tallies[..., :ALL_TAGS] + in_turn).reshape(*tallies.shape[:-1], -1, n_tags)
    found: npt.NDArray[np.float64] = rows.sum(axis=-2).astype(np.float64)
    return found


def tallied(tags: Tags) -> npt.NDArray[np.int64]:
    """[tag]: how many rows tallies with these tags stand for, and at last those that were dealt out in turn."""
    told = ~tags[tags < 0].astype(np.int64)
    counts: npt.NDArray[Any] = np.zeros(MOST_TAGS + 1, np.int64)
    np.add.at(counts, told & ((1 << _TAG_BITS) - 1), told >> _TAG_BITS)
    return counts
