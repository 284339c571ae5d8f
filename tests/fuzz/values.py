"""Columns of every type: how random values of it are made, and how they are read back exactly.

Values are *raw*: integers for all moments, in the units that they are stored in, so that none is out of Python's range;
floats, decimals, texts and bytes as Python has them.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Raw = Any  # None is null
SECONDS_A_DAY = 86_400
UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


@dataclass(frozen=True)
class Kind:
    """A type, and values of it: its extremes, and those that small numbers stand for on both sides of a join."""

    type: pa.DataType
    family: str
    extremes: tuple[Raw, ...]
    nth: Callable[[int], Raw]
    encode: Callable[[pa.Array], pa.Array] | None = None

    def any(self, dice: Random, domain: int, nulls: float = 0.1, strange: float = 0.15) -> Raw:
        luck = dice.random()
        if luck < nulls:
            return None
        if luck < nulls + strange:
            return dice.choice(self.extremes)
        return self.nth(dice.randrange(domain))


def _integers(type_: pa.DataType) -> Kind:
    bits, signed = type_.bit_width, pa.types.is_signed_integer(type_)
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    near_2_to_53 = (2**53, 2**53 + 1) if bits == 64 else ()
    return Kind(type_, "integer", (low, low + 1, 0, 1, high - 1, high, *near_2_to_53), lambda n: n % high)


def _floats(type_: pa.DataType) -> Kind:
    info = np.finfo(type_.to_pandas_dtype())
    sizes = (float(info.max), float(info.tiny), float(info.smallest_subnormal), 1.0, 1.0 + float(info.eps), 2.5, 2048.0)
    more = (9007199254740993.0, 0.1, 1e22) if type_ == pa.float64() else ()
    numbers = tuple(sign * size for size in (*sizes, *more) for sign in (1, -1))
    strange = (math.nan, math.inf, -math.inf, 0.0, -0.0)
    return Kind(type_, "float", (*numbers, *strange, *strange), lambda n: float(n % 1000))


def _decimals(type_: pa.DataType) -> Kind:
    scale, most = type_.scale, 10**type_.precision - 1
    unscaled = (0, 1, -1, most, -most, most // 2, 10**scale if 10**scale <= most else 1)
    return Kind(
        type_,
        "decimal",
        tuple(decimal_of(value, scale) for value in unscaled),
        lambda n: decimal_of(min(n * 10**scale, most), scale),
    )


def decimal_of(unscaled: int, scale: int) -> Decimal:
    sign, digits = int(unscaled < 0), tuple(map(int, str(abs(unscaled))))
    return Decimal((sign, digits, -scale))


def _stored(type_: pa.DataType) -> pa.DataType:
    """The integers that a moment is stored as."""
    return pa.int32() if type_.bit_width == 32 else pa.int64()


def _moments(type_: pa.DataType, family: str, unit: int, *, low: int, high: int, step: int = 1) -> Kind:
    """`unit` is how many of the type's own a small number stands for."""
    low, high = -(-low // step) * step, high // step * step
    extremes = (low, low + step, 0, step, high - step, high, *((-step,) if low < 0 else ()))
    return Kind(type_, family, extremes, lambda n: min(n * unit, high))


def _all_moments() -> list[Kind]:
    bits_64 = {"low": -(2**63), "high": 2**63 - 1}
    day_ms = SECONDS_A_DAY * 1000
    kinds = [
        _moments(pa.date32(), "date", 1, low=-(2**31), high=2**31 - 1),
        _moments(pa.date64(), "date", day_ms, low=-(2**31) * day_ms, high=(2**31 - 1) * day_ms, step=day_ms),
    ]
    for unit, per_second in UNITS.items():
        kinds.append(_moments(pa.timestamp(unit), "local time", SECONDS_A_DAY * per_second, **bits_64))
        zoned = [pa.timestamp(unit, zone) for zone in ("UTC", "Europe/Berlin", "+05:30")]
        kinds += [_moments(type_, "instant", SECONDS_A_DAY * per_second, **bits_64) for type_ in zoned]
        kinds.append(_moments(pa.duration(unit), "duration", per_second, **bits_64))
        time = pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
        kinds.append(_moments(time, "time of day", per_second, low=0, high=SECONDS_A_DAY * per_second - 1))
    return kinds


TEXTS = ("", "a", "A", "ä", "a\0", "a\0b", "\0", " ", "a ", "\U0001f600", "\U0010ffff", "x" * 7, "x" * 8, "x" * 9,
         "y" * 16, "y" * 17, "long " * 60, "long " * 60 + "!", "'", "%_", "\n")  # fmt: skip


def _texts(type_: pa.DataType, encode: Callable[[pa.Array], pa.Array] | None = None) -> Kind:
    return Kind(type_, "text", TEXTS, lambda n: f"text {n}", encode)


def _bytes(type_: pa.DataType) -> Kind:
    extremes = (*(text.encode() for text in TEXTS), b"\xff", b"\xff" * 8, bytes(range(256)))
    return Kind(type_, "bytes", extremes, lambda n: n.to_bytes(4, "big"))


def _fixed_bytes(width: int) -> Kind:
    return Kind(
        pa.binary(width),
        "bytes",
        (b"\0" * width, b"\xff" * width, b"a" + b"\0" * (width - 1)) if width else (b"",),
        lambda n: n.to_bytes(4, "big").rjust(width, b"\0")[-width:] if width else b"",
    )


def _to_view(array: pa.Array) -> pa.Array:
    return array.cast(pa.string_view())


def _to_runs(array: pa.Array) -> pa.Array:
    return pc.run_end_encode(array)


FLAT: tuple[Kind, ...] = (
    *map(_integers, (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())),
    *map(_floats, (pa.float16(), pa.float32(), pa.float64())),
    *map(
        _decimals,
        (
            pa.decimal32(9, 2), pa.decimal64(18, 4), pa.decimal128(5, 0), pa.decimal128(18, 2), pa.decimal128(38, 0),
            pa.decimal128(38, 10), pa.decimal128(20, 20), pa.decimal256(50, 3), pa.decimal256(76, 0),
        ),
    ),
    Kind(pa.bool_(), "boolean", (True, False), lambda n: n % 2 == 1),
    *_all_moments(),
    _texts(pa.string()), _texts(pa.large_string()), _texts(pa.string(), _to_view),
    _texts(pa.string(), pa.Array.dictionary_encode), _texts(pa.string(), _to_runs),
    _bytes(pa.binary()), _bytes(pa.large_binary()), _fixed_bytes(4), _fixed_bytes(16), _fixed_bytes(5),
    Kind(pa.null(), "null", (None,), lambda _: None),
)  # fmt: skip

_LISTS = (None, [], [1], [None, 2], [3, 4, 5] * 5)
_STRUCTS = (None, {"a": None, "b": "x"}, {"a": 1, "b": None}, {"a": 2, "b": "long " * 9})
_OF_STRUCTS = pa.struct([("a", pa.int64()), ("b", pa.string())])
NESTED: tuple[Kind, ...] = (
    Kind(pa.list_(pa.int64()), "nested", _LISTS, lambda n: [n, None]),
    Kind(pa.large_list(pa.int16()), "nested", _LISTS, lambda n: [n, None]),
    Kind(pa.list_(pa.int32(), 2), "nested", (None, [1, None]), lambda n: [n, n]),
    Kind(_OF_STRUCTS, "nested", _STRUCTS, lambda n: {"a": n, "b": f"text {n}"}),
    Kind(pa.list_(_OF_STRUCTS), "nested", (None, [], [None, {"a": 1, "b": "x"}]), lambda n: [{"a": n, "b": ""}]),
    Kind(pa.map_(pa.string(), pa.int64()), "nested", (None, [], [("a", None)]), lambda n: [("n", n)]),
)  # fmt: skip


def array_of(values: Sequence[Raw], kind: Kind) -> pa.Array:
    type_ = kind.type
    if kind.family in ("date", "local time", "instant", "duration", "time of day"):
        array = pa.array(values, _stored(type_)).view(type_)
    elif pa.types.is_float16(type_):
        array = pa.array([None if value is None else np.float16(value) for value in values], type_)
    else:
        array = pa.array(values, type_)
    return array if kind.encode is None else kind.encode(array)


def raw_values(column: pa.Array | pa.ChunkedArray) -> list[Raw]:
    """The values of a column, whatever its encoding; those of nested columns and floats as texts that tell all."""
    if isinstance(column, pa.ChunkedArray):
        return [value for chunk in column.chunks for value in raw_values(chunk)]
    type_ = column.type
    if pa.types.is_dictionary(type_):
        return raw_values(column.dictionary_decode())
    if pa.types.is_run_end_encoded(type_):
        return raw_values(pc.run_end_decode(column))
    if pa.types.is_temporal(type_):
        return column.view(_stored(type_)).to_pylist()
    if pa.types.is_nested(type_):
        return [None if value is None else repr(value) for value in column.to_pylist()]
    if pa.types.is_floating(type_):
        return [None if value is None else repr(float(value)) for value in column.to_pylist()]
    return column.to_pylist()
