"""Pairs of rows added up instead of spelled out: sums of products of a left and a right factor.

Sums are kept apart by groups, and within a group in *cells*: rows of either side carry a tag, one of a few random parts
of their input, and a cell has the pairs of one left and one right tag. How cells differ says how sure an estimate is.

Whole numbers are summed in 128 bits, exactly; others as doubles. Where many rows share a code, the rows of each side
are added up first, so a key with a million rows on both sides costs two million additions, not a million millions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sooner.kernels.array_types import Codes, Positions
from sooner.kernels.native import address, addresses, loop

Reals = npt.NDArray[np.float64]
Wholes = npt.NDArray[np.int64]  # the last axis has the low and the high word
Ages = npt.NDArray[np.uint8]
BYTES_OF_SUM: Final = 16  # at most
NEW, MET, NOT_YET = range(3)  # rows of which pairs are wanted, but not those of two that have met

_fold_runs: Final = loop("fold_runs", "aaaaanaan", counts=True)
_fold_many: Final = loop("fold_many", "asaan", counts=True)
_fold_pairs: Final = loop("fold_pairs", "aaaaan")


@dataclass(frozen=True)
class Factors:
    """Of the rows of one side: tags, groups (None: all in the first), and a factor for each sum (None: 1)."""

    tags: npt.NDArray[np.int32]
    groups: npt.NDArray[np.int32] | None
    wholes: Sequence[npt.NDArray[np.int64] | None]
    reals: Sequence[Reals | None]

    @cached_property
    def address(self) -> int:
        """Where compiled loops find all that; whoever asks keeps the factors alive."""
        return address(self._struct)

    @cached_property
    def _struct(self) -> npt.NDArray[np.uint64]:
        return addresses([address(some) for some in (self.tags, self.groups, *self._lists)])

    @cached_property
    def _lists(self) -> list[npt.NDArray[np.uint64]]:
        return [addresses([address(factor) for factor in some]) for some in (self.wholes, self.reals)]


class Operand(NamedTuple):
    """Rows of one side in the order of their codes."""

    codes: Codes
    factors: Factors

    @property
    def words(self) -> tuple[int, int, int]:
        """As compiled loops know it."""
        return self.factors.address, address(self.codes), len(self.codes)


class Sums:
    """[left group, right group, sum, left tag, right tag]; `n_tags` is a power of two."""

    def __init__(self, n_wholes: int, n_reals: int, n_tags: int, groups: tuple[int, int] = (1, 1)) -> None:
        self.n_tags = n_tags
        self.wholes: Wholes = np.zeros((*groups, n_wholes, n_tags, n_tags, 2), np.int64)
        self.reals: Reals = np.zeros((*groups, n_reals, n_tags, n_tags))
        self._told: tuple[Wholes, Reals, npt.NDArray[np.int64], list[npt.NDArray[Any]]] | None = None

    @property
    def groups(self) -> tuple[int, int]:
        left, right = self.wholes.shape[:2]
        return left, right

    @property
    def n_bytes(self) -> int:
        return self.wholes.nbytes + self.reals.nbytes

    def fold_runs(self, left: Operand, right: Operand, ages: tuple[Ages | None, Ages | None] = (None, None)) -> int:
        """Add all pairs of equal codes. About how many they were."""
        told = zip((left, right), ages, strict=True)
        of_left, of_right = ((address(one.codes), address(age), len(one.codes)) for one, age in told)
        factors, n_rows = (left.factors.address, right.factors.address), len(left.codes) + len(right.codes)
        pairs: int = _fold_runs(n_rows, self._address, *factors, *of_left, *of_right)
        return pairs

    def fold_many(self, side: int, one: Operand, others: Sequence[Operand]) -> int:
        """The same of one of this side with several of the other, by one call."""
        mine, theirs = np.array(one.words, np.int64), np.array([other.words for other in others], np.int64)
        n_rows = len(one.codes) * len(others)
        pairs: int = _fold_many(n_rows, self._address, side, address(mine), address(theirs), len(others))
        return pairs

    def fold_pairs(self, left: Factors, right: Factors, at_left: Positions | None, at_right: Positions | None) -> None:
        """Add the pairs at these positions, or each row of the left with that of the right beside it."""
        n_pairs = len(left.tags) if at_left is None else len(at_left)
        where = (address(at_left), address(at_right), n_pairs)
        _fold_pairs(n_pairs, self._address, left.address, right.address, *where)

    def add(self, other: "Sums") -> None:
        """What these have as well, of as many groups and tags."""
        self.wholes = added(self.wholes, other.wholes)
        self.reals = self.reals + other.reals

    def clear(self) -> None:
        self.wholes[:], self.reals[:] = 0, 0

    def grow(self, groups: tuple[int, int]) -> None:
        """Room for so many groups."""
        if groups != self.groups:
            wider = [(0, new - old) for new, old in zip(groups, self.groups, strict=True)]
            self.wholes = np.pad(self.wholes, [*wider, *[(0, 0)] * 4])
            self.reals = np.pad(self.reals, [*wider, *[(0, 0)] * 3])

    def halve_tags(self) -> None:
        """Rows whose tags differ by half of their number share one from now on."""
        half = self.n_tags // 2
        shape = (*self.groups, -1, 2, half, 2, half)
        self.reals = self.reals.reshape(shape).sum(axis=(3, 5))
        wholes = self.wholes.reshape(*shape, 2)
        self.wholes = added(
            added(wholes[:, :, :, 0, :, 0], wholes[:, :, :, 0, :, 1]),
            added(wholes[:, :, :, 1, :, 0], wholes[:, :, :, 1, :, 1]),
        )
        self.n_tags = half

    @property
    def _address(self) -> int:
        """Where compiled loops find all that; it lies elsewhere when there are more groups, or fewer tags."""
        if self._told is None or self._told[0] is not self.wholes or self._told[1] is not self.reals:
            rooms = [array for groups in self.groups for array in self._room_for(groups * self.n_tags)]
            words = [address(array) for array in (*rooms, self.wholes, self.reals)]
            sizes = [self.n_tags, self.groups[1], self.wholes.shape[2], self.reals.shape[2]]
            self._told = (self.wholes, self.reals, np.array([*words, *sizes], np.int64), rooms)
        return address(self._told[2])

    def _room_for(self, rows: int) -> tuple[npt.NDArray[Any], ...]:
        """For condensed rows: where they are, which they are, and their sums."""
        n_wholes, n_reals = self.wholes.shape[2], self.reals.shape[2]
        where, cells = np.full(rows, -1, np.int32), np.empty(rows, np.int32)
        return where, cells, np.empty((rows, n_wholes, 2), np.int64), np.empty((rows, n_reals + 1))


def added(one: Wholes, other: Wholes) -> Wholes:
    """Sums of whole numbers of 128 bits."""
    low = one[..., 0].view(np.uint64) + other[..., 0].view(np.uint64)
    carry = low < other[..., 0].view(np.uint64)
    high = one[..., 1] + other[..., 1] + carry
    return np.stack([low.view(np.int64), high], axis=-1)


def totals(wholes: Wholes) -> npt.NDArray[np.object_]:
    """Of each group all cells together, exactly: integers of any size."""
    low, high = wholes[..., 0].view(np.uint64), wholes[..., 1]
    words = (low & np.uint64(2**32 - 1), 0), (low >> np.uint64(32), 32), (high, 64)
    return np.asarray(sum(word.sum(axis=(-2, -1)).astype(object) << bits for word, bits in words))


def as_reals(wholes: Wholes) -> Reals:
    """The nearest doubles."""
    low, high = wholes[..., 0], wholes[..., 1]
    found: Reals = np.where(high == low >> 63, low, high * 2.0**64 + low.view(np.uint64))  # most fit in the low word
    return found
