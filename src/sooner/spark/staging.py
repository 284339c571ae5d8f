"""Rows of a batch that are too many to hold at once: staged on local disk, taken back range by range of their codes.

A batch can be far larger than the memory, such as the first one after an outage. Its rows are written down as sorted
runs as they come. Then they are read back in ranges of codes, whose bounds depend on the set of rows and not on the
order in which they came.
"""

import itertools
from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs

from sooner.kernels.sizes import data_bytes
from sooner.operators.arrivals import CodeRows
from sooner.operators.covering import OnDisk
from sooner.operators.pieces import Sides
from sooner.policies.view import SIDES
from sooner.runs.files import RunFiles
from sooner.runs.private_directory import PrivateDirectory
from sooner.runs.run import HELPER_BYTES, NEVER, Run
from sooner.spark.shared_columns import compact

GRID_BITS: Final = 12  # ranges are whole cells of a grid of so many bits


class Staging:
    """A context: its files are gone at the end."""

    def __init__(self, schemas: tuple[pa.Schema, pa.Schema], coders: tuple[CodeRows, CodeRows]) -> None:
        self._coders = coders
        self._schemas = schemas
        self._folder = PrivateDirectory("staging")
        self._files = [
            RunFiles(pafs.LocalFileSystem(), str(self._folder.path), schema, rows="resident") for schema in schemas
        ]
        self._runs: tuple[list[OnDisk], list[OnDisk]] = ([], [])
        self._rows_in_cell = np.zeros((len(SIDES), 1 << GRID_BITS), np.int64)
        self._bytes = [0, 0]

    def add(self, side: int, rows: pa.RecordBatch) -> None:
        if not rows.num_rows:
            return
        codes, _ = self._coders[side](rows)
        order = np.argsort(codes)
        codes = codes[order]
        files = self._files[side]
        with files.writer() as writer:
            writer.append(files.encode(Run(codes, rows.take(pa.array(order)), NEVER)))
            written = writer.end_run(NEVER)
        self._runs[side].append(OnDisk(files, written))
        cells = (codes >> np.uint64(64 - GRID_BITS)).astype(np.int64)
        self._rows_in_cell[side] += np.bincount(cells, minlength=1 << GRID_BITS)
        self._bytes[side] += data_bytes(rows)

    def ranges(self, at_most_bytes: int) -> Iterator[Sides]:
        """All rows, each range with about so many bytes; a single cell of the grid may have more."""
        for low, high in itertools.pairwise(self._bounds(at_most_bytes)):
            left, right = (self._between(side, low, high) for side in SIDES)
            yield left, right

    def _bounds(self, at_most_bytes: int) -> list[int]:
        weights = np.zeros(1 << GRID_BITS)
        for side in SIDES:
            rows = max(int(self._rows_in_cell[side].sum()), 1)
            weights += self._rows_in_cell[side] * (self._bytes[side] / rows + HELPER_BYTES)
        bounds, filled = [0], 0.0
        for cell, weight in enumerate(weights.tolist()):
            if filled and filled + weight > at_most_bytes:
                bounds.append(cell << (64 - GRID_BITS))
                filled = 0.0
            filled += weight
        return [*bounds, 1 << 64]

    def _between(self, side: int, low: int, high: int) -> pa.RecordBatch:
        found = [run.rows for part in self._runs[side] for run in part.load(low, high)]
        return compact([pa.Table.from_batches(found)] if found else [], self._schemas[side])

    def __enter__(self) -> "Staging":
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.remove()
