"""Ranges of codes in which several runs can be read side by side with little memory."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from sooner.runs.block_index import Blocks

ALL_CODES: Final = 2**64  # the end of all codes


class Slab(NamedTuple):
    """The rows with low <= code < high; its bytes are those of the blocks that begin in it."""

    low: int
    high: int
    n_bytes: int
    is_hot: bool = False  # one code that by itself fills more than a slab


def slabs(runs: Sequence[Blocks], slab_bytes: int, begin: int = 0) -> Iterator[Slab]:
    """All codes from `begin` on, in ranges of about so many bytes."""
    firsts = np.concatenate([np.empty(0, np.uint64), *(run.first_codes for run in runs)])
    sizes = np.concatenate([np.empty(0, np.int64), *(run.n_bytes.astype(np.int64) for run in runs)])
    order = np.argsort(firsts)
    firsts, before = firsts[order], np.append(0, sizes[order].cumsum())
    bounds, hot = _bounds(runs, slab_bytes, begin)
    for low, high in itertools.pairwise(bounds):
        end = len(firsts) if high == ALL_CODES else int(firsts.searchsorted(np.uint64(high)))
        n_bytes = int(before[end] - before[firsts.searchsorted(np.uint64(low))])
        yield Slab(low, high, n_bytes, low in hot)


def hot_codes(runs: Sequence[Blocks], slab_bytes: int) -> set[int]:
    """Codes that by themselves fill more than a slab."""
    codes, sizes = [np.empty(0, np.uint64)], [np.empty(0, np.uint64)]
    for run in runs:
        alone = run.first_codes == run.last_codes
        codes.append(run.first_codes[alone])
        sizes.append(run.n_bytes[alone])
    each, which = np.unique(np.concatenate(codes), return_inverse=True)
    return {*each[np.bincount(which, np.concatenate(sizes)) > slab_bytes].tolist()}


def _bounds(runs: Sequence[Blocks], slab_bytes: int, begin: int) -> tuple[list[int], set[int]]:
    """Codes that cut these runs into slabs of about `slab_bytes`, from `begin` to 2**64; and which of them are hot.

    A code that by itself fills more than a slab gets one of its own. Beside it, only blocks of several runs that begin
    with the same code can be more than asked: a slab ends between two codes.
    """
    columns = ((run.first_codes.tolist(), run.last_codes.tolist(), run.n_bytes.tolist()) for run in runs)
    blocks = sorted(block for some in columns for block in zip(*some, strict=True) if block[1] >= begin)
    hot = hot_codes(runs, slab_bytes)
    bounds, filled, of_code, latest = [begin], 0, 0, -1
    for first_code, last_code, n_bytes in blocks:
        of_code = of_code + n_bytes if first_code == latest else n_bytes
        latest = first_code
        if first_code == last_code and first_code in hot:
            bounds += [first_code, first_code + 1]
            filled = of_code = 0
        elif filled + n_bytes > slab_bytes:
            bounds.append(first_code)
            filled = of_code  # with the blocks before it that begin with its code, which are in the new slab too
        else:
            filled += n_bytes
    return sorted({max(bound, begin) for bound in bounds} | {ALL_CODES}), hot
