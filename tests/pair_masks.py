"""Filters of pairs, as tests like to ask them: which of these pairs would stay?"""

import numpy as np
import pyarrow as pa

from sooner.kernels.array_types import Flags, Positions
from sooner.kernels.equality import only_equal
from sooner.kernels.keys import KeyPlan
from sooner.runs.ledger import only_unmet
from sooner.runs.run import Run


def keys_equal(left: pa.RecordBatch, right: pa.RecordBatch, plan: KeyPlan) -> Flags:
    """Whether row i of `left` has the same key as row i of `right`, for each i."""
    rows = np.arange(left.num_rows)
    at_left, at_right = only_equal(left, right, plan, rows.copy(), rows.copy())
    assert at_left.tolist() == at_right.tolist()
    return np.isin(rows, at_left)


def not_met(left: Run, right: Run, at_left: Positions, at_right: Positions) -> Flags:
    """For each pair of rows, none of which comes twice: whether nothing has brought them together."""
    pairs = list(zip(at_left.tolist(), at_right.tolist(), strict=True))
    kept = only_unmet(left, right, at_left.copy(), at_right.copy())
    unmet = {*zip(*(positions.tolist() for positions in kept), strict=True)}
    assert len({*pairs}) == len(pairs)
    return np.array([pair in unmet for pair in pairs], np.bool_)
