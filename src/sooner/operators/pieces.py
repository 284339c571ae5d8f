"""Cut rows that arrive together, but are too many for the memory, into pieces that arrive one after the other.

How they are cut depends on the set of rows only, and not on their order: an attempt that gets them in another order
makes the same pieces. They are cut by code; rows of one code, when they alone are too many, by their content.
"""

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sooner.kernels.arrays import to_arrow, to_numpy
from sooner.kernels.matching import Codes, Positions
from sooner.operators.sorted_runs import CodeRows
from sooner.runs.ledger import Mask
from sooner.runs.run import HELPER_BYTES
from sooner.sides import LEFT, RIGHT, SIDES

Sides: TypeAlias = tuple[pa.RecordBatch, pa.RecordBatch]


def pieces(rows: Sides, coders: tuple[CodeRows, CodeRows], at_most_bytes: int) -> Iterator[Sides]:
    """The rows of both sides, in pieces of at most so many bytes if more than one row is in them."""
    if weight(rows) <= at_most_bytes:
        yield rows
        return
    codes = tuple(coders[side](rows[side])[0] for side in SIDES)
    yield from _halves(rows, (codes[LEFT], codes[RIGHT]), at_most_bytes)


def weight(rows: Sides) -> int:
    """What rows will take in memory as a run."""
    return sum(int(side.nbytes) + HELPER_BYTES * side.num_rows for side in rows)


def _halves(rows: Sides, codes: tuple[Codes, Codes], at_most_bytes: int) -> Iterator[Sides]:
    n_rows = sum(side.num_rows for side in rows)
    if weight(rows) <= at_most_bytes or n_rows == 1:
        yield rows
        return
    all_codes = np.sort(np.concatenate(codes))
    middle, least = all_codes[n_rows // 2], all_codes[0]
    if least == all_codes[-1]:
        yield from _halves_of_one_code(rows, codes, at_most_bytes)
        return
    # The middle code goes up, unless it is the least: then it is what the lower half consists of.
    lower = tuple(side <= least if middle == least else side < middle for side in codes)
    for wanted in (lower, tuple(~side for side in lower)):
        yield from _halves(*_only(rows, codes, (wanted[LEFT], wanted[RIGHT])), at_most_bytes)


def _halves_of_one_code(rows: Sides, codes: tuple[Codes, Codes], at_most_bytes: int) -> Iterator[Sides]:
    """The larger side in two halves by content; the other side comes with the first."""
    larger = LEFT if rows[LEFT].num_rows >= rows[RIGHT].num_rows else RIGHT
    first = np.zeros(rows[larger].num_rows, np.bool_)
    first[_order_by_content(rows[larger])[: len(first) // 2]] = True
    everything, nothing = (np.full(rows[1 - larger].num_rows, answer) for answer in (True, False))
    for mine, others in ((first, everything), (~first, nothing)):
        wanted = (mine, others) if larger == LEFT else (others, mine)
        yield from _halves(*_only(rows, codes, wanted), at_most_bytes)


def _only(rows: Sides, codes: tuple[Codes, Codes], wanted: tuple[Mask, Mask]) -> tuple[Sides, tuple[Codes, Codes]]:
    left, right = (rows[side].filter(to_arrow(wanted[side])) for side in SIDES)
    return (left, right), (codes[LEFT][wanted[LEFT]], codes[RIGHT][wanted[RIGHT]])


def _order_by_content(batch: pa.RecordBatch) -> Positions:
    """An order of rows in which only equal rows can change places."""
    columns = [_sortable(column) for column in batch.columns]
    names = [str(position) for position in range(len(columns))]
    return to_numpy(pc.sort_indices(pa.table(columns, names), [(name, "ascending") for name in names]))


def _sortable(column: pa.Array) -> pa.Array:
    """A column that Arrow can sort and that tells apart whatever this one does, such as 0.0 and -0.0."""
    if pa.types.is_floating(column.type):
        return column.view(pa.int32() if column.type == pa.float32() else pa.int64())
    if pa.types.is_nested(column.type) or pa.types.is_interval(column.type):
        return pa.array([repr(value) for value in column.to_pylist()], pa.string())
    return column
