"""Rows that are picked out of sorted ones."""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from sooner.kernels.array_types import Codes
from sooner.kernels.gathering import gather_from
from sooner.kernels.matching import first_matches
from sooner.kernels.sorting import Places
from sooner.operators.pairs import PAIRS_AT_ONCE
from sooner.runs.run import NEVER, Run, merge
from sooner.runs.slabs import ALL_CODES


def only_codes(asked: Sequence[Codes], blocks: Sequence[Run]) -> Run | None:
    """The rows of blocks with rising codes that have one of these codes, as a run with buffers of its own.

    To pick them out first is far cheaper than to join block by block: blocks are small, and each join has its price.
    """
    codes = np.concatenate([block.codes for block in blocks])
    found = np.zeros(len(codes), np.bool_)
    for some in asked:
        for at, _ in first_matches(codes, some, PAIRS_AT_ONCE):
            found[at] = True
    at = np.flatnonzero(found)
    if not len(at):
        return None
    starts = np.cumsum([0, *map(len, blocks)])
    parts = (starts.searchsorted(at, side="right") - 1).astype(np.int32)
    columns = gather_from([block.columns for block in blocks], Places(at - starts[parts], parts))
    return Run(codes[at], columns, NEVER)


def together(runs: Iterator[Run], few_bytes: int) -> Iterator[Run]:
    """The rows of these runs, in fewer ones: those that have less than so many bytes wait for each other."""
    waiting: list[Run] = []
    waiting_bytes = 0
    for run in runs:
        if waiting_bytes + run.n_bytes > few_bytes and waiting:
            yield merge(waiting)
            waiting, waiting_bytes = [], 0
        waiting.append(run)
        waiting_bytes += run.n_bytes
    if waiting:
        yield merge(waiting)


def in_order(runs: Sequence[Run], piece_bytes: int) -> Iterator[Run]:
    """The rows of several runs in the order of their codes, in pieces of about so many bytes."""
    if not runs:
        return
    n_bytes, largest = sum(run.n_bytes for run in runs), max(runs, key=len)
    pieces = min(-(-n_bytes // max(piece_bytes, 1)), len(largest))
    cuts = [0, *np.unique(largest.codes[len(largest) * np.arange(1, pieces) // pieces]).tolist(), ALL_CODES]
    for low, high in itertools.pairwise(cuts):
        parts = [part for run in runs if len(part := run.between(low, high))]
        if parts:
            yield merge(parts)
