"""What a row in the union of an operator's inputs is, in one number: its kind.

From the lowest bit on: 8 bits say of which input it is, or that it is the mark of a partition or a pulse; 24 bits are
the partition that it goes to; of a row of an input, the next bit says that it is a copy, which is elsewhere as well; of
a pulse, 2 bits say whether everything is to be settled, and the rest which inputs have ended. The same formula is for
Spark's columns, NumPy's arrays and plain integers.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, get_args

import numpy as np
import numpy.typing as npt
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812

Kinds = npt.NDArray[np.int64]
Newest = tuple[int | float | None, ...]
Settling = Literal["not now", "in portions", "at once"]

SETTLING: Final[tuple[Settling, ...]] = get_args(Settling)
MARK: Final = 254  # one for each partition in every batch: a task knows whose state it goes on from
PULSE: Final = 255
_WHAT_BITS: Final = 8
_PLACE_BITS: Final = 24
_SETTLING_BITS: Final = 2


def kind_of(what: Any, place: Any, settling: Any = 0, ended: Any = 0) -> Any:
    """`what` is an input, MARK or PULSE; `settling` is a place in SETTLING, and `ended` has a bit for each input."""
    above_place = settling + ended * 2**_SETTLING_BITS
    return what + place * 2**_WHAT_BITS + above_place * 2 ** (_WHAT_BITS + _PLACE_BITS)


def of_copy(place: Any, is_copy: Any = 1) -> Any:
    """What to give as the place of a copy."""
    return place + is_copy * 2**_PLACE_BITS


def are_copies(kinds: Kinds) -> npt.NDArray[np.bool_]:
    """Whether rows of inputs are copies."""
    copies: npt.NDArray[np.bool_] = (kinds >> (_WHAT_BITS + _PLACE_BITS)) > 0
    return copies


def place_column(kind: Column) -> Column:
    return F.shiftright(kind, _WHAT_BITS).bitwiseAND(F.lit(2**_PLACE_BITS - 1)).cast("int")


def of_input(kinds: Kinds, which: int) -> npt.NDArray[np.bool_]:
    mine: npt.NDArray[np.bool_] = (kinds & (2**_WHAT_BITS - 1)) == which
    return mine


def place_of(kind: Any) -> Any:
    return (kind >> _WHAT_BITS) % 2**_PLACE_BITS


@dataclass(frozen=True)
class Pulse:
    """What the driver has to say in a batch."""

    ended: int = 0  # a bit for each input that has
    settling: Settling = "not now"
    newest: Newest = ()  # values of each input, as of the batch before; nothing where nobody asks
    hot: tuple[dict[str, Any], ...] = ()  # keys that are found to be hot, see `hot_keys`

    def saying(self, text: str) -> "Pulse":
        """The same, with what `text_of_pulse` says."""
        said = json.loads(text)
        return replace(self, newest=tuple(said["newest"]), hot=tuple(said["hot"]))

    def has_ended(self, which: int) -> bool:
        return bool(self.ended >> which & 1)


def text_of_pulse(newest: Sequence[int | float | None], hot: Sequence[dict[str, Any]]) -> str:
    """What a pulse says beside its kind."""
    return json.dumps({"newest": newest, "hot": hot})


def pulse_in(kinds: Kinds) -> Pulse | None:
    """The pulse among these rows, if it is there; there is one in a batch at most."""
    pulses = kinds[of_input(kinds, PULSE)]
    if not len(pulses):
        return None
    ended, settling = divmod(int(pulses[0]) >> (_WHAT_BITS + _PLACE_BITS), 2**_SETTLING_BITS)
    return Pulse(ended, SETTLING[settling])
