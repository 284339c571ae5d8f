"""Write a table once with its rows in random order, so that the first rows of it are a sample ever after.

    rows -> dealt at random into buckets, on disk -> each bucket permuted in memory -> Parquet

Every order of the rows is equally likely: each row goes to a bucket by a draw of its own, and each bucket is permuted
uniformly. A bucket that turns out too large for memory is dealt once more. What fits in a quarter of `memory` is
permuted at once, without any file but the new one.

`memory` bounds what the shuffle itself holds. Beside it there are Python with its libraries (66 MB) and whatever the
source takes to be read. To read the 15 million orders of TPC-H, 1.3 GB in 154 row groups, takes 163 MB in all; to
shuffle them takes 352 MB with 256 MB of memory (41 s, two cores), and 212 MB with 64 MB (59 s).

Columns come out plain: a dictionary is decoded, and string views become large strings, as everywhere in sooner.

Not covered: remote outputs, and a few rows that are far heavier than all others: a row group or two can be too large.
"""

import contextlib
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as arrow_parquet

from sooner.budget import parse_bytes
from sooner.errors import InvalidCall
from sooner.kernels.gathering import POOL
from sooner.kernels.sizes import cuts_by_bytes, data_bytes, row_bytes
from sooner.sources.checking import checked
from sooner.sources.dealt_rows import DealtRows, disk_trouble, gathered
from sooner.sources.opening import open_source
from sooner.sources.parquet_footer import ORDER_KEY, RANDOM_ROWS
from sooner.sources.paths import AnyPath
from sooner.sources.source import close_source, n_rows_of
from sooner.whole_files import in_place_of, new_file

GROUP_ROWS: Final = 122_880  # in a row group at most
LEAST_MEMORY_BYTES: Final = 2**20
_LOAD_PART: Final = 4  # of memory, for rows that are dealt or permuted together: there are two loads and a copy at most
_GROUP_PART: Final = 16  # of memory, for a row group: there are its rows, and what they are encoded as
_LEAST_GROUP_BYTES: Final = 2**20  # however little memory there is: groups have their price, in the footer too
_MOST_LOAD_BYTES: Final = 2**30  # however much memory there is: a copy of texts has 32-bit offsets
_ORDER_BYTES: Final = 32  # for each row: where it is, and where it goes
_BUCKETS: Final = 64  # for rows of which nobody knows how many there are
_MOST_BUCKETS: Final = 256  # more would lie in small blocks, and to read them would be to seek
_SPARE: Final = 1.25  # not all buckets are of one size

Load: TypeAlias = list[pa.RecordBatch]
Positions: TypeAlias = npt.NDArray[np.int64]


def shuffle(source: object, path: AnyPath, *, seed: int = 0, memory: int | str | None = "256MB") -> int:
    """Write the rows of anything that holds rows into a Parquet file, in random order; how many there were.

    `source` is what an input of a join can be. A file that is at `path` is replaced once the new one is whole, also if
    `source` is read from there. For the same rows, `seed` and `memory` the file is the same. It says of itself that its
    rows are shuffled: `rows_are_shuffled` of its source.

    `memory` bounds what the shuffle holds, beside what the source reads ahead and the libraries themselves.
    """
    target = _new_parquet(path)
    n_bytes = parse_bytes(memory)
    if n_bytes < LEAST_MEMORY_BYTES:
        raise InvalidCall(f"memory={memory!r} is too little to shuffle rows in; give 1MB or more")
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise InvalidCall(f"seed={seed!r} must be a whole number, 0 or more")
    rows = open_source(source, "source")
    if not rows.schema.names:
        raise InvalidCall("source has no columns; give rows that have some")
    shuffling = _Shuffling(np.random.default_rng(seed), n_bytes, target.parent)
    group_bytes = max(n_bytes // _GROUP_PART, _LEAST_GROUP_BYTES)
    try:
        with (
            disk_trouble(target.parent),
            in_place_of(target) as file,
            _RowGroups(file, rows.schema, group_bytes) as groups,
        ):
            for load, order in shuffling.permuted(checked(rows).batches(), n_rows_of(rows)):
                groups.add(load, order)
        return groups.n_rows
    finally:
        close_source(rows)


class _Shuffling:
    def __init__(self, rng: "np.random.Generator", memory_bytes: int, directory: Path) -> None:
        self._rng = rng
        self._load_bytes = min(memory_bytes // _LOAD_PART, _MOST_LOAD_BYTES)
        self._directory = directory

    def permuted(self, batches: Iterable[pa.RecordBatch], n_rows: int | None) -> Iterator[tuple[Load, Positions]]:
        """All rows, load by load, and the order that those of a load get; `n_rows` is None if nobody knows."""
        loads = _loads(batches, self._load_bytes)
        first, load = next(loads, []), next(loads, [])
        if first and not load:
            yield first, self._rng.permutation(_n_rows(first))
        if not load:
            return
        with DealtRows(self._n_buckets(first, n_rows), self._directory) as dealt:
            dealt.deal(first, self._rng)
            first.clear()
            while load:
                dealt.deal(load, self._rng)
                load = next(loads, [])
            for n_rows_of_bucket, bucket in dealt.buckets():
                yield from self.permuted(bucket, n_rows_of_bucket)

    def _n_buckets(self, load: Load, n_rows: int | None) -> int:
        if n_rows is None:
            return _BUCKETS
        n_bytes = sum(map(_weight, load)) / _n_rows(load) * n_rows
        return min(max(math.ceil(_SPARE * n_bytes / self._load_bytes), 2), _MOST_BUCKETS)


class _RowGroups:
    """A Parquet file to be, into which rows are written in groups that are full but for the last."""

    def __init__(self, file: Path, schema: pa.Schema, group_bytes: int) -> None:
        self.n_rows = 0
        self._group_bytes = group_bytes
        self._waiting: Load = []  # for the next group
        self._directory = file.parent
        with disk_trouble(self._directory):
            self._writer = arrow_parquet.ParquetWriter(file, schema, compression="snappy", memory_pool=POOL)

    def add(self, load: Load, order: Positions) -> None:
        """Gathered a group at a time: there is never a copy of the whole load."""
        row_bytes_ = sum(map(data_bytes, load)) // len(order)
        group_rows = max(1, min(GROUP_ROWS, self._group_bytes // max(row_bytes_, 1)))
        while len(order):
            room = max(1, group_rows - _n_rows(self._waiting))
            self._waiting.append(gathered(load, order[:room]))
            order = order[room:]
            if _n_rows(self._waiting) >= group_rows:
                self._write()

    def _write(self) -> None:
        group = pa.Table.from_batches(self._waiting)
        with disk_trouble(self._directory):
            self._writer.write_table(group, row_group_size=GROUP_ROWS)
        self.n_rows += group.num_rows
        self._waiting.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None:  # what is written will be removed
            with contextlib.suppress(Exception):
                self._writer.close()
            return
        if self._waiting:
            self._write()
        with disk_trouble(self._directory):
            self._writer.add_key_value_metadata({ORDER_KEY: RANDOM_ROWS})
            self._writer.close()


def _loads(batches: Iterable[pa.RecordBatch], most_bytes: int) -> Iterator[Load]:
    """As many rows together as weigh this much, and no empty loads."""
    load: Load = []
    n_bytes = 0
    for batch in batches:
        for begin, end in cuts_by_bytes(row_bytes(batch) + _ORDER_BYTES, batch.num_rows, most_bytes):
            piece = batch.slice(begin, end - begin)
            if load and n_bytes + _weight(piece) > most_bytes:
                yield load
                load, n_bytes = [], 0
            load.append(piece)
            n_bytes += _weight(piece)
    if load:
        yield load


def _weight(batch: pa.RecordBatch) -> int:
    return data_bytes(batch) + _ORDER_BYTES * _n_rows([batch])


def _n_rows(load: Load) -> int:
    return sum(batch.num_rows for batch in load)


def _new_parquet(path: AnyPath) -> Path:
    if Path(path).suffix.lower() != ".parquet":
        raise InvalidCall(f"path={str(path)!r} is what to write; give a name that ends in .parquet")
    return new_file(path)
