"""A file of an answer: under its name when it is whole, and else beside it, as far as it came."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa

from sooner.errors import InvalidCall, SinkFailed
from sooner.sinks.writers import PACK_THEMSELVES, WRITERS, MakeWriter, Writer, require_writable
from sooner.sources.formats import COMPRESSIONS
from sooner.whole_files import in_place_of, new_file

GROUP_ROWS: Final = 122_880  # that are written together, such as a row group of Parquet,
GROUP_BYTES: Final = 32 * 2**20  # or as many as weigh this much
PARTIAL: Final = "_partial-"  # readers of directories pass over names that begin so


@dataclass(frozen=True)
class FileSink:
    """Writes rows beside the target, and renames the file in the end.

    If the query fails or is stopped, its rows so far are in a valid file whose name has `_partial-` in front, and the
    error says so. The target is then as it was.
    """

    target: Path
    make: MakeWriter
    compression: str | None

    def write_rows(self, rows: pa.RecordBatchReader) -> None:
        """Take all rows."""
        with in_place_of(self.target) as file:
            group = _Group(file, self.make, self.compression, rows.schema)
            try:
                for batch in rows:
                    group.add(batch)
            except SinkFailed:
                raise
            except BaseException as error:
                group.close()
                if group.n_rows:
                    partial = self.target.with_name(PARTIAL + self.target.name)
                    file.replace(partial)
                    error.add_note(f"The {group.n_rows:,} rows that were found so far are in {partial}.")
                raise
            group.close()


def file_sink(path: str | os.PathLike[str], schema: pa.Schema, ending: str | None = None) -> FileSink:
    """A file of the format that its name says, or of that of another ending. Refused now if that cannot be."""
    target = new_file(path)
    suffix = target.suffix.lower()
    compression = COMPRESSIONS.get(suffix)
    said = ending or (Path(target.stem).suffix.lower() if compression else suffix)
    make = WRITERS.get(said)
    if make is None:
        raise InvalidCall(
            f"path={os.fspath(path)!r} ends in {said!r}, and no such file can be written; give a name that ends in one "
            f"of {', '.join(WRITERS)}"
        )
    if compression is not None and make in PACK_THEMSELVES:
        raise InvalidCall(f"path={os.fspath(path)!r}: a {said} file packs its columns itself; leave out {suffix}")
    require_writable(schema, make, f"a {said} file")
    return FileSink(target, make, compression)


class _Group:
    """Batches are often small: they are written when they are many."""

    def __init__(self, file: Path, make: MakeWriter, compression: str | None, schema: pa.Schema) -> None:
        self.n_rows = 0
        self._schema = schema
        self._file = file
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_rows = self._waiting_bytes = 0
        with self._disk_trouble():
            self._stream = pa.output_stream(str(file), compression=compression)
            self._writer: Writer = make(self._stream, schema)

    def add(self, batch: pa.RecordBatch) -> None:
        self.n_rows += batch.num_rows
        self._waiting.append(batch)
        self._waiting_rows += batch.num_rows
        self._waiting_bytes += batch.nbytes
        if self._waiting_rows >= GROUP_ROWS or self._waiting_bytes >= GROUP_BYTES:
            self._write()

    def close(self) -> None:
        self._write()
        with self._disk_trouble():
            self._writer.close()
            self._stream.close()

    def _write(self) -> None:
        with self._disk_trouble():
            if self._waiting:
                self._writer.write_table(pa.Table.from_batches(self._waiting, self._schema))
        self._waiting.clear()
        self._waiting_rows = self._waiting_bytes = 0

    @contextmanager
    def _disk_trouble(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise SinkFailed(f"{self._file.parent} does not take the rows: {error.strerror or error}") from error
