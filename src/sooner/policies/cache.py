"""The cache inequality: which keys of a stream are answered from memory (SSBJ, theorem 2).

The m master rows of a key, of v_R bytes each, take less memory than the n stream rows of v_S bytes that would wait for
them through one cycle iff m * v_R < n * v_S. All rows of a key move together.
"""

import numpy as np
import numpy.typing as npt

from sooner.kernels.array_types import Flags

Counts = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]


def belongs_in_cache(
    master_rows: Counts, stream_rows: Counts | Numbers, v_r: float, v_s: float, switching_factor: float = 1.0
) -> Flags:
    """Of each key, by its rows: whether it moves into the cache (Algorithm 1, line 33).

    A key without master rows does as soon as it is asked for: the paper's text says so (sec. 3.1), and its pseudo-code
    never gets there.
    """
    moves: Flags = stream_rows * v_s > switching_factor * master_rows * v_r
    return moves


def leaves_cache(
    master_rows: Counts, stream_rows: Counts | Numbers, v_r: float, v_s: float, switching_factor: float = 1.0
) -> Flags:
    """The same of keys that are there, with stream rows per cycle as counted over several (line 46)."""
    leaves: Flags = master_rows * v_r >= switching_factor * stream_rows * v_s
    return leaves
