"""Find pairs of rows whose codes are near each other in two sorted arrays, and spell them out in bounded pieces.

Sorted codes are their own index: the shorter array probes the longer one from its lowest code to its highest, in steps
that double until they are too long. So two arrays of one length are merged, and a few probes look at few codes of many.
"""

from collections.abc import Callable, Iterator
from typing import Concatenate, Final, NamedTuple

import numpy as np

from sooner.kernels.array_types import Codes, Positions
from sooner.kernels.native import address, loop, prototypes

_match: Final = loop(prototypes.match)
_match_first: Final = loop(prototypes.match_first)


class Reach(NamedTuple):
    """How far from a left code the right codes may be that match it: from left - below to left + above."""

    below: int = 0
    above: int = 0

    def from_the_right(self) -> "Reach":
        return Reach(self.above, self.below)


EQUAL: Final = Reach()


def matches(left: Codes, right: Codes, at_most: int, reach: Reach = EQUAL) -> Iterator[tuple[Positions, Positions]]:
    """Positions in both of all pairs within reach, never more than `at_most` at once."""
    if len(left) <= len(right):
        yield from _found(_match, left, right, at_most, reach)
    else:
        for at_right, at_left in _found(_match, right, left, at_most, reach.from_the_right()):
            yield at_left, at_right


def first_matches(
    probes: Codes, codes: Codes, at_most: int, reach: Reach = EQUAL
) -> Iterator[tuple[Positions, Positions]]:
    """The position of each probe with a code within reach, and that of its first such code, `at_most` at once."""
    return _found(_match_first, probes, codes, at_most, reach)


def _found(
    match: Callable[Concatenate[int, ...], int], probes: Codes, codes: Codes, at_most: int, reach: Reach
) -> Iterator[tuple[Positions, Positions]]:
    state = np.array([0, 0, 0, -1], np.int64)
    arrays = (address(probes), len(probes), address(codes), len(codes), *reach, address(state))
    while state[0] < len(probes):
        at_probes, at_codes = np.empty(at_most, np.int64), np.empty(at_most, np.int64)
        found = match(len(probes), *arrays, address(at_probes), address(at_codes), at_most)
        if found:
            yield at_probes[:found], at_codes[:found]
