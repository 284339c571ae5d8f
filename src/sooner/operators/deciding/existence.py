"""Whether rows match anything at all, without spelling out what: a key may have a million rows on the other side.

Of each row the first candidate is looked at; where codes can collide and that one does not match, all of them are.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from sooner.kernels.array_types import Flags, Positions
from sooner.kernels.looking_up import CodeIndex, found
from sooner.kernels.matching import Reach, first_matches, matches
from sooner.operators.order import OnlyMatching
from sooner.operators.pairs import PAIRS_AT_ONCE, Found
from sooner.runs.run import Run
from sooner.sides import LEFT


@dataclass(frozen=True)
class Existence:
    """How it is told whether rows match. `breathe` is called again and again: it may raise."""

    reach: Reach
    only_matching: OnlyMatching | None
    breathe: Callable[[], None]

    def look(self, side: int, rows: Run, other: Run, known: Flags) -> Iterator[Positions]:
        """Make `known` true of the rows of this side that match one of the other; where it is true nobody asks.

        Gives the positions of those of which it has become true, at most PAIRS_AT_ONCE at a time.
        """
        reach = self._from(side)

        def all_of(doubtful: Positions) -> Found:
            for at, at_other in matches(rows.codes[doubtful], other.codes, PAIRS_AT_ONCE, reach):
                yield doubtful[at], at_other

        firsts = first_matches(rows.codes, other.codes, PAIRS_AT_ONCE, reach)
        return self._noted(side, rows, other, known, firsts, all_of)

    def look_up(self, side: int, rows: Run, other: Run, index: CodeIndex, known: Flags) -> Iterator[Positions]:
        """The same for rows in no order, and an index of the other side."""
        reach = self._from(side)

        def all_of(doubtful: Positions) -> Found:
            for at, at_other in found(rows.codes[doubtful], None, index, PAIRS_AT_ONCE, reach):
                yield doubtful[at], at_other

        firsts = found(rows.codes, ~known, index, PAIRS_AT_ONCE, reach, only_first=True)
        return self._noted(side, rows, other, known, firsts, all_of)

    def _from(self, side: int) -> Reach:
        return self.reach if side == LEFT else self.reach.from_the_right()

    def _noted(
        self, side: int, rows: Run, other: Run, known: Flags, firsts: Found, all_of: Callable[[Positions], Found]
    ) -> Iterator[Positions]:
        for found_at, found_at_other in firsts:
            self.breathe()
            asked = ~known[found_at]
            at, at_other = found_at[asked], found_at_other[asked]
            matching = self._matching(side, rows, other, at.copy(), at_other)
            known[matching] = True
            yield matching
            doubtful = at[~known[at]]
            for again, other_again in all_of(doubtful) if len(doubtful) else ():
                self.breathe()
                matching = np.unique(self._matching(side, rows, other, again, other_again))
                matching = matching[~known[matching]]
                known[matching] = True
                yield matching

    def _matching(self, side: int, rows: Run, other: Run, at: Positions, at_other: Positions) -> Positions:
        if self.only_matching is None:
            return at
        if side == LEFT:
            return self.only_matching(rows.columns, other.columns, at, at_other)[0]
        return self.only_matching(other.columns, rows.columns, at_other, at)[1]
