"""Groups as numbers: each combination of values gets the next number when it is first seen.

Their values are kept as columns, in the order of the numbers. A group is found by a code of its values, and each row is
compared with the group that is found for it: groups that share a code with one before them are told apart by Python.
"""

import base64
import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sooner.errors import InvalidJoin
from sooner.kernels.array_types import Codes, Flags, Positions
from sooner.kernels.arrays import to_arrow, to_flags, to_numpy
from sooner.kernels.codes import fold, mix
from sooner.kernels.equality import lie_comparably, only_equal_values
from sooner.kernels.gathering import gather
from sooner.kernels.keys import decoded, values_equal
from sooner.kernels.python_values import column_of, constant

Key = tuple[object, ...]
_MANY: Final = 2**16
_CHUNK_BYTES: Final = 2**28  # of columns that are not made longer any more: texts of an array end at 2 GB
_NULL_WORD: Final = np.uint64(0x9E3779B97F4A7C15)
_INTERVAL_BYTES: Final = 16
Numbers = npt.NDArray[np.int32]
Columns = Sequence[pa.Array]


class Groups:
    """The groups of one side, or of pairs; without columns there is one, number 0."""

    def __init__(self, types: Sequence[pa.DataType]) -> None:
        self._schema = pa.schema([pa.field(str(at), type_) for at, type_ in enumerate(types)])
        self._chunks: list[pa.RecordBatch] = []  # of values, one after the other
        self._codes: Codes = np.zeros(0, np.uint64)  # sorted,
        self._numbers: Numbers = np.zeros(0, np.int32)  # and the groups that have them
        self._twins: dict[Key, int] = {}  # groups whose code is of another
        self._count = 0 if types else 1

    def __len__(self) -> int:
        return self._count

    @property
    def n_bytes(self) -> int:
        """Of values and codes."""
        return sum(int(chunk.nbytes) for chunk in self._chunks) + int(self._codes.nbytes + self._numbers.nbytes)

    @property
    def values(self) -> pa.Table:
        """Of all groups, in the order of their numbers."""
        return pa.Table.from_batches(self._chunks, self._schema)

    @property
    def keys(self) -> list[Key]:
        """The same as users know them."""
        if not self._schema.names:
            return [()]
        return list(zip(*map(python_values, self.values.columns), strict=True))

    def numbers_of(self, columns: Columns) -> Numbers:
        """The group of each row."""
        few = _few_combinations(columns)
        if few is None:
            return self._numbers_of_rows(columns)
        combinations, of_rows = few
        return self._numbers_of_rows(combinations)[of_rows]

    def numbers_of_all(self, other: "Groups") -> Numbers:
        """The numbers here of the groups of another, in their order there."""
        if not self._schema.names:
            return np.zeros(1, np.int32)
        return self._numbers_of_rows([column.combine_chunks() for column in other.values.columns])

    def to_plain(self) -> str:
        """The groups as text: Arrow writes values of any type."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self._schema) as writer:
            writer.write_table(self.values)
        return base64.b64encode(sink.getvalue()).decode()

    def load_plain(self, text: str) -> None:
        if not self._schema.names:
            return
        table = pa.ipc.open_stream(base64.b64decode(text)).read_all()
        columns = self._plain([column.combine_chunks() for column in table.columns])
        codes = _codes_of(columns)
        self._codes, first = np.unique(codes, return_index=True)
        self._numbers, self._chunks, self._count = first.astype(np.int32), [], 0
        self._append(columns)
        twins = np.setdiff1d(np.arange(len(codes)), first).tolist()
        self._twins = {_key_at(columns, at): at for at in twins}

    def _numbers_of_rows(self, columns: Columns) -> Numbers:
        columns = self._plain(columns)
        codes = _codes_of(columns)
        seen, first, of_rows = np.unique(codes, return_index=True, return_inverse=True)
        numbers = self._looked_up(seen)
        if len(new := np.flatnonzero(numbers < 0)):
            numbers[new[np.argsort(first[new])]] = len(self) + np.arange(len(new), dtype=np.int32)
            self._index(seen[new], numbers[new])
            self._append(_at_rows(columns, np.sort(first[new])))
        found: Numbers = numbers[of_rows.reshape(-1)]
        for row in np.flatnonzero(~self._are_of(columns, found)).tolist():
            found[row] = self._number_of_twin(columns, row)
        return found

    def _plain(self, columns: Columns) -> list[pa.Array]:
        """Values of the types that are kept; both zeros are one."""
        import pyarrow.compute as pc

        found, zero = [], constant(0.0, pa.float64())
        for column, type_ in zip(columns, self._schema.types, strict=True):
            column = decoded(column)
            column = column if column.type == type_ else column.cast(type_)
            found.append(pc.add(column, zero) if pa.types.is_floating(type_) else column)
        return found

    def _looked_up(self, codes: Codes) -> Numbers:
        """The groups that have these codes; -1 where there is none."""
        if not len(self._codes):
            return np.full(len(codes), -1, np.int32)
        at = np.minimum(self._codes.searchsorted(codes), len(self._codes) - 1)
        found: Numbers = np.where(self._codes[at] == codes, self._numbers[at], np.int32(-1))
        return found

    def _index(self, codes: Codes, numbers: Numbers) -> None:
        """Groups with these codes, which are sorted."""
        at = self._codes.searchsorted(codes)
        self._codes, self._numbers = np.insert(self._codes, at, codes), np.insert(self._numbers, at, numbers)

    def _append(self, columns: Columns) -> None:
        """Values of the next groups. Chunks become larger, so that there are few."""
        if not len(columns[0]):
            return
        last = pa.RecordBatch.from_arrays(list(columns), schema=self._schema)
        self._count += last.num_rows
        while self._chunks and self._chunks[-1].num_rows <= last.num_rows and last.nbytes < _CHUNK_BYTES:
            [last] = pa.Table.from_batches([self._chunks.pop(), last]).combine_chunks().to_batches()
        self._chunks.append(last)

    def _are_of(self, columns: Columns, numbers: Numbers) -> Flags:
        """Whether each row has the values of this group."""
        same, first = np.zeros(len(numbers), np.bool_), 0
        for chunk in self._chunks:
            rows: Positions = np.flatnonzero((first <= numbers) & (numbers < first + chunk.num_rows))
            theirs = numbers[rows].astype(np.int64) - first
            for mine, known in zip(columns, chunk.columns, strict=True):
                rows, theirs = _only_alike(mine, known, rows, theirs)
            same[rows] = True
            first += chunk.num_rows
        return same

    def _number_of_twin(self, columns: Columns, row: int) -> int:
        key = _key_at(columns, row)
        if key not in self._twins:
            self._twins[key] = len(self)
            self._append(_at_rows(columns, np.array([row])))
        return self._twins[key]


def python_values(values: pa.Array | pa.ChunkedArray) -> list[object]:
    """The values as users get them; none is rounded, so that no two groups become one."""
    found: list[object] | None
    try:
        found = values.to_pylist()
        if values.type == pa.time64("ns") and not column_of(found, values.type).equals(_whole(values)):
            found = None
    except (ValueError, OverflowError):  # years that Python has not, or nanoseconds without pandas
        found = None
    if found is None:
        raise InvalidJoin(
            f"by= has a column of {values.type} with a value that Python cannot hold; cast it, or group by parts."
        )
    return [math.nan if one != one else one for one in found] if pa.types.is_floating(values.type) else found


def _whole(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def _few_combinations(columns: Columns) -> tuple[list[pa.Array], Positions] | None:
    """Those that occur, and which of them each row has; None if more are possible than is worth to look at."""
    most, possible, encoded = max(len(columns[0]), _MANY), 1, []
    for column in columns:
        encoded.append(_encoded(column))
        if len(encoded[-1].dictionary) * 2 > len(column):  # most rows have a value of their own
            return None
        possible *= len(encoded[-1].dictionary)
        if possible > most:
            return None
    places = np.zeros(len(columns[0]), np.int64)
    for one in encoded:
        places = places * len(one.dictionary) + to_numpy(one.indices)
    seen = np.flatnonzero(np.bincount(places, minlength=possible))
    among_seen = np.zeros(possible, np.int64)
    among_seen[seen] = np.arange(len(seen))
    values = []
    left = seen
    for one in reversed(encoded):
        left, at = np.divmod(left, max(len(one.dictionary), 1))
        values.append(one.dictionary.take(to_arrow(at)))
    return values[::-1], among_seen[places]


def _encoded(column: pa.Array) -> pa.DictionaryArray:
    if not isinstance(column, pa.DictionaryArray):
        return column.dictionary_encode(null_encoding="encode")
    return decoded(column).dictionary_encode(null_encoding="encode") if column.indices.null_count else column


def _codes_of(columns: Columns) -> Codes:
    """One for each row, the same for values that are alike, nulls and NaN too."""
    codes = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        words = np.zeros(len(codes), np.uint64)
        fold(words, _with_codes(column))
        if column.null_count:
            words[~to_flags(column.is_valid())] = _NULL_WORD
        mix(codes)
        codes ^= words
    mix(codes)
    return codes


def _only_alike(one: pa.Array, other: pa.Array, at_one: Positions, at_other: Positions) -> tuple[Positions, Positions]:
    """Those of these pairs whose values are equal, or both are null. The arrays are used up."""
    if lie_comparably(one, other):
        return only_equal_values(one, other, at_one, at_other)
    same = _alike(*(column.take(to_arrow(at)) for column, at in ((one, at_one), (other, at_other))))
    return at_one[same], at_other[same]


def _alike(one: pa.Array, other: pa.Array) -> Flags:
    """Whether values are equal, or both are null."""
    one, other = _with_codes(one), _with_codes(other)
    same = values_equal(one, other)
    if one.null_count and other.null_count:
        same = same | to_flags(one.is_null()) & to_flags(other.is_null())
    return same


def _with_codes(column: pa.Array) -> pa.Array:
    """In a type that has codes and can be compared: intervals are alike if their bytes are."""
    if pa.types.is_interval(column.type):
        column = pa.Array.from_buffers(pa.binary(_INTERVAL_BYTES), len(column), column.buffers(), offset=column.offset)
    return column.cast(pa.binary()) if pa.types.is_fixed_size_binary(column.type) else column


def _at_rows(columns: Columns, rows: Positions) -> list[pa.Array]:
    return list(gather(pa.RecordBatch.from_arrays(columns, list(map(str, range(len(columns))))), rows).columns)


def _key_at(columns: Columns, row: int) -> Key:
    return tuple(python_values(column.slice(row, 1))[0] for column in columns)
