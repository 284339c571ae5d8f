"""What is remembered of regions of codes, for flush policies that look at them (DINER sec. 3.3); and the clock.

A partition of an input has a lower, a middle and an upper region. The outer ones have about as many rows as a flush
lets go of, counted when rows of that input last left memory; before that, everything is in the middle. A code is never
in two regions, and it joined something if any of its rows did.

The first flush has the clock's hand at the lowest code, where the paper has it anywhere. After a flush both outer
regions are drawn anew, where the paper moves the threshold of the one that was flushed (Algorithm 2, lines 11 and 15):
the other has changed as well, by the rows that came, and then each again holds about one flush.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np

from sooner.kernels.array_types import Codes, Flags
from sooner.operators.statistics.arrivals import Counts, read_only
from sooner.policies.view import REGIONS, RegionsView

HIGHEST_CODE: Final = 2**64 - 1


class RegionStatistics:
    """Arrays are indexed [input, partition] and then by region."""

    SAVED: ClassVar[tuple[str, ...]] = ("bounds", "joins", "hands")

    def __init__(self, inputs: int, partitions: int, flush_bytes: int) -> None:
        shape = (inputs, partitions)
        self.outer_bytes = flush_bytes // partitions  # of a lower or an upper region, about
        self.bounds = np.zeros((*shape, 2), np.uint64)  # codes below the first are lower, codes above the second upper
        self.bounds[..., 1] = HIGHEST_CODE
        self.joins = np.zeros((*shape, len(REGIONS)), np.int64)  # since the last flush of the input
        self.hands = np.zeros(shape, np.uint64)  # of the clocks: the next code to look at

    def count_joins(self, which: int, p: int, codes: Codes, times: Counts | None = None) -> None:
        """Rows with these codes took part in a result each, or in so many."""
        first, last = self.bounds[which, p]
        lower, upper = codes < first, codes > last
        for region, inside in enumerate((lower, ~(lower | upper), upper)):
            self.joins[which, p, region] += int(np.count_nonzero(inside) if times is None else times[inside].sum())

    def begin_anew(self, which: int) -> None:
        """Rows of this input have left memory."""
        self.joins[which] = 0

    def set_outer_codes(self, which: int, p: int, lowest: int, highest: int) -> None:
        """The lower region ends with this code, the upper one begins with that, if it is not in the lower."""
        self.bounds[which, p] = min(lowest + 1, HIGHEST_CODE), max(highest, lowest + 1) - 1

    def forget_bounds(self, which: int, p: int) -> None:
        """There are no rows: whatever comes is in the middle."""
        self.bounds[which, p] = 0, HIGHEST_CODE

    def cut_anew(self, which: int, p: int, runs: Sequence[Codes], n_bytes: int) -> None:
        """These sorted codes are left in memory, of rows with so many bytes: an outer region has enough for a flush."""
        if n_rows := sum(map(len, runs)):
            self.set_outer_codes(which, p, *outer_codes(runs, max(1, -(-self.outer_bytes * n_rows // n_bytes))))
        else:
            self.forget_bounds(which, p)

    def view(self, rows: Counts) -> RegionsView:
        return RegionsView(rows, read_only(self.joins))

    def to_plain(self) -> dict[str, Any]:
        return {name: getattr(self, name).tolist() for name in self.SAVED}

    def load_plain(self, data: dict[str, Any]) -> None:
        for name in self.SAVED:
            getattr(self, name)[...] = np.array(data[name], getattr(self, name).dtype)


def rows_by_region(runs: Sequence[Codes], first: np.uint64, last: np.uint64) -> tuple[int, int, int]:
    """How many of these sorted codes are below the first, from there up to the last, and above it."""
    lower = sum(int(codes.searchsorted(first)) for codes in runs)
    upper = sum(len(codes) - int(codes.searchsorted(last, "right")) for codes in runs)
    return lower, sum(map(len, runs)) - lower - upper, upper


def outer_codes(runs: Sequence[Codes], rows: int) -> tuple[int, int]:
    """The code up to which the lowest so many of these sorted codes reach, and the one from which the highest do."""
    rows = min(rows, sum(map(len, runs)))
    lowest = np.concatenate([codes[:rows] for codes in runs])
    highest = np.concatenate([codes[max(0, len(codes) - rows) :] for codes in runs])
    return int(np.partition(lowest, rows - 1)[rows - 1]), int(np.partition(highest, len(highest) - rows)[-rows])


@dataclass(frozen=True)
class Round:
    """What the clock's hand has come over."""

    going: Codes  # these leave memory
    passed: Codes  # these had joined something: their join bits are cleared
    last: int  # of those that leave,
    last_rows: int  # and so many rows of it would be enough

    @property
    def next_code(self) -> int:
        """Where the hand is now, if all of the last code has left."""
        return min(self.last + 1, HIGHEST_CODE)


def go_round(codes: Codes, rows: Counts, joined: Flags, hand: int, wanted_rows: int) -> Round:
    """Move the hand over sorted codes, each with so many rows, until enough leave. What joined something is passed
    once; so it takes two rounds at most.
    """
    start = int(codes.searchsorted(np.uint64(hand)))
    once = np.roll(np.arange(len(codes)), -start)
    visits = np.concatenate((once, once[joined[once]]))
    leaves = np.concatenate((~joined[once], np.ones(len(visits) - len(once), np.bool_)))
    leaving = np.cumsum(rows[visits] * leaves)
    enough = min(int(leaving.searchsorted(wanted_rows)), len(visits) - 1)
    last_rows = int(rows[visits[enough]]) - max(int(leaving[enough]) - wanted_rows, 0)
    visits, leaves = visits[: enough + 1], leaves[: enough + 1]
    going = np.zeros(len(codes), np.bool_)
    going[visits[leaves]] = True
    passed = np.zeros(len(codes), np.bool_)
    passed[visits[~leaves]] = True
    return Round(codes[going], codes[passed], int(codes[visits[-1]]), last_rows)


def join_bits_by_code(codes: Codes, joined: Flags) -> tuple[Codes, Counts, Flags]:
    """Codes in any order, and whether each row has joined something: each code once and sorted, with how many rows, and
    whether any of them has.
    """
    order = np.argsort(codes, kind="stable")
    codes, joined = codes[order], joined[order]
    starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1])) if len(codes) else np.empty(0, np.int64)
    rows = np.diff(np.append(starts, len(codes)))
    return codes[starts], rows, np.logical_or.reduceat(joined, starts) if len(codes) else joined
