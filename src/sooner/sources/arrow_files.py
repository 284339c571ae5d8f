"""Arrow's own files: `.arrow`, `.feather` of version 2, and streams that were written to a file.

A plain file of this machine is mapped into memory. All others are read as streams: an Arrow file is a stream with a few
bytes before it and a directory behind it.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar, Final

import pyarrow as pa

from sooner.sources.paths import File, is_local

_BEFORE_THE_STREAM: Final = b"ARROW1\0\0"


@dataclass(frozen=True)
class ArrowFiles:
    said: ClassVar[str] = "an Arrow file"
    has_all_fields: ClassVar[bool] = True

    def schema(self, file: File) -> pa.Schema:
        with self._open(file) as (schema, _):
            return schema

    def batches(self, file: File, schema: pa.Schema, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:  # noqa: ARG002 - it knows its own
        with self._open(file) as (_, batches):
            for batch in batches:
                yield batch if columns is None else batch.select(columns)

    @contextmanager
    def _open(self, file: File) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
        is_file = file.beginning().startswith(_BEFORE_THE_STREAM)
        if is_file and is_local(file) and file.compression is None:
            with pa.memory_map(file.path) as mapped, pa.ipc.open_file(mapped) as reader:
                yield reader.schema, map(reader.get_batch, range(reader.num_record_batches))
            return
        with file.open() as stream:
            if is_file:
                stream.read(len(_BEFORE_THE_STREAM))
            with pa.ipc.open_stream(stream) as reader:
                yield reader.schema, iter(reader)
