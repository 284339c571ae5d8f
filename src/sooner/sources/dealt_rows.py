"""Rows dealt at random into buckets, in one file that has no name: however the process ends, nothing of it stays.

Each row goes to a bucket of its own choice. What is dealt together lies together, a block for each bucket in turn, and
the few numbers that say where blocks are stay in memory.
"""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sooner.errors import SpillFailed
from sooner.kernels.columns import Columns
from sooner.kernels.gathering import POOL, gather_from
from sooner.kernels.sorting import Places

# In their own buffers by one thread: others would keep what they freed for later.
_WRITING: Final = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
_READING: Final = pa.ipc.IpcReadOptions(use_threads=False)


class _Block(NamedTuple):
    offset: int
    n_bytes: int
    n_rows: int


class DealtRows:
    """Rows are dealt to it, and then read bucket by bucket."""

    def __init__(self, n_buckets: int, directory: Path) -> None:
        self._buckets: list[list[_Block]] = [[] for _ in range(n_buckets)]
        self._directory = directory
        with disk_trouble(directory):
            self._file = tempfile.TemporaryFile(dir=directory, buffering=0)  # noqa: SIM115 - closed by our exit
        self._n_bytes = 0

    def deal(self, parts: Sequence[pa.RecordBatch], rng: "np.random.Generator") -> None:
        """Rows of one schema."""
        n_rows = sum(part.num_rows for part in parts)
        choices = rng.integers(len(self._buckets), size=n_rows, dtype=np.uint16)
        ends = np.bincount(choices, minlength=len(self._buckets)).cumsum()
        sorted_rows = gathered(parts, np.argsort(choices, kind="stable"))
        begin = 0
        for bucket, end in zip(self._buckets, ends.tolist(), strict=True):
            if end > begin:
                bucket.append(self._write(sorted_rows.slice(begin, end - begin)))
            begin = end

    def buckets(self) -> Iterator[tuple[int, Iterator[pa.RecordBatch]]]:
        """How many rows there are in each, and what they are."""
        return ((sum(block.n_rows for block in blocks), map(self._read, blocks)) for blocks in self._buckets)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._file.close()

    def _write(self, rows: pa.RecordBatch) -> _Block:
        sink = pa.BufferOutputStream(POOL)
        with pa.ipc.new_stream(sink, rows.schema, options=_WRITING) as writer:
            writer.write_batch(rows)
        unwritten = memoryview(sink.getvalue())
        block = _Block(self._n_bytes, len(unwritten), rows.num_rows)
        self._n_bytes += len(unwritten)
        with disk_trouble(self._directory):
            while len(unwritten):
                unwritten = unwritten[self._file.write(unwritten) :]
        return block

    def _read(self, block: _Block) -> pa.RecordBatch:
        with disk_trouble(self._directory):
            self._file.seek(block.offset)
            content = self._file.read(block.n_bytes)
        with pa.ipc.open_stream(pa.py_buffer(content), options=_READING, memory_pool=POOL) as reader:
            return reader.read_next_batch()


def gathered(parts: Sequence[pa.RecordBatch], order: npt.NDArray[np.int64]) -> pa.RecordBatch:
    """The rows at these places of all parts together, in buffers of their own."""
    columns = [Columns.of(part) for part in parts]
    if len(parts) == 1:
        places = Places(np.ascontiguousarray(order))
    else:
        begins = np.append(0, np.cumsum([part.num_rows for part in parts], dtype=np.int64))
        part_numbers = (begins.searchsorted(order, side="right") - 1).astype(np.int32)
        places = Places(order - begins[part_numbers], part_numbers)
    return gather_from(columns, places).rows


@contextmanager
def disk_trouble(directory: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise SpillFailed(f"{directory} does not take rows: {reason}; free space there, or write elsewhere") from error
