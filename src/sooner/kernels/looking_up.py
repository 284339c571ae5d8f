"""Find rows by their codes, in whatever order the codes are asked for.

Rows that are met once and not kept need not be sorted for it: an index of the highest bits in which codes differ says
where in the sorted codes of the others to look.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from sooner.kernels.array_types import Codes, Flags, Positions
from sooner.kernels.matching import EQUAL, Reach
from sooner.kernels.native import address, loop, prototypes

_MOST_BITS: Final = 26

_index_codes: Final = loop(prototypes.index_codes)
_match_in_index: Final = loop(prototypes.match_in_index)
_count_between: Final = loop(prototypes.count_between)


class CodeIndex:
    """Where in sorted codes those with certain highest bits are, counted from the lowest: of codes that are spread over
    their range, one or two for each entry, or that many times as many.
    """

    def __init__(self, codes: Codes, times: int = 1) -> None:
        self.codes = codes
        base, highest = (int(codes[0]), int(codes[-1])) if len(codes) else (0, 0)
        bits = self._bits(len(codes) // times)
        self.begins = np.empty(1 + (1 << bits), np.uint32)
        self.entries = base, max((highest - base).bit_length() - bits, 0), bits  # which entry a code belongs to
        _index_codes(len(codes), address(codes), len(codes), *self.entries, address(self.begins))

    @staticmethod
    def n_bytes(n_codes: int) -> int:
        """What an index of so many codes takes beside them."""
        return np.dtype(np.uint32).itemsize * (1 + (1 << CodeIndex._bits(n_codes)))

    @staticmethod
    def _bits(n_codes: int) -> int:
        return min(max(n_codes.bit_length(), 1), _MOST_BITS)


def found(
    probes: Codes,
    wanted: Flags | None,
    index: CodeIndex,
    at_most: int,
    reach: Reach = EQUAL,
    *,
    only_first: bool = False,
) -> Iterator[tuple[Positions, Positions]]:
    """Positions of all pairs within reach, for the probes that are wanted (None: all), so many at most at once.

    Or only the first pair of each probe.
    """
    state, codes = np.array([0, 0, 0, -1], np.int64), index.codes
    of_probes = (address(probes), address(wanted), len(probes))
    all_of_it = (*of_probes, address(codes), len(codes), address(index.begins), *index.entries, *reach, only_first)
    while state[0] < len(probes):
        at_probes, at_codes = np.empty(at_most, np.int64), np.empty(at_most, np.int64)
        found = address(at_probes), address(at_codes)
        n_found = _match_in_index(len(probes), *all_of_it, address(state), found[0], found[1], at_most)
        if n_found:
            yield at_probes[:n_found], at_codes[:n_found]


def counts_between(codes: Codes, wanted: Flags | None, bounds: CodeIndex) -> npt.NDArray[np.int64]:
    """How many of the wanted rows are below the first bound, between the first and the second, ..., above the last."""
    counts = np.zeros(len(bounds.codes) + 1, np.int64)
    of_bounds = (address(bounds.codes), len(bounds.codes), address(bounds.begins), *bounds.entries)
    _count_between(len(codes), address(codes), address(wanted), len(codes), *of_bounds, address(counts))
    return counts
