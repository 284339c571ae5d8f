"""Pairs of matching rows, by position, and rows by themselves: what is found, before anyone asks for whole rows."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
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
        return self.only(self.at_left.copy(), self.at_right.copy())

    def only(self, at_left: Positions, at_right: Positions) -> "Pairs":
        """Those at these positions."""
        return Pairs(self.left, self.right, at_left, at_right)

    @property
    def n_bytes(self) -> int:
        """What their rows weigh."""
        sides = ((self.left, self.at_left), (self.right, self.at_right))
        return sum(total_bytes(picked(run.row_bytes, positions), len(self)) for run, positions in sides)


@dataclass(frozen=True, slots=True)
class Singles:
    """Rows of one side by themselves: nothing matches them, or it matters only that something does."""

    side: int
    run: Run
    at: Positions

    def __len__(self) -> int:
        return len(self.at)

    def cut_out(self) -> "Singles":
        """They keep nothing alive but their run and themselves."""
        return Singles(self.side, self.run, self.at.copy())

    @property
    def n_bytes(self) -> int:
        """What they weigh."""
        return total_bytes(picked(self.run.row_bytes, self.at), len(self))


@dataclass(frozen=True, slots=True)
class Folded:
    """So many pairs that were added up, and are nowhere."""

    n_pairs: int

    def __len__(self) -> int:
        return self.n_pairs

    def cut_out(self) -> "Folded":
        """It keeps nothing alive."""
        return self

    @property
    def n_bytes(self) -> int:
        return 0


Findings = Pairs | Singles | Folded
Bundle = Sequence[Findings]  # of which one batch of results is made: pairs, or singles of one side
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


def singles_of(side: int, run: Run, positions: Positions) -> Iterator[Singles]:
    """The rows at these positions, at most PAIRS_AT_ONCE and PAIRS_BYTES at a time."""
    for first in range(0, len(positions), PAIRS_AT_ONCE):
        at = positions[first : first + PAIRS_AT_ONCE]
        for begin, end in cuts_by_bytes(picked(run.row_bytes, at), len(at), PAIRS_BYTES):
            yield Singles(side, run, at[begin:end])


@dataclass
class _Gathered:
    """What has been found of one kind, and is not a batch yet."""

    found: list[Findings] = field(default_factory=list)
    n_rows: int = 0
    n_bytes: int = 0

    def add(self, findings: Findings, n_bytes: int) -> None:
        self.found.append(findings.cut_out())
        self.n_rows += len(findings)
        self.n_bytes += n_bytes

    def has_room(self, n_rows: int, n_bytes: int) -> bool:
        return self.n_rows + n_rows <= PAIRS_AT_ONCE and self.n_bytes + n_bytes <= PAIRS_BYTES


def bundled(found: Iterator[Findings]) -> Iterator[Bundle]:
    """Few pairs of this run and few of that make one batch of results: a batch has its price, however small it is."""
    gathered: dict[int | None, _Gathered] = {}  # pairs, and singles of each side
    for findings in found:
        if len(findings) >= MANY_PAIRS:
            yield [findings]
            continue
        kind, n_bytes = findings.side if isinstance(findings, Singles) else None, findings.n_bytes
        bundle = gathered.setdefault(kind, _Gathered())
        if bundle.found and not bundle.has_room(len(findings), n_bytes):
            yield bundle.found
            bundle = gathered[kind] = _Gathered()
        bundle.add(findings, n_bytes)
    for bundle in gathered.values():
        yield bundle.found


def drop_met(pairs: Pairs) -> Pairs:
    """Without what has come out before."""
    return pairs.only(*only_unmet(pairs.left, pairs.right, pairs.at_left, pairs.at_right))


def only_by_rows(only_matching: OnlyMatching) -> Filter:
    """Without pairs whose codes are within reach but that do not match."""
    return lambda pairs: pairs.only(
        *only_matching(pairs.left.columns, pairs.right.columns, pairs.at_left, pairs.at_right)
    )


def note_matches(pairs: Pairs) -> Pairs:
    """Rows of which it is followed whether they have a match have one now."""
    for run, positions in ((pairs.left, pairs.at_left), (pairs.right, pairs.at_right)):
        if run.matched is not None:
            run.matched[positions] = True
    return pairs
