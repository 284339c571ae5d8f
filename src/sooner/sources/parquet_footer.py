"""What the end of a Parquet file says of it: parsed once, since that takes 11 ms for 524 row groups of 16 columns.

With it any row group can be read by itself, in any order and by several threads at once: each reads through a handle of
its own, which takes 0.3 ms to open and is closed at the end, so that nothing stays open and nothing is shared.

Not covered: a file that is changed in place, with its size and time of change as they were.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.parquet as arrow_parquet
from pyarrow import fs

from sooner.errors import SourceFailed

# Beside the Arrow schema, not in it: PyArrow hands metadata of schemas on, to a table that was sorted and written too.
ORDER_KEY: Final = b"sooner.order"
RANDOM_ROWS: Final = b"random rows"


@dataclass(frozen=True, eq=False)
class ParquetFooter:
    path: str
    filesystem: fs.FileSystem
    metadata: arrow_parquet.FileMetaData
    seen: tuple[int | None, int | None]  # the file's size and time of change

    @property
    def rows_are_shuffled(self) -> bool:
        """Whether `sooner.sources.shuffle` wrote the file."""
        return (self.metadata.metadata or {}).get(ORDER_KEY) == RANDOM_ROWS

    def read(
        self, row_groups: Sequence[int], columns: Sequence[str] | None, dictionaries: Sequence[str] | None = None
    ) -> pa.RecordBatch:
        """Some row groups, by this thread alone, as one batch; columns of texts that are to stay dictionaries do."""
        with self.filesystem.open_input_file(self.path) as handle:
            self.require_same_file()
            file = arrow_parquet.ParquetFile(
                handle, metadata=self.metadata, pre_buffer=False, read_dictionary=dictionaries
            )
            table = file.read_row_groups(row_groups, columns=columns, use_threads=False)
        which = "row group" if len(row_groups) == 1 else "one of the row groups"
        return one_batch(table, f"{which} {', '.join(map(str, row_groups))} of {self.path}")

    def require_same_file(self) -> None:
        """Its rows are where this footer says; a file that was changed meanwhile is refused."""
        if _seen(self.path, self.filesystem) != self.seen:
            raise SourceFailed(f"{self.path} was changed after it was opened; open it again")


def read_footer(path: str, filesystem: fs.FileSystem) -> ParquetFooter:
    seen = _seen(path, filesystem)  # first: who changes the file meanwhile is found out
    return ParquetFooter(path, filesystem, arrow_parquet.read_metadata(path, filesystem=filesystem), seen)


def footer_of(path: str, filesystem: fs.FileSystem, metadata: arrow_parquet.FileMetaData) -> ParquetFooter:
    """The footer of a file, from metadata that somebody has parsed already."""
    return ParquetFooter(path, filesystem, metadata, _seen(path, filesystem))


def one_batch(table: pa.Table, what: str) -> pa.RecordBatch:
    batches = table.combine_chunks().to_batches()
    if len(batches) > 1:
        raise SourceFailed(f"{what} has more than 2 GB of text in one column; write it in smaller pieces")
    return batches[0] if batches else pa.RecordBatch.from_pylist([], table.schema)


def _seen(path: str, filesystem: fs.FileSystem) -> tuple[int | None, int | None]:
    found = filesystem.get_file_info(path)
    return found.size, found.mtime_ns
