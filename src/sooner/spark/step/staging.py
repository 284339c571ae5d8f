"""Rows of a batch that are too many to hold at once: staged on local disk, taken back range by range of their codes.

A batch can be far larger than the memory, such as the first one after an outage. Its rows are written down as sorted
runs as they come. Then they are read back in ranges of codes, whose bounds depend on the set of rows and not on the
order in which they came. A range that is too large for one array, which only a hot key can make, comes in several
shares: which row is in which share depends on its content, and of equal rows each share gets its part.
"""

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs

from sooner.kernels.array_types import Codes, Flags
from sooner.kernels.arrays import to_arrow
from sooner.kernels.codes import spread
from sooner.kernels.columns import Columns
from sooner.kernels.content_order import hash_of_content
from sooner.kernels.gathering import gather
from sooner.operators.order import CodeRows
from sooner.operators.pieces import Rows
from sooner.operators.sweeping.parts import OnDisk
from sooner.runs.custody.private_directory import PrivateDirectory
from sooner.runs.formats.files import RunFiles
from sooner.runs.run import HELPER_BYTES, NEVER, Run
from sooner.runs.store import write_segments
from sooner.spark.shuffle.shared_columns import as_one_batch

GRID_BITS: Final = 12  # ranges are whole cells of a grid of so many bits
MOST_AT_ONCE_BYTES: Final = 512 * 2**20  # far below the 2 GB of text that an array can have


class Staging:
    """A context: its files are gone at the end."""

    def __init__(self, schemas: Sequence[pa.Schema], coders: Sequence[CodeRows]) -> None:
        self._coders = coders
        self._schemas = schemas
        self._folder = PrivateDirectory("staging")
        self._files = [
            RunFiles(pafs.LocalFileSystem(), str(self._folder.path), schema, rows="resident") for schema in schemas
        ]
        self._runs: list[list[OnDisk]] = [[] for _ in schemas]
        self._bytes_in_cell = np.zeros(1 << GRID_BITS)

    def add(self, which: int, rows: pa.RecordBatch) -> None:
        if not rows.num_rows:
            return
        codes = spread(self._coders[which](rows)[0])  # those of values lie close together
        order = np.argsort(codes)
        run = Run(codes[order], Columns.of(gather(rows, order)), NEVER)
        files = self._files[which]
        self._runs[which] += [OnDisk(files, written) for written in write_segments(files, [files.encode(run)])]
        cells = (run.codes >> np.uint64(64 - GRID_BITS)).astype(np.int64)
        weights = np.broadcast_to(run.row_bytes + HELPER_BYTES, len(run))
        self._bytes_in_cell += np.bincount(cells, weights, minlength=1 << GRID_BITS)

    def ranges(self, at_most_bytes: int) -> Iterator[tuple[Rows, Sequence[Codes]]]:
        """All rows and their codes, each range with about so many bytes; a single cell of the grid may have more."""
        for first, end in itertools.pairwise(self._bounds(at_most_bytes)):
            low, high = first << (64 - GRID_BITS), end << (64 - GRID_BITS)
            shares = max(1, math.ceil(self._bytes_in_cell[first:end].sum() / MOST_AT_ONCE_BYTES))
            for share in range(shares):
                found = [self._between(which, low, high, share, shares) for which in range(len(self._runs))]
                yield [rows for rows, _ in found], [codes for _, codes in found]

    def _bounds(self, at_most_bytes: int) -> list[int]:
        """Cells with which ranges begin, and the end of all."""
        bounds, filled = [0], 0.0
        for cell, weight in enumerate(self._bytes_in_cell.tolist()):
            if filled and filled + weight > at_most_bytes:
                bounds.append(cell)
                filled = 0.0
            filled += weight
        return [*bounds, 1 << GRID_BITS]

    def _between(self, which: int, low: int, high: int, share: int, shares: int) -> tuple[pa.RecordBatch, Codes]:
        found, codes = [], [np.empty(0, np.uint64)]
        seen: Counter[int] = Counter()
        for run in (run for part in self._runs[which] for run in part.load(low, high)):
            mine = _of_share(run.rows, share, shares, seen) if shares > 1 else np.full(len(run), True)
            found.append(run.rows if mine.all() else run.rows.filter(to_arrow(mine)))
            codes.append(run.codes[mine])
        rows = as_one_batch([pa.Table.from_batches(found)] if found else [], self._schemas[which])
        return rows, np.concatenate(codes)

    def __enter__(self) -> "Staging":
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.remove()


def _of_share(rows: pa.RecordBatch, share: int, shares: int, seen: Counter[int]) -> Flags:
    """Which rows are of one share. `seen` counts equal rows: they go round, whichever of them goes where."""
    contents, which, counts = np.unique(hash_of_content(rows.columns), return_inverse=True, return_counts=True)
    first = contents % np.uint64(shares) + np.array([seen[content] for content in contents.tolist()], np.uint64)
    seen.update(dict(zip(contents.tolist(), counts.tolist(), strict=True)))
    turn = np.empty(len(which), np.uint64)  # of each row among its equals here
    turn[np.argsort(which, kind="stable")] = np.arange(len(which)) - np.repeat(counts.cumsum() - counts, counts)
    chosen: Flags = (first[which] + turn) % np.uint64(shares) == share
    return chosen
