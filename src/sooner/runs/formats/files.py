"""Spilled runs: checksummed Arrow files, read back by ranges of codes.

A run file is an ordinary Arrow IPC stream (any Arrow tool opens it) of blocks sorted by code. Where the blocks lie and
their checksums, or the checksum of an index of them, are kept in the `Segment`, plain data that belongs to the state
and not to the file: a file that was swapped, cut or damaged cannot vouch for itself.

A row that is known to have a match has the negative of its arrival.
"""

import os
import re
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs
import xxhash

from sooner.errors import SpillFailed, StateCorrupted
from sooner.kernels.arrays import to_arrow, to_numpy
from sooner.kernels.columns import Columns
from sooner.kernels.content_order import order_by_content
from sooner.kernels.gathering import POOL, gather_from
from sooner.kernels.messages import Helpers, Messages
from sooner.kernels.sizes import RowBytes, cuts_by_bytes, part_of, picked, total_bytes
from sooner.kernels.sorting import Places
from sooner.runs.block_index import KEPT_IN_STATE, Block, BlockIndex, Blocks, Place
from sooner.runs.custody.private_files import create
from sooner.runs.run import HELPER_BYTES, NEVER, STILL_HERE, Run, stamps_of
from sooner.runs.store import EncodedBlock, Segment, SharedStamps, counted, segment_of

# By position, since users' columns may have any name.
_CODE: Final = pa.field("code", pa.uint64())
_STAMPS: Final = [pa.field(name, pa.int32()) for name in ("arrived", "departed", "met_disk")]
_STAMPS_KEPT: Final = {"spilled": 3, "resident": 1}  # rows in memory have not left it, and share one `met_disk`
_END_OF_STREAM: Final = b"\xff\xff\xff\xff\x00\x00\x00\x00"
BLOCK_BYTES: Final = 64 * 1024
_NAME: Final = re.compile(r"[0-9a-f-]+\.arrows")
READ_BYTES: Final = 2**20  # blocks that lie near each other are read together up to so many bytes
NEAR_BYTES: Final = 192 * 2**10  # and what lies between them with them: it takes no longer than to go there anew


@dataclass(frozen=True, slots=True)
class FileBlock(EncodedBlock):
    content: pa.Buffer
    checksum: int


class RunFiles:
    """The run files of one input, in one directory of any filesystem that pyarrow opens.

    A file can hold several segments (those that left memory together). It is removed with the last of them, or by its
    owner, who may need it longer. File names are unique, and begin with `prefix`.
    """

    def __init__(
        self,
        filesystem: pafs.FileSystem,
        directory: str,
        schema: pa.Schema,
        block_bytes: int = BLOCK_BYTES,
        *,
        rows: Literal["spilled", "resident"] = "spilled",
        removal: Literal["with the last segment", "by the owner"] = "with the last segment",
        prefix: str = "",
    ) -> None:
        self._filesystem = filesystem
        self._directory = directory
        self._n_stamps = _STAMPS_KEPT[rows]
        self.schema = schema
        self._messages = {n: Messages(_block_schema(schema, n), 1 + n) for n in (1, self._n_stamps)}
        self._removal = removal
        self._prefix = prefix
        self._segments_in_file: Counter[str] = Counter()
        self.block_bytes = block_bytes

    def path(self, file: str) -> str:
        return f"{self._directory}/{file}"

    def writer(self, *, shares_stamps: bool = False) -> "FileWriter":
        """A writer for a new file."""
        return FileWriter(self, self._messages[self._stamps_of_rows(shares_stamps)].schema)

    def _stamps_of_rows(self, shares_stamps: bool) -> int:
        return 1 if shares_stamps else self._n_stamps

    def adopt(self, segment: Segment) -> None:
        """Take charge of a segment that was written here, by this or an earlier process."""
        self._segments_in_file[segment.file] += 1

    def read(self, segment: Segment, blocks: Sequence[Block]) -> Iterator[Run]:
        """The rows of these blocks, in the order in which they lie, block by block."""
        return (self.decode(content, segment.shared) for content in self.contents(segment, blocks))

    def contents(self, segment: Segment, blocks: Sequence[Block]) -> Iterator[memoryview]:
        """These blocks as they were written: whatever else is found is refused."""
        path = self.path(segment.file)
        for together in _read_together(blocks):
            first, last = together[0], together[-1]
            view = memoryview(self._read_at(path, first.offset, last.offset + last.n_bytes - first.offset))
            for block in together:
                begin = block.offset - first.offset
                yield self._checked(path, block, view[begin : begin + block.n_bytes])

    def from_plain(self, data: dict[str, Any]) -> Segment:
        """A segment that was written here, as its `to_plain` told: in this directory, and nowhere else."""
        if not _NAME.fullmatch(data["file"]):
            raise StateCorrupted(f"The state in {self._directory} names a run file {data['file']!r}, which is no name.")
        index = BlockIndex(Blocks.of([Block(*block) for block in data.get("blocks", ())]))
        if "index" in data:
            self.leave_in_file(index, data["file"], Place(*data["index"]))
        shared: SharedStamps | None = None
        if "shared" in data:
            departed, met_disk = map(counted, data["shared"])
            shared = departed, met_disk
        return Segment(data["file"], counted(data["n_rows"]), counted(data["n_bytes"]), index, shared)

    def leave_in_file(self, index: BlockIndex, file: str, place: Place) -> None:
        """Leave the index of a segment's blocks in its file, to be read when it is needed."""
        path = self.path(file)
        index.stored(path, place, lambda: self._read_at(path, place.offset, place.n_bytes))

    def _read_at(self, path: str, offset: int, n_bytes: int) -> bytes:
        try:
            with self._filesystem.open_input_file(path) as file:
                if min(offset, n_bytes) < 0 or offset + n_bytes > file.size():
                    raise StateCorrupted(f"The run file {path} is damaged: it has not the bytes that the state names.")
                content: bytes = file.read_at(n_bytes, offset)
        except FileNotFoundError as error:
            raise StateCorrupted(f"The run file {path} is gone; rows that were spilled to it are lost.") from error
        except OSError as error:
            raise SpillFailed(f"The run file {path} cannot be read: {error}.") from error
        return content

    def remove(self, segment: Segment) -> None:
        """Nobody needs these rows any more."""
        self._segments_in_file[segment.file] -= 1
        if self._segments_in_file[segment.file] > 0 or self._removal == "by the owner":
            return
        del self._segments_in_file[segment.file]
        try:
            self._filesystem.delete_file(self.path(segment.file))
        except OSError as error:
            raise SpillFailed(f"The run file {self.path(segment.file)} cannot be removed: {error}.") from error

    def _checked(self, path: str, block: Block, content: memoryview) -> memoryview:
        if len(content) != block.n_bytes or xxhash.xxh3_64_intdigest(content) != block.checksum:
            raise StateCorrupted(
                f"The run file {path} is damaged: the block at byte {block.offset} is not what was written there. "
                "No row of it was used."
            )
        return content

    def decode(self, content: memoryview | pa.Buffer, shared: SharedStamps | None = None) -> Run:
        """The rows of a block, sharing memory with its content."""
        (codes, arrived, *others), columns = self._messages[self._stamps_of_rows(shared is not None)].read(content)
        matched = arrived < 0 if len(arrived) and arrived.min() < 0 else None
        departed, met_disk = others or shared or (STILL_HERE, NEVER)
        return Run(codes, columns, arrived if matched is None else np.abs(arrived), departed, met_disk, matched)

    def read_as_written(self, segment: Segment) -> Iterator[pa.RecordBatch]:
        """All rows, block by block, with their codes and stamps as columns before them."""
        schema = self._messages[self._stamps_of_rows(segment.shared is not None)].schema
        for content in self.contents(segment, segment.blocks):
            yield pa.ipc.read_record_batch(pa.ipc.read_message(pa.py_buffer(content)), schema)

    def encode(self, run: Run, *, shares_stamps: bool = False) -> list[FileBlock]:
        """A run as blocks, ready to be written: the part of writing that any thread can do."""
        n_stamps = self._stamps_of_rows(shares_stamps)
        rows = _Rows(_helpers_of(run, n_stamps), run.columns, run.row_bytes + HELPER_BYTES)
        return [
            block
            for part, cuts in _with_whole_codes(rows, self.block_bytes)
            for block in _encoded(part, cuts, self._messages[n_stamps])
        ]


class FileWriter:
    """Writes segments to one file, each piece by piece in the order of codes. What is not finished leaves no file."""

    def __init__(self, files: RunFiles, schema: pa.Schema) -> None:
        self._files = files
        self._schema = schema
        self._file = f"{files._prefix}{uuid.uuid4().hex}.arrows"
        self._blocks: list[Block] = []
        self._n_bytes = 0
        self._segments: list[Segment] = []
        self._process = os.getpid()

    def __enter__(self) -> "FileWriter":
        with _DiskErrors(self._files._directory):
            self._sink = create(self._files._filesystem, self._files.path(self._file))
        try:
            with _DiskErrors(self._files._directory):
                self._sink.write(self._schema.serialize())
        except SpillFailed:
            self._discard()
            raise
        return self

    def append(self, blocks: Sequence[EncodedBlock]) -> None:
        """More rows of the present segment."""
        with _DiskErrors(self._files._directory):
            for block in blocks:
                assert isinstance(block, FileBlock), "blocks are written where they were encoded"
                offset = self._sink.tell()
                self._sink.write(block.content)
                place = (offset, block.content.size, block.n_rows, block.first_code, block.last_code, block.checksum)
                self._blocks.append(Block(*place))
                self._n_bytes += block.n_bytes

    def end_segment(self, shared: SharedStamps | None = None) -> Segment:
        """The present segment is complete; it may be used once the file is closed."""
        segment = segment_of(self._file, self._blocks, self._n_bytes, shared)
        self._segments.append(segment)
        self._blocks, self._n_bytes = [], 0
        return segment

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            with _DiskErrors(self._files._directory):
                if kind is None:
                    self._sink.write(_END_OF_STREAM)
                    self._write_indexes()
                self._sink.close()
        except SpillFailed:
            self._discard()
            if kind is None:
                raise
        if kind is not None:
            self._discard()
            return
        for segment in self._segments:
            self._files.adopt(segment)

    def _write_indexes(self) -> None:
        """Write the indexes after the end of the stream, where readers of Arrow do not look."""
        for segment in self._segments:
            if len(blocks := segment.blocks) > KEPT_IN_STATE:
                content = blocks.encode()
                place = Place(self._sink.tell(), len(content), xxhash.xxh3_64_intdigest(content))
                self._sink.write(content)
                self._files.leave_in_file(segment.index, self._file, place)

    def _discard(self) -> None:
        if os.getpid() != self._process:
            return  # a forked child lets go of its copy; its parent goes on writing
        path = self._files.path(self._file)
        if self._files._filesystem.get_file_info(path).type != pafs.FileType.NotFound:
            self._files._filesystem.delete_file(path)


def helper_columns(rows: Literal["spilled", "resident"], *, shares_stamps: bool) -> int:
    """How many columns a run file has before those of its rows."""
    return 2 if shares_stamps else 1 + _STAMPS_KEPT[rows]


class _DiskErrors:
    """Turns what the filesystem raises into one sentence with the directory in it."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, *_: object) -> None:
        if isinstance(error, OSError):
            raise SpillFailed(
                f"Rows cannot be written to {self._directory}: {error}. Free some space, or give another `spill_dir` "
                "(on Spark, `state`)."
            ) from error


def _block_schema(rows: pa.Schema, n_stamps: int) -> pa.Schema:
    return pa.schema([_CODE, *_STAMPS[:n_stamps], *rows], rows.metadata)


class _Rows(NamedTuple):
    """Rows as they are written: codes and stamps, columns, and what each weighs."""

    helpers: Helpers
    columns: Columns
    weights: RowBytes


def _helpers_of(run: Run, n_stamps: int) -> Helpers:
    """Put together once: to do so for each block would take longer than to write it."""
    arrived, *others = (np.broadcast_to(np.asarray(one, np.int32), len(run)) for one in stamps_of(run)[:n_stamps])
    return [run.codes, arrived if run.matched is None else np.where(run.matched, -arrived, arrived), *others]


def _encoded(rows: _Rows, cuts: Sequence[tuple[int, int]], messages: Messages) -> Iterator[FileBlock]:
    codes = rows.helpers[0]
    contents = messages.write(rows.helpers, rows.columns, np.array(cuts, np.int64))
    for (begin, end), content in zip(cuts, contents, strict=True):
        n_bytes = total_bytes(part_of(rows.weights, begin, end), end - begin)
        ends = int(codes[begin]), int(codes[end - 1])
        yield FileBlock(n_bytes, end - begin, *ends, content, xxhash.xxh3_64_intdigest(content))


def encode_block(rows: pa.RecordBatch, n_bytes: int) -> FileBlock:
    """Rows in the order of codes, with codes and stamps as columns before them, as a block that weighs so much."""
    content, codes = rows.serialize(memory_pool=POOL), to_numpy(rows.column(0))
    checksum = xxhash.xxh3_64_intdigest(content)
    return FileBlock(n_bytes, rows.num_rows, int(codes[0]), int(codes[-1]), content, checksum)


def _with_whole_codes(rows: _Rows, block_bytes: int) -> Iterator[tuple[_Rows, Sequence[tuple[int, int]]]]:
    """Rows, and how to cut them into blocks: the same of each for the same rows.

    Rows of equal code come in any order. So a block ends where a code does; a code with too many bytes for one block
    is cut by itself, in an order in which only equal rows can change places.
    """
    codes, end_of_rows = rows.helpers[0], _rows_that_fit(rows.weights, block_bytes)
    cuts: list[tuple[int, int]] = []
    begin = 0
    while begin < len(codes):
        end = end_of_rows(begin)
        end = len(codes) if end >= len(codes) else int(codes.searchsorted(codes[end]))
        if end > begin:
            cuts.append((begin, end))
        else:
            end = int(codes.searchsorted(codes[begin], side="right"))
            if cuts:
                yield rows, cuts
            cuts, alone = [], _ordered_by_content(rows, begin, end)
            yield alone, list(cuts_by_bytes(alone.weights, end - begin, block_bytes))
        begin = end
    if cuts:
        yield rows, cuts


def _rows_that_fit(weights: RowBytes, block_bytes: int) -> Callable[[int], int]:
    """A function from the first row of a block to its end, so that it weighs no more than a block may."""
    if isinstance(weights, int):
        n_rows = block_bytes // weights
        return lambda begin: begin + n_rows
    filled = np.append(0, weights.cumsum())
    return lambda begin: int(filled.searchsorted(filled[begin] + block_bytes, side="right")) - 1


def _ordered_by_content(rows: _Rows, begin: int, end: int) -> _Rows:
    helpers, columns = [one[begin:end] for one in rows.helpers], rows.columns.slice(begin, end)
    order = order_by_content([*map(to_arrow, helpers), *columns.arrays])
    weights = picked(part_of(rows.weights, begin, end), order)
    return _Rows([one[order] for one in helpers], gather_from([columns], Places(order)), weights)


def _read_together(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    together: list[Block] = []
    for block in blocks:
        if together and (
            block.offset + block.n_bytes - together[0].offset > READ_BYTES
            or block.offset - together[-1].offset - together[-1].n_bytes > NEAR_BYTES
        ):
            yield together
            together = []
        together.append(block)
    if together:
        yield together
