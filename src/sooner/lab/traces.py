"""Traces: which row arrives when, on which side, with which key. All of a simulated run's input, fixed beforehand.

Keys are 0, 1, 2, ...; the partition of a key is its remainder (RPJ sec. 6: H(t) = value mod 20), so the first
partition of the paper is number 0 here. Partitions of a join are ranges of codes, hence the codes of this module: the
range of the key's partition, and in it the place of the key.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sooner.kernels.matching import Codes
from sooner.operators.arrivals import CodeRows, partition_bounds
from sooner.policies.view import LEFT, RIGHT
from sooner.sources.arrivals import ArrivalPattern, Seconds, arrival_times

ROUNDING_SECONDS: Final = 1e-6  # times are sums of gaps and not exact: a silence must be longer than this
Keys = npt.NDArray[np.int32]
Sides = npt.NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Silences:
    """Times in which nothing comes: when that was noticed, and when the next row ends it."""

    noticed_seconds: Seconds
    end_seconds: Seconds


@dataclass(frozen=True, eq=False)
class Trace:
    seconds: Seconds
    silences: Silences
    sides: Sides
    keys: Keys
    domain: int  # keys are below this
    partitions: int

    def __len__(self) -> int:
        return len(self.keys)

    def join_size(self) -> int:
        """How many results there are in all."""
        counts = [np.bincount(self.keys[self.sides == side], minlength=self.domain) for side in (LEFT, RIGHT)]
        return int(counts[LEFT] @ counts[RIGHT])

    def code_rows(self) -> CodeRows:
        codes = key_codes(self.domain, self.partitions)
        return lambda batch: (codes[batch.column(0).to_numpy()], None)


def key_codes(domain: int, partitions: int) -> Codes:
    """The code of each key: different keys have different codes."""
    starts = np.concatenate(([np.uint64(0)], partition_bounds(partitions)))
    step = np.uint64(2**64 // partitions // -(-domain // partitions))
    keys = np.arange(domain, dtype=np.uint64)
    codes: Codes = starts[keys % np.uint64(partitions)] + keys // np.uint64(partitions) * step
    return codes


def find_silences(seconds: Seconds, threshold_seconds: float) -> Silences:
    """Gaps that are longer than the threshold."""
    noticed, next_arrival = seconds[:-1] + threshold_seconds, seconds[1:]
    long = next_arrival > noticed + ROUNDING_SECONDS
    return Silences(noticed[long], next_arrival[long])


def draw_trace(
    pattern: ArrivalPattern,
    threshold_seconds: float,
    left_share: float,
    partition_shares: tuple[Sequence[float], Sequence[float]],
    rows: int,
    domain: int,
    scale: int,
    seed: int,
) -> Trace:
    """Independent rows: first the side is drawn, then the partition by that side's shares, then a key in it, all keys
    alike (RPJ sec. 6).
    """
    seconds = arrival_times(pattern, rows * scale, seed)
    partitions = len(partition_shares[LEFT])
    rng = np.random.default_rng((seed, 1))
    sides = np.where(rng.random(rows) < left_share, LEFT, RIGHT).astype(np.int8)
    drawn = [rng.choice(partitions, rows, p=shares) for shares in partition_shares]
    places = rng.integers(0, domain // partitions, rows)
    keys = (places * partitions + np.where(sides == LEFT, drawn[LEFT], drawn[RIGHT])).astype(np.int32)
    return Trace(
        seconds[scale - 1 :: scale], find_silences(seconds, threshold_seconds), sides, keys, domain, partitions
    )


def batch_of(keys: Keys) -> pa.RecordBatch:
    return pa.record_batch([pa.array(keys)], names=["key"])
