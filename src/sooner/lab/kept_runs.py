"""The simulated twin of `sooner.runs.formats.files`: a store in which runs count as spilled, and are kept as they are.

Nothing is encoded, so a run on this disk is as large as in memory, to the byte. The papers count pages of equal rows;
in real files the headers of many small runs would count as well, the more the smaller the scale.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

from sooner.runs.block_index import Block
from sooner.runs.run import Run
from sooner.runs.store import EncodedBlock, Segment, SharedStamps, segment_of


@dataclass(frozen=True, slots=True)
class KeptBlock(EncodedBlock):
    run: Run


class KeptRuns:
    """Keeps segments by number instead of files; what is in it cannot be saved."""

    def __init__(self) -> None:
        self._segments: dict[str, list[Run]] = {}
        self._written = 0

    def encode(self, run: Run, *, shares_stamps: bool = False) -> list[KeptBlock]:  # noqa: ARG002 - the contract
        """One block, and nothing in it but the run itself."""
        return [KeptBlock(run.n_bytes, len(run), int(run.codes[0]), int(run.codes[-1]), run)]

    @contextmanager
    def writer(self, *, shares_stamps: bool = False) -> Iterator["KeptRunsWriter"]:  # noqa: ARG002 - the contract
        yield KeptRunsWriter(self)

    def read(self, segment: Segment, blocks: Sequence[Block]) -> Iterator[Run]:
        """The rows of these blocks, block by block."""
        return (self._segments[segment.file][block.offset] for block in blocks)

    def adopt(self, segment: Segment) -> None:
        """It is here already."""

    def remove(self, segment: Segment) -> None:
        """Forget it."""
        del self._segments[segment.file]

    def from_plain(self, data: dict[str, Any]) -> NoReturn:
        """A simulated run is never saved."""
        raise NotImplementedError("The lab runs in one go; there is nothing to go on from.")

    def keep(self, blocks: Sequence[KeptBlock], shared: SharedStamps | None) -> Segment:
        self._written += 1
        name = str(self._written)
        self._segments[name] = [block.run for block in blocks]
        places = [
            Block(at, block.n_bytes, block.n_rows, block.first_code, block.last_code, checksum=0)
            for at, block in enumerate(blocks)
        ]
        return segment_of(name, places, sum(block.n_bytes for block in blocks), shared)


class KeptRunsWriter:
    def __init__(self, store: KeptRuns) -> None:
        self._store = store
        self._blocks: list[KeptBlock] = []

    def append(self, blocks: Sequence[EncodedBlock]) -> None:
        """More rows of the present segment."""
        self._blocks += [block for block in blocks if isinstance(block, KeptBlock)]

    def end_segment(self, shared: SharedStamps | None = None) -> Segment:
        """The present segment is complete."""
        blocks, self._blocks = self._blocks, []
        return self._store.keep(blocks, shared)
