"""One 64-bit code per row, computed from its key: the order in which an equi-join keeps its rows.

The code is a hash and a pure function of the key's values: encoding, slicing, batch and process do not
matter. Its high bits are as uniform as its low ones, because partitions are ranges of codes. Spilled rows are
found again by their codes, so a change of this function makes stored state useless; golden values in the
tests hold it.

Every key is a sequence of 64-bit words, and every sequence is hashed the same way: mix the state, xor the
next word, and mix once more at the end. With one word that is a bijection: equal codes then mean equal keys.
The words of a string are its bytes by eight, the first xored with a multiple of the length; a long string has
one word, its xxh3 hash.

Not covered: keys chosen by an adversary to collide, and the order-preserving codes of range joins.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from sooner.kernels.arrays import Flags, to_flags
from sooner.kernels.keys import keys_in_common_type

Codes = npt.NDArray[np.uint64]
Positions = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

# Rows are hashed in blocks whose few arrays stay in a core's own cache. The scratch memory is that of one block:
# about 80 bytes a row, and a copy of its strings.
_BLOCK_ROWS = 16_384
# Beyond this length one xxh3 call per row is faster than one NumPy pass per word, and one giant string among
# short ones costs what it should.
_LONG_BYTES = 256

# The finaliser of splitmix64 (Steele, Lea and Flood, OOPSLA 2014), after its increment so that 0 moves too.
_INCREMENT = np.uint64(0x9E3779B97F4A7C15)
_FIRST_FACTOR = np.uint64(0xBF58476D1CE4E5B9)
_SECOND_FACTOR = np.uint64(0x94D049BB133111EB)


def code_rows(
    batch: pa.RecordBatch, columns: Sequence[str], types: Sequence[pa.DataType]
) -> tuple[Codes, Flags | None]:
    """Codes of all rows, and which rows have a complete key (None: all have).

    A row without a complete key never matches; its code means nothing.
    """
    keys = keys_in_common_type(batch, columns, types)
    codes = np.empty(batch.num_rows, dtype=np.uint64)
    scratch = np.empty(min(batch.num_rows, _BLOCK_ROWS), dtype=np.uint64)
    for start in range(0, batch.num_rows, _BLOCK_ROWS):
        block = [key.slice(start, _BLOCK_ROWS) for key in keys]
        state = _column_words(block[0], scratch)
        for key in block[1:]:
            _mix(state, scratch)
            state ^= _column_words(key, scratch)
        _mix(state, scratch)
        codes[start : start + _BLOCK_ROWS] = state
    return codes, _complete(keys)


def _complete(keys: Sequence[pa.Array]) -> Flags | None:
    complete: Flags | None = None
    for key in keys:
        if key.null_count:
            valid: Flags = to_flags(key.is_valid())
            complete = valid if complete is None else complete & valid
    return complete


def _mix(state: Codes, scratch: Codes) -> None:
    """Replace every element by a bijective, well spread function of it."""
    shifted = scratch[: len(state)]
    state += _INCREMENT
    np.right_shift(state, 30, out=shifted)
    state ^= shifted
    state *= _FIRST_FACTOR
    np.right_shift(state, 27, out=shifted)
    state ^= shifted
    state *= _SECOND_FACTOR
    np.right_shift(state, 31, out=shifted)
    state ^= shifted


def _column_words(key: pa.Array, scratch: Codes) -> Codes:
    """One fresh word per row; different values have different words when the type fits in 64 bits."""
    if pa.types.is_null(key.type):
        return np.zeros(len(key), dtype=np.uint64)
    if pa.types.is_floating(key.type):
        return _float_words(key)
    if pa.types.is_decimal(key.type):
        return _decimal_words(key, scratch)
    if pa.types.is_primitive(key.type):
        return _integer_words(key)
    return _text_words(key, scratch)


def _integer_words(key: pa.Array) -> Codes:
    if pa.types.is_boolean(key.type):
        key = key.cast(pa.int8())
    width = key.type.bit_width // 8
    values = np.frombuffer(key.buffers()[1], dtype=f"<i{width}", count=len(key), offset=key.offset * width)
    return values.astype(np.int64).view(np.uint64)


def _float_words(key: pa.Array) -> Codes:
    with np.errstate(invalid="ignore"):  # the sum of a signalling NaN is a plain NaN, as wished
        values = np.frombuffer(key.buffers()[1], dtype="<f8", count=len(key), offset=key.offset * 8) + 0.0
    values[np.isnan(values)] = np.nan
    words: Codes = values.view(np.uint64)
    return words


def _decimal_words(key: pa.Array, scratch: Codes) -> Codes:
    width = key.type.bit_width // 64
    words = np.frombuffer(key.buffers()[1], dtype="<u8", count=len(key) * width, offset=key.offset * width * 8)
    state: Codes = words[::width].astype(np.uint64)
    for position in range(1, width):
        _mix(state, scratch)
        state ^= words[position::width]
    return state


def _text_words(key: pa.Array, scratch: Codes) -> Codes:
    starts, lengths, data = _text_layout(key)
    shortest, longest = int(lengths.min()), int(lengths.max())
    if shortest == longest <= _LONG_BYTES:
        return _words_of_equal_lengths(len(key), longest, data, scratch)
    words = _words_of_mixed_lengths(starts, lengths, data, scratch)
    if longest > _LONG_BYTES:
        long = np.flatnonzero(lengths > _LONG_BYTES)
        bounds = zip(starts[long].tolist(), (starts + lengths)[long].tolist(), strict=True)
        view = data.data
        words[long] = [xxhash.xxh3_64_intdigest(view[start:stop]) for start, stop in bounds]
    return words


def _text_layout(key: pa.Array) -> tuple[Positions, Positions, Bytes]:
    """Where each row starts, its length, and the bytes with zeros after them: the last word is read whole."""
    is_large = pa.types.is_large_string(key.type) or pa.types.is_large_binary(key.type)
    dtype = np.dtype(np.int64 if is_large else np.int32)
    _, offsets_buffer, data_buffer = key.buffers()
    offsets = np.frombuffer(offsets_buffer, dtype=dtype, count=len(key) + 1, offset=key.offset * dtype.itemsize)
    offsets = offsets.astype(np.int64)
    first, size = int(offsets[0]), int(offsets[-1] - offsets[0])
    data = np.zeros(size + 8, dtype=np.uint8)
    if size:
        data[:size] = np.frombuffer(data_buffer, dtype=np.uint8, count=size, offset=first)
    return offsets[:-1] - first, np.diff(offsets), data


def _words_of_equal_lengths(rows: int, length: int, data: Bytes, scratch: Codes) -> Codes:
    """Codes, identifiers and the like: word k of all rows is one strided view of the bytes."""
    state = np.full(rows, np.uint64(length)) * _INCREMENT
    for start in range(0, length, 8):
        if start:
            _mix(state, scratch)
        words = np.ndarray(rows, dtype="<u8", buffer=data.data, offset=start, strides=(length,))
        state ^= words << np.uint64(8 * max(start + 8 - length, 0))
    return state


def _words_of_mixed_lengths(starts: Positions, lengths: Positions, data: Bytes, scratch: Codes) -> Codes:
    """The same for rows of different lengths; long ones get no word here.

    The rows with the most words come first. So the rows that still have a word k are a prefix, those for
    which it is the last one are the end of that prefix, and each pass touches only rows that need it.
    """
    words_per_row = np.where(lengths <= _LONG_BYTES, (lengths + 7) >> 3, 0)
    rows_having_word = len(lengths) - np.cumsum(np.bincount(words_per_row))
    # NumPy sorts one-byte keys by radix, in linear time.
    order = np.argsort((_LONG_BYTES // 8 - words_per_row).astype(np.uint8), kind="stable")
    lengths, position = lengths[order], starts[order]
    # An array of overlapping words, one at each byte: reading it at any position needs no alignment.
    word_at_byte = np.ndarray(len(data) - 7, dtype="<u8", buffer=data.data, strides=(1,))
    # Words are little-endian, so a shift to the left drops the bytes that belong to the next row.
    surplus_bits = ((-lengths & 7) << 3).astype(np.uint64)
    state = lengths.astype(np.uint64) * _INCREMENT
    for index, rows in enumerate(rows_having_word[:-1].tolist()):
        if index:
            _mix(state[:rows], scratch)
        words = word_at_byte[position[:rows]]
        ending = slice(int(rows_having_word[index + 1]), rows)
        words[ending] <<= surplus_bits[ending]
        state[:rows] ^= words
        position[:rows] += 8
    state_by_row = np.empty_like(state)
    state_by_row[order] = state
    return state_by_row
