"""Where the blocks of a run on disk lie, which codes they span, and their checksums.

A state names all its runs in every version, so it must not grow with their blocks, and nor may the memory of a join: of
a run with many blocks only the place of the index in the run's file is kept, with a checksum, and the index is read
when someone needs the rows.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, overload

import numpy as np
import numpy.typing as npt
import xxhash

from sooner.errors import StateCorrupted
from sooner.kernels.array_types import Flags

KEPT_IN_STATE: Final = 4  # blocks; more are kept in the file


class Block(NamedTuple):
    offset: int
    n_bytes: int
    n_rows: int
    first_code: int
    last_code: int
    checksum: int


class Place(NamedTuple):
    """The place of an index in a file."""

    offset: int
    n_bytes: int
    checksum: int


class Blocks(Sequence[Block]):
    """The blocks of one run, in the order of their codes: a table with a column for each field of `Block`."""

    def __init__(self, table: npt.NDArray[np.uint64]) -> None:
        self._table = table
        self.n_bytes, self.first_codes, self.last_codes = (
            table[:, Block._fields.index(name)] for name in ("n_bytes", "first_code", "last_code")
        )

    @staticmethod
    def of(blocks: Sequence[Block]) -> "Blocks":
        return Blocks(np.array(blocks, "<u8").reshape(-1, len(Block._fields)))

    def __len__(self) -> int:
        return len(self._table)

    @overload
    def __getitem__(self, at: int) -> Block: ...

    @overload
    def __getitem__(self, at: slice) -> list[Block]: ...

    def __getitem__(self, at: int | slice) -> Block | list[Block]:
        if isinstance(at, slice):
            return [Block(*row) for row in self._table[at].tolist()]
        return Block(*self._table[at].tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Blocks) and np.array_equal(self._table, other._table)

    __hash__ = None  # type: ignore[assignment] # nobody should look for a run by where its rows lie

    def between(self, low: int, high: int) -> list[Block]:
        """The blocks that may have codes from `low` on and below `high`."""
        begin = int(self.last_codes.searchsorted(np.uint64(low)))
        end = len(self) if high >= 2**64 else int(self.first_codes.searchsorted(np.uint64(high)))
        return self[begin:end]

    def only(self, wanted: Flags) -> "Blocks":
        """Some of them."""
        return Blocks(self._table[wanted])

    def encode(self) -> bytes:
        return self._table.tobytes()

    @staticmethod
    def decode(content: bytes) -> "Blocks":
        return Blocks(np.frombuffer(content, "<u8").reshape(-1, len(Block._fields)))


class BlockIndex:
    """The blocks of one run: known, or to be read."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks: Blocks | None = blocks
        self.place: Place | None = None  # in the run's file, if it is there
        self._path = ""
        self._read: Callable[[], bytes] = bytes

    def stored(self, path: str, place: Place, read: Callable[[], bytes]) -> "BlockIndex":
        """It is in a file from now on, and `read` gets it when it is needed."""
        self._blocks, self.place = None, place
        self._path, self._read = path, read
        return self

    @property
    def blocks(self) -> Blocks:
        """Read each time from where they are: whoever needs them for long keeps them."""
        return self._blocks if self._blocks is not None else Blocks.decode(self._content())

    def _content(self) -> bytes:
        assert self.place is not None, "an index is known or has a place"
        content = self._read()
        if len(content) != self.place.n_bytes or xxhash.xxh3_64_intdigest(content) != self.place.checksum:
            raise StateCorrupted(
                f"The run file {self._path} is damaged: its index at byte {self.place.offset} is not what was written "
                "there. No row of it was used."
            )
        return content

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BlockIndex) and self.blocks == other.blocks

    __hash__ = None  # type: ignore[assignment]

    def to_plain(self) -> dict[str, Any]:
        if self.place is not None:
            return {"index": list(self.place)}
        return {"blocks": [list(block) for block in self.blocks]}
