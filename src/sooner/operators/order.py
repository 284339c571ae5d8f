"""The order in which an operator keeps rows: by codes, in partitions that are ranges of codes.

All of it is a pure function of the rows.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sooner.kernels.array_types import Codes, Flags, Positions
from sooner.kernels.codes import code_rows
from sooner.kernels.equality import only_equal
from sooner.kernels.gathering import gather
from sooner.kernels.keys import KeyPlan
from sooner.kernels.matching import EQUAL, Reach
from sooner.kernels.sorting import sort
from sooner.kernels.value_codes import code_values
from sooner.runs.run import NEVER, Run

CodeRows = Callable[[pa.RecordBatch], tuple[Codes, Flags | None]]  # which rows can match anything; None: all
OnlyMatching = Callable[[pa.RecordBatch, pa.RecordBatch, Positions, Positions], tuple[Positions, Positions]]


@dataclass(frozen=True)
class Order:
    """What the codes of rows are, how far apart those of a match can be, and what must be checked beside that."""

    coders: Sequence[CodeRows]  # of each input
    reach: Reach = EQUAL
    only_matching: OnlyMatching | None = None  # of pairs within reach, by the rows themselves; None: all match
    is_spread: bool = True  # whether codes are everywhere; else they lie so close that partitions are of no use

    def bounds(self, partitions: int) -> Codes:
        """Where partitions begin, but for the first, if there are to be so many."""
        return equal_ranges(partitions if self.is_spread else 1)


def by_hashes(keys: KeyPlan) -> Order:
    """Equal keys have equal codes, and unequal ones rarely."""

    def only_matching(
        left: pa.RecordBatch, right: pa.RecordBatch, at_left: Positions, at_right: Positions
    ) -> tuple[Positions, Positions]:
        return only_equal(left, right, keys, at_left, at_right)

    coders = [_by_hash(columns, keys) for columns in (keys.left, keys.right)]
    return Order(coders, only_matching=None if keys.exact else only_matching)


def by_values(keys: KeyPlan) -> Order:
    """Codes in the order of the one key, which fits 64 bits: equal keys have equal codes, and unequal ones never."""
    assert keys.exact, "only one column of at most 64 bits has codes in the order of its values"
    [type_] = keys.types

    def coder(column: str) -> CodeRows:
        return lambda batch: code_values(batch, column, type_)

    return Order([coder(column) for [column] in (keys.left, keys.right)], is_spread=False)


def _by_hash(columns: Sequence[str], keys: KeyPlan) -> CodeRows:
    return lambda batch: code_rows(batch, columns, keys.types)


def equal_ranges(partitions: int) -> Codes:
    """Where partitions 1, 2, ... begin when each has as many codes as the others."""
    return np.array([2**64 * p // partitions for p in range(1, partitions)], np.uint64)


class Arrivals(NamedTuple):
    """Rows as an operator keeps them."""

    runs: Sequence[Run | None]  # of each partition
    keyless: tuple[Run, Positions] | None = None  # all rows in no order, and where those are whose key is null


def sorted_runs(batch: pa.RecordBatch, code: CodeRows, bounds: Codes) -> Arrivals:
    """The rows of each partition."""
    row_codes, wanted = code(batch)
    codes, order = sort(row_codes, wanted)
    cuts = [0, *np.searchsorted(codes, bounds).tolist(), len(codes)]
    runs: list[Run | None] = []
    for begin, end in itertools.pairwise(cuts):
        # Each partition gets buffers of its own, or none of them could be freed before all are.
        rows = gather(batch, order[begin:end]) if end > begin else None
        runs.append(None if rows is None else Run(codes[begin:end].copy(), rows, NEVER))
    return Arrivals(runs, None if wanted is None else (Run(row_codes, batch, NEVER), np.flatnonzero(~wanted)))
