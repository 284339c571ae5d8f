"""Cover rectangles of cells in bounded memory, a quantum at a time.

Runs are sorted by code, so any set of runs can be joined slab by slab: a slab is a range of codes whose rows, from all
the runs on disk together, fit the scratch memory. Only one code by itself may not fit; it is done piece against piece.
Rows in memory are joined where they are.

Scratch memory: the rows of a slab, those of one side twice while they are merged; and of each run the block in which
the slab ends.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Final, NamedTuple, Protocol

from sooner.operators.two_way.pairs import Bundle, Findings, Pairs, Singles, bundled
from sooner.runs.block_index import Block
from sooner.runs.run import NEVER, STILL_HERE, Run, arrived_between, merge
from sooner.runs.slabs import Slab, slabs
from sooner.runs.store import RunStore, RunWriter, Segment

COPIES: Final = 2  # of the rows of a slab, at most


@dataclass(frozen=True)
class Workbench:
    """How much room there is to work in, and what is called again and again on the way: it may raise."""

    scratch_bytes: int
    breathe: Callable[[], None]

    @property
    def slab_bytes(self) -> int:
        return self.scratch_bytes // COPIES

    def slab_within(self, quantum_bytes: int) -> int:
        """How many bytes a slab has when so many may be worked on."""
        return max(1, min(self.slab_bytes, quantum_bytes))

    @property
    def merge_bytes(self) -> int:
        """How much in memory can become one run: it is there once more, and a column of it yet again."""
        return self.scratch_bytes * 3 // 4

    def divided(self, parts: int) -> "Workbench":
        return replace(self, scratch_bytes=self.scratch_bytes // parts)


class Part(Protocol):
    """Sorted rows, wherever they are."""

    def load(self, low: int, high: int) -> Iterator[Run]: ...


@dataclass(frozen=True, eq=False)
class InMemory:
    """A run in memory; of its rows only those are meant that came after a tick, and not after another."""

    run: Run
    after: int = NEVER
    until: int = STILL_HERE

    def load(self, low: int, high: int) -> Iterator[Run]:
        yield arrived_between(self.run.between(low, high), self.after, self.until)


class OnDisk:
    """A segment of a run in a store. The block in which one slab ends and the next begins is read once."""

    def __init__(self, store: RunStore, segment: Segment) -> None:
        self.blocks = segment.blocks
        self._segment = segment
        self._store = store
        self._held: tuple[Block, Run] | None = None

    def load(self, low: int, high: int) -> Iterator[Run]:
        wanted = self.blocks.between(low, high)
        if self._held is not None and wanted and self._held[0] == wanted[0]:
            yield self._held[1].between(low, high)
            wanted = wanted[1:]
        if not wanted:
            return
        # The last is read by itself: to hold it must not keep all that was read with it.
        for run in self._store.read(self._segment, wanted[:-1]):
            yield run.between(low, high)
        [last] = self._store.read(self._segment, wanted[-1:])
        self._held = wanted[-1], last
        yield last.between(low, high)

    def read(self, blocks: Sequence[Block]) -> Iterator[Run]:
        return self._store.read(self._segment, blocks)


PartRectangle = tuple[Sequence[Part], Sequence[Part]]
JoinRuns = Callable[[Run, Run], Iterator[Pairs]]


@dataclass(frozen=True)
class MergedOutput:
    """These parts are to become one run as well."""

    parts: Sequence[OnDisk]
    store: RunStore
    writer: RunWriter

    def append(self, run: Run) -> None:
        self.writer.append(self.store.encode(run))


class Examined(Protocol):
    """Rows of one side that are looked at on the way, for whether they match at all."""

    @property
    def groups(self) -> Sequence[Sequence[Part]]:
        """What it needs of each slab, as groups that are read together."""

    @property
    def writes(self) -> bool:
        """Whether rows are written anew."""

    def in_slab(self, slab: "LoadedSlab") -> Iterator[Singles]:
        """What comes out of it in a range of codes."""

    def in_code(self, code: int, piece_bytes: int) -> Iterator["Step"]:
        """The same for one code that does not fit into a slab, step by step."""


class Cursor(NamedTuple):
    """How far a sweep is: codes below are done, and of one with too many rows for a slab so many steps."""

    code: int
    steps: int = 0

    @property
    def met_memory_below(self) -> int:
        """Below this code, rows in memory have met all that they should: of a code they do so in its first step."""
        return self.code + (self.steps > 0)


START: Final = Cursor(0)


class Sweep:
    """Finds the pairs in rectangles of left parts x right parts, from the lowest code to the highest, and examines rows
    on the way.
    """

    def __init__(
        self,
        rectangles: Sequence[PartRectangle],
        outputs: Sequence[MergedOutput],
        examined: Sequence[Examined],
        slab_bytes: int,
        bench: Workbench,
        begin: Cursor,
    ) -> None:
        self._rectangles = rectangles
        self._outputs = outputs
        self._examined = examined
        self._slab_bytes = slab_bytes
        self._passes = 2 if outputs or any(one.writes for one in examined) else 1
        self._breathe = bench.breathe
        groups = {tuple(group) for rectangle in rectangles for group in rectangle}
        groups |= {tuple(output.parts) for output in outputs}
        groups |= {tuple(group) for one in examined for group in one.groups}
        self._in_groups = Counter(part for group in groups for part in group if isinstance(part, OnDisk))
        self._slabs = slabs([part.blocks for part in self._in_groups], slab_bytes, begin.code)
        self._next: Slab | None = next(self._slabs)
        self.cursor = begin
        self.worked_bytes = 0  # read and written

    def advance(self, quantum_bytes: int, join: JoinRuns) -> Iterator[Bundle]:
        """Work on so many bytes, and stop between two slabs. A step that has more by itself is done alone."""
        goal = self.worked_bytes + quantum_bytes
        begun = self.worked_bytes
        while (slab := self._next) is not None:
            if slab.is_hot:
                yield from self._advance_in_code(slab, goal, begun, join)
                if self.cursor.code == slab.low:
                    return
            else:
                cost = slab.n_bytes * self._passes
                if self.worked_bytes > begun and self.worked_bytes + cost > goal:
                    return
                self._breathe()
                loaded = LoadedSlab(self._in_groups, slab)
                yield from bundled(self._cover(loaded, join))
                self.worked_bytes += cost
            self.cursor = Cursor(slab.high)
            self._next = next(self._slabs, None)

    def _cover(self, slab: "LoadedSlab", join: JoinRuns) -> Iterator[Findings]:
        yield from _cover_slab(self._rectangles, join, slab)
        for one in self._examined:
            yield from one.in_slab(slab)
        for output in self._outputs:
            if (merged := slab.on_disk(output.parts)) is not None:
                output.append(merged)

    def _advance_in_code(self, slab: Slab, goal: int, begun: int, join: JoinRuns) -> Iterator[Bundle]:
        """Steps of one code, as far as they go."""
        for number, step in enumerate(self._steps(slab, join)):
            if number < self.cursor.steps:
                continue
            if self.worked_bytes > begun and self.worked_bytes + step.n_bytes > goal:
                return
            self._breathe()
            yield from bundled(step.work())
            self.worked_bytes += step.n_bytes
            self.cursor = Cursor(slab.low, number + 1)
        self.cursor = Cursor(slab.high)

    def _steps(self, slab: Slab, join: JoinRuns) -> Iterator["Step"]:
        """Memory with disk first, all at once: rows that leave memory can say that they met a code, but not half of it.

        Then piece against piece, and what is to be written.
        """
        code, piece_bytes = slab.low, self._slab_bytes // 2  # one of each side is there at a time
        with_memory = [(left, right) for left, right in self._rectangles if not (_on_disk(left) and _on_disk(right))]
        yield Step(slab.n_bytes if with_memory else 0, partial(_memory_of_code, with_memory, code, piece_bytes, join))
        for lefts, rights in self._rectangles:
            if _on_disk(lefts) and _on_disk(rights):
                for left in pieces(lefts, code, piece_bytes):
                    for right in pieces(rights, code, piece_bytes):
                        yield Step(left.n_bytes + right.n_bytes, partial(_join_pieces, left, right, join))
        for one in self._examined:
            yield from one.in_code(code, piece_bytes)
        for output in self._outputs:
            for piece in pieces(output.parts, code, piece_bytes):
                yield Step(2 * piece.n_bytes, partial(_append, output, piece))


class LoadedSlab:
    """The rows in a range of codes: those on disk are loaded, and merged when they are asked for."""

    def __init__(self, in_groups: Mapping[OnDisk, int], slab: Slab) -> None:
        self._in_groups = in_groups
        self._bounds = slab.low, slab.high
        self._loaded = {part: [run for run in part.load(*self._bounds) if len(run)] for part in in_groups}
        self._merged: dict[tuple[Part, ...], Run | None] = {}

    def on_disk(self, parts: Sequence[Part]) -> Run | None:
        """Those of these parts that are on disk, as one run."""
        group = tuple(parts)
        if group in self._merged:
            return self._merged[group]
        members = [part for part in group if isinstance(part, OnDisk)]
        runs = [run for part in members for run in self._loaded[part]]
        merged = merge(runs) if runs else None
        if all(self._in_groups[part] == 1 for part in members):  # nobody else needs them
            self._merged[group] = merged
            self._loaded.update((part, []) for part in members)
        return merged

    def in_memory(self, parts: Sequence[Part]) -> Iterator[Run]:
        return (run for part in parts if isinstance(part, InMemory) for run in part.load(*self._bounds))


def _cover_slab(rectangles: Sequence[PartRectangle], join: JoinRuns, slab: LoadedSlab) -> Iterator[Pairs]:
    """Rows that are in memory on both sides have met: only what is on disk meets anything here."""
    for lefts, rights in rectangles:
        left, right = slab.on_disk(lefts), slab.on_disk(rights)
        if left is not None and right is not None:
            yield from join(left, right)
        if right is not None:
            for run in slab.in_memory(lefts):
                yield from join(run, right)
        if left is not None:
            for run in slab.in_memory(rights):
                yield from join(left, run)


# One code with too many rows for a slab


@dataclass(frozen=True)
class Step:
    n_bytes: int
    work: Callable[[], Iterator[Findings]]


@dataclass(frozen=True)
class Piece:
    """Blocks that have rows of one code: which they are follows from the index alone, before anything is read."""

    code: int
    blocks: Sequence[tuple[OnDisk, Block]]

    @property
    def n_bytes(self) -> int:
        return sum(block.n_bytes for _, block in self.blocks)

    @cached_property
    def rows(self) -> Run:
        """Read once."""
        return self.read()

    def read(self) -> Run:
        """There may be none: a block can reach over a code that it does not have."""
        runs = [run for part, block in self.blocks for run in part.read([block])]
        parts = [run.between(self.code, self.code + 1) for run in runs]
        return merge([part for part in parts if len(part)] or parts[:1])


def pieces(parts: Sequence[Part], code: int, piece_bytes: int) -> Iterator[Piece]:
    """The rows of one code on disk, in pieces of about so many bytes."""
    held: list[tuple[OnDisk, Block]] = []
    held_bytes = 0
    for part in parts:
        assert isinstance(part, OnDisk)
        for block in part.blocks.between(code, code + 1):
            if held and held_bytes + block.n_bytes > piece_bytes:
                yield Piece(code, held)
                held, held_bytes = [], 0
            held.append((part, block))
            held_bytes += block.n_bytes
    if held:
        yield Piece(code, held)


def _on_disk(parts: Sequence[Part]) -> bool:
    return all(isinstance(part, OnDisk) for part in parts)


def _memory_of_code(
    rectangles: Sequence[PartRectangle], code: int, piece_bytes: int, join: JoinRuns
) -> Iterator[Pairs]:
    for lefts, rights in rectangles:
        disk, memory = (lefts, rights) if _on_disk(lefts) else (rights, lefts)
        for piece in pieces(disk, code, piece_bytes):
            on_disk = piece.rows
            for part in memory:
                for run in part.load(code, code + 1):
                    yield from join(on_disk, run) if disk is lefts else join(run, on_disk)


def _join_pieces(left: Piece, right: Piece, join: JoinRuns) -> Iterator[Pairs]:
    return join(left.rows, right.rows)


def _append(output: MergedOutput, piece: Piece) -> Iterator[Pairs]:
    if len(piece.rows):
        output.append(piece.rows)
    yield from ()
