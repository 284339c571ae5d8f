"""Traces: which row arrives when, on which side, with which key. All of a simulated run's input, fixed beforehand.

Keys are 0, 1, 2, ...; the partition of a key is its remainder (RPJ sec. 6: H(t) = value mod 20), so the first
partition of the paper is number 0 here. Partitions of a join are ranges of codes, hence the codes of this module: the
range of the key's partition, and in it the place of the key.

Scale. A large experiment can be run small: one row of the trace then stands for `scale` rows of the paper, and arrives
when the last of them does. The network keeps its own time: its silences are those of the full stream of rows.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sooner.kernels.array_types import Codes, Flags
from sooner.kernels.matching import Reach
from sooner.operators.order import Order, equal_ranges
from sooner.sides import LEFT, RIGHT, SIDES
from sooner.sources.arrival_patterns import ArrivalPattern, Seconds, arrival_times

ROUNDING_SECONDS: Final = 1e-6  # times are sums of gaps and not exact: a silence must be longer than this

Keys = npt.NDArray[np.int32]
Inputs = npt.NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Silences:
    """When it was noticed that nothing comes, and when something came."""

    noticed_seconds: Seconds
    over_seconds: Seconds

    def __len__(self) -> int:
        return len(self.over_seconds)

    def at_or_after(self, seconds: float) -> int:
        """Which silence is then, or else the next one."""
        return bisect_right(self._over, seconds)

    @cached_property
    def edges(self) -> list[tuple[float, float]]:
        """When each is noticed, and when it is over: to look at one by one, hundred thousands of times."""
        return [*zip(self.noticed_seconds.tolist(), self._over, strict=True)]

    @cached_property
    def _over(self) -> list[float]:
        over: list[float] = self.over_seconds.tolist()
        return over

    def next_noticed(self, seconds: float) -> float:
        """When the silence of then or the next one is noticed."""
        number = self.at_or_after(seconds)
        return self.edges[number][0] if number < len(self) else np.inf


@dataclass(frozen=True, eq=False)
class Pushed:
    """The rows of one input, and after how long without any it counts as silent."""

    seconds: Seconds
    keys: Keys
    silence_seconds: float


@dataclass(frozen=True, eq=False)
class OfInput:
    """The rows of one input among all that come."""

    keys: Keys
    before: Sequence[int]  # how many of them come before each row of the trace, and in all
    last_row: int | None  # of the trace; None if there is none of them

    @staticmethod
    def among(keys: Keys, is_mine: Flags) -> "OfInput":
        before = np.append(0, is_mine.cumsum())
        last_row = int(before.searchsorted(before[-1])) - 1 if before[-1] else None
        return OfInput(keys[is_mine], before.data, last_row)


@dataclass(frozen=True, eq=False)
class Trace:
    seconds: Seconds
    of_input: Inputs
    keys: Keys
    silences: Silences  # of all inputs together
    domain: int  # keys are below this
    partitions: int
    inputs: int = len(SIDES)
    within: int = 0  # keys join that are no further apart; there is one partition then

    @staticmethod
    def of_inputs(pushed: Sequence[Pushed], domain: int, partitions: int) -> "Trace":
        """Inputs that know nothing of each other."""
        seconds = np.concatenate([one.seconds for one in pushed])
        of_input = np.repeat(np.arange(len(pushed), dtype=np.int8), [len(one.keys) for one in pushed])
        order = np.argsort(seconds, kind="stable")
        silences = tuple(silences_of(one.seconds, one.silence_seconds) for one in pushed)
        keys = np.concatenate([one.keys for one in pushed])
        together = silent_together(silences, until_seconds=float(seconds.max(initial=0.0)))
        return Trace(seconds[order], of_input[order], keys[order], together, domain, partitions, len(pushed))

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def by_input(self) -> Sequence["OfInput"]:
        """Races one after another look at the same trace."""
        numbers = range(int(self.of_input.max(initial=-1)) + 1)
        return [OfInput.among(self.keys, self.of_input == number) for number in numbers]

    def arrived(self, seconds: float) -> int:
        """How many rows have come by then."""
        return bisect_right(self.moments, seconds)

    @cached_property
    def moments(self) -> Sequence[float]:
        """When each row comes, to look at one by one."""
        return self.seconds.data

    def join_size(self) -> int:
        """How many results there are in all."""
        left, right = (np.bincount(self.keys[self.of_input == side], minlength=self.domain) for side in (LEFT, RIGHT))
        return int((left * right).sum())

    def order(self) -> Order:
        """Different keys have different codes, the same for each input, and in one partition evenly apart."""
        codes = key_codes(self.domain, self.partitions)
        reach = self.within * int(codes[1] - codes[0]) if self.within else 0
        return Order([lambda batch: (codes[batch.column(0).to_numpy()], None)] * self.inputs, Reach(reach, reach))


def key_codes(domain: int, partitions: int) -> Codes:
    """The code of each key: different keys have different codes."""
    starts = np.concatenate(([np.uint64(0)], equal_ranges(partitions)))
    keys_of_partition = -(-domain // partitions)
    step = np.uint64((2**64 - 1) // partitions // keys_of_partition)
    keys = np.arange(domain, dtype=np.uint64)
    codes: Codes = starts[keys % np.uint64(partitions)] + keys // np.uint64(partitions) * step
    return codes


@dataclass(frozen=True)
class Arrivals:
    """What a trace is drawn from: first the side of a row, then its partition by the shares that this side has,
    then a key of the partition, all keys alike (RPJ sec. 6).
    """

    pattern: ArrivalPattern
    silence_seconds: float
    left_share: float
    partition_shares: tuple[Sequence[float], Sequence[float]]

    def draw(self, rows: int, domain: int, scale: int, seed: int) -> Trace:
        partitions = len(self.partition_shares[LEFT])
        rng = np.random.default_rng((seed, 1))  # not the generator of the gaps, which `seed` alone starts
        sides = np.where(rng.random(rows) < self.left_share, LEFT, RIGHT).astype(np.int8)
        drawn = [rng.choice(partitions, rows, p=shares) for shares in self.partition_shares]
        places = rng.integers(0, domain // partitions, rows)
        keys = (places * partitions + np.where(sides == LEFT, drawn[LEFT], drawn[RIGHT])).astype(np.int32)
        seconds = arrival_times(self.pattern, rows * scale, seed)
        silences = find_silences(seconds, self.silence_seconds)
        return Trace(seconds[scale - 1 :: scale], sides, keys, silences, domain, partitions)


def find_silences(seconds: Seconds, threshold_seconds: float) -> Silences:
    """Gaps that are longer than the threshold."""
    noticed, over = seconds[:-1] + threshold_seconds, seconds[1:]
    long = over > noticed + ROUNDING_SECONDS
    return Silences(noticed[long], over[long])


def silences_of(seconds: Seconds, threshold_seconds: float) -> Silences:
    """Of one input: before its first row, between two of them, and for ever after the last."""
    if not len(seconds):
        return Silences(np.zeros(1), np.array([np.inf]))
    between = find_silences(np.concatenate(([0.0], seconds)), threshold_seconds)
    noticed = np.append(between.noticed_seconds, seconds[-1] + threshold_seconds)
    return Silences(noticed, np.append(between.over_seconds, np.inf))


def silent_together(silences: Sequence[Silences], until_seconds: float) -> Silences:
    """When all of them are."""
    begins, ends = (
        np.concatenate([getattr(one, edge) for one in silences]) for edge in ("noticed_seconds", "over_seconds")
    )
    times, changes = np.concatenate((ends, begins)), np.repeat([-1, 1], [len(ends), len(begins)])
    order = np.argsort(times, kind="stable")  # at the same time, one ends before another begins
    times, silent = times[order], changes[order].cumsum()
    first = np.flatnonzero((silent == len(silences)) & (times < until_seconds))
    return Silences(times[first], times[first + 1])


def batch_of(keys: Keys) -> pa.RecordBatch:
    """Made of their buffer: `pa.array` would look whether they are of pandas, and load it for that."""
    column = pa.Array.from_buffers(pa.int32(), len(keys), [None, pa.py_buffer(np.ascontiguousarray(keys, np.int32))])
    return pa.record_batch([column], names=["key"])
