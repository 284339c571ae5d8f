"""What a row in the union of a join is, in one number: its kind.

From the lowest bit on: 3 bits say whether it is of the left, of the right, or a tick of the clock, and of a tick which
sides have ended; 29 bits are the partition that it goes to; the rest is the number of the tick. The same formula is for
Spark's columns, NumPy's arrays and plain integers.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812

from sooner.policies.view import LEFT, RIGHT

Kinds = npt.NDArray[np.int64]

TICK: Final = 4  # + 1 if the left has ended, + 2 if the right has
_WHAT: Final = 7
_PLACES: Final = 2**29


def kind_of(what: Any, place: Any, tick: Any = 0) -> Any:
    """`what` is a side, or TICK with the sides that have ended."""
    return what + place * (_WHAT + 1) + tick * ((_WHAT + 1) * _PLACES)


def place_column(kind: Column) -> Column:
    return F.shiftright(kind, 3).bitwiseAND(F.lit(_PLACES - 1)).cast("int")


def of_side(kinds: Kinds, side: int) -> npt.NDArray[np.bool_]:
    mine: npt.NDArray[np.bool_] = (kinds & _WHAT) == side
    return mine


def place_of(kind: int) -> int:
    return (kind >> 3) % _PLACES


@dataclass(frozen=True)
class Tick:
    number: int
    ended: tuple[bool, bool]


def tick_in(kinds: Kinds) -> Tick | None:
    """The tick among these rows, if it is there; there is one in a batch at most."""
    ticks = kinds[(kinds & TICK) == TICK]
    if not len(ticks):
        return None
    kind = int(ticks[0])
    return Tick(kind >> 32, (bool(kind & (1 << LEFT)), bool(kind & (1 << RIGHT))))
