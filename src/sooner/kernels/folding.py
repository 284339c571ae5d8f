"""Pairs of rows added up instead of spelled out: sums of products of a left and a right factor.

Sums are kept apart by groups, and within a group in *cells*: rows of either side carry a tag, one of a few random parts
of their input, and a cell has the pairs of one left and one right tag. How cells differ says how sure an estimate is.

Whole numbers are summed in 192 bits, exactly; others as doubles. Of numbers that one side has there may be *moments*:
their sum and that of their squares, which are exact for doubles too, since their difference is what is wanted.

Where a factor has no value, the product adds nothing: a whole number is 0 there, and a double is ABSENT, a NaN of its
own, since 0 would make NaN of infinity.

Where many rows share a code, the rows of each side are added up first, so a key with a million rows on both sides costs
two million additions, not a million millions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sooner.kernels.array_types import Codes, Flags, Positions
from sooner.kernels.native import address, addresses, loop, prototypes
from sooner.kernels.native.prototypes import Address

Reals = npt.NDArray[np.float64]
Wholes = npt.NDArray[np.int64]  # the last axis has three words, the lowest first
Moments = npt.NDArray[np.int64]  # the last axes: of numbers and of squares; the place of a sum, and five words
Integers = npt.NDArray[np.object_]  # of any size
Ages = npt.NDArray[np.uint8]
NEW, MET, NOT_YET = range(3)  # rows of which pairs are wanted, but not those of two that have met
WORD_BITS: Final = 64
_WHOLE_WORDS: Final = 3
_EXACT_WORDS: Final = 6
_NOT_FINITE: Final = 2**63 - 1  # in the place of a sum: infinity or NaN is among its numbers
BYTES_OF_WHOLE, BYTES_OF_REAL, BYTES_OF_MOMENTS = 8 * _WHOLE_WORDS, 8, 2 * 8 * _EXACT_WORDS
_BITS_OF_ABSENT: Final = np.uint64(0x7FF8736F6F6E6572)  # compiled loops know it as well
ABSENT: Final = _BITS_OF_ABSENT.view(np.float64)

_fold_runs: Final = loop(prototypes.fold_runs)
_fold_many: Final = loop(prototypes.fold_many)
_fold_pairs: Final = loop(prototypes.fold_pairs)
_add_exact: Final = loop(prototypes.add_exact)


def with_absent(values: Reals, are_there: Flags | None) -> Reals:
    """These, with ABSENT where there is none; None: all are there. No NaN among them is taken for it."""
    if (values.view(np.uint64) == _BITS_OF_ABSENT).any():
        values = np.where(np.isnan(values), np.nan, values)
    return values if are_there is None else np.where(are_there, values, ABSENT)


@dataclass(frozen=True)
class Factors:
    """The rows of one side: their tags, groups (None: all in the first), and a factor for each sum (None: 1).

    `numbers` are those whose moments are wanted, int64 or doubles (None: the other side has them).
    """

    tags: npt.NDArray[np.int32]
    groups: npt.NDArray[np.int32] | None
    wholes: Sequence[npt.NDArray[np.int64] | None]
    reals: Sequence[Reals | None]
    numbers: Sequence[npt.NDArray[np.int64] | Reals | None] = ()

    @cached_property
    def address(self) -> Address:
        """Where compiled loops find all that; whoever asks keeps the factors alive."""
        return address(self._struct)

    @cached_property
    def _struct(self) -> npt.NDArray[np.uint64]:
        return addresses([address(some) for some in (self.tags, self.groups, *self._lists)])

    @cached_property
    def _lists(self) -> list[npt.NDArray[np.uint64]]:
        numbers = [
            [one if one is not None and one.dtype == kind else None for one in self.numbers]
            for kind in (np.int64, np.float64)
        ]
        return [addresses([address(factor) for factor in some]) for some in (self.wholes, self.reals, *numbers)]


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

    def __init__(
        self, n_wholes: int, n_reals: int, n_tags: int, groups: tuple[int, int] = (1, 1), n_moments: int = 0
    ) -> None:
        self.n_tags = n_tags
        self.wholes: Wholes = np.zeros((*groups, n_wholes, n_tags, n_tags, _WHOLE_WORDS), np.int64)
        self.reals: Reals = np.zeros((*groups, n_reals, n_tags, n_tags))
        self.moments: Moments = np.zeros((*groups, n_moments, n_tags, n_tags, 2, _EXACT_WORDS), np.int64)
        self._told: tuple[tuple[npt.NDArray[Any], ...], npt.NDArray[np.int64], list[npt.NDArray[Any]]] | None = None

    @property
    def arrays(self) -> tuple[Wholes, Reals, Moments]:
        """All that they are made of."""
        return self.wholes, self.reals, self.moments

    @property
    def groups(self) -> tuple[int, int]:
        left, right = self.wholes.shape[:2]
        return left, right

    def fold_runs(self, left: Operand, right: Operand, ages: tuple[Ages | None, Ages | None] = (None, None)) -> int:
        """Add all pairs of equal codes. About how many they were."""
        return _fold_runs(
            len(left.codes) + len(right.codes),
            self._address,
            left.factors.address,
            right.factors.address,
            address(left.codes),
            address(ages[0]),
            len(left.codes),
            address(right.codes),
            address(ages[1]),
            len(right.codes),
        )

    def fold_many(self, side: int, one: Operand, others: Sequence[Operand]) -> int:
        """The same of one of this side with several of the other, by one call."""
        mine, theirs = np.array(one.words, np.int64), np.array([other.words for other in others], np.int64)
        n_rows = len(one.codes) * len(others)
        return _fold_many(n_rows, self._address, side, address(mine), address(theirs), len(others))

    def fold_pairs(self, left: Factors, right: Factors, at_left: Positions | None, at_right: Positions | None) -> None:
        """Add the pairs at these positions, or each row of the left with that of the right beside it."""
        n_pairs = len(left.tags) if at_left is None else len(at_left)
        where = (address(at_left), address(at_right), n_pairs)
        _fold_pairs(n_pairs, self._address, left.address, right.address, *where)

    @np.errstate(invalid="ignore", over="ignore")  # infinities and NaN are sums like others
    def add(self, other: "Sums") -> None:
        """What these have as well, of as many groups and tags."""
        self.wholes = added(self.wholes, other.wholes)
        self.reals = self.reals + other.reals
        self.moments = added_moments(self.moments, other.moments)

    @np.errstate(invalid="ignore", over="ignore")  # infinities and NaN are sums like others
    def add_at(self, at: tuple[Any, ...], other: "Sums") -> None:
        """The same of groups that have these numbers here."""
        left, right = at[0].size, at[1].size
        self.wholes[at] = added(self.wholes[at], other.wholes[:left, :right])
        self.reals[at] += other.reals[:left, :right]
        self.moments[at] = added_moments(self.moments[at], other.moments[:left, :right])

    def rearranged(self, change: Callable[[npt.NDArray[Any]], npt.NDArray[Any]], n_tags: int) -> "Sums":
        """Others, of so many tags, with arrays that are made of these."""
        found = Sums(0, 0, n_tags)
        found.wholes, found.reals, found.moments = map(change, self.arrays)
        return found

    def grow(self, groups: tuple[int, int]) -> None:
        """Room for so many groups."""
        if groups != self.groups:
            wider = [(0, new - old) for new, old in zip(groups, self.groups, strict=True)]
            self.wholes = np.pad(self.wholes, [*wider, *[(0, 0)] * 4])
            self.reals = np.pad(self.reals, [*wider, *[(0, 0)] * 3])
            self.moments = np.pad(self.moments, [*wider, *[(0, 0)] * 5])

    @np.errstate(invalid="ignore", over="ignore")  # infinities and NaN are sums like others
    def halve_tags(self) -> None:
        """Rows whose tags differ by half of their number share one from now on."""
        half = self.n_tags // 2
        shape = (*self.groups, -1, 2, half, 2, half)
        self.reals = self.reals.reshape(shape).sum(axis=(3, 5))
        self.wholes = _quarters_added(self.wholes.reshape(*shape, _WHOLE_WORDS), added)
        self.moments = _quarters_added(self.moments.reshape(*shape, 2, _EXACT_WORDS), added_moments)
        self.n_tags = half

    @property
    def _address(self) -> Address:
        """Where compiled loops find all that; it lies elsewhere when there are more groups, or fewer tags."""
        if self._told is None or any(now is not then for now, then in zip(self.arrays, self._told[0], strict=True)):
            rooms = [array for groups in self.groups for array in self._room_for(groups * self.n_tags)]
            words = [address(array) for array in (*rooms, *self.arrays)]
            sizes = [self.n_tags, self.groups[1], *(array.shape[2] for array in self.arrays)]
            self._told = (self.arrays, np.array([*words, *sizes], np.int64), rooms)
        return address(self._told[1])

    def _room_for(self, rows: int) -> tuple[npt.NDArray[Any], ...]:
        """For condensed rows: where they are, which they are, of how many each was made, sums, kinds and moments."""
        n_wholes, n_reals, n_moments = (array.shape[2] for array in self.arrays)
        where, cells, counts = np.full(rows, -1, np.int32), np.empty(rows, np.int32), np.empty(rows, np.int64)
        sums = np.empty((rows, n_wholes, 2), np.int64), np.empty((rows, n_reals)), np.empty((rows, n_reals), np.uint8)
        return where, cells, counts, *sums, np.empty((rows, n_moments, 2, _EXACT_WORDS), np.int64)


def _quarters_added(array: npt.NDArray[Any], add: Callable[..., npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """The four quarters of cells added up, by which half of the tags of either side they have."""
    firsts, seconds = array[:, :, :, 0], array[:, :, :, 1]
    return add(add(firsts[:, :, :, :, 0], firsts[:, :, :, :, 1]), add(seconds[:, :, :, :, 0], seconds[:, :, :, :, 1]))


def added(one: Wholes, other: Wholes) -> Wholes:
    """Sums of whole numbers, word by word."""
    found = np.empty_like(one)
    carry: Any = np.uint64(0)
    for word in range(_WHOLE_WORDS):
        mine, theirs = one[..., word].view(np.uint64), other[..., word].view(np.uint64)
        partly = mine + theirs
        together = partly + carry
        carry = ((partly < mine) | (together < partly)).astype(np.uint64)
        found[..., word] = together.view(np.int64)
    return found


def added_moments(one: Moments, other: Moments) -> Moments:
    found, other = np.array(one, order="C"), np.ascontiguousarray(other)
    n_sums = found.size // _EXACT_WORDS
    _add_exact(n_sums, address(found), address(other), n_sums)
    return found


def integers(wholes: Wholes) -> Integers:
    """The sums as integers of Python, of any size."""
    return wholes[..., 0].astype(object) if _fit_in_a_word(wholes) else _of_words(wholes)


def integers_of_moments(exact: Moments) -> tuple[Integers, Integers, int] | None:
    """Sums of numbers, in units of 2^(64 unit), of their squares, in the square of that, and the unit.

    None if infinity or NaN is among the numbers.
    """
    places, sums = exact[..., 0], _of_words(exact[..., 1:])
    if (places == _NOT_FINITE).any():
        return None
    used = np.where(sums.astype(np.bool_), places, 0)
    unit = min(int(used[..., 0].min(initial=0)), int(used[..., 1].min(initial=0)) // 2)
    bits = (WORD_BITS * (used - np.array([unit, 2 * unit]))).astype(object)
    shifted: Integers = sums << bits
    return shifted[..., 0], shifted[..., 1], unit


def _of_words(words: npt.NDArray[np.int64]) -> Integers:
    """Numbers of several words each; but for the highest, words have no sign."""
    found: Integers = words[..., -1].astype(object)
    for word in range(words.shape[-1] - 2, -1, -1):
        found = (found << WORD_BITS) | words[..., word].view(np.uint64).astype(object)
    return found


def totals(wholes: Wholes) -> Integers:
    """The exact sum of all cells of each group."""
    low, high = wholes[..., :-1].view(np.uint64), wholes[..., -1]
    found = high.sum(axis=(-2, -1)).astype(object) << WORD_BITS * (_WHOLE_WORDS - 1)
    for word in range(_WHOLE_WORDS - 1):
        for bits, half in ((0, low[..., word] & np.uint64(2**32 - 1)), (32, low[..., word] >> np.uint64(32))):
            found = found + (half.sum(axis=(-2, -1)).astype(object) << WORD_BITS * word + bits)
    return np.asarray(found)


def as_reals(wholes: Wholes) -> Reals:
    """The nearest doubles."""
    found: Reals = (wholes[..., 0] if _fit_in_a_word(wholes) else _of_words(wholes)).astype(np.float64)
    return found


def _fit_in_a_word(wholes: Wholes) -> bool:
    """Whether all sums fit in one word, as most do: the higher words then have nothing but the sign."""
    return bool((wholes[..., 1:] == wholes[..., :1] >> WORD_BITS - 1).all())
