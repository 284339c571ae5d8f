"""Groups as numbers: each combination of values gets the next number when it is first seen."""

import base64
import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sooner.errors import InvalidJoin
from sooner.kernels.arrays import to_numpy
from sooner.kernels.keys import decoded

Key = tuple[object, ...]
_MANY: Final = 2**16
_LARGEST_PLACE: Final = 2**62
Numbers = npt.NDArray[np.int32]


class Groups:
    """The groups of one side, or of pairs; without columns there is one, number 0."""

    def __init__(self, types: Sequence[pa.DataType]) -> None:
        self._types = types
        self._numbers: dict[Key, int] = {} if types else {(): 0}

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def keys(self) -> list[Key]:
        return list(self._numbers)

    def newest(self, count: int) -> list[Key]:
        """The last that were seen for the first time."""
        return list(itertools.islice(reversed(self._numbers), count))

    def numbers_of(self, columns: Sequence[pa.Array]) -> Numbers:
        """The group of each row."""
        encoded = [_encoded(column) for column in columns]
        values = [list(map(_comparable, _python_values(one.dictionary))) for one in encoded]
        n_possible = math.prod(map(len, values))
        if n_possible > _LARGEST_PLACE:
            return self._numbers_of_many(encoded, values)
        places = to_numpy(encoded[0].indices).astype(np.int64)
        for one in encoded[1:]:
            places = places * len(one.dictionary) + to_numpy(one.indices)
        if n_possible > max(len(places), _MANY):  # then most of them are not there
            seen, places = np.unique(places, return_inverse=True)
        else:
            seen = np.flatnonzero(np.bincount(places, minlength=n_possible))
            among_seen = np.zeros(n_possible, np.int64)
            among_seen[seen] = np.arange(len(seen))
            places = among_seen[places]
        numbers: Numbers = np.array([self._number(key) for key in _keys_at(seen, values)], np.int32)
        found: Numbers = numbers[places.reshape(-1)]
        return found

    def _numbers_of_many(self, encoded: Sequence[pa.DictionaryArray], values: Sequence[Sequence[object]]) -> Numbers:
        """The group of each row, if combinations are too many to be numbered: only those that occur get a number."""
        places = np.stack([to_numpy(one.indices) for one in encoded], axis=1)
        seen, of_rows = np.unique(places, axis=0, return_inverse=True)
        keys = [tuple(some[at] for some, at in zip(values, row, strict=True)) for row in seen.tolist()]
        numbers: Numbers = np.array([self._number(key) for key in keys], np.int32)
        found: Numbers = numbers[of_rows.reshape(-1)]
        return found

    def numbers_of_all(self, other: "Groups") -> Numbers:
        """The numbers here of the groups of another, in their order there."""
        return np.array([self._number(key) for key in other.keys], np.int32)

    def _number(self, key: Key) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def to_plain(self) -> str:
        """The groups as text: Arrow writes values of any type."""
        columns = [pa.array([key[at] for key in self.keys], type_) for at, type_ in enumerate(self._types)]
        table = pa.table(columns, [str(at) for at in range(len(columns))])
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return base64.b64encode(sink.getvalue()).decode()

    def load_plain(self, text: str) -> None:
        if self._types:
            table = pa.ipc.open_stream(base64.b64decode(text)).read_all()
            values = zip(*(column.to_pylist() for column in table.columns), strict=True)
            self._numbers = {tuple(map(_comparable, key)): number for number, key in enumerate(values)}


def _encoded(column: pa.Array) -> pa.DictionaryArray:
    if not isinstance(column, pa.DictionaryArray):
        return column.dictionary_encode(null_encoding="encode")
    return decoded(column).dictionary_encode(null_encoding="encode") if column.indices.null_count else column


def _python_values(values: pa.Array) -> list[object]:
    """The values as users get them; none is rounded, so that no two groups become one."""
    found: list[object] | None
    try:
        found = values.to_pylist()
        if values.type == pa.time64("ns") and not pa.array(found, values.type).equals(values):
            found = None
    except (ValueError, OverflowError):  # years that Python has not, or nanoseconds without pandas
        found = None
    if found is None:
        raise InvalidJoin(
            f"by= has a column of {values.type} with a value that Python cannot hold; cast it, or group by parts."
        )
    return found


def _comparable(value: object) -> object:
    """NaN is one group, since the same object equals itself in a tuple; and so are -0.0 and 0.0."""
    if not isinstance(value, float):
        return value
    return math.nan if math.isnan(value) else value + 0.0


def _keys_at(numbers: npt.NDArray[np.int64], values: Sequence[Sequence[object]]) -> Iterable[Key]:
    """The combinations of values that have these numbers."""
    columns: list[list[object]] = []
    for one in reversed(values):
        numbers, at = np.divmod(numbers, len(one))
        columns.append([one[place] for place in at.tolist()])
    return zip(*reversed(columns), strict=True)
