"""What a row in the union of a join is, in one number: its kind.

From the lowest bit on: 3 bits say whether it is of the left, of the right, the mark of a partition, or a pulse of the
clock, and of a pulse which sides have ended; 29 bits are the partition that it goes to; the rest says of a pulse
whether everything is to be settled. The same formula is for Spark's columns, NumPy's arrays and plain integers.
"""

from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

import numpy as np
import numpy.typing as npt
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812

from sooner.sides import LEFT, RIGHT

Kinds = npt.NDArray[np.int64]
Settling = Literal["not now", "in portions", "at once"]

MARK: Final = 2  # one for each partition in every batch: a task knows whose state it goes on from
PULSE: Final = 4  # + 1 if the left has ended, + 2 if the right has
SETTLING: Final[tuple[Settling, ...]] = get_args(Settling)
_WHAT: Final = 7
_PLACES: Final = 2**29


def kind_of(what: Any, place: Any, settling: Any = 0) -> Any:
    """`what` is a side, MARK, or PULSE with the sides that have ended; `settling` is a place in SETTLING."""
    return what + place * (_WHAT + 1) + settling * ((_WHAT + 1) * _PLACES)


def place_column(kind: Column) -> Column:
    return F.shiftright(kind, 3).bitwiseAND(F.lit(_PLACES - 1)).cast("int")


def of_side(kinds: Kinds, side: int) -> npt.NDArray[np.bool_]:
    mine: npt.NDArray[np.bool_] = (kinds & _WHAT) == side
    return mine


def place_of(kind: int) -> int:
    return (kind >> 3) % _PLACES


@dataclass(frozen=True)
class Pulse:
    """What the driver has to say in a batch."""

    ended: tuple[bool, bool] = (False, False)
    settling: Settling = "not now"


def pulse_in(kinds: Kinds) -> Pulse | None:
    """The pulse among these rows, if it is there; there is one in a batch at most."""
    pulses = kinds[(kinds & PULSE) == PULSE]
    if not len(pulses):
        return None
    kind = int(pulses[0])
    return Pulse((bool(kind & (1 << LEFT)), bool(kind & (1 << RIGHT))), SETTLING[kind >> 32])
