"""Hot keys: those with so many rows that one partition would have most of the work. They are spread over all of them.

From a certain batch on, rows of one side that have such a key are *dealt out* over all partitions, and those of the
other side are *copied* to each. So each pair of them meets once, where the dealt row is. Rows that came before lie in
the key's *home*; those of the copied side are handed over to the other partitions first (see `step/hot_keys.py`).

Which keys are hot is known from the version before: every partition writes it down, so a task that runs again deals the
same way. Where a row is dealt to follows from its content alone, whoever reads it and however often. So rows that are
equal in all their flat columns stay together.

A key is known by its values, and not by its code, which another key may have: who has a hot key of the side that is
copied is certain to match, since the other side had the key when it was found. NaN is never hot.
"""

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sooner.errors import StateCorrupted
from sooner.kernels.array_types import Flags
from sooner.kernels.arrays import to_flags
from sooner.kernels.keys import keys_in_common_type
from sooner.runs.formats.versions import Versions, believed
from sooner.spark.interop.locations import open_location
from sooner.spark.shuffle.placing import Placement, dealt_by_content
from sooner.spark.shuffle.this_batch import batch_of_this_task

HOT_KEYS = "hot_keys"  # in what a version says of itself
Places = npt.NDArray[np.int64]
PlacesOf = Callable[[pa.RecordBatch], Sequence[Places]]  # of rows, one by one; all but the first are those of copies


@dataclass(frozen=True)
class HotKey:
    key: str  # its values, see `text_of_key`
    name: str  # the same for people
    code: int  # by which the operator keeps its rows; another key may have it too
    dealt: int  # the side whose rows are dealt out; those of the other are copied
    home: int  # the partition of rows that came before
    since: int  # the first batch whose rows are spread

    def to_plain(self) -> dict[str, Any]:
        return asdict(self)


def hot_keys_in(summary: Mapping[str, Any]) -> tuple[HotKey, ...]:
    """What a version says of hot keys; nothing where none is spread."""
    return tuple(HotKey(**one) for one in summary.get(HOT_KEYS, ()))


def text_of_key(rows: pa.RecordBatch, names: Sequence[str], types: Sequence[pa.DataType]) -> tuple[str, str] | None:
    """The key that the only row has in these columns, as text that is the same for equal keys, and for people; None if
    it cannot be hot.
    """
    keys = [_written_alike(key) for key in keys_in_common_type(rows, names, types)]
    if any(pa.types.is_floating(key.type) and np.isnan(key[0].as_py()) for key in keys):
        return None
    name = ", ".join(str(key[0]) for key in keys)
    return base64.b64encode(_batch_of(keys).serialize()).decode(), name


def key_of_text(text: str, names: Sequence[str], types: Sequence[pa.DataType]) -> pa.RecordBatch:
    """A row with this key in columns of these names."""
    schema = pa.schema(list(zip(names, types, strict=True)))
    return pa.ipc.read_record_batch(pa.py_buffer(base64.b64decode(text)), schema)


def _batch_of(columns: Sequence[pa.Array]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(columns, [str(at) for at in range(len(columns))])


def _written_alike(key: pa.Array) -> pa.Array:
    """The one value, in buffers that equal values have; zero has no sign."""
    import pyarrow.compute as pc

    [value] = pc.add(key, pa.scalar(0, key.type)) if pa.types.is_floating(key.type) else key
    return pa.array([value], key.type)


class WithKeys:
    """Tells which rows have one of some keys, in columns of these names."""

    def __init__(self, keys: Iterable[HotKey], names: Sequence[str], types: Sequence[pa.DataType]) -> None:
        self._names = names
        self._types = types
        self._keys = [key_of_text(one.key, names, types).columns for one in keys]

    def __call__(self, rows: pa.RecordBatch) -> Flags:
        import pyarrow.compute as pc

        found: Flags = np.zeros(rows.num_rows, np.bool_)
        mine = keys_in_common_type(rows, self._names, self._types) if self._keys else []
        for key in self._keys:
            same = [pc.equal(column, value[0]) for column, value in zip(mine, key, strict=True)]
            found |= to_flags(reduce(pc.and_, same).fill_null(False))
        return found


@dataclass(frozen=True)
class Spreading:
    """How a reader places rows of one side; `told_in` is the directory of a partition, whose versions tell."""

    told_in: str
    side: int

    def in_this_task(self, placement: Placement) -> PlacesOf:
        """The places of rows of the batch that this task works for."""
        return self.in_batch(batch_of_this_task(), placement)

    def in_batch(self, batch: int, placement: Placement) -> PlacesOf:
        hot = self._hot_in(batch)
        if not hot:
            return placement.places
        dealt, copied = (
            WithKeys([key for key in hot if (key.dealt == self.side) is is_dealt], placement.keys, placement.types)
            for is_dealt in (True, False)
        )

        def places(rows: pa.RecordBatch) -> Sequence[Places]:
            [home] = placement.places(rows)
            if len(some := np.flatnonzero(dealt(rows))):
                home[some] = dealt_by_content(rows, some, placement.partitions)
            everywhere = copied(rows)
            if not everywhere.any():
                return [home]
            others = (np.where(everywhere, home + step, home) for step in range(1, placement.partitions))
            return [home, *(other % placement.partitions for other in others)]

        return places

    def _hot_in(self, batch: int) -> Sequence[HotKey]:
        if batch == 0:
            return ()
        header = Versions(*open_location(self.told_in)).header(batch - 1)
        if header is None:
            raise StateCorrupted(
                f"{self.told_in} has no version {batch - 1}, which says how rows of batch {batch} are spread. Start "
                "anew with another checkpoint and state."
            )
        with believed(self.told_in):
            return [key for key in hot_keys_in(header.summary) if key.since <= batch]
