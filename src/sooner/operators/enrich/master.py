"""The master table: taken in once, kept as runs sorted by code, in memory if all of it fits and else on disk.

Runs on disk consist of segments of limited size. What is kept in memory of a segment is its first code and where its
index lies; the index is read when one of its codes is asked for. So there are two levels, and a table of 100 GB needs
little memory however many blocks it has.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa

from sooner.budget import Account
from sooner.errors import BudgetTooSmall
from sooner.kernels.array_types import Codes, Positions
from sooner.kernels.matching import EQUAL
from sooner.operators.enrich.pieces import in_order, only_codes, together
from sooner.operators.enrich.versions import Versioning, newest
from sooner.operators.events import Flushed, Tidied
from sooner.operators.inputs import Input
from sooner.operators.shell import Shell
from sooner.operators.sweeping.parts import MergedOutput, OnDisk, Workbench
from sooner.operators.sweeping.sweep import START, Cursor, Sweep
from sooner.runs.block_index import Block, Blocks
from sooner.runs.run import Run, code_position, merge
from sooner.runs.slabs import ALL_CODES
from sooner.runs.store import Segment, SpilledRun, adopted, counted, counts_of_each, remove_run

MASTER: Final = 1  # the second input
SEGMENT_BYTES: Final = 64 * 2**20  # of the table, under one first code and one index
CHANGES_SHARE: Final = 8  # of the memory, one part in so many at most is for rows that replace others
FEW: Final = 4  # rows that were found are few if they have less than one part in so many of a slab
SCATTERED: Final = 8  # runs: with more it is compacted before rows are looked up that can wait
FAN_IN: Final = 32  # runs that become one at a time: a block of each is in memory


class _Touched:
    """Blocks of a segment, at these positions of its index."""

    def __init__(self, segment: Segment, blocks: Blocks, at: Positions) -> None:
        self.segment = segment
        self._blocks = [blocks[position] for position in at.tolist()]
        self.first_codes = blocks.first_codes[at]
        self._last_codes = blocks.last_codes[at]
        self.n_bytes = blocks.n_bytes[at].astype(np.int64)
        self.held: tuple[Block, Run] | None = None  # what was read last

    def pieces(self, n_bytes: int) -> Iterator[list[Block]]:
        """All of them, so many bytes at a time, and one at least."""
        begin, filled = 0, 0
        for at, block in enumerate(self._blocks):
            if at > begin and filled + block.n_bytes > n_bytes:
                yield self._blocks[begin:at]
                begin, filled = at, 0
            filled += block.n_bytes
        yield self._blocks[begin:]

    def between(self, low: int, high: int) -> list[Block]:
        """Those that may have codes from `low` on and below `high`."""
        begin = int(self._last_codes.searchsorted(np.uint64(low)))
        return self._blocks[begin : code_position(self.first_codes, high)]


@dataclass
class _Compaction:
    """Runs that are becoming one, and how far that is."""

    members: tuple[int, ...]
    cursor: Cursor = START
    slab_bytes: int = 0  # as large as a quantum allows; strides of a code are counted by it, and it stays until then
    written: list[Segment] = field(default_factory=list)
    fences: list[int] = field(default_factory=list)  # the code from which on each of them was written


class Master:
    """`rows` is the input; rows of a null key match nothing and are not kept.

    One that is probed becomes a single run once it is complete. One that is scanned need not, and must stay as it is.
    """

    def __init__(
        self,
        rows: Input,
        account: Account,
        shell: Shell,
        bench: Workbench,
        *,
        is_probed: bool,
        is_plain: bool = True,
        versioning: Versioning | None = None,
    ) -> None:
        self.rows = rows
        self._is_plain = is_plain  # whether each row matches by itself, whatever others there are of its key
        self._versioning = versioning
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
        self.newest_version: int | float | None = None  # of the changes

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
    def n_runs(self) -> str:
        """In words."""
        runs = len(self.spilled)
        return "one sorted run" if runs == 1 else f"{runs} sorted runs"

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
        kept, stored = self._versioning, self.rows.schema
        self._add(batches if kept is None else [kept.of_master(batch, stored) for batch in batches])

    def take_changes(self, batches: Sequence[pa.RecordBatch], make_room: Callable[[int], None]) -> Codes:
        """Rows that replace others. Tells which codes they have."""
        assert self._versioning is not None, "somebody said what the versions are"
        changes = [self._versioning.of_changes(batch, self.rows.schema) for batch in batches]
        known = [self.newest_version, self._versioning.newest_of(changes)]
        self.newest_version = max((one for one in known if one is not None), default=None)
        run = self._add(changes, make_room)
        if not self.is_in_memory and self.rows.resident_bytes > self._account.share_bytes // CHANGES_SHARE:
            self.spill()
        return np.empty(0, np.uint64) if run is None else run.codes

    def _add(self, batches: Sequence[pa.RecordBatch], make_room: Callable[[int], None] | None = None) -> Run | None:
        [run] = self.rows.sorted(batches).runs
        if run is None:
            return None
        if run.n_bytes > self._account.free_bytes and make_room is not None:
            make_room(run.n_bytes)
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
        return run

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

    def in_memory(self, codes: Codes) -> Iterator[Run]:
        """Rows in memory among which all those are that have one of these codes; as they lie, if that will do."""
        if self._is_plain:
            return self.resident
        return self.rows_with(np.unique(codes))

    def rows_with(self, codes: Codes) -> Iterator[Run]:
        """The rows with one of these codes, which are sorted and differ.

        Where it takes all rows of a code to tell which are meant, all those of some codes come together. Blocks that
        may have some are read, up to a slab at a time, and let go.
        """
        touched = [one for run in self.spilled for one in self._touched(codes, run)]
        if self._is_plain and not self.is_in_memory:
            found = (rows for one in touched for rows in self._found_in(codes, one))
            yield from together(found, self._bench.slab_bytes // FEW)
        else:
            yield from self._found(codes, list(self.resident), touched)

    def _found_in(self, codes: Codes, touched: "_Touched") -> Iterator[Run]:
        """A code may have more rows than fit into memory: then they come one after the other."""
        for blocks in touched.pieces(self._bench.slab_bytes):
            self._shell.breathe()
            self.read_bytes += sum(block.n_bytes for block in blocks)
            found = only_codes([codes], list(self.rows.store.read(touched.segment, blocks)))
            if found is not None:
                yield found

    def reach(self, codes: Codes, n_bytes: int) -> int:
        """Up to which code these can be looked up when about so many bytes are read; one block at least."""
        touched = [one for run in self.spilled for one in self._touched(codes, run)]
        return next(high for _, high in _ranges(touched, n_bytes) if high > int(codes[0]))

    def _found(self, codes: Codes, resident: Sequence[Run], touched: Sequence["_Touched"]) -> Iterator[Run]:
        """All rows of some codes in these runs and segments; of each a block is held for the next of them."""
        for low, high in _ranges(touched, self._bench.slab_bytes):
            self._shell.breathe()
            some = codes[code_position(codes, low) : code_position(codes, high)]
            blocks = [[run.between(low, high)] for run in resident]
            blocks += [[run.between(low, high) for run in self._load(one, low, high)] for one in touched]
            parts = [found for runs in blocks if runs and (found := only_codes([some], runs)) is not None]
            if parts and len(rows := self._true(merge(parts))):
                yield rows

    def _load(self, touched: "_Touched", low: int, high: int) -> list[Run]:
        """The blocks that may have rows between these codes. The last may have more, and is held for the next time."""
        wanted = touched.between(low, high)
        if not wanted:
            return []
        loaded = []
        if touched.held is not None and touched.held[0] == wanted[0]:
            loaded.append(touched.held[1])
        missing = wanted[len(loaded) :]
        self.read_bytes += sum(block.n_bytes for block in missing)
        loaded += self.rows.store.read(touched.segment, missing)
        touched.held = wanted[-1], loaded[-1]
        return loaded

    def _true(self, run: Run) -> Run:
        """Of all rows of some codes those that are true."""
        return run if self._versioning is None else newest(run, self._versioning, also_gone=False)

    def _touched(self, codes: Codes, run: SpilledRun) -> Iterator["_Touched"]:
        """The segments of a run that may have one of these codes: whose index is read, others are not."""
        fences = np.array(self._fences.get(run.number, [0]), np.uint64)
        begins, after = codes.searchsorted(fences), codes.searchsorted(fences, side="right")
        begins[0] = 0
        ends = np.append(after[1:], len(codes))  # the next segment may begin among the rows of a code
        for segment, begin, end in zip(run.segments, begins, ends, strict=True):
            if begin < end:
                blocks, some = segment.blocks, codes[begin:end]
                has = some.searchsorted(blocks.last_codes, side="right") > some.searchsorted(blocks.first_codes)
                if has.any():
                    yield _Touched(segment, blocks, np.flatnonzero(has))

    # Compaction

    @property
    def is_crowded(self) -> bool:
        """Whether runs should become one: all of them when the table is complete, before that if there are many."""
        if self._compaction is not None and (self._is_probed or not self.rows.ended):
            return True
        if self.rows.ended:
            return self._is_probed and len(self._alike()) > 1
        return len(self.spilled) > 2 * FAN_IN

    @property
    def is_scattered(self) -> bool:
        """Whether it lies in so many runs that to look into all of them costs more than to make them one first."""
        return self.rows.ended and self.is_crowded and len(self.spilled) > SCATTERED

    def _alike(self) -> list[SpilledRun]:
        """The smallest runs that are worth becoming one: a large one only with others that are half of it together.

        So a row is written anew a few times, however many small runs come beside the large ones.
        """
        runs = sorted(self.spilled, key=lambda run: (run.n_bytes, run.number))
        before = list(itertools.accumulate((run.n_bytes for run in runs), initial=0))
        largest = max((at for at, run in enumerate(runs) if run.n_bytes <= 2 * before[at]), default=0)
        return runs[: largest + 1][:FAN_IN]

    def compact(self, quantum_bytes: int) -> int:
        """A piece of the work in which runs become one: so many bytes are read and written, and it tells how many."""
        if self._compaction is None:
            self._compaction = _Compaction(tuple(sorted(run.number for run in self._alike())))
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
        self._output = MergedOutput(parts, store, writer, self._needed())
        if not compaction.cursor.strides:
            compaction.slab_bytes = self._bench.slab_within(quantum_bytes // 2)
        place = compaction.slab_bytes, self._bench, compaction.cursor
        self._sweep = Sweep((), [self._output], (), EQUAL, "memory", *place)
        compaction.fences.append(compaction.cursor.code)

    def _needed(self) -> Callable[[Run], Run] | None:
        """What is kept of rows that become one run; also that a row is gone, since an older one may still come."""
        if (versioning := self._versioning) is None:
            return None
        return lambda run: newest(run, versioning, also_gone=True)

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
        others = [run for run in partition.spilled if run.number not in compaction.members]
        partition.spilled = [merged, *others] if merged.segments else others
        if merged.segments:
            self._fences[merged.number] = compaction.fences
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
                "members": one.members, "cursor": one.cursor, "slab_bytes": one.slab_bytes,
                "written": written, "fences": one.fences,
            }  # fmt: skip
        fences = [[number, codes] for number, codes in sorted(self._fences.items())]
        rows, newest = self.rows.to_plain(), self.newest_version
        return {"rows": rows, "fences": fences, "compaction": compaction, "newest_version": newest}

    def load_plain(self, data: dict[str, Any]) -> None:
        self.rows.load_plain(data["rows"], self._account)
        self.newest_version = data["newest_version"]
        self._fences = {counted(number): [int(code) for code in codes] for number, codes in data["fences"]}
        if (saved := data["compaction"]) is not None:
            written = [adopted(self.rows.store, segment) for segment in saved["written"]]
            members = tuple(counts_of_each(saved["members"], len(saved["members"])))
            fences = [int(code) for code in saved["fences"]]
            cursor, slab_bytes = Cursor(*saved["cursor"]), counted(saved["slab_bytes"])
            self._compaction = _Compaction(members, cursor, slab_bytes, written, fences)


class _GivenUpError(Exception):
    """Files that are being written learn of it."""


def _nothing_met(left: Run, right: Run) -> Iterator[Any]:  # noqa: ARG001 - there are no rectangles
    return iter(())


def _ranges(touched: Sequence[_Touched], slab_bytes: int) -> Iterator[tuple[int, int]]:
    """All codes, in ranges in which the blocks that are read have about so many bytes."""
    firsts = np.concatenate([np.empty(0, np.uint64), *(one.first_codes for one in touched)])
    sizes = np.concatenate([np.empty(0, np.int64), *(one.n_bytes for one in touched)])
    order = np.argsort(firsts, kind="stable")
    filled = sizes[order].cumsum()
    slabs = int(filled[-1] // max(slab_bytes, 1)) if len(filled) else 0
    ends = filled.searchsorted(np.arange(1, slabs + 1) * slab_bytes)
    cuts = np.unique(firsts[order[ends[ends < len(order)]]]).tolist()
    yield from itertools.pairwise([0, *(cut for cut in cuts if cut), ALL_CODES])
