"""A run: immutable rows of one side, sorted by code, stamped with when they came and went.

The stamps are the papers' ATS and DTS (XJoin; RPJ sec. 2.1) and MD, the last memory-disk task that the row's
partition took part in before the row left memory. Ticks count the actions of one operator: 1, 2, 3, ...
A stamp is one number for the whole run while all rows share it, and an array once runs were merged.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sooner.kernels.gathering import gather, gather_from
from sooner.kernels.matching import DIRECTORY_BYTES, Codes, Directory, Positions, build_directory
from sooner.kernels.sizes import RowBytes, row_bytes

Ticks = npt.NDArray[np.int32]
Stamp = Ticks | int

NEVER: Final = 0  # before the first tick
STILL_HERE: Final = 2**31 - 1  # the DTS of a row that has not left memory
MERGED_BY_TIMSORT: Final = 4
HELPER_BYTES: Final = 8 + 4 + DIRECTORY_BYTES  # a code, an arrival tick and a share of the directory for each row


@dataclass(frozen=True)
class Run:
    codes: Codes
    rows: pa.RecordBatch
    arrived: Stamp
    departed: Stamp = STILL_HERE
    met_disk: Stamp = NEVER

    @cached_property
    def n_bytes(self) -> int:
        """What the run takes in memory; helpers count from the start, so that having them adds nothing."""
        return int(self.rows.nbytes) + HELPER_BYTES * len(self.codes)

    @cached_property
    def row_bytes(self) -> RowBytes:
        """What each row weighs."""
        return row_bytes(self.rows)

    @property
    def newest(self) -> int:
        """When the last of its rows came."""
        return self.arrived if isinstance(self.arrived, int) else int(self.arrived.max())

    @cached_property
    def directory(self) -> Directory | None:
        return build_directory(self.codes)

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, positions: Positions) -> "Run":
        """A copy of the rows at these (ascending) positions, in buffers of their own."""
        return Run(
            self.codes[positions],
            gather(self.rows, positions),
            pick(self.arrived, positions),
            pick(self.departed, positions),
            pick(self.met_disk, positions),
        )

    def between(self, low: int, high: int) -> "Run":
        """The rows with low <= code < high, sharing buffers with this run."""
        begin, end = (code_position(self.codes, bound) for bound in (low, high))
        return self if begin == 0 and end == len(self) else self.slice(begin, end)

    def slice(self, begin: int, end: int) -> "Run":
        """The rows at positions begin to end, sharing buffers with this run."""
        stamps = (self.arrived, self.departed, self.met_disk)
        return Run(
            self.codes[begin:end],
            self.rows.slice(begin, end - begin),
            *(stamp if isinstance(stamp, int) else stamp[begin:end] for stamp in stamps),
        )


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
    return len(codes) if bound >= 2**64 else int(np.searchsorted(codes, np.uint64(bound)))


def tier_of(rows: int, fanout: int) -> int:
    """Runs of one tier differ in size by less than `fanout`, which is a power of two."""
    return (rows.bit_length() - 1) // (fanout.bit_length() - 1)


def merge(runs: Sequence[Run]) -> Run:
    """One sorted run with the rows of all. Beside it, never more than one column is there twice."""
    if len(runs) == 1:
        return runs[0]
    codes = np.concatenate([run.codes for run in runs])
    # Timsort merges two presorted pieces in one pass, but needs a pass for each doubling; quicksort is vectorised.
    order = np.argsort(codes, kind="stable" if len(runs) <= MERGED_BY_TIMSORT else "quicksort")
    return Run(
        codes[order],
        gather_from([run.rows for run in runs], order),
        _merge_stamps([run.arrived for run in runs], runs, order),
        _merge_stamps([run.departed for run in runs], runs, order),
        _merge_stamps([run.met_disk for run in runs], runs, order),
    )


def _merge_stamps(stamps: Sequence[Stamp], runs: Sequence[Run], order: Positions) -> Stamp:
    first = stamps[0]
    if isinstance(first, int) and all(isinstance(s, int) and s == first for s in stamps):
        return first
    columns = [np.broadcast_to(np.asarray(s, np.int32), len(run)) for s, run in zip(stamps, runs, strict=True)]
    merged: Ticks = np.concatenate(columns)[order]
    return merged
