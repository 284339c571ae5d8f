"""A run: immutable rows of one side, sorted by code, stamped with when they came and went.

The stamps are the papers' ATS and DTS (XJoin; RPJ sec. 2.1) and MD, the last memory-disk task that the row's
partition took part in before the row left memory. Ticks count the actions of one operator: 1, 2, 3, ...
A stamp is one number for the whole run while all rows share it, and an array once runs were merged.

Where it matters whether a row has a match at all, `matched` says so of each: true is certain, false may be news that
has not come yet. Where an algorithm looks at which rows join (DINER's join bits, sec. 3.2), `joined` says it of each
row in memory, until it is told to forget. These two are all that changes of a run in memory; its slices share them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sooner.errors import StreamTooLong
from sooner.kernels.array_types import Codes, Flags, Positions
from sooner.kernels.columns import Columns
from sooner.kernels.gathering import as_one, gather_from
from sooner.kernels.native import address, loop, prototypes
from sooner.kernels.sizes import RowBytes, bytes_of_rows
from sooner.kernels.sorting import Places, merged

Ticks = npt.NDArray[np.int32]
Stamp = Ticks | int

_gather_stamps: Final = loop(prototypes.gather_stamps)
NEVER: Final = 0  # before the first tick
STILL_HERE: Final = 2**31 - 1  # the DTS of a row that has not left memory
MANY_ROWS: Final = 2**14  # fewer are gathered sooner than each part is told to Arrow
HELPER_BYTES: Final = 8 + 4  # a code and an arrival tick for each row


def next_tick(tick: int) -> int:
    """The tick of an operator's next action. Stamps have 31 bits, and the last number stands for `STILL_HERE`."""
    if tick + 1 >= STILL_HERE:
        raise StreamTooLong(
            f"This operator has taken in, written and joined rows {tick:,} times, which is all that the stamps of its "
            "rows can count; begin anew with an empty state."
        )
    return tick + 1


@dataclass(frozen=True)
class Run:
    codes: Codes
    columns: Columns
    arrived: Stamp
    departed: Stamp = STILL_HERE
    met_disk: Stamp = NEVER
    matched: Flags | None = None  # where nobody asks, or no row has
    joined: Flags | None = None  # where nobody asks

    @cached_property
    def n_bytes(self) -> int:
        """What the run takes in memory; helpers count from the start, so that having them adds nothing."""
        followed_bytes = sum(flags.nbytes for flags in (self.matched, self.joined) if flags is not None)
        return self.columns.n_bytes + HELPER_BYTES * len(self.codes) + followed_bytes

    @property
    def rows(self) -> pa.RecordBatch:
        return self.columns.rows

    @cached_property
    def row_bytes(self) -> RowBytes:
        """What each row weighs."""
        return bytes_of_rows(self.columns)

    @property
    def newest(self) -> int:
        """When the last of its rows came."""
        return self.arrived if isinstance(self.arrived, int) else int(self.arrived.max())

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, positions: Positions) -> "Run":
        """A copy of the rows at these (ascending) positions, in buffers of their own."""
        return Run(
            self.codes[positions],
            gather_from([self.columns], Places(np.ascontiguousarray(positions, np.int64))),
            pick(self.arrived, positions),
            pick(self.departed, positions),
            pick(self.met_disk, positions),
            None if self.matched is None else self.matched[positions],
            None if self.joined is None else self.joined[positions],
        )

    def between(self, low: int, high: int) -> "Run":
        """The rows with low <= code < high, sharing buffers with this run."""
        begin, end = (code_position(self.codes, bound) for bound in (low, high))
        return self if begin == 0 and end == len(self) else self.slice(begin, end)

    def slice(self, begin: int, end: int) -> "Run":
        """The rows at positions begin to end, sharing buffers with this run."""
        arrived, departed, met_disk = (
            stamp if isinstance(stamp, int) else stamp[begin:end] for stamp in stamps_of(self)
        )
        matched, joined = (None if flags is None else flags[begin:end] for flags in (self.matched, self.joined))
        columns = self.columns.slice(begin, end)
        return Run(self.codes[begin:end], columns, arrived, departed, met_disk, matched, joined)

    def followed(self) -> "Run":
        """The same rows; from now on it is noted which of them have a match."""
        return self if self.matched is not None else replace(self, matched=np.zeros(len(self), np.bool_))

    def with_join_bits(self) -> "Run":
        """The same rows; from now on it is noted which of them join something."""
        return self if self.joined is not None else replace(self, joined=np.zeros(len(self), np.bool_))

    @property
    def has_matched(self) -> bool:
        """Whether any row is known to have a match."""
        return self.matched is not None and bool(self.matched.any())

    def unmatched(self) -> Positions:
        """The positions of rows without a known match."""
        return np.arange(len(self)) if self.matched is None else np.flatnonzero(~self.matched)


def arrived_between(run: Run, after: int, until: int) -> Run:
    """The rows that came after one tick, and not after another."""
    if isinstance(run.arrived, int):
        return run if after < run.arrived <= until else run.slice(0, 0)
    meant = (run.arrived > after) & (run.arrived <= until)
    return run if meant.all() else run.take(np.flatnonzero(meant))


def pick(stamp: Stamp, positions: Positions) -> Stamp:
    return stamp if isinstance(stamp, int) else stamp[positions]


def code_position(codes: Codes, bound: int) -> int:
    """Where the codes reach `bound`; 2**64, which no uint64 holds, stands for the end of all codes."""
    return len(codes) if bound >= 2**64 else int(codes.searchsorted(np.uint64(bound)))


def tier_of(rows: int, fanout: int) -> int:
    """Runs of one tier differ in size by less than `fanout`, which is a power of two."""
    return (rows.bit_length() - 1) // (fanout.bit_length() - 1)


def merge(runs: Sequence[Run]) -> Run:
    """One sorted run with the rows of all."""
    if len(runs) == 1:
        return runs[0]
    if (in_turn := _in_turn(runs)) is not None:
        return _one_after_the_other(in_turn)
    codes, places = merged([run.codes for run in runs])
    arrived, departed, met_disk = (_merge_stamps([stamps_of(run)[kind] for run in runs], places) for kind in range(3))
    columns = gather_from([run.columns for run in runs], places)
    matched, joined = (_merge_flags([getattr(run, of) for run in runs], runs, places) for of in ("matched", "joined"))
    return Run(codes, columns, arrived, departed, met_disk, matched, joined)


def _in_turn(runs: Sequence[Run]) -> list[Run] | None:
    """These runs, if each has higher codes than the one before it, as where rows come in the order of their keys."""
    if sum(map(len, runs)) < MANY_ROWS:
        return None
    in_turn = sorted((run for run in runs if len(run)), key=lambda run: int(run.codes[0]))
    is_so = all(one.codes[-1] < other.codes[0] for one, other in pairwise(in_turn))
    return in_turn if is_so else None


def _one_after_the_other(runs: Sequence[Run]) -> Run:
    """What `merge` makes of them, with nothing looked up."""
    arrived, departed, met_disk = (_as_one_stamp([stamps_of(run)[kind] for run in runs], runs) for kind in range(3))
    matched, joined = (_as_one_flags([getattr(run, of) for run in runs], runs) for of in ("matched", "joined"))
    codes = np.concatenate([run.codes for run in runs])
    columns = Columns.of(as_one([run.rows for run in runs]))
    return Run(codes, columns, arrived, departed, met_disk, matched, joined)


def stamps_of(run: Run) -> tuple[Stamp, Stamp, Stamp]:
    return run.arrived, run.departed, run.met_disk


def stamp_table(stamps: Sequence[Stamp]) -> npt.NDArray[np.int64]:
    """For compiled loops: where stamps are found, or which one all rows have."""
    return np.array([(0, one) if isinstance(one, int) else (address(one), 0) for one in stamps], np.int64)


def _common(stamps: Sequence[Stamp]) -> int | None:
    """The stamp that all rows have."""
    first = stamps[0]
    is_common = isinstance(first, int) and all(isinstance(stamp, int) and stamp == first for stamp in stamps)
    return first if is_common and isinstance(first, int) else None


def _as_one_stamp(stamps: Sequence[Stamp], runs: Sequence[Run]) -> Stamp:
    if (common := _common(stamps)) is not None:
        return common
    return np.concatenate([np.broadcast_to(stamp, len(run)) for stamp, run in zip(stamps, runs, strict=True)]).astype(
        np.int32, copy=False
    )


def _merge_stamps(stamps: Sequence[Stamp], places: Places) -> Stamp:
    if (common := _common(stamps)) is not None:
        return common
    n_rows = len(places.positions)
    merged_stamps, table = np.empty(n_rows, np.int32), stamp_table(stamps)
    where = (address(table), address(places.positions), address(places.parts))
    _gather_stamps(n_rows, *where, n_rows, address(merged_stamps))
    return merged_stamps


def _as_one_flags(flags: Sequence[Flags | None], runs: Sequence[Run]) -> Flags | None:
    if all(some is None for some in flags):
        return None
    parts = [np.zeros(len(run), np.bool_) if some is None else some for some, run in zip(flags, runs, strict=True)]
    return np.concatenate(parts)


def _merge_flags(flags: Sequence[Flags | None], runs: Sequence[Run], places: Places) -> Flags | None:
    if (all_flags := _as_one_flags(flags, runs)) is None:
        return None
    starts = np.cumsum([0, *(len(run) for run in runs[:-1])])
    merged_flags: Flags = all_flags[places.positions + starts[places.parts]]
    return merged_flags
