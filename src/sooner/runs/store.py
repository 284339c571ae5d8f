"""Where runs live that are not in memory: what a store of runs does, and what is kept of the runs in it.

Sorted rows lie in *segments*, each in one file. A run on disk is one segment, or several with rising codes if it was
written in several goes. `sooner.runs.formats.files` is the store on a filesystem; the lab has a twin without one.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from operator import index
from typing import Any, Final, Protocol

from sooner.runs.block_index import Block, BlockIndex, Blocks
from sooner.runs.run import Run

MOST_COUNTED: Final = 2**62
SharedStamps = tuple[int, int]  # when all rows of a segment left memory, and the last task that met the disk before


@dataclass(frozen=True, slots=True)
class Segment:
    """Sorted rows in a file.

    `n_bytes` is what they weigh, and not what their blocks take: policies look at it, and it must not depend on how
    rows of equal code happen to be ordered. Rows that left memory together have their `shared` stamps here, and not
    each for itself.
    """

    file: str
    n_rows: int
    n_bytes: int
    index: BlockIndex
    shared: SharedStamps | None = None

    @property
    def blocks(self) -> Blocks:
        return self.index.blocks

    def to_plain(self) -> dict[str, Any]:
        shared = {} if self.shared is None else {"shared": list(self.shared)}
        return {"file": self.file, "n_rows": self.n_rows, "n_bytes": self.n_bytes, **shared, **self.index.to_plain()}


class RunOnDisk(Protocol):
    """What can be said of a run on disk without its rows."""

    @property
    def number(self) -> int:
        """Its name within its input and partition."""

    @property
    def level(self) -> int:
        """How many merges are behind it."""

    @property
    def n_rows(self) -> int: ...

    @property
    def n_bytes(self) -> int: ...


@dataclass(frozen=True)
class SpilledRun:
    """A run on disk. `number` names it within its input and partition; `level` counts the merges behind it.

    Where rows are forgotten one day, `newest` is the highest of the marks that tell when.
    """

    number: int
    level: int
    segments: tuple[Segment, ...]
    newest: int | float | None = None

    @cached_property
    def n_rows(self) -> int:
        return sum(segment.n_rows for segment in self.segments)

    @cached_property
    def n_bytes(self) -> int:
        return sum(segment.n_bytes for segment in self.segments)

    def to_plain(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "level": self.level,
            "segments": [segment.to_plain() for segment in self.segments],
            **({} if self.newest is None else {"newest": self.newest}),
        }


def segment_of(file: str, blocks: Sequence[Block], n_bytes: int, shared: SharedStamps | None = None) -> Segment:
    return Segment(file, sum(block.n_rows for block in blocks), n_bytes, BlockIndex(Blocks.of(blocks)), shared)


@dataclass(frozen=True, slots=True)
class EncodedBlock:
    """Rows on their way into a store; what else there is of them is the store's own matter."""

    n_bytes: int  # that its rows weigh
    n_rows: int
    first_code: int
    last_code: int


class RunWriter(Protocol):
    """Writes segments to one file, each piece by piece in the order of codes."""

    def append(self, blocks: Sequence[EncodedBlock]) -> None:
        """More rows of the present segment."""

    def end_segment(self, shared: SharedStamps | None = None) -> Segment:
        """The present segment is complete; it may be used once the writer is closed."""


class RunStore(Protocol):
    """The runs of one input."""

    def encode(self, run: Run, *, shares_stamps: bool = False) -> Sequence[EncodedBlock]:
        """A run as blocks, ready to be written: the part of writing that any thread can do."""

    def writer(self, *, shares_stamps: bool = False) -> AbstractContextManager[RunWriter]:
        """A writer for a new file, which is there only if the context ends well.

        In one that shares stamps, each segment ends with those that all its rows have.
        """

    def read(self, segment: Segment, blocks: Sequence[Block]) -> Iterator[Run]:
        """The rows of these blocks, in the order in which they lie, block by block."""

    def from_plain(self, data: dict[str, Any]) -> Segment:
        """A segment that was written here, as its `to_plain` told."""

    def adopt(self, segment: Segment) -> None:
        """Take charge of a segment that was written here, by this or an earlier process."""

    def remove(self, segment: Segment) -> None:
        """Nobody needs these rows any more."""


def write_segments(store: RunStore, runs: Sequence[Sequence[EncodedBlock]]) -> list[Segment]:
    """Encoded runs in one new file, a segment for each."""
    with store.writer() as writer:
        places = []
        for blocks in runs:
            writer.append(blocks)
            places.append(writer.end_segment())
    return places


def adopted(store: RunStore, data: dict[str, Any]) -> Segment:
    """A segment that is in this store, which takes charge of it again."""
    store.adopt(segment := store.from_plain(data))
    return segment


def run_from_plain(store: RunStore, data: dict[str, Any]) -> SpilledRun:
    segments = tuple(adopted(store, one) for one in data["segments"])
    return SpilledRun(counted(data["number"]), counted(data["level"]), segments, data.get("newest"))


def counted(saved: Any) -> int:
    """A number of things that was saved. Raises an error if it cannot be one."""
    if not 0 <= (number := index(saved)) < MOST_COUNTED:
        raise ValueError(f"nobody has counted to {number}")
    return number


def counts_of_each(saved: Any, things: int) -> list[int]:
    """The same for each of so many things."""
    return [counted(one) for one, _ in zip(saved, range(things), strict=True)]


def remove_run(store: RunStore, run: SpilledRun) -> None:
    for segment in run.segments:
        store.remove(segment)
