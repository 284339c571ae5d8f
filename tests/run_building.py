"""Runs and run files for tests. The few calls whose form may change are here, and nowhere else."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs

from sooner.kernels.columns import Columns
from sooner.operators.sweeping.parts import OnDisk
from sooner.runs.formats.files import RunFiles
from sooner.runs.run import NEVER, STILL_HERE, Run, Stamp
from sooner.runs.store import Segment

ROWS = pa.schema([("row", pa.int64())])


def run_of(
    codes: Iterable[int],
    rows: pa.RecordBatch | None = None,
    arrived: Stamp = 1,
    departed: Stamp = STILL_HERE,
    met_disk: Stamp = NEVER,
) -> Run:
    """A run with these sorted codes, its rows numbered from 0 if none are given."""
    sorted_codes = np.array(list(codes), np.uint64)
    assert (np.diff(sorted_codes.astype(object)) >= 0).all(), "a run is sorted"
    if rows is None:
        rows = pa.record_batch([pa.array(range(len(sorted_codes)), pa.int64())], schema=ROWS)
    return Run(sorted_codes, Columns.of(rows), arrived, departed, met_disk)


def content(run: Run) -> list[tuple[Any, ...]]:
    """What a run says: one tuple of code, stamps and row for each of its rows."""
    stamps = [np.broadcast_to(stamp, len(run)).tolist() for stamp in (run.arrived, run.departed, run.met_disk)]
    rows = [repr(row) for row in run.rows.to_pylist()]  # as text: rows need not be hashable
    return list(zip(run.codes.tolist(), *stamps, rows, strict=True))


def contents(runs: Iterable[Run]) -> list[tuple[Any, ...]]:
    return [row for run in runs for row in content(run)]


def files_in(directory: Path | str, schema: pa.Schema = ROWS, block_bytes: int = 200) -> RunFiles:
    return RunFiles(pafs.LocalFileSystem(), str(directory), schema, block_bytes)


def spill(files: RunFiles, *runs: Run) -> list[Segment]:
    """All runs in one file, a segment each."""
    with files.writer() as writer:
        written = []
        for run in runs:
            writer.append(files.encode(run))
            written.append(writer.end_segment())
    return written


def load(files: RunFiles, spilled: Segment, low: int = 0, high: int = 2**64) -> list[Run]:
    """The rows with low <= code < high."""
    return list(OnDisk(files, spilled).load(low, high))


def concatenated(runs: Sequence[Run]) -> pa.Table:
    return pa.Table.from_batches([run.rows for run in runs])
