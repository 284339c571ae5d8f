"""Cover blocks of cells in bounded memory.

Runs are sorted by code, so any set of runs can be joined slab by slab: a slab is a range of codes whose rows, from all
the runs on disk together, fit the scratch memory. Only one code by itself may not fit; it is done piece against piece.
Rows in memory are joined where they are.

Scratch memory: the rows of a slab as they were read, the same rows merged, and a column of them while it is merged; and
of each run the rest of the block in which the slab ends.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from sooner.operators.pairs import Pairs
from sooner.runs.files import RunFiles, RunWriter, SpilledRun, slabs
from sooner.runs.run import NEVER, Run, arrived_after, merge

COPIES: Final = 3  # of the rows of a slab, at most


@dataclass(frozen=True)
class Workbench:
    """How much room there is to work in, and what is called again and again on the way: it may raise."""

    scratch_bytes: int
    breathe: Callable[[], None]

    @property
    def slab_bytes(self) -> int:
        return self.scratch_bytes // COPIES

    @property
    def merge_bytes(self) -> int:
        """How much in memory can become one run: it is there once more, and a column of it twice."""
        return self.scratch_bytes // 2

    def divided(self, parts: int) -> "Workbench":
        return Workbench(self.scratch_bytes // parts, self.breathe)


class Part(Protocol):
    """A run, wherever it lives."""

    def load(self, low: int, high: int) -> Iterator[Run]: ...


@dataclass(frozen=True, eq=False)
class InMemory:
    """A run in memory; of its rows only those that came after this tick are meant."""

    run: Run
    after: int = NEVER

    def load(self, low: int, high: int) -> Iterator[Run]:
        yield arrived_after(self.run.between(low, high), self.after)


class OnDisk:
    """A run in a file. The block in which one slab ends and the next begins is read once."""

    def __init__(self, files: RunFiles, spilled: SpilledRun) -> None:
        self.spilled = spilled
        self.blocks = spilled.blocks
        self._files = files
        self._rest: tuple[int, int, Run] | None = None  # the offset of a block, a code, and its rows from there on

    def load(self, low: int, high: int) -> Iterator[Run]:
        wanted = self.blocks.between(low, high)
        if self._rest is not None and wanted and self._rest[0] == wanted[0].offset and self._rest[1] <= low:
            yield self._rest[2].between(low, high)
            wanted = wanted[1:]
        for block, run in zip(wanted, self._files.read(self.spilled, wanted), strict=True):
            if block.last_code >= high:  # a copy, or it would keep all that was read with it
                self._rest = block.offset, high, _copy(run.between(high, 2**64))
            yield run.between(low, high)


def _copy(run: Run) -> Run:
    return run.take(np.arange(len(run)))


PartBlock = tuple[Sequence[Part], Sequence[Part]]
JoinRuns = Callable[[Run, Run], Iterator[Pairs]]


@dataclass(frozen=True)
class MergedOutput:
    """These parts are to become one run as well."""

    parts: Sequence[Part]
    files: RunFiles
    writer: RunWriter

    def append(self, run: Run) -> None:
        self.writer.append(self.files.encode(run))


def cover(
    blocks: Sequence[PartBlock],
    join: JoinRuns,
    bench: Workbench,
    outputs: Sequence[MergedOutput] = (),
) -> Iterator[Pairs]:
    """The pairs that `join` finds in each block of left parts x right parts."""
    groups = [*(group for block in blocks for group in block), *(output.parts for output in outputs)]
    on_disk = list(dict.fromkeys(part for group in groups for part in group if isinstance(part, OnDisk)))
    for low, high in slabs([part.blocks for part in on_disk], bench.slab_bytes):
        bench.breathe()
        if high - low == 1:
            yield from _cover_one_code(blocks, join, low, bench, outputs)
        else:
            yield from _cover_slab(blocks, join, _Slab(on_disk, low, high), outputs)


class _Slab:
    """The rows in a range of codes: those on disk are loaded."""

    def __init__(self, parts: Iterable[Part], low: int, high: int) -> None:
        self._loaded = {part: [run for run in part.load(low, high) if len(run)] for part in parts}
        self._bounds = low, high
        self._merged: dict[tuple[Part, ...], Run | None] = {}

    def on_disk(self, parts: Sequence[Part]) -> Run | None:
        """Those of these parts that are on disk, as one run. The last two that were asked for are kept."""
        group = tuple(parts)
        if group not in self._merged:
            if len(self._merged) == 2:
                self._merged.pop(next(iter(self._merged)))
            runs = [run for part in parts for run in self._loaded.get(part, ())]
            self._merged[group] = merge(runs) if runs else None
        return self._merged[group]

    def in_memory(self, parts: Sequence[Part]) -> Iterator[Run]:
        return (run for part in parts if part not in self._loaded for run in part.load(*self._bounds))


def _cover_slab(
    blocks: Sequence[PartBlock], join: JoinRuns, slab: _Slab, outputs: Sequence[MergedOutput]
) -> Iterator[Pairs]:
    """Rows that are in memory on both sides have met: only what is on disk meets anything here."""
    for lefts, rights in blocks:
        left, right = slab.on_disk(lefts), slab.on_disk(rights)
        if left is not None and right is not None:
            yield from join(left, right)
        if right is not None:
            for run in slab.in_memory(lefts):
                yield from join(run, right)
        if left is not None:
            for run in slab.in_memory(rights):
                yield from join(left, run)
    for output in outputs:
        if (merged := slab.on_disk(output.parts)) is not None:
            output.append(merged)


def _cover_one_code(
    blocks: Sequence[PartBlock], join: JoinRuns, code: int, bench: Workbench, outputs: Sequence[MergedOutput]
) -> Iterator[Pairs]:
    piece_bytes = bench.slab_bytes // 2  # one of each side is there at a time
    for lefts, rights in blocks:
        for left in _pieces(lefts, code, piece_bytes):
            for right in _pieces(rights, code, piece_bytes):
                bench.breathe()
                yield from join(left, right)
    for output in outputs:
        for run in _pieces(output.parts, code, piece_bytes):
            bench.breathe()
            output.append(run)


def _pieces(parts: Iterable[Part], code: int, piece_bytes: int) -> Iterator[Run]:
    """The rows of one code, as runs of about `piece_bytes`."""
    held: list[Run] = []
    held_bytes = 0
    for part in parts:
        for run in part.load(code, code + 1):
            if held and held_bytes + run.n_bytes > piece_bytes:
                yield merge(held)
                held, held_bytes = [], 0
            if len(run):
                held.append(run)
                held_bytes += run.n_bytes
    if held:
        yield merge(held)
