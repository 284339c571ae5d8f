"""Find the equal codes of two sorted arrays, and spell them out as pairs in bounded pieces.

A sorted run needs little more to be its own index: a *directory* tells where each range of codes begins, as the thumb
cuts of a dictionary do, and from there a match is a step or two away. Pairs are first held as intervals (one per probe)
and expanded only piece by piece, so that one row with a million matches never builds a buffer of a million rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.uint64]
Positions = npt.NDArray[np.int64]

DIRECTORY_BYTES: Final = 4  # for each code, at most
FEW_CODES: Final = 512  # a binary search in so few is as fast
STEPS_BEFORE_SEARCH: Final = 4  # from the thumb cut on; a code that many equal ones precede is searched for


@dataclass(frozen=True)
class Directory:
    """Sorted codes, and for each of many equal ranges of codes the position where it begins."""

    codes: Codes
    first_code: np.uint64
    shift: np.uint64
    starts: npt.NDArray[np.int32]

    def begins(self, probes: Codes) -> Positions:
        """For each probe the first position whose code is not smaller; beyond the last code, some position there."""
        # Below the first code the difference wraps around; wherever that is clipped to, the probe finds nothing.
        ranges = ((probes - self.first_code) >> self.shift).view(np.int64)
        positions: Positions = self.starts.take(ranges, mode="clip").astype(np.int64)
        smaller = (self.codes.take(positions, mode="clip") < probes).nonzero()[0]
        for _ in range(STEPS_BEFORE_SEARCH):
            if not len(smaller):
                return positions
            ahead = positions[smaller] + 1
            positions[smaller] = ahead
            smaller = smaller[self.codes.take(ahead, mode="clip") < probes[smaller]]
        positions[smaller] = self.codes.searchsorted(probes[smaller])
        return positions


def build_directory(codes: Codes) -> Directory | None:
    """A directory with about as many ranges as codes; None where a binary search does as well."""
    if len(codes) < FEW_CODES or codes[0] == codes[-1]:
        return None
    return _build(codes, _range_shift(codes))


def _build(codes: Codes, shift: np.uint64) -> Directory:
    ranges = ((codes - codes[0]) >> shift).astype(np.int64)
    counts = np.bincount(ranges)
    starts = np.empty(len(counts) + 1, np.int32)
    starts[0] = 0
    np.cumsum(counts, out=starts[1:])
    return Directory(codes, codes[0], shift, starts)


def with_starts(codes: Codes, starts: npt.NDArray[np.int32]) -> Directory:
    """The directory that was built of these codes, from its kept starts; built anew if they cannot be that."""
    shift = _range_shift(codes)
    ranges = int(codes[-1] - codes[0]) >> int(shift)
    fits = len(starts) == ranges + 2 and starts[-1] == len(codes)
    return Directory(codes, codes[0], shift, starts) if fits else _build(codes, shift)


def _range_shift(codes: Codes) -> np.uint64:
    spread_bits = int(codes[-1] - codes[0]).bit_length()
    return np.uint64(max(0, spread_bits - (len(codes).bit_length() - 1)))


class Intervals(NamedTuple):
    """For each probe that found something: its position, and where its matches begin and how many they are."""

    probes: Positions
    begins: Positions
    counts: Positions


def find(probes: Codes, sorted_codes: Codes, directory: Directory | None = None) -> Intervals:
    """The interval of equal codes in `sorted_codes` for each of the sorted `probes` that has any."""
    if not len(sorted_codes):
        return Intervals(*(np.empty(0, np.int64) for _ in range(3)))
    begins = sorted_codes.searchsorted(probes) if directory is None else directory.begins(probes)
    hits = (sorted_codes.take(begins, mode="clip") == probes).nonzero()[0]
    begins = begins[hits]
    return Intervals(hits, begins, _count_equal(sorted_codes, begins))


def _count_equal(sorted_codes: Codes, begins: Positions) -> Positions:
    """How many codes equal the one at each of these positions, from there on.

    Most have few: looking at the next one or two is cheaper than a second binary search, which is left to the rest.
    """
    wanted = sorted_codes[begins]
    counts = np.ones(len(begins), np.int64)
    going_on = np.arange(len(begins))
    for ahead in (1, 2, 3):
        following = begins[going_on] + ahead
        same = (sorted_codes.take(following, mode="clip") == wanted[going_on]) & (following < len(sorted_codes))
        going_on = going_on[same]
        if not len(going_on):
            return counts
        counts[going_on] = ahead + 1
    ends: Positions = sorted_codes.searchsorted(wanted[going_on], side="right")
    counts[going_on] = ends - begins[going_on]
    return counts


def expand(intervals: Intervals, at_most: int) -> Iterator[tuple[Positions, Positions]]:
    """The intervals as (probe position, match position) pairs, never more than `at_most` at once."""
    ends = intervals.counts.cumsum()
    total = int(ends[-1]) if len(ends) else 0
    if total == len(ends) <= at_most:  # each probe found one match
        if total:
            yield intervals.probes, intervals.begins
        return
    firsts = ends - intervals.counts
    for start in range(0, total, at_most):
        stop = min(start + at_most, total)
        part = slice(ends.searchsorted(start, side="right"), ends.searchsorted(stop) + 1)
        lengths = np.minimum(ends[part], stop) - np.maximum(firsts[part], start)
        probes = intervals.probes[part].repeat(lengths)
        matches = (intervals.begins[part] - firsts[part]).repeat(lengths)
        matches += np.arange(start, stop)
        yield probes, matches
