"""Pairs of matching rows, by position: what operators find, before anyone asks for whole rows."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from sooner.kernels.gathering import gather
from sooner.kernels.keys import KeyPlan, keys_equal
from sooner.kernels.matching import Positions, expand, find
from sooner.kernels.sizes import cuts_by_bytes, picked
from sooner.runs.ledger import Mask, not_met
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

    def only(self, wanted: Mask) -> "Pairs":
        if wanted.all():
            return self
        return Pairs(self.left, self.right, self.at_left[wanted], self.at_right[wanted])


Filter = Callable[[Pairs], Pairs]


def pairs_of(left: Run, right: Run, *filters: Filter) -> Iterator[Pairs]:
    """All pairs of equal codes that pass the filters, at most PAIRS_AT_ONCE and PAIRS_BYTES at a time."""
    for at_left, at_right in _bounded(left, right):
        pairs = Pairs(left, right, at_left, at_right)
        for keep in filters:
            pairs = keep(pairs)
        if len(pairs):
            yield pairs


def _bounded(left: Run, right: Run) -> Iterator[tuple[Positions, Positions]]:
    """Positions of equal codes, cut by what their rows weigh: one row may meet a million others."""
    left_bytes, right_bytes = left.row_bytes, right.row_bytes
    if isinstance(left_bytes, int) and isinstance(right_bytes, int):
        yield from _positions(left, right, max(1, min(PAIRS_AT_ONCE, PAIRS_BYTES // max(left_bytes + right_bytes, 1))))
        return
    for at_left, at_right in _positions(left, right, PAIRS_AT_ONCE):
        weights = picked(left_bytes, at_left) + picked(right_bytes, at_right)
        for begin, end in cuts_by_bytes(weights, len(at_left), PAIRS_BYTES):
            yield at_left[begin:end], at_right[begin:end]


def _positions(left: Run, right: Run, at_most: int) -> Iterator[tuple[Positions, Positions]]:
    """Positions of equal codes; the shorter side probes the longer one."""
    if len(left) <= len(right):
        yield from expand(find(left.codes, right.codes, right.directory), at_most)
    else:
        for at_right, at_left in expand(find(right.codes, left.codes, left.directory), at_most):
            yield at_left, at_right


def drop_met(pairs: Pairs) -> Pairs:
    """Without what has come out before."""
    return pairs.only(not_met(pairs.left, pairs.right, pairs.at_left, pairs.at_right))


def drop_collisions(keys: KeyPlan) -> Filter:
    """Without pairs whose codes are equal but whose keys are not."""

    def keep(pairs: Pairs) -> Pairs:
        left = gather(pairs.left.rows.select(keys.left), pairs.at_left)
        right = gather(pairs.right.rows.select(keys.right), pairs.at_right)
        return pairs.only(keys_equal(left, right, keys))

    return keep
