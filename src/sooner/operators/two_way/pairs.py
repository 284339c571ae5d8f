"""Pairs of matching rows, by position: what operators find, before anyone asks for whole rows."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from sooner.kernels.array_types import Flags, Positions
from sooner.kernels.looking_up import CodeIndex, found
from sooner.kernels.matching import Reach, matches
from sooner.kernels.sizes import cuts_by_bytes, picked, total_bytes
from sooner.operators.order import OnlyMatching
from sooner.runs.ledger import only_unmet
from sooner.runs.run import Run
from sooner.sides import LEFT

PAIRS_AT_ONCE: Final = 65_536
MANY_PAIRS: Final = PAIRS_AT_ONCE // 4
PAIRS_BYTES: Final = 4 * 2**20  # that the rows of so many pairs weigh, unless a single pair weighs more


@dataclass(frozen=True, slots=True)
class Pairs:
    left: Run
    right: Run
    at_left: Positions
    at_right: Positions

    def __len__(self) -> int:
        return len(self.at_left)

    def cut_out(self) -> "Pairs":
        """With positions in arrays of their own: they were found in arrays with room for PAIRS_AT_ONCE."""
        return Pairs(self.left, self.right, self.at_left.copy(), self.at_right.copy())

    @property
    def n_bytes(self) -> int:
        """What their rows weigh."""
        sides = ((self.left, self.at_left), (self.right, self.at_right))
        return sum(total_bytes(picked(run.row_bytes, positions), len(self)) for run, positions in sides)


Bundle = Sequence[Pairs]  # of which one batch of results is made
Filter = Callable[[Pairs], Pairs]
Found = Iterator[tuple[Positions, Positions]]  # at the left, at the right


def pairs_of(left: Run, right: Run, reach: Reach, *filters: Filter) -> Iterator[Pairs]:
    """All pairs of codes within reach that pass the filters, at most PAIRS_AT_ONCE and PAIRS_BYTES at a time."""
    return _filtered(left, right, lambda at_most: matches(left.codes, right.codes, at_most, reach), filters)


def pairs_by_index(
    side: int, rows: Run, wanted: Flags | None, other: Run, index: CodeIndex, reach: Reach, *filters: Filter
) -> Iterator[Pairs]:
    """The same for rows of one side that are in no order, as far as they are wanted, and an index of the other."""
    if side == LEFT:
        return _filtered(rows, other, lambda at_most: found(rows.codes, wanted, index, at_most, reach), filters)

    def from_the_right(at_most: int) -> Found:
        for at_right, at_left in found(rows.codes, wanted, index, at_most, reach.from_the_right()):
            yield at_left, at_right

    return _filtered(other, rows, from_the_right, filters)


def _filtered(left: Run, right: Run, find: Callable[[int], Found], filters: Sequence[Filter]) -> Iterator[Pairs]:
    for at_left, at_right in _bounded(left, right, find):
        pairs = Pairs(left, right, at_left, at_right)
        for keep in filters:
            pairs = keep(pairs)
        if len(pairs):
            yield pairs


def _bounded(left: Run, right: Run, find: Callable[[int], Found]) -> Found:
    """Positions that are found, cut by what their rows weigh: one row may meet a million others."""
    left_bytes, right_bytes = left.row_bytes, right.row_bytes
    if isinstance(left_bytes, int) and isinstance(right_bytes, int):
        at_most = min(PAIRS_AT_ONCE, PAIRS_BYTES // max(left_bytes + right_bytes, 1))
        yield from find(max(at_most, 1))
        return
    for at_left, at_right in find(PAIRS_AT_ONCE):
        weights = picked(left_bytes, at_left) + picked(right_bytes, at_right)
        for begin, end in cuts_by_bytes(weights, len(at_left), PAIRS_BYTES):
            yield at_left[begin:end], at_right[begin:end]


def bundled(found: Iterator[Pairs]) -> Iterator[Bundle]:
    """Few pairs of this run and few of that make one batch of results: a batch has its price, however small it is."""
    bundle: list[Pairs] = []
    n_pairs = n_bytes = 0
    for pairs in found:
        if len(pairs) >= MANY_PAIRS:
            yield [pairs]
            continue
        pairs_bytes = pairs.n_bytes
        if bundle and (n_pairs + len(pairs) > PAIRS_AT_ONCE or n_bytes + pairs_bytes > PAIRS_BYTES):
            yield bundle
            bundle, n_pairs, n_bytes = [], 0, 0
        bundle.append(pairs.cut_out())
        n_pairs, n_bytes = n_pairs + len(pairs), n_bytes + pairs_bytes
    if bundle:
        yield bundle


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
