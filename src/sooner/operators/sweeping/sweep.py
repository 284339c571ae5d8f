"""Cover rectangles of cells in bounded memory, a quantum at a time.

Runs are sorted by code, so any set of runs can be joined slab by slab: a slab is a range of codes whose rows, from all
the runs on disk together, fit the scratch memory. Only one code by itself may not fit; it is done piece against piece.
Rows in memory are joined where they are.

Where codes of a match may differ, a slab of one side meets all that it reaches of the other, which may be any amount:
so that is done piece by piece too. By default it is rows in memory that reach out: below the cursor they have met all.

Scratch memory: the rows of a slab, those of one side twice while they are merged; and of each run the block in which
the slab ends.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import groupby, product
from typing import Final, Literal, NamedTuple, Protocol

from sooner.kernels.matching import EQUAL, Reach
from sooner.operators.pairs import Bundle, Findings, Singles, bundled
from sooner.runs.block_index import Block
from sooner.runs.run import NEVER, STILL_HERE, Run, arrived_between, merge
from sooner.runs.slabs import ALL_CODES, Slab, slabs
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
JoinRuns = Callable[[Run, Run], Iterator[Findings]]


@dataclass(frozen=True)
class MergedOutput:
    """These parts are to become one run as well, or what is needed of them."""

    parts: Sequence[OnDisk]
    store: RunStore
    writer: RunWriter
    needed: Callable[[Run], Run] | None = None

    def append(self, run: Run) -> None:
        kept = run if self.needed is None else self.needed(run)
        if len(kept):
            self.writer.append(self.store.encode(kept))


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

    def in_steps(self, span: "Span", reach: Reach, piece_bytes: int) -> Iterator["Step"]:
        """The same where not all that is in reach fits into a slab, step by step."""


class Cursor(NamedTuple):
    """How far a sweep is: codes below are done, and so many steps of those from there up to an end."""

    code: int
    steps: int = 0
    end: int = 0

    @property
    def met_memory_below(self) -> int:
        """Below this code, rows in memory have met all that they should: they do so in the first step."""
        return self.end if self.steps else self.code


START: Final = Cursor(0)

# Where codes of a match may differ, which of the two says in which range of codes they meet: the one in memory, which
# can then say up to which code it has met all; or the left one, wherever the two are by then.
Drives = Literal["memory", "left"]


class Sweep:
    """Finds the pairs in rectangles of left parts x right parts, from the lowest code to the highest, and examines rows
    on the way.
    """

    def __init__(
        self,
        rectangles: Sequence[PartRectangle],
        outputs: Sequence[MergedOutput],
        examined: Sequence[Examined],
        reach: Reach,
        drives: Drives,
        slab_bytes: int,
        bench: Workbench,
        begin: Cursor,
    ) -> None:
        self._drives = drives
        self._rectangles = rectangles
        self._outputs = outputs
        self._examined = examined
        self._reach = reach
        self._piece_bytes = slab_bytes // 2  # one of each side is there at a time
        self._passes = 2 if outputs or any(one.writes for one in examined) else 1
        self._breathe = bench.breathe
        groups = {tuple(group) for rectangle in rectangles for group in rectangle}
        groups |= {tuple(output.parts) for output in outputs}
        groups |= {tuple(group) for one in examined for group in one.groups}
        self._in_groups = Counter(part for group in groups for part in group if isinstance(part, OnDisk))
        blocks = [part.blocks for part in self._in_groups]
        self._slabs = slabs(blocks, slab_bytes if reach == EQUAL else self._piece_bytes, max(begin.code, begin.end))
        if begin.steps:  # the slab that it is in, and no other: what is where may have changed since it began
            self._slabs = iter([Slab(begin.code, begin.end, 0, is_hot=True)])
        self._next: Slab | None = next(self._slabs, None)
        self.cursor = begin
        self.worked_bytes = 0  # read and written

    @property
    def is_at_its_end(self) -> bool:
        """There may be codes beyond it, if it began in the middle of a slab."""
        return self._next is None

    def advance(self, quantum_bytes: int, join: JoinRuns) -> Iterator[Bundle]:
        """Work on so many bytes, and stop between two slabs. A step that has more by itself is done alone."""
        goal = self.worked_bytes + quantum_bytes
        begun = self.worked_bytes
        while (slab := self._next) is not None:
            if slab.is_hot or self._reach != EQUAL:
                yield from self._advance_in_steps(slab, goal, begun, join)
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

    def _advance_in_steps(self, slab: Slab, goal: int, begun: int, join: JoinRuns) -> Iterator[Bundle]:
        """Steps of one slab, as far as they go."""
        for number, step in enumerate(self._steps(Span(slab.low, slab.high), join)):
            if number < self.cursor.steps:
                continue
            if self.worked_bytes > begun and self.worked_bytes + step.n_bytes > goal:
                return
            self._breathe()
            yield from bundled(step.work())
            self.worked_bytes += step.n_bytes
            self.cursor = Cursor(slab.low, number + 1, slab.high)
        self.cursor = Cursor(slab.high)

    def _steps(self, span: "Span", join: JoinRuns) -> Iterator["Step"]:
        """Memory with disk first, all at once: rows that leave memory can say that they met all, but not half of it.

        Then piece against piece, and what is to be written.
        """
        piece_bytes = self._piece_bytes
        from_left, from_right = span.reached(self._reach), span.reached(self._reach.from_the_right())
        with_memory = [
            MemoryWithDisk(lefts, rights, from_right, span, piece_bytes)
            if self._drives == "memory" and _on_disk(lefts)
            else MemoryWithDisk(lefts, rights, span, from_left, piece_bytes)
            for lefts, rights in self._rectangles
            if not (_on_disk(lefts) and _on_disk(rights))
        ]
        yield Step(sum(one.n_bytes for one in with_memory), partial(_join_memory, with_memory, join))
        for lefts, rights in self._rectangles:
            if _on_disk(lefts) and _on_disk(rights):
                for left in pieces_of_span(lefts, span, piece_bytes):
                    for right in pieces(rights, from_left, piece_bytes):
                        yield Step(left.n_bytes + right.n_bytes, partial(_join_pieces, left, right, join))
        for one in self._examined:
            yield from one.in_steps(span, self._reach, piece_bytes)
        for output in self._outputs:
            for piece in pieces_of_span(output.parts, span, piece_bytes):
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


def _cover_slab(rectangles: Sequence[PartRectangle], join: JoinRuns, slab: LoadedSlab) -> Iterator[Findings]:
    """Of a rectangle in which rows are on disk, those in memory meet only them. If all are in memory they meet."""
    for lefts, rights in rectangles:
        left, right = slab.on_disk(lefts), slab.on_disk(rights)
        if not any(isinstance(part, OnDisk) for part in (*lefts, *rights)):
            for one, other in product(slab.in_memory(lefts), slab.in_memory(rights)):
                yield from join(one, other)
        if left is not None and right is not None:
            yield from join(left, right)
        if right is not None:
            for run in slab.in_memory(lefts):
                yield from join(run, right)
        if left is not None:
            for run in slab.in_memory(rights):
                yield from join(left, run)


# Steps: one code with too many rows for a slab, or all that a slab reaches


class Span(NamedTuple):
    """The codes from low to high, without the last."""

    low: int
    high: int

    def reached(self, reach: Reach) -> "Span":
        """The codes that those of the span reach."""
        return Span(max(self.low - reach.below, 0), min(self.high + reach.above, ALL_CODES))


@dataclass(frozen=True)
class Step:
    n_bytes: int
    work: Callable[[], Iterator[Findings]]


@dataclass(frozen=True)
class Piece:
    """Blocks that have rows of a span: which they are follows from the index alone, before anything is read."""

    span: Span
    blocks: Sequence[tuple[OnDisk, Block]]

    @property
    def n_bytes(self) -> int:
        return sum(block.n_bytes for _, block in self.blocks)

    @cached_property
    def rows(self) -> Run:
        """Read once."""
        return self.read()

    def read(self) -> Run:
        """There may be none: a block can reach over codes that it does not have."""
        by_part = groupby(self.blocks, key=lambda one: id(one[0]))
        of_parts = ((some[0][0], [block for _, block in some]) for some in (list(group) for _, group in by_part))
        parts = [run.between(*self.span) for part, blocks in of_parts for run in part.read(blocks)]
        return merge([part for part in parts if len(part)] or parts[:1])


def pieces(parts: Sequence[Part], span: Span, piece_bytes: int) -> Iterator[Piece]:
    """The rows of a span on disk, in pieces of about so many bytes."""
    held: list[tuple[OnDisk, Block]] = []
    held_bytes = 0
    for part in parts:
        assert isinstance(part, OnDisk)
        for block in part.blocks.between(*span):
            if held and held_bytes + block.n_bytes > piece_bytes:
                yield Piece(span, held)
                held, held_bytes = [], 0
            held.append((part, block))
            held_bytes += block.n_bytes
    if held:
        yield Piece(span, held)


def pieces_of_span(parts: Sequence[Part], span: Span, piece_bytes: int) -> Iterator[Piece]:
    """The rows of a slab, which fit into it, as one piece in the order of their codes; of one code in several."""
    return pieces(parts, span, piece_bytes if span.high - span.low == 1 else sys.maxsize)


def _on_disk(parts: Sequence[Part]) -> bool:
    return all(isinstance(part, OnDisk) for part in parts)


@dataclass(frozen=True)
class MemoryWithDisk:
    """A rectangle of which one side is in memory, or both: the rows of a span, and what they reach of the other."""

    lefts: Sequence[Part]
    rights: Sequence[Part]
    left_span: Span
    right_span: Span
    piece_bytes: int

    @property
    def _pieces(self) -> Iterator[Piece]:
        if _on_disk(self.lefts):
            return pieces(self.lefts, self.left_span, self.piece_bytes)
        return pieces(self.rights, self.right_span, self.piece_bytes) if _on_disk(self.rights) else iter(())

    @property
    def n_bytes(self) -> int:
        return sum(piece.n_bytes for piece in self._pieces)

    def joined(self, join: JoinRuns) -> Iterator[Findings]:
        if _on_disk(self.lefts):
            for piece in self._pieces:
                for right in _loaded(self.rights, self.right_span):
                    yield from join(piece.rows, right)
            return
        rights = (
            (piece.rows for piece in self._pieces) if _on_disk(self.rights) else _loaded(self.rights, self.right_span)
        )
        for right in rights:
            for left in _loaded(self.lefts, self.left_span):
                yield from join(left, right)


def _loaded(parts: Sequence[Part], span: Span) -> Iterator[Run]:
    return (run for part in parts for run in part.load(*span))


def _join_memory(rectangles: Sequence[MemoryWithDisk], join: JoinRuns) -> Iterator[Findings]:
    for rectangle in rectangles:
        yield from rectangle.joined(join)


def _join_pieces(left: Piece, right: Piece, join: JoinRuns) -> Iterator[Findings]:
    return join(left.rows, right.rows)


def _append(output: MergedOutput, piece: Piece) -> Iterator[Findings]:
    if len(piece.rows):
        output.append(piece.rows)
    yield from ()
