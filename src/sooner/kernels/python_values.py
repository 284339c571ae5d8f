"""Values of Python as a column or a constant: what `pa.array` and `pa.scalar` make of them, or raise.

Those load pandas wherever it is installed, to see whether a value is one of its own: half a second of CPU time, and
40 MB. So does a function of `pyarrow.compute` that is given a number of Python. Here plain values are written as Arrow
has them in memory; what does not fit its type, or is of any other kind, goes to `pa.array`, which has words for it.
"""

import datetime as dt
from array import array
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from itertools import accumulate
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

_Buffers = list[pa.Buffer]
_EPOCH: Final = dt.datetime(1970, 1, 1)
_EPOCH_IN_UTC: Final = _EPOCH.replace(tzinfo=dt.UTC)
_A_MICROSECOND: Final = dt.timedelta(microseconds=1)
_NANOSECONDS: Final = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_NANOSECONDS_OF_DATES: Final = {pa.date32(): 86_400 * 10**9, pa.date64(): 10**6}


class _NotPlainError(Exception):
    """What it is in Arrow, if anything, is not said here."""


class _Layout(NamedTuple):
    """Of which classes values of an Arrow type may be, and how they are written; nulls come as None."""

    kinds: frozenset[type]
    written: Callable[[Sequence[Any], pa.DataType], _Buffers]


def constant(value: object, type_: pa.DataType) -> pa.Scalar:
    return column_of([value], type_)[0]


def column_of(values: Sequence[Any], type_: pa.DataType | None = None) -> pa.Array:
    """Of this type, or of that which the values have."""
    kinds = {type(value) for value in values} - {type(None)}
    if not kinds:
        return pa.nulls(len(values), type_)
    decided = _type_of(values, kinds) if type_ is None else type_
    layout = None if decided is None else _LAYOUTS.get(decided.id)
    if layout is None or not kinds <= layout.kinds:
        return pa.array(values, type_)
    try:
        content = layout.written(values, decided)
    except (_NotPlainError, OverflowError, UnicodeEncodeError):
        return pa.array(values, type_)
    validity = _bits(value is not None for value in values) if None in values else None
    return pa.Array.from_buffers(decided, len(values), [validity, *content])


def _type_of(values: Sequence[Any], kinds: set[type]) -> pa.DataType | None:
    """The one that they have in common; None: Arrow finds it."""
    if dt.datetime in kinds and any(getattr(value, "tzinfo", None) is not None for value in values):
        return None
    return _TYPES.get(*kinds) if len(kinds) == 1 else None


def _bits(flags: Iterable[bool]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(np.fromiter(flags, np.bool_), bitorder="little"))


def _booleans() -> _Layout:
    return _Layout(frozenset((bool,)), lambda values, _: [_bits(value is True for value in values)])


def _integers(code: str) -> _Layout:
    """By their code in `array`, which raises for what is too large."""
    return _Layout(
        frozenset((int,)),
        lambda values, _: [pa.py_buffer(array(code, [0 if value is None else value for value in values]))],
    )


def _floats(code: str, most: int) -> _Layout:
    """Integers as well, up to the largest that has all its neighbours."""

    def written(values: Sequence[Any], _: pa.DataType) -> _Buffers:
        if any(type(value) is int and abs(value) > most for value in values):
            raise _NotPlainError
        return [pa.py_buffer(array(code, [0 if value is None else value for value in values]))]

    return _Layout(frozenset((float, int)), written)


def _texts(code: str, kind: type) -> _Layout:
    """Texts or bytes, by the code of their offsets."""

    def written(values: Sequence[Any], _: pa.DataType) -> _Buffers:
        parts = [value.encode() if isinstance(value, str) else value or b"" for value in values]
        offsets = array(code, accumulate(map(len, parts), initial=0))
        return [pa.py_buffer(offsets), pa.py_buffer(b"".join(parts))]

    return _Layout(frozenset((kind,)), written)


def _decimals() -> _Layout:
    def written(values: Sequence[Any], type_: pa.DataType) -> _Buffers:
        width, limit = type_.bit_width // 8, 10**type_.precision
        unscaled = [0 if value is None else _unscaled(value, type_) for value in values]
        if any(abs(value) >= limit for value in unscaled):
            raise _NotPlainError
        return [pa.py_buffer(b"".join(value.to_bytes(width, "little", signed=True) for value in unscaled))]

    return _Layout(frozenset((Decimal, int)), written)


def _unscaled(value: Decimal | int, type_: pa.DataType) -> int:
    negative, digits, exponent = Decimal(value).as_tuple()
    if not isinstance(exponent, int) or not 0 <= exponent + type_.scale <= type_.precision:
        raise _NotPlainError
    found: int = int("".join(map(str, digits))) * 10 ** (exponent + type_.scale)
    return -found if negative else found


def _times(code: str, kind: type, microseconds: Callable[[Any], int]) -> _Layout:
    """Integers are in the unit of the type already."""

    def written(values: Sequence[Any], type_: pa.DataType) -> _Buffers:
        unit = _NANOSECONDS_OF_DATES.get(type_) or _NANOSECONDS[type_.unit]

        def in_units(value: Any) -> int:
            if value is None or type(value) is int:
                return value or 0
            whole, rest = divmod(microseconds(value) * 1000, unit)
            if rest:
                raise _NotPlainError
            return whole

        return [pa.py_buffer(array(code, map(in_units, values)))]

    return _Layout(frozenset((kind, int)), written)


def _since_epoch(value: dt.datetime) -> int:
    past: dt.timedelta = value - (_EPOCH if value.tzinfo is None else _EPOCH_IN_UTC)
    return past // _A_MICROSECOND


def _since_midnight(value: dt.time) -> int:
    if value.tzinfo is not None:
        raise _NotPlainError
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 10**6 + value.microsecond


def _of_days(value: dt.date) -> int:
    return (value.toordinal() - _EPOCH.toordinal()) * 86_400 * 10**6


_LAYOUTS: Final = {
    type_.id: layout
    for type_, layout in (
        (pa.bool_(), _booleans()),
        (pa.int8(), _integers("b")),
        (pa.int16(), _integers("h")),
        (pa.int32(), _integers("i")),
        (pa.int64(), _integers("q")),
        (pa.uint8(), _integers("B")),
        (pa.uint16(), _integers("H")),
        (pa.uint32(), _integers("I")),
        (pa.uint64(), _integers("Q")),
        (pa.float32(), _floats("f", 2**24)),
        (pa.float64(), _floats("d", 2**53)),
        (pa.decimal32(9), _decimals()),
        (pa.decimal64(18), _decimals()),
        (pa.decimal128(38), _decimals()),
        (pa.decimal256(76), _decimals()),
        (pa.string(), _texts("i", str)),
        (pa.large_string(), _texts("q", str)),
        (pa.binary(), _texts("i", bytes)),
        (pa.large_binary(), _texts("q", bytes)),
        (pa.date32(), _times("i", dt.date, _of_days)),
        (pa.date64(), _times("q", dt.date, _of_days)),
        (pa.time32("s"), _times("i", dt.time, _since_midnight)),
        (pa.time64("us"), _times("q", dt.time, _since_midnight)),
        (pa.timestamp("us"), _times("q", dt.datetime, _since_epoch)),
        (pa.duration("us"), _times("q", dt.timedelta, lambda value: value // _A_MICROSECOND)),
    )
}
_TYPES: Final = {
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
    bytes: pa.binary(),
    dt.date: pa.date32(),
    dt.time: pa.time64("us"),
    dt.datetime: pa.timestamp("us"),
    dt.timedelta: pa.duration("us"),
}
