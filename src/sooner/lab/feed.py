"""Where simulated rows come from: pushed by a trace whether anybody is ready or not, or pulled from a device.

A pushed row waits in an input buffer until it is taken. A pulled one is read when there is time for it, at the speed of
its device: a block of each scan at a time, or one scan after the other, a block of each in turn (two-way DBO). Who goes
back and forth between two scans on one device pays a seek for each block.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from sooner.lab.resources import Disk, Work
from sooner.lab.traces import Keys, OfInput, Trace
from sooner.policies.view import BUSY, SILENT, Surroundings

Reading = Literal["together", "in turn"]  # the blocks of several scans


@dataclass(frozen=True, eq=False)
class Scan:
    """An input that is read from a device."""

    which: int
    keys: Keys
    device: Disk
    row_bytes: int
    block_rows: int


class Chunk(NamedTuple):
    keys: Sequence[Keys]  # of each input
    pushed: bool  # whether any rows came by themselves
    first_seconds: float  # when those came
    last_seconds: float
    reading: Work  # of those that were pulled
    ended: Sequence[int]  # inputs of which these were the last


class Feed:
    def __init__(self, trace: Trace, scans: Sequence[Scan], chunk_rows: int, reading: Reading = "together") -> None:
        self._trace = trace
        self._moments = trace.moments
        self._scans = {scan.which: scan for scan in scans}
        self._chunk_rows = chunk_rows
        self._reading = reading
        self._last_pulled = -1  # the scan whose turn it was
        self._read = dict.fromkeys(self._scans, 0)  # rows
        self._heads: dict[str, int] = {}  # which scan each device read last
        self.taken = 0  # rows of the trace
        pushed = trace.by_input
        last_rows = {one.last_row: number for number, one in enumerate(pushed) if number not in self._scans}
        self._last_rows = {row: number for row, number in last_rows.items() if row is not None}
        self._open = {*self._last_rows.values(), *self._scans}
        inputs = max(len(pushed), max(self._scans, default=-1) + 1)
        pulled = [OfInput(trace.keys[:0], [0] * (len(trace) + 1), None)] * (inputs - len(pushed))
        self._keys = [one.keys for one in (*pushed, *pulled)]
        self._before = [one.before for one in (*pushed, *pulled)]  # rows of each input before each row

    @property
    def is_over(self) -> bool:
        return not self._open

    @property
    def is_pulled(self) -> bool:
        """Whether there is always something to read."""
        return not self._open.isdisjoint(self._scans)

    @property
    def expected_rows(self) -> int | None:
        """How many rows all inputs have, if all are tables; None otherwise."""
        if len(self._trace) or not self._scans:
            return None
        return sum(len(scan.keys) for scan in self._scans.values())

    def around(self, clock: float, *, silent: bool, after_silence: bool = False) -> Surroundings:
        """What an operator may know of its inputs."""
        next_row = self.next_row_seconds()
        if not after_silence and (next_row is None or next_row > clock):  # hundred thousands of times
            return SILENT if silent else BUSY
        arrived = self._trace.arrived(clock)
        counts = tuple(max(0, before[arrived] - before[self.taken]) for before in self._before)
        return Surroundings(silent, counts, after_silence=after_silence)

    def next_row_seconds(self) -> float | None:
        """When the next row is pushed; None if none is."""
        return self._moments[self.taken] if self.taken < len(self._moments) else None

    def take(self, clock: float) -> Chunk:
        """The rows that are there, and those that come before the next silence, up to a chunk; a block of each scan."""
        first = self.taken
        if self.is_pulled:
            end = min(max(self._trace.arrived(clock), first), first + self._chunk_rows)
        else:
            end = self._chunk_end(clock)
        self.taken = end
        taken = [keys[before[first] : before[end]] for keys, before in zip(self._keys, self._before, strict=True)]
        ended = [number for row, number in self._last_rows.items() if first <= row < end]
        reading: list[tuple[str, float]] = []
        for scan in self._next_scans() if self._scans else ():
            taken[scan.which], seconds = self._pull(scan)
            reading.append((scan.device.name, seconds))
            if self._read[scan.which] == len(scan.keys):
                ended.append(scan.which)
        self._open.difference_update(ended)
        times = (self._moments[first], self._moments[end - 1]) if end > first else (clock, clock)
        return Chunk(taken, end > first, *times, reading, ended)

    def _chunk_end(self, clock: float) -> int:
        until, first = max(clock, self._trace.silences.next_noticed(clock)), self.taken
        most = min(first + self._chunk_rows, len(self._trace))
        return max(bisect_right(self._moments, until, first, most), first + 1)

    def _next_scans(self) -> list[Scan]:
        """All that are open, or the one whose turn it is."""
        waiting = [scan for scan in self._scans.values() if scan.which in self._open]
        if self._reading == "together" or not waiting:
            return waiting
        after = [scan for scan in waiting if scan.which > self._last_pulled]
        scan = (after or waiting)[0]
        self._last_pulled = scan.which
        return [scan]

    def _pull(self, scan: Scan) -> tuple[Keys, float]:
        begin = self._read[scan.which]
        block = scan.keys[begin : begin + scan.block_rows]
        self._read[scan.which] += len(block)
        moves = self._heads.get(scan.device.name) != scan.which or begin == 0
        self._heads[scan.device.name] = scan.which
        return block, scan.device.reading(int(moves), len(block) * scan.row_bytes)
