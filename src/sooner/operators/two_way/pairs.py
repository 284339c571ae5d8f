"""Pairs of matching rows, by position: what operators find, before anyone asks for whole rows."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from sooner.kernels.array_types import Positions
from sooner.kernels.matching import Reach, matches
from sooner.kernels.sizes import cuts_by_bytes, picked
from sooner.operators.order import OnlyMatching
from sooner.runs.ledger import only_unmet
from sooner.runs.run import Run

PAIRS_AT_ONCE: Final = 65_536
PAIRS_BYTES: Final = 4 * 2**20  # that the rows of so many pairs weigh, unless a single pair weighs more


@dataclass(frozen=True, slots=True)
class Pairs:
    left: Run
    right: Run
    at_left: Positions
    at_right: Positions

    def __len__(self) -> int:
        return len(self.at_left)


Filter = Callable[[Pairs], Pairs]


def pairs_of(left: Run, right: Run, reach: Reach, *filters: Filter) -> Iterator[Pairs]:
    """All pairs of codes within reach that pass the filters, at most PAIRS_AT_ONCE and PAIRS_BYTES at a time."""
    for at_left, at_right in _bounded(left, right, reach):
        pairs = Pairs(left, right, at_left, at_right)
        for keep in filters:
            pairs = keep(pairs)
        if len(pairs):
            yield pairs


def _bounded(left: Run, right: Run, reach: Reach) -> Iterator[tuple[Positions, Positions]]:
    """Positions of such codes, cut by what their rows weigh: one row may meet a million others."""
    left_bytes, right_bytes = left.row_bytes, right.row_bytes
    if isinstance(left_bytes, int) and isinstance(right_bytes, int):
        at_most = min(PAIRS_AT_ONCE, PAIRS_BYTES // max(left_bytes + right_bytes, 1))
        yield from matches(left.codes, right.codes, max(at_most, 1), reach)
        return
    for at_left, at_right in matches(left.codes, right.codes, PAIRS_AT_ONCE, reach):
        weights = picked(left_bytes, at_left) + picked(right_bytes, at_right)
        for begin, end in cuts_by_bytes(weights, len(at_left), PAIRS_BYTES):
            yield at_left[begin:end], at_right[begin:end]


def drop_met(pairs: Pairs) -> Pairs:
    """Without what has come out before."""
    kept = only_unmet(pairs.left, pairs.right, pairs.at_left, pairs.at_right)
    return Pairs(pairs.left, pairs.right, *kept)


def only_by_rows(only_matching: OnlyMatching) -> Filter:
    """Without pairs whose codes are within reach but that do not match."""

    def keep(pairs: Pairs) -> Pairs:
        kept = only_matching(pairs.left.rows, pairs.right.rows, pairs.at_left, pairs.at_right)
        return Pairs(pairs.left, pairs.right, *kept)

    return keep
