"""Arrivals of a user's own, from a table: when each row came, on which side, and with which key."""

import hashlib
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sooner.errors import InvalidCall
from sooner.lab.traces import Inputs, Keys, Trace, find_silences
from sooner.sides import LEFT, RIGHT
from sooner.sources.arrival_patterns import Seconds

COLUMNS: Final = ("seconds", "side", "key")
CALLED: Final = {"left": LEFT, "l": LEFT, "0": LEFT, "right": RIGHT, "r": RIGHT, "1": RIGHT}
WHAT_THEY_ARE: Final = (
    "give a table with the columns seconds (a number, or a time), side (left or right) and key (of any type)"
)


@dataclass(frozen=True)
class GivenArrivals:
    """Rows in the order of their arrival, the first at 0. Keys are their places among all that there are."""

    mark: str  # of all that follows, by which two of them are told apart
    seconds: Seconds = field(compare=False, repr=False)
    of_input: Inputs = field(compare=False, repr=False)
    keys: Keys = field(compare=False, repr=False)
    domain: int = field(compare=False)

    @staticmethod
    def of_table(table: pa.Table) -> "GivenArrivals":
        """Read it, or refuse it in a sentence."""
        _require_columns(table)
        seconds, of_input = _seconds(table["seconds"]), _sides(table["side"])
        keys, domain = _places(table["key"])
        order = np.argsort(seconds, kind="stable")
        seconds, of_input, keys = seconds[order] - seconds[order[0]], of_input[order], keys[order]
        both = (keys[of_input == side] for side in (LEFT, RIGHT))
        if not len(np.intersect1d(*both)):
            raise InvalidCall("no key came on both sides, so there is nothing to join; look at the column side.")
        mark = hashlib.sha256(seconds.tobytes() + of_input.tobytes() + keys.tobytes()).hexdigest()
        return GivenArrivals(mark, seconds, of_input, keys, domain)

    def __len__(self) -> int:
        return len(self.keys)

    def trace(self, partitions: int, silence_seconds: float) -> Trace:
        silences = find_silences(self.seconds, silence_seconds)
        return Trace(self.seconds, self.of_input, self.keys, silences, self.domain, partitions)


def _require_columns(table: pa.Table) -> None:
    missing = [name for name in COLUMNS if name not in table.column_names]
    if missing:
        raise InvalidCall(
            f"the arrivals have no column {missing[0]!r} (they have {', '.join(table.column_names)}); {WHAT_THEY_ARE}."
        )
    if not table.num_rows:
        raise InvalidCall(f"the arrivals have no rows; {WHAT_THEY_ARE}.")
    for name in COLUMNS:
        if table[name].null_count:
            raise InvalidCall(
                f"column {name!r} of the arrivals is null in {table[name].null_count:,} rows; leave them out."
            )


def _seconds(column: pa.ChunkedArray) -> Seconds:
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind) or pa.types.is_duration(kind):
        since = pc.cast(pc.cast(column, _nanoseconds(kind)), pa.int64()).to_numpy()
        first: Seconds = (since - since.min()) / 1e9  # before it is a float: so many nanoseconds are none
        return first
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise InvalidCall(f"column 'seconds' of the arrivals is {kind}, and no number or time; {WHAT_THEY_ARE}.")
    seconds: Seconds = column.to_numpy().astype(np.float64)
    if not np.isfinite(seconds).all():
        raise InvalidCall("column 'seconds' of the arrivals has a value that is no moment (NaN or infinite).")
    return seconds


def _nanoseconds(kind: Any) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return pa.timestamp("ns", kind.tz)
    return pa.duration("ns") if pa.types.is_duration(kind) else pa.time64("ns")


def _sides(column: pa.ChunkedArray) -> Inputs:
    values, places = _distinct(column)
    sides = [CALLED.get(str(value).strip().lower()) for value in values.to_pylist()]
    if None in sides:
        wrong = values.to_pylist()[sides.index(None)]
        raise InvalidCall(f"column 'side' of the arrivals has {wrong!r}; a row came on the left or on the right side.")
    return np.array(sides, np.int8)[places]


def _places(column: pa.ChunkedArray) -> tuple[Keys, int]:
    """Of each key among all of them in their order, from 0 on; and how many there are."""
    values, places = _distinct(column)
    try:
        order = pc.sort_indices(values).to_numpy()
    except pa.ArrowNotImplementedError:  # such as structs, which have no order
        order = np.arange(len(values))
    rank = np.empty(len(values), np.int32)
    rank[order] = np.arange(len(values), dtype=np.int32)
    return rank[places], len(values)


def _distinct(column: pa.ChunkedArray) -> tuple[pa.Array, npt.NDArray[np.int32]]:
    """The values that there are, and which of them each row has."""
    try:
        encoded = pc.dictionary_encode(column).combine_chunks()
    except pa.ArrowNotImplementedError as error:
        raise InvalidCall(f"a column of {column.type} cannot be a key of arrivals; {WHAT_THEY_ARE}.") from error
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0)
    return encoded.dictionary, encoded.indices.to_numpy()
