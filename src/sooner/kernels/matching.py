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
    begins = np.searchsorted(sorted_codes, probes)
    inside = np.minimum(begins, max(len(sorted_codes) - 1, 0))
    hits = np.flatnonzero(sorted_codes[inside] == probes) if len(sorted_codes) else np.empty(0, np.int64)
    begins = begins[hits]
    # Only what was found is searched a second time: most probes of a selective join end here.
    counts = np.searchsorted(sorted_codes, probes[hits], side="right") - begins
    return Intervals(hits, begins, counts)


def expand(intervals: Intervals, at_most: int) -> Iterator[tuple[Positions, Positions]]:
    """The intervals as (probe position, match position) pairs, never more than `at_most` at once."""
    ends = np.cumsum(intervals.counts)
    total = int(ends[-1]) if len(ends) else 0
    for start in range(0, total, at_most):
        stop = min(start + at_most, total)
        part = slice(np.searchsorted(ends, start, side="right"), np.searchsorted(ends, stop) + 1)
        firsts = ends[part] - intervals.counts[part]
        lengths = np.minimum(ends[part], stop) - np.maximum(firsts, start)
        probes = np.repeat(intervals.probes[part], lengths)
        matches = np.repeat(intervals.begins[part] - firsts, lengths)
        matches += np.arange(start, stop)
        yield probes, matches


def match(left: Codes, right: Codes, at_most: int) -> Iterator[tuple[Positions, Positions]]:
    """All pairs (left position, right position) of equal codes; the shorter side probes the longer one."""
    if len(left) <= len(right):
        yield from expand(find(left, right), at_most)
    else:
        for right_positions, left_positions in expand(find(right, left), at_most):
            yield left_positions, right_positions
