"""The order in which an operator keeps rows: by codes, in partitions that are ranges of codes.

All of it is a pure function of the rows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sooner.kernels.array_types import Codes, Flags, Positions
from sooner.kernels.codes import code_rows
from sooner.kernels.columns import Columns, Named
from sooner.kernels.equality import only_equal
from sooner.kernels.gathering import gather_from, has_idle_bitmaps
from sooner.kernels.keys import KeyPlan
from sooner.kernels.lines import code_ranges
from sooner.kernels.matching import EQUAL, Reach
from sooner.kernels.ranges import RangePlan, only_near
from sooner.kernels.sorting import Places, is_sorted, sort
from sooner.kernels.value_codes import code_values
from sooner.runs.run import NEVER, Run, code_position
from sooner.sides import LEFT

CodeRows = Callable[[pa.RecordBatch], tuple[Codes, Flags | None]]  # which rows can match anything; None: all
OnlyMatching = Callable[[Named, Named, Positions, Positions], tuple[Positions, Positions]]


@dataclass(frozen=True)
class Order:
    """What the codes of rows are, how far apart those of a match can be, and what must be checked beside that."""

    coders: Sequence[CodeRows]  # of each input
    reach: Reach = EQUAL
    only_matching: OnlyMatching | None = None  # of pairs within reach, by the rows themselves; None: all match
    copied: int | None = None  # the input whose rows go to all partitions that they reach; those of others to their own
    is_spread: bool = True  # whether codes are everywhere; else they lie so close that partitions are of no use

    def bounds(self, partitions: int) -> Codes:
        """Where partitions begin, but for the first, if there are to be so many: what matches must meet in one."""
        return equal_ranges(partitions if self.is_spread and (self.reach == EQUAL or self.copied is not None) else 1)

    def overlap(self, which: int) -> Reach:
        """How far the rows of an input reach into other partitions."""
        if which != self.copied:
            return EQUAL
        return self.reach if which == LEFT else self.reach.from_the_right()


def by_hashes(keys: KeyPlan) -> Order:
    """Equal keys have equal codes, and unequal ones rarely."""

    def only_matching(
        left: Named, right: Named, at_left: Positions, at_right: Positions
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


def by_lines(keys: KeyPlan, plan: RangePlan, copied: int | None) -> Order:
    """Values near each other have codes near each other, of rows with equal keys if there are any."""

    def only_matching(
        left: Named, right: Named, at_left: Positions, at_right: Positions
    ) -> tuple[Positions, Positions]:
        if keys.left:
            at_left, at_right = only_equal(left, right, keys, at_left, at_right)
        return only_near(left, right, plan, at_left, at_right)

    coders, reach = code_ranges(keys, plan)
    return Order(coders, reach, only_matching, copied, is_spread=bool(keys.left))


def _by_hash(columns: Sequence[str], keys: KeyPlan) -> CodeRows:
    return lambda batch: code_rows(batch, columns, keys.types)


def equal_ranges(partitions: int) -> Codes:
    """Where partitions 1, 2, ... begin when each has as many codes as the others."""
    return np.array([2**64 * p // partitions for p in range(1, partitions)], np.uint64)


class Arrivals(NamedTuple):
    """Rows as an operator keeps them."""

    runs: Sequence[Run | None]  # of each partition
    keyless: tuple[Run, Positions] | None = None  # all rows in no order, and where those are whose key is null


def sorted_runs(batch: pa.RecordBatch, code: CodeRows, bounds: Codes, overlap: Reach = EQUAL) -> Arrivals:
    """The rows of each partition; those that reach over its bounds as well."""
    (row_codes, wanted), columns = code(batch), Columns.of(batch)
    if not len(bounds) and wanted is None and is_sorted(row_codes) and not has_idle_bitmaps(batch):
        return Arrivals([Run(row_codes, columns, NEVER)])
    codes, order = sort(row_codes, wanted)
    begins = [0, *(code_position(codes, max(bound - overlap.above, 0)) for bound in bounds.tolist())]
    ends = [*(code_position(codes, bound + overlap.below) for bound in bounds.tolist()), len(codes)]
    runs: list[Run | None] = []
    for begin, end in zip(begins, ends, strict=True):
        # Each partition gets buffers of its own, or none of them could be freed before all are.
        some = Places(order[begin:end])
        runs.append(Run(codes[begin:end].copy(), gather_from([columns], some), NEVER) if end > begin else None)
    return Arrivals(runs, None if wanted is None else (Run(row_codes, columns, NEVER), np.flatnonzero(~wanted)))
