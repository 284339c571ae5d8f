"""`-` as an input: what standard input gives, by its first bytes. Arrow, CSV and JSON lines are read as they come.

Not covered: CSV in which a text goes on in the next line, and a type that shows only after the first megabyte.
"""

import io
import json
import os
import select
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import pyarrow as pa

from sooner.errors import InvalidCall

STANDARD: Final = "-"
CHUNK: Final = 2**16
FIRST_BYTES: Final = 2**20  # from which types are told,
FIRST_SILENCE: Final = 0.2  # or as many as have come when nothing does for so long


def inputs_of(names: Sequence[str], called: Sequence[str]) -> list[Any]:
    """What the names of inputs mean to `sooner.join`; `called` is what messages call them."""
    if list(names).count(STANDARD) > 1:
        raise InvalidCall("- is standard input, which can be read once; give a file for the other input.")
    return [_standard_input(what) if name == STANDARD else name for name, what in zip(names, called, strict=True)]


def _standard_input(what: str) -> pa.RecordBatchReader | pa.Table:
    try:
        return _opened(Pipe(0))  # not sys.stdin: a thread that waits in it holds a lock that the program's end asks for
    except (pa.ArrowInvalid, pa.ArrowKeyError, OSError) as error:
        raise InvalidCall(f"{what} is standard input, which cannot be read: {error}") from error


def _opened(pipe: "Pipe") -> pa.RecordBatchReader | pa.Table:
    head = pipe.first(8)
    if head.startswith(b"PAR1"):
        import pyarrow.parquet as arrow_parquet

        return arrow_parquet.read_table(pa.BufferReader(pipe.rest()))
    if head.startswith(b"ARROW1"):
        return pa.ipc.open_file(pa.BufferReader(pipe.rest())).read_all()
    if head.startswith(b"\xff\xff\xff\xff"):
        return pa.ipc.open_stream(pa.PythonFile(pipe, mode="r"))
    if head.lstrip().startswith(b"["):  # one array of objects
        return pa.Table.from_pylist(json.loads(pipe.rest()))
    return _rows_in_lines(pipe, _json_rows if head.lstrip().startswith(b"{") else _csv_rows)


Parse = Callable[[bytes, pa.Schema | None], pa.Table]  # of some lines; the schema is known after the first


def _rows_in_lines(pipe: "Pipe", parse: Parse) -> pa.RecordBatchReader:
    """Arrow's own readers wait for the next block before they give one; these give each as it comes."""
    first = parse(pipe.first_lines(), None)

    def batches() -> Iterator[pa.RecordBatch]:
        yield from first.to_batches()
        while lines := pipe.lines():
            yield from parse(lines, first.schema).to_batches()

    return pa.RecordBatchReader.from_batches(first.schema, batches())


def _csv_rows(lines: bytes, schema: pa.Schema | None) -> pa.Table:
    import pyarrow.csv as arrow_csv

    if schema is None:
        return arrow_csv.read_csv(pa.BufferReader(lines))
    return arrow_csv.read_csv(
        pa.BufferReader(lines),
        arrow_csv.ReadOptions(column_names=schema.names),
        convert_options=arrow_csv.ConvertOptions(column_types=schema),
    )


def _json_rows(lines: bytes, schema: pa.Schema | None) -> pa.Table:
    import pyarrow.json as arrow_json

    options = arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error" if schema else "infer")
    return arrow_json.read_json(pa.BufferReader(lines), parse_options=options)


class Pipe(io.RawIOBase):
    """A pipe of which each reading is whole, as Arrow wants it, and whose beginning can be looked at."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._seen = b""
        self._ended = False

    def readable(self) -> bool:
        return True

    def first(self, size: int) -> bytes:
        """So many bytes from its beginning, which are still to be read."""
        while len(self._seen) < size and self.take():
            pass
        return self._seen[:size]

    def first_lines(self) -> bytes:
        """The lines that types are told from."""
        while len(self._seen) < FIRST_BYTES and not self._ended:
            has_line = b"\n" in self._seen
            if has_line and not select.select([self._descriptor], [], [], FIRST_SILENCE)[0]:
                break
            self.take()
        return self.lines()

    def lines(self) -> bytes:
        """The whole lines that have come; wait if there is none. Nothing at the end."""
        while not (end := self._seen.rfind(b"\n") + 1) and self.take():
            pass
        end = end or len(self._seen)  # the last line may lack its end
        found, self._seen = self._seen[:end], self._seen[end:]
        return found

    def take(self) -> bool:
        """Wait for more; whether there is any."""
        chunk = os.read(self._descriptor, CHUNK)
        self._seen += chunk
        self._ended = not chunk
        return not self._ended

    def read(self, size: int | None = -1) -> bytes:
        if size is None or size < 0:
            return self.rest()
        found = self.first(size)
        self._seen = self._seen[len(found) :]
        return found

    def rest(self) -> bytes:
        parts = [self._seen]
        self._seen = b""
        while self.take():
            parts.append(self._seen)
            self._seen = b""
        return b"".join(parts)
