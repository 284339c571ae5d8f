"""Find the equal codes of two sorted arrays, and spell them out as pairs in bounded pieces.

A sorted run is its own index: sorted probes walk it with a binary search whose path stays in the cache.
Pairs are first held as intervals (one per probe) and expanded only piece by piece, so that one row with a
million matches never builds a buffer of a million rows.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.uint64]
Positions = npt.NDArray[np.int64]


class Intervals(NamedTuple):
    """For each probe that found something: its position, and where its matches begin and how many they are."""

    probes: Positions
    begins: Positions
    counts: Positions


def find(probes: Codes, sorted_codes: Codes) -> Intervals:
    """The interval of equal codes in `sorted_codes` for each of the sorted `probes` that has any."""
    if not len(sorted_codes):
        return Intervals(*(np.empty(0, np.int64) for _ in range(3)))
    begins = sorted_codes.searchsorted(probes)
    found = sorted_codes[np.minimum(begins, len(sorted_codes) - 1)] == probes
    hits = found.nonzero()[0]
    begins = begins[hits]
    return Intervals(hits, begins, _count_equal(sorted_codes, begins))


def _count_equal(sorted_codes: Codes, begins: Positions) -> Positions:
    """How many codes equal the one at each of these positions, from there on.

    Most have few: looking at the next one or two is cheaper than a second binary search, which is left to the rest.
    """
    last = len(sorted_codes) - 1
    counts = np.ones(len(begins), np.int64)
    going_on = np.arange(len(begins))
    for ahead in (1, 2, 3):
        at = begins[going_on]
        following = at + ahead
        same = (following <= last) & (sorted_codes[np.minimum(following, last)] == sorted_codes[at])
        going_on = going_on[same]
        if not len(going_on):
            return counts
        counts[going_on] = ahead + 1
    at = begins[going_on]
    counts[going_on] = sorted_codes.searchsorted(sorted_codes[at], side="right") - at
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


def match(left: Codes, right: Codes, at_most: int) -> Iterator[tuple[Positions, Positions]]:
    """All pairs (left position, right position) of equal codes; the shorter side probes the longer one."""
    if len(left) <= len(right):
        yield from expand(find(left, right), at_most)
    else:
        for right_positions, left_positions in expand(find(right, left), at_most):
            yield left_positions, right_positions
