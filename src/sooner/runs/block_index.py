"""Where the blocks of a run on disk lie, which codes they span, and their checksums.

A state names all its runs in every version, so it must not grow with their blocks: of a run with many blocks it keeps
where the index is in the run's file, with a checksum, and the index is read when someone needs the rows.
"""

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import xxhash

from sooner.errors import StateCorrupted

KEPT_IN_STATE: Final = 4  # blocks; more are kept in the file


@dataclass(frozen=True, slots=True)
class Block:
    offset: int
    n_bytes: int
    n_rows: int
    first_code: int
    last_code: int
    checksum: int


class Place(NamedTuple):
    """Of an index in a file."""

    offset: int
    n_bytes: int
    checksum: int


class BlockIndex:
    """The blocks of one run: known, or to be read."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._blocks: tuple[Block, ...] | None = tuple(blocks)
        self.place: Place | None = None  # in the run's file, if it is there as well
        self._path = ""
        self._read: Callable[[], bytes] = bytes

    @staticmethod
    def stored(path: str, place: Place, read: Callable[[], bytes]) -> "BlockIndex":
        """An index in a file, which `read` gets when it is needed."""
        index = BlockIndex(())
        index._blocks, index.place = None, place
        index._path, index._read = path, read
        return index

    @property
    def blocks(self) -> tuple[Block, ...]:
        if self._blocks is None:
            self._blocks = decode(self._content())
        return self._blocks

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

    def __hash__(self) -> int:
        return hash(self.blocks)

    def to_plain(self) -> dict[str, Any]:
        if self.place is not None:
            return {"index": list(self.place)}
        return {"blocks": [list(astuple(block)) for block in self.blocks]}


def encode(blocks: Sequence[Block]) -> bytes:
    return np.array([astuple(block) for block in blocks], "<u8").tobytes()


def decode(content: bytes) -> tuple[Block, ...]:
    return tuple(Block(*row) for row in np.frombuffer(content, "<u8").reshape(-1, len(Block.__slots__)).tolist())
