"""Traces: which row arrives when, on which side, with which key. All of a simulated run's input, fixed beforehand.

Keys are 0, 1, 2, ...; the partition of a key is its remainder (RPJ sec. 6: H(t) = value mod 20), so the first
partition of the paper is number 0 here. Partitions of a join are ranges of codes, hence the codes of this module: the
range of the key's partition, and in it the place of the key.

Scale. A large experiment can be run small: one row of the trace then stands for `scale` rows of the paper, and arrives
when the last of them does. The network keeps its own time: its silences are those of the full stream of rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sooner.kernels.array_types import Codes
from sooner.operators.order import Order, equal_ranges
from sooner.sides import LEFT, RIGHT, SIDES
from sooner.sources.arrival_patterns import ArrivalPattern, Seconds, arrival_times

ROUNDING_SECONDS: Final = 1e-6  # times are sums of gaps and not exact: a silence must be longer than this

Keys = npt.NDArray[np.int32]
Sides = npt.NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Silences:
    """When it was noticed that nothing comes, and when something came."""

    noticed_seconds: Seconds
    over_seconds: Seconds

    def __len__(self) -> int:
        return len(self.over_seconds)


@dataclass(frozen=True, eq=False)
class Trace:
    seconds: Seconds
    sides: Sides
    keys: Keys
    silences: Silences
    domain: int  # keys are below this
    partitions: int

    def __len__(self) -> int:
        return len(self.keys)

    def join_size(self) -> int:
        """How many results there are in all."""
        left, right = (np.bincount(self.keys[self.sides == side], minlength=self.domain) for side in (LEFT, RIGHT))
        return int(left @ right)

    def order(self) -> Order:
        """Different keys have different codes, the same on both sides."""
        codes = key_codes(self.domain, self.partitions)
        return Order([lambda batch: (codes[batch.column(0).to_numpy()], None)] * len(SIDES))


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


def batch_of(keys: Keys) -> pa.RecordBatch:
    return pa.record_batch([pa.array(keys)], names=["key"])
