"""A simulated disk that tells itself what is written and read, for an operator whose parts tell nothing of it.

What is written with one writer is one file: a seek, then pages in sequence. A run is read from its beginning to its
end, with a seek. Both are told as events, so that a machine can say how long they take.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sooner.lab.kept_runs import KeptBlock, KeptRuns, KeptRunsWriter
from sooner.operators.events import Flushed, Listener, Scanned
from sooner.runs.block_index import Block
from sooner.runs.run import Run
from sooner.runs.store import Segment, SharedStamps


class ToldRuns(KeptRuns):
    """Those of one input, which is number `which` of all that the operator has."""

    def __init__(self, which: int, tell: Listener) -> None:
        super().__init__()
        self._which = which
        self._tell = tell
        self._files = 0

    @contextmanager
    def writer(self, *, shares_stamps: bool = False) -> Iterator[KeptRunsWriter]:
        self._files += 1
        with super().writer(shares_stamps=shares_stamps) as writer:
            yield writer

    def keep(self, blocks: Sequence[KeptBlock], shared: SharedStamps | None) -> Segment:
        segment = super().keep(blocks, shared)
        self._tell(Flushed(self._files, self._which, 0, segment.n_rows, segment.n_bytes))
        return segment

    def read(self, segment: Segment, blocks: Sequence[Block]) -> Iterator[Run]:
        if blocks:
            n_bytes = sum(block.n_bytes for block in blocks)
            self._tell(Scanned(self._files, self._which, 0, n_runs=1, n_bytes=n_bytes))
        return super().read(segment, blocks)
