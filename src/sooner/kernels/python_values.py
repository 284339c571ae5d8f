"""Values of Python as a column or a constant: what `pa.array` and `pa.scalar` make of them, or raise.

Those load pandas wherever it is installed, to see whether a value is one of its own: half a second of CPU time, and
40 MB. So does a function of `pyarrow.compute` that is given a number of Python. Here plain values are written as Arrow
has them in memory; what does not fit its type, or is of any other kind, goes to `pa.array`, which has words for it.
"""

import datetime as dt
from array import array
from collections.abc import Callable, Sequence
from decimal import Context, Decimal, Inexact, InvalidOperation
from itertools import accumulate
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

MOST: Final = 2**18  # of more values `pa.array` saves about as much as it takes to load pandas

_Buffers = list[pa.Buffer]
_EPOCH: Final = dt.datetime(1970, 1, 1)
_EPOCH_IN_UTC: Final = _EPOCH.replace(tzinfo=dt.UTC)
_EXACT: Final = Context(prec=200, traps=[Inexact, InvalidOperation])
_A_MICROSECOND: Final = dt.timedelta(microseconds=1)
_NANOSECONDS: Final = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_NANOSECONDS_OF_DATES: Final = {pa.date32(): 86_400 * 10**9, pa.date64(): 10**6}


class _NotPlainError(Exception):
    """What it is in Arrow, if anything, is not said here."""


class _Layout(NamedTuple):
    """Of which classes values of an Arrow type may be, what stands for a null, and how they are written."""

    kinds: frozenset[type]
    blank: Any
    written: Callable[[Sequence[Any], pa.DataType], _Buffers]


def constant(value: object, type_: pa.DataType) -> pa.Scalar:
    return column_of([value], type_)[0]


def column_of(values: Sequence[Any], type_: pa.DataType | None = None) -> pa.Array:
    """Of this type, or of that which the values have."""
    if len(values) > MOST:
        return pa.array(values, type_)
    kinds = set(map(type, values)) - {type(None)}
    if not kinds:
        return pa.nulls(len(values), type_)
    decided = _type_of(values, kinds) if type_ is None else type_
    layout = None if decided is None else _LAYOUTS.get(decided.id)
    if layout is None or not kinds <= layout.kinds:
        return pa.array(values, type_)
    given, validity = values, None
    if None in values:
        validity = _bits([value is not None for value in values])
        given = [layout.blank if value is None else value for value in values]
    try:
        content = layout.written(given, decided)
    except (_NotPlainError, ArithmeticError, UnicodeEncodeError):
        return pa.array(values, type_)
    return pa.Array.from_buffers(decided, len(values), [validity, *content])


def _type_of(values: Sequence[Any], kinds: set[type]) -> pa.DataType | None:
    """The one that they have in common; None: Arrow finds it."""
    if dt.datetime in kinds and any(getattr(value, "tzinfo", None) is not None for value in values):
        return None
    return _TYPES.get(*kinds) if len(kinds) == 1 else None


def _bits(flags: Sequence[bool]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(np.array(flags, np.bool_), bitorder="little"))


def _booleans() -> _Layout:
    return _Layout(frozenset((bool,)), False, lambda values, _: [_bits(values)])


def _integers(code: str) -> _Layout:
    """By their code in `array`, which raises for what is too large."""
    return _Layout(frozenset((int,)), 0, lambda values, _: [pa.py_buffer(array(code, values))])


def _floats(code: str, most: int) -> _Layout:
    """Integers as well, up to the largest that has all its neighbours."""

    def written(values: Sequence[Any], _: pa.DataType) -> _Buffers:
        if int in set(map(type, values)) and any(type(value) is int and abs(value) > most for value in values):
            raise _NotPlainError
        return [pa.py_buffer(array(code, values))]

    return _Layout(frozenset((float, int)), 0.0, written)


def _texts(code: str) -> _Layout:
    """By the code of their offsets."""

    def written(values: Sequence[str], _: pa.DataType) -> _Buffers:
        together = "".join(values)
        if not together.isascii():
            return _parts_written([value.encode() for value in values], code)
        return [pa.py_buffer(array(code, accumulate(map(len, values), initial=0))), pa.py_buffer(together.encode())]

    return _Layout(frozenset((str,)), "", written)


def _bytes(code: str) -> _Layout:
    return _Layout(frozenset((bytes,)), b"", lambda values, _: _parts_written(values, code))


def _parts_written(parts: Sequence[bytes], code: str) -> _Buffers:
    return [pa.py_buffer(array(code, accumulate(map(len, parts), initial=0))), pa.py_buffer(b"".join(parts))]


def _decimals() -> _Layout:
    """Integers as well. Arrow would read texts of decimals faster, but takes some that do not fit."""

    def written(values: Sequence[Any], type_: pa.DataType) -> _Buffers:
        scale, limit, width = type_.scale, Decimal(10) ** type_.precision, type_.bit_width // 8
        unscaled = []
        for value in values:
            scaled = Decimal(value).scaleb(scale, _EXACT)
            is_far = scaled.adjusted() >= type_.precision  # also of zeros, some of which are too far for Arrow
            if is_far or not -limit < scaled < limit or (whole := int(scaled)) != scaled:
                raise _NotPlainError
            unscaled.append(whole.to_bytes(width, "little", signed=True))
        return [pa.py_buffer(b"".join(unscaled))]

    return _Layout(frozenset((Decimal, int)), 0, written)


def _times(code: str, kind: type, microseconds: Callable[[Any], int]) -> _Layout:
    """Integers are in the unit of the type already."""

    def written(values: Sequence[Any], type_: pa.DataType) -> _Buffers:
        unit = _NANOSECONDS_OF_DATES.get(type_) or _NANOSECONDS[type_.unit]

        def in_units(value: Any) -> int:
            if type(value) is int:
                return value
            whole, rest = divmod(microseconds(value) * 1000, unit)
            if rest:
                raise _NotPlainError
            return whole

        return [pa.py_buffer(array(code, map(in_units, values)))]

    return _Layout(frozenset((kind, int)), 0, written)


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
        (pa.string(), _texts("i")),
        (pa.large_string(), _texts("q")),
        (pa.binary(), _bytes("i")),
        (pa.large_binary(), _bytes("q")),
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
