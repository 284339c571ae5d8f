"""Cover blocks of cells in bounded memory.

Runs are sorted by code, so any set of runs can be joined slab by slab: a slab is a range of codes whose rows, from all
the runs together, fit the scratch memory. Only one code by itself may not fit; it is done piece against piece.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from sooner.operators.pairs import Pairs
from sooner.runs.block_index import Block
from sooner.runs.files import RunFiles, RunWriter, SpilledRun, slabs
from sooner.runs.run import Run, merge


class Part(Protocol):
    """A run, wherever it lives."""

    def load(self, low: int, high: int) -> Iterator[Run]: ...


@dataclass(frozen=True, eq=False)
class InMemory:
    run: Run

    def load(self, low: int, high: int) -> Iterator[Run]:
        yield self.run.between(low, high)


class OnDisk:
    """A run in a file. The block in which one slab ends and the next begins is decoded once."""

    def __init__(self, files: RunFiles, spilled: SpilledRun) -> None:
        self.spilled = spilled
        self._files = files
        self._held: tuple[Block, Run] | None = None

    def load(self, low: int, high: int) -> Iterator[Run]:
        wanted = [b for b in self.spilled.blocks if b.first_code < high and b.last_code >= low]
        if self._held is not None and wanted and self._held[0] is wanted[0]:
            yield self._held[1].between(low, high)
            wanted = wanted[1:]
        for block, run in zip(wanted, self._files.read(self.spilled, wanted), strict=True):
            self._held = (block, run)
            yield run.between(low, high)


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
    scratch_bytes: int,
    outputs: Sequence[MergedOutput] = (),
) -> Iterator[Pairs]:
    """The pairs that `join` finds in each block of left parts x right parts."""
    groups = [*(group for block in blocks for group in block), *(output.parts for output in outputs)]
    parts = list(dict.fromkeys(part for group in groups for part in group))
    on_disk = [part.spilled for part in parts if isinstance(part, OnDisk)]
    for low, high in slabs(on_disk, scratch_bytes):
        if high - low == 1:
            yield from _cover_one_code(blocks, join, low, scratch_bytes // 2, outputs)
            continue
        loaded = {part: [run for run in part.load(low, high) if len(run)] for part in parts}
        for lefts, rights in blocks:
            left, right = _merged(loaded, lefts), _merged(loaded, rights)
            if left is not None and right is not None:
                yield from join(left, right)
        for output in outputs:
            if (run := _merged(loaded, output.parts)) is not None:
                output.append(run)


def _cover_one_code(
    blocks: Sequence[PartBlock], join: JoinRuns, code: int, piece_bytes: int, outputs: Sequence[MergedOutput]
) -> Iterator[Pairs]:
    for lefts, rights in blocks:
        for left in _pieces(lefts, code, piece_bytes):
            for right in _pieces(rights, code, piece_bytes):
                yield from join(left, right)
    for output in outputs:
        for run in _pieces(output.parts, code, piece_bytes):
            output.append(run)


def _pieces(parts: Iterable[Part], code: int, piece_bytes: int) -> Iterator[Run]:
    """The rows of one code, as runs of about `piece_bytes`."""
    held: list[Run] = []
    for part in parts:
        for run in part.load(code, code + 1):
            if held and sum(r.n_bytes for r in held) + run.n_bytes > piece_bytes:
                yield merge(held)
                held = []
            if len(run):
                held.append(run)
    if held:
        yield merge(held)


def _merged(loaded: dict[Part, list[Run]], parts: Sequence[Part]) -> Run | None:
    runs = [run for part in parts for run in loaded[part]]
    return merge(runs) if runs else None
