"""Tables to join by ranges on Spark: of each type that has values a number apart, at the ends of the type too."""

import datetime as dt
import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

ROWS = 1200
BALLAST = "x" * 200  # so that little memory is little
LAST = 2**63 - 1
FIRST_DAY, FIRST_MOMENT = dt.date(1969, 12, 1), dt.datetime(1969, 12, 31, 23, 59, 50)
SECOND, DAY = dt.timedelta(seconds=1), dt.timedelta(days=1)
SPECIAL = (None, math.nan, 0.0, -0.0, math.inf, -math.inf, 1e300, 5e-324)


@dataclass(frozen=True)
class Ranged:
    """Values of both sides by a number that is drawn, how far apart they may be, and that in Spark's words."""

    left_of: Callable[[int], Any]
    right_of: Callable[[int], Any]
    types: tuple[pa.DataType, pa.DataType]
    within: Any
    condition: str  # of l and r
    groups: int = 0  # columns that must be equal have so many values
    domain: int = 2000

    def table(self, side: int) -> pa.Table:
        dice = np.random.default_rng(side)
        drawn = dice.integers(0, self.domain, ROWS).tolist()
        values = [None if n % 97 == 0 else (self.left_of, self.right_of)[side](n) for n in drawn]
        groups = {"g": dice.integers(0, self.groups, ROWS)} if self.groups else {}
        ballast = {f"{'ab'[side]}_ballast": [BALLAST] * ROWS}
        return pa.table({**groups, "v": pa.array(values, self.types[side]), "ab"[side]: np.arange(ROWS), **ballast})


def alike(value: Callable[[int], Any], type_: pa.DataType, within: Any, condition: str, **more: Any) -> Ranged:
    return Ranged(value, value, (type_, type_), within, condition, **more)


def apart(low: str, high: str, difference: str = "r.v - l.v") -> str:
    return f"({difference}) between {low} and {high}"


def of_doubles(n: int) -> float | None:
    return SPECIAL[n] if n < len(SPECIAL) else (n - 1500) / 8


WIDE = "cast(r.v as decimal(38,5)) - cast(l.v as decimal(38,5))"  # no two values are too far apart for it
OF_DOUBLES = "case when l.v = r.v then 0 else r.v - l.v end"
NO_NAN = "not isnan(l.v) and not isnan(r.v) and "
INTEGER, INSTANT = pa.int64(), pa.timestamp("us", "UTC")
RANGES: dict[str, Ranged] = {
    "int and long": Ranged(int, lambda n: n - 5, (pa.int32(), INTEGER), 2, apart("-2", "2")),
    "first integers": alike(lambda n: n - 2**63, INTEGER, (-9, -6), apart("-9", "-6", WIDE)),
    "last integers": alike(lambda n: LAST - n, INTEGER, (3, 4), apart("3", "4", WIDE), groups=3),
    "first and last": Ranged(
        lambda n: n - 2**63,
        lambda n: LAST - n,
        (INTEGER, INTEGER),
        (2**64 - 4, 2**64 - 1),
        apart(f"{2**64 - 4}", f"{2**64 - 1}", WIDE),
    ),
    "equal": alike(int, INTEGER, 0, apart("0", "0"), groups=3),
    "all": alike(int, INTEGER, 10**6, apart(f"-{10**6}", f"{10**6}"), groups=10**5),
    "half of all": alike(
        lambda n: (n - 1500) * 2**52, INTEGER, 2**60, apart(f"-{2**60}", f"{2**60}", WIDE), groups=900
    ),
    "groups of one": alike(int, INTEGER, (-1000, 0), apart("-1000", "0"), groups=10**5),
    "doubles": alike(of_doubles, pa.float64(), 0.25, NO_NAN + apart("-0.25D", "0.25D", OF_DOUBLES)),
    "float and double": Ranged(
        of_doubles, of_doubles, (pa.float32(), pa.float64()), (0.1, 0.3), NO_NAN + apart("0.1D", "0.3D", OF_DOUBLES)
    ),
    "equal doubles": alike(of_doubles, pa.float64(), 0.0, NO_NAN + apart("0D", "0D", OF_DOUBLES), groups=2),
    "long and double": Ranged(int, lambda n: n / 4, (INTEGER, pa.float64()), (-0.75, 0), apart("-0.75D", "0D")),
    "decimals": Ranged(
        lambda n: Decimal(n - 1500) / 4,
        lambda n: Decimal(n - 1500) / 8,
        (pa.decimal128(12, 2), pa.decimal128(20, 5)),
        0.25,
        apart("-0.25BD", "0.25BD"),
    ),
    "large decimals": alike(
        lambda n: (n % 2 or -1) * Decimal(10**37) + n,
        pa.decimal128(38, 0),
        (1, 2),
        apart("1", "2"),
    ),
    "dates": alike(
        lambda n: FIRST_DAY + n // 2 * DAY, pa.date32(), (-3 * DAY, -2 * DAY), apart("-3", "-2", "datediff(r.v, l.v)")
    ),
    "instants": alike(
        lambda n: (FIRST_MOMENT + n * SECOND / 64).replace(tzinfo=dt.UTC),
        INSTANT,
        SECOND / 64,
        apart("-15625", "15625", "unix_micros(r.v) - unix_micros(l.v)"),
    ),
    "local times": alike(
        lambda n: FIRST_MOMENT + n * SECOND,
        pa.timestamp("us"),
        (SECOND, 2 * SECOND),
        apart("interval '1' second", "interval '2' second"),
    ),
    "dates and local times": Ranged(
        lambda n: FIRST_DAY + n * DAY,
        lambda n: FIRST_MOMENT + n * DAY / 2,
        (pa.date32(), pa.timestamp("us")),
        (0 * SECOND, DAY / 2),
        apart("interval '0' hour", "interval '12' hour", "r.v - cast(l.v as timestamp_ntz)"),
    ),
}
