"""One 64-bit code per row, computed from its key: the order in which an equi-join keeps its rows.

The code is a hash and a pure function of the key's values: encoding, slicing, batch and process do not
matter. Its high bits are as uniform as its low ones, because partitions are ranges of codes. Spilled rows are
found again by their codes, so a change of this function makes stored state useless; golden values in the
tests hold it.

Every key is a sequence of 64-bit words, and every sequence is hashed the same way: mix the state, xor the
next word, and mix once more at the end. With one word that is a bijection: equal codes then mean equal keys.
The words of a string are its bytes by eight, the first xored with a multiple of the length; a long string has
one word, its xxh3 hash.

Not covered: keys chosen by an adversary to collide. Codes in the order of values are those of `value_codes`, and of
values that may be apart those of `lines`.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import xxhash

from sooner.kernels.array_types import Codes, Flags
from sooner.kernels.arrays import text_layout, to_flags
from sooner.kernels.keys import keys_in_common_type
from sooner.kernels.native import address, buffer_address, loop, prototypes
from sooner.kernels.native.prototypes import Address

_LONG_BYTES: Final = 256  # beyond this length one xxh3 call a row is faster, if it does not come from a loop over rows

_mix_words: Final = loop(prototypes.mix_words)
_fold_integers: Final = {bits: loop(prototypes.fold_integers, bits) for bits in (8, 16, 32, 64)}
_fold_doubles: Final = loop(prototypes.fold_doubles)
_fold_strided: Final = loop(prototypes.fold_strided)
_fold_texts: Final = {bits: loop(prototypes.fold_texts, bits) for bits in (32, 64)}


def code_rows(
    batch: pa.RecordBatch, columns: Sequence[str], types: Sequence[pa.DataType]
) -> tuple[Codes, Flags | None]:
    """Codes of all rows, and which rows have a complete key (None: all have).

    A row without a complete key never matches; its code is 0, whatever lies under a null.
    """
    keys = keys_in_common_type(batch, columns, types)
    codes = np.zeros(batch.num_rows, np.uint64)
    for position, key in enumerate(keys):
        if position:
            mix(codes)
        fold(codes, key)
    mix(codes)
    complete = _complete(keys)
    if complete is not None:
        codes[~complete] = 0
    return codes, complete


def spread(codes: Codes) -> Codes:
    """Other codes for these, different for different ones, that are as frequent in every range of codes."""
    spread_codes = codes.copy()
    mix(spread_codes)
    return spread_codes


def _complete(keys: Sequence[pa.Array]) -> Flags | None:
    complete: Flags | None = None
    for key in keys:
        if key.null_count:
            valid: Flags = to_flags(key.is_valid())
            complete = valid if complete is None else complete & valid
    return complete


def mix(words: Codes) -> None:
    """Replace every word by a bijective, well spread function of it."""
    _mix_words(len(words), address(words), len(words))


def fold(words: Codes, key: pa.Array) -> None:
    """Xor a word of each value into these; different values have different words when the type fits in 64 bits."""
    n_rows = len(key)
    if pa.types.is_null(key.type) or not n_rows:
        return
    if pa.types.is_boolean(key.type):
        key = key.cast(pa.int8())
    if not pa.types.is_primitive(key.type) and not pa.types.is_decimal(key.type):
        _fold_text(words, key)
        return
    width = key.type.bit_width // 8
    values = buffer_address(key.buffers()[1], key.offset * width)
    if pa.types.is_floating(key.type):
        _fold_doubles(n_rows, address(words), values, n_rows)
    elif not pa.types.is_decimal(key.type):
        _fold_integers[width * 8](n_rows, address(words), values, n_rows)
    else:
        for skipped in range(0, width, 8):
            if skipped:
                mix(words)
            _fold_strided(n_rows, address(words), Address(values + skipped), width // 8, n_rows)


def _fold_text(words: Codes, key: pa.Array) -> None:
    texts = text_layout(key)
    where = (address(words), address(texts.offsets), buffer_address(texts.data))
    if not _fold_texts[texts.bits](len(key), *where, len(key), _LONG_BYTES):
        return
    content = memoryview(texts.data)
    for row in np.flatnonzero(np.diff(texts.offsets) > _LONG_BYTES).tolist():
        words[row] ^= np.uint64(xxhash.xxh3_64_intdigest(content[texts.offsets[row] : texts.offsets[row + 1]]))
