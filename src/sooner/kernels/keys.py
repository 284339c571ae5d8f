"""Which columns are the keys of a join, in which type the two sides meet, and whether two keys are equal.

The common types follow Spark's widening; equality follows Spark's rules for join keys: NaN equals NaN,
-0.0 equals 0.0, null equals nothing. Encodings (dictionary, run-end, views) and extension types do not
matter, only the values under them do.

Not covered: keys of nested or interval type, collations, and the hashing of keys (see `codes`).
"""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

import numpy as np
import pyarrow as pa

from sooner.errors import InvalidJoin
from sooner.kernels.array_types import Flags
from sooner.kernels.arrays import to_arrow, to_flags, to_numpy

_FAMILIES = (
    ("null", pa.types.is_null),
    ("boolean", pa.types.is_boolean),
    ("integer", pa.types.is_integer),
    ("float", pa.types.is_floating),
    ("decimal", pa.types.is_decimal),
    ("date", pa.types.is_date),
    ("local time", lambda t: pa.types.is_timestamp(t) and t.tz is None),
    ("instant", lambda t: pa.types.is_timestamp(t) and t.tz is not None),
    ("time of day", pa.types.is_time),
    ("duration", pa.types.is_duration),
    ("text", lambda t: pa.types.is_string(t) or pa.types.is_large_string(t) or pa.types.is_string_view(t)),
    ("bytes", lambda t: pa.types.is_binary(t) or pa.types.is_large_binary(t) or pa.types.is_binary_view(t)),
    ("bytes", pa.types.is_fixed_size_binary),
)
NUMBERS = {"integer", "float", "decimal"}
MOMENTS = {"date", "local time", "instant", "time of day", "duration"}
_ONE_WORD = {"boolean", "integer", "float", *MOMENTS}
_UNITS_COARSE_TO_FINE = ("s", "ms", "us", "ns")
_DIGITS_BY_INTEGER_BITS = {8: 3, 16: 5, 32: 10, 64: 19}
_SPARK_DIGITS_OF_INT64 = 20
_MOST_DIGITS = 38  # of decimals that are not decimal256
_DIGITS_OF_A_DOUBLE = 15
LEFT_AND_RIGHT: Final = ("left", "right")  # what the sides are called in refusals, unless they have better names


@dataclass(frozen=True)
class KeyPlan:
    """How the keys of both sides become comparable.

    `exact` says that equal codes imply equal keys, so that the keys themselves need no comparison: there is
    one key column, its values fit in 64 bits, and they are hashed by a bijection.
    """

    left: tuple[str, ...]
    right: tuple[str, ...]
    types: tuple[pa.DataType, ...]
    exact: bool


NO_KEYS: Final = KeyPlan((), (), (), exact=False)  # where rows match by a range alone


def plan_keys(
    left: pa.Schema,
    right: pa.Schema,
    left_on: Sequence[str],
    right_on: Sequence[str],
    sides: Sequence[str] = LEFT_AND_RIGHT,
) -> KeyPlan:
    """Pair the key columns of both sides, or say in one sentence why they cannot be paired."""
    if not left_on or not right_on:
        raise InvalidJoin("a join needs at least one key column on each side; give their names")
    if len(left_on) != len(right_on):
        raise InvalidJoin(
            f"there are {len(left_on)} key columns on the {sides[0]} ({', '.join(left_on)}) but {len(right_on)} on "
            f"the {sides[1]} ({', '.join(right_on)}); give as many on one side as on the other"
        )
    for side, schema, names in zip(sides, (left, right), (left_on, right_on), strict=True):
        require_usable_columns(side, schema, names)
    types = tuple(
        meeting_type(left.field(left_name), right.field(right_name), sides)
        for left_name, right_name in zip(left_on, right_on, strict=True)
    )
    exact = len(types) == 1 and family(types[0]) in _ONE_WORD
    return KeyPlan(tuple(left_on), tuple(right_on), types, exact)


def common_type(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """The type in which values of both types can be compared, or None when there is none.

    >>> common_type(pa.int32(), pa.float32())
    DataType(double)
    """
    left, right = type_of_values(left), type_of_values(right)
    families = {family(left), family(right)}
    if None in families:
        return None
    if "null" in families:
        other = right if pa.types.is_null(left) else left
        return other if pa.types.is_null(other) else common_type(other, other)
    if families <= NUMBERS:
        return _common_number(left, right, families)
    if families <= MOMENTS:
        return _common_moment(left, right, families)
    if families == {"text"}:
        return pa.large_string() if pa.large_string() in (left, right) else pa.string()
    if families == {"bytes"}:
        return pa.large_binary() if pa.large_binary() in (left, right) else pa.binary()
    return left if families == {"boolean"} else None


def coalesced_type(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """The type of a column that has the values of both, which are keys: as Spark's `coalesce` would have it, but of as
    many digits as they need. None if no type has the values of both.

    >>> coalesced_type(pa.int16(), pa.int32())
    DataType(int32)
    """
    if left == right:
        return left
    left, right = type_of_values(left), type_of_values(right)
    if pa.types.is_signed_integer(left) and pa.types.is_signed_integer(right):
        return max(left, right, key=lambda type_: type_.bit_width)
    common = common_type(left, right)
    assert common is not None, "keys that can be equal have a type in common"
    if pa.types.is_decimal(common) and pa.int64() in (left, right):  # Spark has 20 digits for it, and needs 19
        return _decimal(max(_whole_digits(left), _whole_digits(right), _SPARK_DIGITS_OF_INT64), common.scale)
    return common if _holds(common, left) and _holds(common, right) else None


def _holds(common: pa.DataType, type_: pa.DataType) -> bool:
    """Whether a type has the values of another: of durations all, of the calendar the years 1 to 9999.

    What else it has not (a later year, an integer that no double is) is told when it comes: see `cast_without_loss`.
    """
    if pa.types.is_duration(common):
        return bool(type_ == common or pa.types.is_null(type_))
    in_nanoseconds = pa.types.is_timestamp(common) and common.unit == "ns"
    return not in_nanoseconds or pa.types.is_null(type_) or getattr(type_, "unit", None) == "ns"


def keys_in_common_type(batch: pa.RecordBatch, columns: Sequence[str], types: Sequence[pa.DataType]) -> list[pa.Array]:
    """The key columns, decoded and cast. A value that the common type cannot hold becomes null.

    Null is right for it: the common type is the finer of two, so the other side has no value equal to it.
    """
    keys = []
    for column, type_ in zip(columns, types, strict=True):
        try:
            keys.append(_cast(decoded(batch.column(column)), type_))
        except (pa.ArrowInvalid, pa.ArrowCapacityError) as error:
            raise InvalidJoin(
                f"key column {column!r} holds a value that cannot be read as {type_} ({error}); "
                f"correct that value, or cast the column before the join"
            ) from error
    return keys


def cast_without_loss(column: str, array: pa.Array, type_: pa.DataType, reason: str) -> pa.Array:
    """The values of a column in another type. If that has not all of them: a sentence, with the reason for the type."""
    array = decoded(array)
    try:
        cast = _cast(array, type_)
    except pa.ArrowInvalid as error:
        raise InvalidJoin(f"column {column!r} holds a value that is no {type_} ({error}), but {reason}") from error
    if (at := _first_lost(array, cast)) is not None:
        text = pa.int64() if pa.types.is_duration(array.type) else pa.string()  # of which Arrow has a cast
        raise InvalidJoin(
            f"column {column!r} holds {array.slice(at, 1).cast(text)[0]}, of which there is no {type_}, but {reason}"
        )
    return cast


def _first_lost(array: pa.Array, cast: pa.Array) -> int | None:
    """Which value is not what it was: a moment that became null, or a number that no double is written as."""
    import pyarrow.compute as pc

    if cast.null_count > array.null_count:
        return int(pc.index(pc.and_(cast.is_null(), array.is_valid()), True).as_py())
    if not pa.types.is_floating(cast.type) or family(array.type) not in {"integer", "decimal"}:
        return None
    if _whole_digits(array.type) + _scale(array.type) <= _DIGITS_OF_A_DOUBLE:
        return None
    with contextlib.suppress(pa.ArrowInvalid):
        if pa.types.is_integer(array.type) and array.cast(cast.type):  # none is beyond those that all are doubles
            return None
    pairs = enumerate(zip(array.to_pylist(), cast.to_pylist(), strict=True))
    lost = (at for at, (one, other) in pairs if one not in (None, Decimal(other or 0), Decimal(repr(other or 0))))
    return next(lost, None)


def require_usable_columns(side: str, schema: pa.Schema, names: Sequence[str]) -> None:
    for position, name in enumerate(names):
        if name in names[:position]:
            raise InvalidJoin(f"key {name!r} is listed twice on the {side}; list it once")
        occurrences = schema.names.count(name)
        if occurrences > 1:
            raise InvalidJoin(
                f"the {side} has {occurrences} columns named {name!r}; rename them so that one is the key"
            )
        if occurrences == 0:
            nearest = difflib.get_close_matches(name, schema.names, n=1)
            hint = f"did you mean {nearest[0]!r}? Its" if nearest else "its"
            raise InvalidJoin(
                f"the {side} has no column {name!r}; {hint} columns are {', '.join(schema.names) or 'none'}"
            )
        if family(type_of_values(schema.field(name).type)) is None:
            raise InvalidJoin(
                f"column {name!r} on the {side} is {schema.field(name).type} and cannot be a key; choose a "
                f"column of a flat type, or derive one from it"
            )


def meeting_type(left: pa.Field, right: pa.Field, sides: Sequence[str] = LEFT_AND_RIGHT) -> pa.DataType:
    type_ = common_type(left.type, right.type)
    if type_ is None:
        partner = "" if left.name == right.name else f"{right.name!r} is "
        raise InvalidJoin(
            f"key {left.name!r} is {left.type} on the {sides[0]} but {partner}{right.type} on the {sides[1]}; "
            f"cast one of them so that both have one type"
        )
    return type_


def type_of_values(type_: pa.DataType) -> pa.DataType:
    """What is left of a type when its encoding is taken off."""
    if isinstance(type_, pa.BaseExtensionType):
        return type_of_values(type_.storage_type)
    if pa.types.is_dictionary(type_) or pa.types.is_run_end_encoded(type_):
        return type_of_values(type_.value_type)
    return type_


def family(type_: pa.DataType) -> str | None:
    return next((name for name, belongs in _FAMILIES if belongs(type_)), None)


def _common_number(left: pa.DataType, right: pa.DataType, families: set[str | None]) -> pa.DataType | None:
    if "float" in families:
        return pa.float64()
    if families == {"integer"}:
        signed = [type_ for type_ in (left, right) if pa.types.is_signed_integer(type_)]
        if not signed:
            return pa.uint64()
        return pa.decimal128(20, 0) if pa.uint64() in (left, right) else pa.int64()
    scale = max(_scale(left), _scale(right), 0)  # Arrow does not compare decimals of a negative scale
    precision = max(_whole_digits(left), _whole_digits(right)) + scale
    return None if precision > 76 else _decimal(precision - scale, scale)


def _decimal(whole_digits: int, scale: int) -> pa.DataType:
    digits = whole_digits + scale
    return pa.decimal128(digits, scale) if digits <= _MOST_DIGITS else pa.decimal256(digits, scale)


def _scale(number: pa.DataType) -> int:
    return int(number.scale) if pa.types.is_decimal(number) else 0


def _whole_digits(number: pa.DataType) -> int:
    """How many digits may stand before the decimal point."""
    if pa.types.is_decimal(number):
        return int(number.precision) - int(number.scale)
    return 20 if number == pa.uint64() else _DIGITS_BY_INTEGER_BITS[number.bit_width]


def _common_moment(left: pa.DataType, right: pa.DataType, families: set[str | None]) -> pa.DataType | None:
    if families == {"date"}:
        return left if left == right else pa.date32()
    if families == {"date", "local time"}:
        return left if pa.types.is_timestamp(left) else right
    if len(families) > 1:
        return None
    if families == {"time of day"}:
        return pa.time64("ns")
    return max(left, right, key=lambda type_: _UNITS_COARSE_TO_FINE.index(type_.unit))


def decoded(array: pa.Array) -> pa.Array:
    """The values without dictionary, run-end encoding or extension type.

    Arrow's own decoders refuse views and encodings of encodings; taking the decoded values does not.
    """
    if isinstance(array, pa.ExtensionArray):
        return decoded(array.storage)
    if isinstance(array, pa.DictionaryArray):
        return decoded(array.dictionary).take(array.indices)
    if isinstance(array, pa.RunEndEncodedArray):
        rows = np.arange(array.offset, array.offset + len(array))
        return decoded(array.values).take(to_arrow(np.searchsorted(to_numpy(array.run_ends), rows, side="right")))
    if pa.types.is_string_view(array.type):
        return array.cast(pa.large_string())
    if pa.types.is_binary_view(array.type):
        return array.cast(pa.large_binary())
    return array


def values_equal(left: pa.Array, right: pa.Array) -> Flags:
    """Whether value i of one column equals value i of the other, for each i; both are of one type."""
    import pyarrow.compute as pc

    if pa.types.is_null(left.type):
        return np.zeros(len(left), dtype=np.bool_)
    same = pc.equal(left, right)
    if pa.types.is_floating(left.type):
        same = pc.or_(same, pc.and_(pc.is_nan(left), pc.is_nan(right)))
    return to_flags(same)


def _cast(array: pa.Array, type_: pa.DataType) -> pa.Array:
    if array.type == type_:
        return array
    if pa.types.is_floating(type_):
        # Arrow's cast from decimal to double misses the last bit of one value in five; text gives it exactly.
        array = array.cast(pa.string()) if pa.types.is_decimal(array.type) else array
        return array.cast(type_, safe=False)
    try:
        return array.cast(type_)
    except pa.ArrowInvalid:
        if family(type_) not in MOMENTS:
            raise
    import pyarrow.compute as pc

    converted = array.cast(type_, safe=False)
    survives = pc.equal(converted.cast(array.type, safe=False), array)
    return pc.if_else(survives, converted, pa.scalar(None, type_))
