"""What a sweep goes through and works in: sorted rows wherever they are, outputs, and room to work in."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, Protocol

from sooner.operators.pairs import Findings
from sooner.runs.block_index import Block
from sooner.runs.run import NEVER, STILL_HERE, Run, arrived_between
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


class ReadsBlocks(Protocol):
    """As much of a store as rows on disk need."""

    def read(self, segment: Segment, blocks: Sequence[Block]) -> Iterator[Run]: ...


class OnDisk:
    """A segment of a run in a store. The block in which one slab ends and the next begins is read once."""

    def __init__(self, store: ReadsBlocks, segment: Segment) -> None:
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
        self._held = None if wanted[-1].last_code < high else (wanted[-1], last)
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


# Where codes of a match may differ, which of the two says in which range of codes they meet: the one in memory, which
# can then say up to which code it has met all; or the left one, wherever the two are by then.
Drives = Literal["memory", "left"]
