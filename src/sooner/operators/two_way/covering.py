"""Cover blocks of cells in bounded memory.

Runs are sorted by code, so any set of runs can be joined slab by slab: a slab is a range of codes whose rows, from all
the runs on disk together, fit the scratch memory. Only one code by itself may not fit; it is done piece against piece.
Rows in memory are joined where they are.

Scratch memory: the rows of a slab, those of one side twice while they are merged; and of each run the block in which
the slab ends.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from sooner.operators.two_way.pairs import Pairs
from sooner.runs.block_index import Block
from sooner.runs.files import RunFiles, RunWriter, SpilledRun, slabs
from sooner.runs.run import NEVER, Run, arrived_after, merge

COPIES: Final = 2  # of the rows of a slab, at most


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
        """How much in memory can become one run: it is there once more, and a column of it yet again."""
        return self.scratch_bytes * 3 // 4

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
        self._held: tuple[Block, Run] | None = None

    def load(self, low: int, high: int) -> Iterator[Run]:
        wanted = self.blocks.between(low, high)
        if self._held is not None and wanted and self._held[0] == wanted[0]:
            yield self._held[1].between(low, high)
            wanted = wanted[1:]
        if not wanted:
            return
        # The last is read by itself: to hold it must not keep all that was read with it.
        for run in self._files.read(self.spilled, wanted[:-1]):
            yield run.between(low, high)
        [last] = self._files.read(self.spilled, wanted[-1:])
        self._held = wanted[-1], last
        yield last.between(low, high)


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
    groups = {tuple(group) for block in blocks for group in block} | {tuple(output.parts) for output in outputs}
    in_groups = Counter(part for group in groups for part in group if isinstance(part, OnDisk))
    on_disk = sorted(in_groups, key=lambda part: part.spilled.number)
    for low, high in slabs([part.blocks for part in on_disk], bench.slab_bytes):
        bench.breathe()
        if high - low == 1:
            yield from _cover_one_code(blocks, join, low, bench, outputs)
        else:
            yield from _cover_slab(blocks, join, _Slab(in_groups, low, high), outputs)


class _Slab:
    """The rows in a range of codes: those on disk are loaded, and merged when they are asked for."""

    def __init__(self, in_groups: Mapping[OnDisk, int], low: int, high: int) -> None:
        self._in_groups = in_groups
        self._bounds = low, high
        self._loaded = {part: [run for run in part.load(low, high) if len(run)] for part in in_groups}
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
