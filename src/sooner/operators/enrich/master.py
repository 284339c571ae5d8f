"""The master table: taken in once, kept as runs sorted by code, in memory if all of it fits and else on disk.

Runs on disk consist of segments of limited size. What is kept in memory of a segment is its first code and where its
index lies; the index is read when one of its codes is asked for. So there are two levels, and a table of 100 GB needs
little memory however many blocks it has.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa

from sooner.budget import Account
from sooner.errors import BudgetTooSmall
from sooner.kernels.array_types import Codes, Positions
from sooner.kernels.matching import EQUAL
from sooner.operators.enrich.pieces import in_order, only_codes
from sooner.operators.events import Flushed, Tidied
from sooner.operators.inputs import Input
from sooner.operators.shell import Shell
from sooner.operators.sweeping.parts import MergedOutput, OnDisk, Workbench
from sooner.operators.sweeping.sweep import START, Cursor, Sweep
from sooner.runs.block_index import Block
from sooner.runs.run import Run
from sooner.runs.slabs import ALL_CODES
from sooner.runs.store import Segment, SpilledRun, adopted, counted, counts_of_each, remove_run

MASTER: Final = 1  # the second input
SEGMENT_BYTES: Final = 64 * 2**20  # of the table, under one first code and one index
FAN_IN: Final = 32  # runs that become one at a time: a block of each is in memory


@dataclass(frozen=True)
class Read:
    """Adjoining blocks of a segment."""

    segment: Segment
    blocks: Sequence[Block]

    @property
    def n_bytes(self) -> int:
        return sum(block.n_bytes for block in self.blocks)


@dataclass
class _Compaction:
    """Runs that are becoming one, and how far that is."""

    members: tuple[int, ...]
    cursor: Cursor = START
    written: list[Segment] = field(default_factory=list)
    fences: list[int] = field(default_factory=list)  # the code from which on each of them was written


class Master:
    """`rows` is the input; rows of a null key match nothing and are not kept.

    One that is probed becomes a single run once it is complete. One that is scanned need not, and must stay as it is.
    """

    def __init__(self, rows: Input, account: Account, shell: Shell, bench: Workbench, *, is_probed: bool) -> None:
        self.rows = rows
        self._is_probed = is_probed
        self._account = account
        self._shell = shell
        self._bench = bench
        self._fences: dict[int, list[int]] = {}  # by the number of a run with several segments
        self._compaction: _Compaction | None = None
        self._sweep: Sweep | None = None
        self._files = ExitStack()
        self._output: MergedOutput | None = None
        self.read_bytes = 0  # for rows that were asked for

    @property
    def spilled(self) -> list[SpilledRun]:
        """The runs on disk."""
        return self.rows.partitions[0].spilled

    @property
    def is_in_memory(self) -> bool:
        return not self.spilled

    @property
    def resident(self) -> Iterator[Run]:
        """The runs in memory."""
        return iter(self.rows.partitions[0].resident)

    @property
    def n_rows(self) -> int:
        return self.rows.partitions[0].resident.n_rows + sum(run.n_rows for run in self.spilled)

    @property
    def n_bytes(self) -> int:
        return self.rows.resident_bytes + sum(run.n_bytes for run in self.spilled)

    @property
    def bytes_of_row(self) -> float:
        return self.n_bytes / max(self.n_rows, 1)

    def take_in(self, batches: Sequence[pa.RecordBatch]) -> None:
        """More rows; what is in memory goes to disk if they have no room."""
        [run] = self.rows.sorted(batches).runs
        if run is None:
            return
        if run.n_bytes > self._account.free_bytes:
            self.spill()
        if not self._account.try_reserve(run.n_bytes):
            raise BudgetTooSmall(
                f"{run.n_bytes:,} bytes of the master arrived at once, and {self._account.free_bytes:,} are free for "
                "them; raise `memory`."
            )
        resident = self.rows.partitions[0].resident
        resident.add(run)
        resident.merge_tiers(self._account.try_reserve, self._bench.merge_bytes)

    def complete(self) -> None:
        """No more rows come. A table of which a part is on disk goes there whole: memory is for what is asked often."""
        if not self.is_in_memory:
            self.spill()

    def spill(self) -> None:
        """All that is in memory becomes a run on disk; memory changes when that is safe."""
        partition = self.rows.partitions[0]
        if not len(partition.resident):
            return
        with self.rows.store.writer() as writer:
            for run in in_order(list(partition.resident), self._bench.slab_bytes):
                self._shell.breathe()
                writer.append(self.rows.store.encode(run))
            segment = writer.end_segment()
        spilled = SpilledRun(partition.new_number(), 0, (segment,))
        self._account.release(partition.resident.n_bytes)
        partition.resident.clear()
        partition.spilled.append(spilled)
        self._shell.report(Flushed(self._shell.tick, MASTER, 0, spilled.n_rows, spilled.n_bytes, spilled.number))

    # What is asked for

    def rows_with(self, codes: Codes) -> Iterator[Run]:
        """The rows on disk with one of these codes, which are sorted and differ; of one run after the other, sorted.

        Blocks that may have some are read, up to a slab at a time, and let go.
        """
        for run in self.spilled:
            for read in _up_to(self._bench.slab_bytes, self._blocks_with(codes, run)):
                self._shell.breathe()
                blocks = [block for one in read for block in self.rows.store.read(one.segment, one.blocks)]
                self.read_bytes += sum(one.n_bytes for one in read)
                if (found := only_codes([codes], blocks)) is not None:
                    yield found

    def _blocks_with(self, codes: Codes, run: SpilledRun) -> Iterator[Read]:
        fences = np.array(self._fences.get(run.number, [0]), np.uint64)
        begins = codes.searchsorted(fences)
        begins[0] = 0
        for number, segment in enumerate(run.segments):
            end = begins[number + 1] if number + 1 < len(begins) else len(codes)
            if begins[number] < end:
                yield from _touched(segment, codes[begins[number] : end])

    # Compaction

    @property
    def is_crowded(self) -> bool:
        """Whether runs should become one: all of them when the table is complete, before that if there are many."""
        if self._compaction is not None and (self._is_probed or not self.rows.ended):
            return True
        if self.rows.ended:
            return self._is_probed and len(self.spilled) > 1
        return len(self.spilled) > 2 * FAN_IN

    def compact(self, quantum_bytes: int) -> int:
        """A piece of the work in which runs become one: so many bytes are read and written, and it tells how many."""
        if self._compaction is None:
            smallest = sorted(self.spilled, key=lambda run: (run.n_bytes, run.number))[:FAN_IN]
            self._compaction = _Compaction(tuple(sorted(run.number for run in smallest)))
        compaction = self._compaction
        if self._sweep is None:
            self._begin_segment(compaction, quantum_bytes)
        assert self._sweep is not None and self._output is not None
        before = self._sweep.worked_bytes
        for _ in self._sweep.advance(quantum_bytes, _nothing_met):
            pass
        worked_bytes = self._sweep.worked_bytes - before
        compaction.cursor = self._sweep.cursor
        is_done = compaction.cursor.code == ALL_CODES
        if is_done or self._sweep.is_at_its_end or self._sweep.worked_bytes > 2 * SEGMENT_BYTES:
            self.pause()
        if is_done:
            self._end_compaction(compaction)
        return worked_bytes

    def _begin_segment(self, compaction: _Compaction, quantum_bytes: int) -> None:
        store = self.rows.store
        writer = self._files.enter_context(store.writer())
        members = [run for run in self.spilled if run.number in compaction.members]
        parts = [OnDisk(store, segment) for run in members for segment in run.segments]
        self._output = MergedOutput(parts, store, writer)
        slab_bytes = self._bench.slab_within(quantum_bytes // 2)
        place = slab_bytes, self._bench, compaction.cursor
        self._sweep = Sweep((), [self._output], (), EQUAL, "memory", *place)
        compaction.fences.append(compaction.cursor.code)

    def pause(self) -> None:
        """What is written so far is a segment of the run to be; nothing is open."""
        if self._output is None:
            return
        assert self._compaction is not None
        segment = self._output.writer.end_segment()
        self._sweep, self._output = None, None
        self._files.close()
        if segment.n_rows:
            self._compaction.written.append(segment)
        else:
            self.rows.store.remove(segment)
            self._compaction.fences.pop()

    def _end_compaction(self, compaction: _Compaction) -> None:
        partition = self.rows.partitions[0]
        members = [run for run in partition.spilled if run.number in compaction.members]
        level = 1 + max(run.level for run in members)
        merged = SpilledRun(partition.new_number(), level, tuple(compaction.written))
        self._fences[merged.number] = compaction.fences
        partition.spilled = [merged, *(run for run in partition.spilled if run.number not in compaction.members)]
        self._compaction = None
        for run in members:
            self._fences.pop(run.number, None)
            remove_run(self.rows.store, run)
        self._shell.report(Tidied(self._shell.tick, 0, len(members), merged.n_bytes))

    # The end, and the state

    def forget(self) -> None:
        """Nobody asks for it any more."""
        self.pause()
        partition = self.rows.partitions[0]
        self._account.release(partition.resident.n_bytes)
        partition.resident.clear()
        spilled, partition.spilled = partition.spilled, []
        for run in spilled:
            remove_run(self.rows.store, run)
        for segment in self._compaction.written if self._compaction is not None else ():
            self.rows.store.remove(segment)
        self._compaction, self._fences = None, {}

    def close(self) -> None:
        """What is being written is given up."""
        self._sweep, self._output = None, None
        try:
            with self._files:
                raise _GivenUpError
        except _GivenUpError:
            pass

    def to_plain(self) -> dict[str, Any]:
        self.pause()
        compaction = None
        if self._compaction is not None:
            one = self._compaction
            written = [segment.to_plain() for segment in one.written]
            compaction = {
                "members": one.members, "cursor": one.cursor, "written": written, "fences": one.fences,
            }  # fmt: skip
        fences = [[number, codes] for number, codes in sorted(self._fences.items())]
        return {"rows": self.rows.to_plain(), "fences": fences, "compaction": compaction}

    def load_plain(self, data: dict[str, Any]) -> None:
        self.rows.load_plain(data["rows"], self._account)
        self._fences = {counted(number): [int(code) for code in codes] for number, codes in data["fences"]}
        if (saved := data["compaction"]) is not None:
            written = [adopted(self.rows.store, segment) for segment in saved["written"]]
            members = tuple(counts_of_each(saved["members"], len(saved["members"])))
            fences = [int(code) for code in saved["fences"]]
            self._compaction = _Compaction(members, Cursor(*saved["cursor"]), written, fences)


class _GivenUpError(Exception):
    """Files that are being written learn of it."""


def _nothing_met(left: Run, right: Run) -> Iterator[Any]:  # noqa: ARG001 - there are no rectangles
    return iter(())


def _touched(segment: Segment, codes: Codes) -> Iterator[Read]:
    """The blocks of a segment that may have one of these codes."""
    blocks = segment.blocks
    touched = codes.searchsorted(blocks.last_codes, side="right") > codes.searchsorted(blocks.first_codes)
    at = np.flatnonzero(touched)
    if len(at):
        for some in _adjoining(at):
            yield Read(segment, blocks[int(some[0]) : int(some[-1]) + 1])


def _adjoining(at: Positions) -> list[Positions]:
    return np.split(at, np.flatnonzero(np.diff(at) != 1) + 1)


def _up_to(n_bytes: int, reads: Iterator[Read]) -> Iterator[list[Read]]:
    """Together as long as they have no more bytes than that."""
    held: list[Read] = []
    held_bytes = 0
    for one in reads:
        for read in _cut(one, n_bytes):
            if held and held_bytes + read.n_bytes > n_bytes:
                yield held
                held, held_bytes = [], 0
            held.append(read)
            held_bytes += read.n_bytes
    if held:
        yield held


def _cut(read: Read, n_bytes: int) -> Iterator[Read]:
    """The same blocks, so many bytes at a time; a block that has more by itself is alone."""
    begin, held_bytes = 0, 0
    for at, block in enumerate(read.blocks):
        if at > begin and held_bytes + block.n_bytes > n_bytes:
            yield Read(read.segment, read.blocks[begin:at])
            begin, held_bytes = at, 0
        held_bytes += block.n_bytes
    yield Read(read.segment, read.blocks[begin:])
