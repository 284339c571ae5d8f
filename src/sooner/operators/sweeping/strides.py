"""The strides of a sweep where not all fits into a slab: one code with too many rows, or all that a slab reaches."""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

from sooner.kernels.matching import Reach
from sooner.operators.pairs import Findings
from sooner.operators.sweeping.parts import JoinRuns, MergedOutput, OnDisk, Part
from sooner.runs.block_index import Block
from sooner.runs.run import Run, merge
from sooner.runs.slabs import ALL_CODES


class Span(NamedTuple):
    """The codes from low to high, without the last."""

    low: int
    high: int

    def reached(self, reach: Reach) -> "Span":
        """The codes that those of the span reach."""
        return Span(max(self.low - reach.below, 0), min(self.high + reach.above, ALL_CODES))


@dataclass(frozen=True)
class Stride:
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


def are_on_disk(parts: Sequence[Part]) -> bool:
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
        if are_on_disk(self.lefts):
            return pieces(self.lefts, self.left_span, self.piece_bytes)
        return pieces(self.rights, self.right_span, self.piece_bytes) if are_on_disk(self.rights) else iter(())

    @property
    def n_bytes(self) -> int:
        return sum(piece.n_bytes for piece in self._pieces)

    def joined(self, join: JoinRuns) -> Iterator[Findings]:
        if are_on_disk(self.lefts):
            for piece in self._pieces:
                for right in _loaded(self.rights, self.right_span):
                    yield from join(piece.rows, right)
            return
        rights = (
            (piece.rows for piece in self._pieces)
            if are_on_disk(self.rights)
            else _loaded(self.rights, self.right_span)
        )
        for right in rights:
            for left in _loaded(self.lefts, self.left_span):
                yield from join(left, right)


def _loaded(parts: Sequence[Part], span: Span) -> Iterator[Run]:
    return (run for part in parts for run in part.load(*span))


def join_memory(rectangles: Sequence[MemoryWithDisk], join: JoinRuns) -> Iterator[Findings]:
    for rectangle in rectangles:
        yield from rectangle.joined(join)


def join_pieces(left: Piece, right: Piece, join: JoinRuns) -> Iterator[Findings]:
    return join(left.rows, right.rows)


def append_piece(output: MergedOutput, piece: Piece) -> Iterator[Findings]:
    if len(piece.rows):
        output.append(piece.rows)
    yield from ()
