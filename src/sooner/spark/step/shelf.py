"""Rows of an input that takes none now: they lie in the state, a run file for each piece, until it does."""

from collections import deque
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from sooner.kernels.columns import Columns
from sooner.kernels.gathering import as_one
from sooner.runs.formats.files import RunFiles
from sooner.runs.run import NEVER, Run
from sooner.runs.store import Segment, adopted, write_segments

TOGETHER_BYTES: Final = 16 * 2**20  # of pieces that come together: a call of an operator has its price


class SpilledShelf:
    def __init__(self, files: RunFiles, most_at_once: int) -> None:
        self._files = files
        self._together_bytes = min(TOGETHER_BYTES, most_at_once)
        self._pieces: deque[Segment] = deque()

    def __len__(self) -> int:
        return len(self._pieces)

    def append(self, batches: Sequence[pa.RecordBatch], /) -> None:
        """Write these rows down as one piece, if there are any."""
        if not any(batch.num_rows for batch in batches):
            return
        rows = as_one(batches)
        run = Run(np.zeros(rows.num_rows, np.uint64), Columns.of(rows), NEVER)
        self._pieces += write_segments(self._files, [self._files.encode(run)])

    def popleft(self) -> list[pa.RecordBatch]:
        """The first pieces, as many as are worth a call; their files go with the version before."""
        pieces = [self._pieces.popleft()]
        while self._pieces and sum(piece.n_bytes for piece in pieces) + self._pieces[0].n_bytes <= self._together_bytes:
            pieces.append(self._pieces.popleft())
        return [run.rows for piece in pieces for run in self._files.read(piece, piece.blocks)]

    def load_plain(self, data: Sequence[dict[str, Any]]) -> None:
        self._pieces = deque(adopted(self._files, one) for one in data)

    def to_plain(self) -> list[dict[str, Any]]:
        return [piece.to_plain() for piece in self._pieces]
