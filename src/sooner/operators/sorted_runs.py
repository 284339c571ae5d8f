"""From a batch as it came to runs that a join can take in: coded, cut into partitions, sorted.

All of it is a pure function of the rows.
"""

import itertools
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from sooner.kernels.codes import code_rows
from sooner.kernels.gathering import gather
from sooner.kernels.keys import KeyPlan
from sooner.kernels.matching import Codes
from sooner.runs.ledger import Mask
from sooner.runs.run import NEVER, Run
from sooner.sides import LEFT

CodeRows = Callable[[pa.RecordBatch], tuple[Codes, Mask | None]]


def coder(keys: KeyPlan, side: int) -> CodeRows:
    columns = keys.left if side == LEFT else keys.right
    return lambda batch: code_rows(batch, columns, keys.types)


def partition_bounds(partitions: int) -> Codes:
    """Where partitions 1, 2, ... begin: equal ranges of codes."""
    return np.array([2**64 * p // partitions for p in range(1, partitions)], np.uint64)


def sorted_runs(batch: pa.RecordBatch, code: CodeRows, partitions: int) -> list[Run | None]:
    """The rows of each partition. Rows whose key is null can match nothing, and are in none."""
    codes, valid = code(batch)
    order = np.argsort(codes)
    if valid is not None:
        order = order[valid[order]]
    codes = codes[order]
    cuts = [0, *np.searchsorted(codes, partition_bounds(partitions)).tolist(), len(codes)]
    runs: list[Run | None] = []
    for begin, end in itertools.pairwise(cuts):
        # Each partition gets buffers of its own, or none of them could be freed before all are.
        rows = gather(batch, order[begin:end]) if end > begin else None
        runs.append(None if rows is None else Run(codes[begin:end].copy(), rows, NEVER))
    return runs
