"""As of: each stream row meets the master row that was valid at its time, the last of its key that began before.

Rows of both are put in one order, by code and time; before a stream row stands the master row that it meets.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from sooner.errors import InvalidJoin
from sooner.kernels.array_types import Codes, Positions
from sooner.kernels.keys import common_type
from sooner.kernels.matching import matches
from sooner.kernels.value_codes import code_values
from sooner.operators.order import OnlyMatching
from sooner.operators.pairs import PAIRS_AT_ONCE, Pairs
from sooner.runs.run import Run

BEFORE_ALL: Final = -1


def has_order(type_: pa.DataType) -> bool:
    """Whether values have one in 64 bits."""
    return bool(pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_temporal(type_))


@dataclass(frozen=True)
class AsOf:
    """The column of the stream with the time that counts, and that of the master from when on a row is valid."""

    time: str
    valid_from: str

    def type_of(self, stream: pa.Schema, master: pa.Schema) -> pa.DataType:
        """In which both are compared. Refuses what has no order, or none in 64 bits."""
        types = [stream.field(self.time).type, master.field(self.valid_from).type]
        type_ = common_type(*types)
        if type_ is None or not has_order(type_):
            raise InvalidJoin(
                f"as_of={self.time!r} is {types[0]} and valid_from={self.valid_from!r} is {types[1]}; give two times, "
                "dates or numbers that can be compared."
            )
        return type_


class Validity:
    """Which master rows stream rows meet; `only_matching` is for codes that keys may share."""

    def __init__(self, as_of: AsOf, type_: pa.DataType, only_matching: OnlyMatching | None) -> None:
        self._as_of = as_of
        self._type = type_
        self._only_matching = only_matching

    def pairs(self, stream: Run, master: Run) -> Iterator[Pairs]:
        """Of these stream rows and all master rows of their codes."""
        times, timed = code_values(stream.rows, self._as_of.time, self._type)
        begins, dated = code_values(master.rows, self._as_of.valid_from, self._type)
        asking = np.arange(len(stream)) if timed is None else np.flatnonzero(timed)
        there = np.arange(len(master)) if dated is None else np.flatnonzero(dated)
        yield from self._found(stream, master, asking, there, times, begins)

    def _found(
        self, stream: Run, master: Run, asking: Positions, there: Positions, times: Codes, begins: Codes
    ) -> Iterator[Pairs]:
        """Pairs of rows at these positions; where a key shares its code with another, the rest is looked through."""
        there = there[np.lexsort((begins[there], master.codes[there]))]
        codes, starts = master.codes[there], begins[there]
        last = _last_before(codes, starts, stream.codes[asking], times[asking])
        met = last != BEFORE_ALL
        met[met] = codes[last[met]] == stream.codes[asking[met]]
        asking, last = asking[met], last[met]
        first = _first_equal(codes, starts)[last]
        counts = last - first + 1
        at_stream = np.repeat(asking, counts)
        at_master = there[np.arange(counts.sum()) + np.repeat(first - counts.cumsum() + counts, counts)]
        if self._only_matching is None:
            yield from _in_portions(stream, master, at_stream, at_master)
            return
        at_stream, at_master = self._only_matching(stream.columns, master.columns, at_stream.copy(), at_master)
        yield from _in_portions(stream, master, at_stream, at_master)
        if len(lost := np.setdiff1d(asking, at_stream)):
            yield from self._looked_through(stream, master, lost, there, times, begins)

    def _looked_through(
        self, stream: Run, master: Run, lost: Positions, there: Positions, times: Codes, begins: Codes
    ) -> Iterator[Pairs]:
        """The same by all pairs of equal codes, which are hardly ever of different keys."""
        assert self._only_matching is not None
        there = np.sort(there)
        found = list(matches(stream.codes[lost], master.codes[there], PAIRS_AT_ONCE))
        at_stream = lost[np.concatenate([at for at, _ in found])]
        at_master = there[np.concatenate([at for _, at in found])]
        in_time = begins[at_master] <= times[at_stream]
        pairs = self._only_matching(stream.columns, master.columns, at_stream[in_time], at_master[in_time])
        at_stream, at_master = pairs
        latest = np.zeros(len(stream), np.uint64)
        np.maximum.at(latest, at_stream, begins[at_master])
        is_latest = begins[at_master] == latest[at_stream]
        yield from _in_portions(stream, master, at_stream[is_latest], at_master[is_latest])


def _last_before(codes: Codes, starts: Codes, asked: Codes, times: Codes) -> Positions:
    """Of each (asked, time) the position of the last (code, start) that is not above it, both in rising order."""
    n = len(codes)
    order = np.lexsort((np.append(np.zeros(n), np.ones(len(asked))), np.append(starts, times), np.append(codes, asked)))
    is_master = order < n
    before = np.cumsum(is_master) - 1
    last = np.empty(len(asked), np.int64)
    last[order[~is_master] - n] = before[~is_master]
    return last


def _first_equal(codes: Codes, starts: Codes) -> Positions:
    """Of each position the first with the same code and start."""
    new = np.append(True, (codes[1:] != codes[:-1]) | (starts[1:] != starts[:-1]))[: len(codes)]
    return np.maximum.accumulate(np.where(new, np.arange(len(codes)), 0))


def _in_portions(stream: Run, master: Run, at_stream: Positions, at_master: Positions) -> Iterator[Pairs]:
    for begin in range(0, len(at_stream), PAIRS_AT_ONCE):
        end = begin + PAIRS_AT_ONCE
        yield Pairs(stream, master, at_stream[begin:end], at_master[begin:end])
