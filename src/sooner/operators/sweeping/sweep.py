"""Cover rectangles of cells in bounded memory, a quantum at a time.

Runs are sorted by code, so any set of runs can be joined slab by slab: a slab is a range of codes whose rows, from all
the runs on disk together, fit the scratch memory. Only one code by itself may not fit; it is done piece against piece.
Rows in memory are joined where they are.

Where codes of a match may differ, a slab of one side meets all that it reaches of the other, which may be any amount:
so that is done piece by piece too. By default it is rows in memory that reach out: below the cursor they have met all.

Scratch memory: the rows of a slab, those of one side twice while they are merged; and of each run the block in which
the slab ends.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Final, NamedTuple, Protocol

from sooner.kernels.matching import EQUAL, Reach
from sooner.operators.pairs import Bundle, Findings, Singles, bundled
from sooner.operators.sweeping.parts import (
    Drives,
    InMemory,
    JoinRuns,
    MergedOutput,
    OnDisk,
    Part,
    PartRectangle,
    Workbench,
)
from sooner.operators.sweeping.strides import (
    MemoryWithDisk,
    Span,
    Stride,
    append_piece,
    are_on_disk,
    join_memory,
    join_pieces,
    pieces,
    pieces_of_span,
)
from sooner.runs.run import Run, merge
from sooner.runs.slabs import Slab, slabs


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

    def in_strides(self, span: Span, reach: Reach, piece_bytes: int) -> Iterator[Stride]:
        """The same where not all that is in reach fits into a slab, stride by stride."""


class Cursor(NamedTuple):
    """How far a sweep is: codes below are done, and so many strides of those from there up to an end."""

    code: int
    strides: int = 0
    end: int = 0

    @property
    def met_memory_below(self) -> int:
        """Below this code, rows in memory have met all that they should: they do so in the first stride."""
        return self.end if self.strides else self.code


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
        if begin.strides:  # the slab that it is in, and no other: what is where may have changed since it began
            self._slabs = iter([Slab(begin.code, begin.end, 0, is_hot=True)])
        self._next: Slab | None = next(self._slabs, None)
        self.cursor = begin
        self.worked_bytes = 0  # read and written

    @property
    def is_at_its_end(self) -> bool:
        """There may be codes beyond it, if it began in the middle of a slab."""
        return self._next is None

    def advance(self, quantum_bytes: int, join: JoinRuns) -> Iterator[Bundle]:
        """Work on so many bytes, and stop between two slabs. A stride that has more by itself is done alone."""
        goal = self.worked_bytes + quantum_bytes
        begun = self.worked_bytes
        while (slab := self._next) is not None:
            if slab.is_hot or self._reach != EQUAL:
                yield from self._advance_in_strides(slab, goal, begun, join)
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

    def _advance_in_strides(self, slab: Slab, goal: int, begun: int, join: JoinRuns) -> Iterator[Bundle]:
        """Strides of one slab, as far as they go."""
        for number, stride in enumerate(self._strides(Span(slab.low, slab.high), join)):
            if number < self.cursor.strides:
                continue
            if self.worked_bytes > begun and self.worked_bytes + stride.n_bytes > goal:
                return
            self._breathe()
            yield from bundled(stride.work())
            self.worked_bytes += stride.n_bytes
            self.cursor = Cursor(slab.low, number + 1, slab.high)
        self.cursor = Cursor(slab.high)

    def _strides(self, span: Span, join: JoinRuns) -> Iterator[Stride]:
        """Memory with disk first, all at once: rows that leave memory can say that they met all, but not half of it.

        Then piece against piece, and what is to be written.
        """
        piece_bytes = self._piece_bytes
        from_left, from_right = span.reached(self._reach), span.reached(self._reach.from_the_right())
        with_memory = [
            MemoryWithDisk(lefts, rights, from_right, span, piece_bytes)
            if self._drives == "memory" and are_on_disk(lefts)
            else MemoryWithDisk(lefts, rights, span, from_left, piece_bytes)
            for lefts, rights in self._rectangles
            if not (are_on_disk(lefts) and are_on_disk(rights))
        ]
        yield Stride(sum(one.n_bytes for one in with_memory), partial(join_memory, with_memory, join))
        for lefts, rights in self._rectangles:
            if are_on_disk(lefts) and are_on_disk(rights):
                for left in pieces_of_span(lefts, span, piece_bytes):
                    for right in pieces(rights, from_left, piece_bytes):
                        yield Stride(left.n_bytes + right.n_bytes, partial(join_pieces, left, right, join))
        for one in self._examined:
            yield from one.in_strides(span, self._reach, piece_bytes)
        for output in self._outputs:
            for piece in pieces_of_span(output.parts, span, piece_bytes):
                yield Stride(2 * piece.n_bytes, partial(append_piece, output, piece))


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
