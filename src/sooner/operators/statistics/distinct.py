"""How many different codes were seen, in memory that does not grow: HyperLogLog (Flajolet et al. 2007), by partition.

It depends on the set of codes only. The error is about 7%, which an expectation can bear.
"""

import base64
from typing import Final

import numpy as np

from sooner.kernels.array_types import Codes
from sooner.kernels.codes import spread
from sooner.operators.statistics.arrivals import Counts, Numbers

REGISTERS: Final = 256
_ALPHA: Final = 0.7213 / (1 + 1.079 / REGISTERS)


class DistinctCodes:
    def __init__(self, partitions: int) -> None:
        self._registers = np.zeros((partitions, REGISTERS), np.uint8)

    def add(self, partitions: Counts, codes: Codes) -> None:
        """These codes, each in its partition."""
        hashes = spread(codes)
        places = partitions * REGISTERS + (hashes % np.uint64(REGISTERS)).astype(np.int64)
        rest = hashes // np.uint64(REGISTERS)
        lowest_bits = (rest & (~rest + np.uint64(1))).astype(np.float64)
        ranks = np.log2(np.maximum(lowest_bits, 1.0)).astype(np.uint8) + np.uint8(1)
        np.maximum.at(self._registers.reshape(-1), places, ranks)

    @property
    def counts(self) -> Numbers:
        """How many there are in each partition, about."""
        estimates = _ALPHA * REGISTERS**2 / np.exp2(-self._registers.astype(np.float64)).sum(axis=1)
        unused = (self._registers == 0).sum(axis=1)
        by_unused = REGISTERS * np.log(REGISTERS / np.maximum(unused, 1))
        counts: Numbers = np.where((estimates <= 2.5 * REGISTERS) & (unused > 0), by_unused, estimates)
        return counts

    def to_plain(self) -> str:
        return base64.b64encode(self._registers.tobytes()).decode()

    def load_plain(self, data: str) -> None:
        self._registers[...] = np.frombuffer(base64.b64decode(data), np.uint8).reshape(self._registers.shape)
