"""What values of an expression are: exact numbers of a known scale, floats, texts, moments, ...

An exact number is an int64 with a scale that is known before any row is: 12.50 is 1250 at scale 2. So integers and
decimals add, multiply and compare at the speed of integers, and nothing is ever rounded.
"""

from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from sooner.kernels.keys import family, type_of_values

MOST_DIGITS: Final = 18  # that int64 always holds
_UNITS_COARSE_TO_FINE: Final = ("s", "ms", "us", "ns")


@dataclass(frozen=True)
class Kind:
    """What values are, and the Arrow type in which they are evaluated."""

    name: str
    type: pa.DataType
    scale: int = 0

    @property
    def is_exact(self) -> bool:
        return self.name == "number"

    @property
    def is_numeric(self) -> bool:
        return self.name in ("number", "float")

    def __str__(self) -> str:
        if self.is_exact:
            return f"a number with {self.scale} decimals" if self.scale else "an integer"
        return _WITH_ARTICLE.get(self.name, f"a {self.name}")


_WITH_ARTICLE: Final = {"null": "NULL", "instant": "an instant", "interval": "an interval", "bytes": "bytes"}

FLOAT: Final = Kind("float", pa.float64())
BOOLEAN: Final = Kind("boolean", pa.bool_())
TEXT: Final = Kind("text", pa.string())
DATE: Final = Kind("date", pa.date32())
LOCAL_TIME: Final = Kind("local time", pa.timestamp("us"))
INSTANT: Final = Kind("instant", pa.timestamp("us", tz="UTC"))
INTERVAL: Final = Kind("interval", pa.month_day_nano_interval())
NULL: Final = Kind("null", pa.null())


def exact(scale: int) -> Kind:
    return Kind("number", pa.int64(), scale)


INTEGER: Final = exact(0)


def kind_of_type(type_: pa.DataType) -> Kind | None:
    """What the values of a column are, whatever its encoding, or None where nothing can be said of them."""
    values = type_of_values(type_)
    name = family(values)
    if name == "integer":
        return INTEGER
    if name == "decimal":
        return exact(values.scale) if values.scale >= 0 else None
    if name == "text":
        return TEXT if pa.types.is_string(values) else Kind("text", pa.large_string())
    by_name = {"null": NULL, "boolean": BOOLEAN, "float": FLOAT, "date": DATE}
    if name in by_name:
        return by_name[name]
    if name == "bytes":
        return Kind("bytes", pa.large_binary() if pa.types.is_binary_view(values) else values)
    return None if name is None else Kind(name, values)


def common_kind(one: Kind, other: Kind) -> Kind | None:
    """The kind in which values of both can be compared or stand in one column, or None when there is none."""
    if one == other or other.name == "null":
        return one
    if one.name == "null":
        return other
    names = {one.name, other.name}
    if names == {"number"}:
        return exact(max(one.scale, other.scale))
    if names == {"number", "float"}:
        return FLOAT
    if names == {"date", "local time"}:
        return one if one.name == "local time" else other
    if len(names) > 1:
        return None
    if one.name in ("local time", "instant", "time of day", "duration"):
        return max(one, other, key=lambda kind: _UNITS_COARSE_TO_FINE.index(kind.type.unit))
    if one.name == "text":
        return Kind("text", pa.large_string())
    return Kind("bytes", pa.large_binary()) if one.name == "bytes" else None
