"""Cut rows that arrive together, but are too many for the memory, into pieces that arrive one after the other.

How they are cut depends on the set of rows only, and not on their order: an attempt that gets them in another order
makes the same pieces. They are cut by code; rows of one code, when they alone are too many, by their content.
"""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from sooner.kernels.array_types import Codes, Flags
from sooner.kernels.arrays import to_arrow
from sooner.kernels.content_order import order_by_content
from sooner.operators.order import CodeRows
from sooner.runs.run import HELPER_BYTES

Rows: TypeAlias = Sequence[pa.RecordBatch]  # of each input


def pieces(rows: Rows, coders: Sequence[CodeRows], at_most_bytes: int) -> Iterator[Rows]:
    """The rows of all inputs, in pieces of at most so many bytes if more than one row is in them."""
    if weight(rows) <= at_most_bytes:
        yield rows
        return
    yield from pieces_by(rows, [code(mine)[0] for code, mine in zip(coders, rows, strict=True)], at_most_bytes)


def weight(rows: Rows) -> int:
    """What rows will take in memory as a run."""
    return sum(int(mine.nbytes) + HELPER_BYTES * mine.num_rows for mine in rows)


def pieces_by(rows: Rows, codes: Sequence[Codes], at_most_bytes: int) -> Iterator[Rows]:
    """The same, by codes that are known; rows with different ones may part."""
    n_rows = sum(mine.num_rows for mine in rows)
    if weight(rows) <= at_most_bytes or n_rows == 1:
        yield rows
        return
    all_codes = np.sort(np.concatenate(codes))
    middle, least = all_codes[n_rows // 2], all_codes[0]
    if least == all_codes[-1]:
        yield from _halves_of_one_code(rows, codes, at_most_bytes)
        return
    # The middle code goes up, unless it is the least: then it is what the lower half consists of.
    lower = [mine <= least if middle == least else mine < middle for mine in codes]
    for wanted in (lower, [~mine for mine in lower]):
        yield from pieces_by(*_only(rows, codes, wanted), at_most_bytes)


def _halves_of_one_code(rows: Rows, codes: Sequence[Codes], at_most_bytes: int) -> Iterator[Rows]:
    """The input with the most rows in two halves by content; the others come with the first."""
    largest = max(range(len(rows)), key=lambda which: rows[which].num_rows)
    first = [np.full(mine.num_rows, True) for mine in rows]
    first[largest][order_by_content(rows[largest].columns)[rows[largest].num_rows // 2 :]] = False
    for wanted in (first, [~mine for mine in first]):
        yield from pieces_by(*_only(rows, codes, wanted), at_most_bytes)


def _only(rows: Rows, codes: Sequence[Codes], wanted: Sequence[Flags]) -> tuple[Rows, Sequence[Codes]]:
    kept = [mine.filter(to_arrow(mask)) for mine, mask in zip(rows, wanted, strict=True)]
    return kept, [mine[mask] for mine, mask in zip(codes, wanted, strict=True)]
