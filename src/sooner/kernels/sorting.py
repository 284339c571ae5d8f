"""Put rows in the order of their codes, in linear time."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sooner.kernels.array_types import Codes, Flags, Positions
from sooner.kernels.native import address, addresses, loop, prototypes

_sort_codes: Final = loop(prototypes.sort_codes)
_merge_codes: Final = loop(prototypes.merge_codes)
_ROW_BYTES: Final = 16  # a code and a position
_FIRST_FEW: Final = 64


class Sorted(NamedTuple):
    """Codes in their order, and where the rows were; rows of equal code in the order in which they came."""

    codes: Codes
    order: Positions


class Places(NamedTuple):
    """Where rows are: in which of several parts (None: in the only one), and at which positions there."""

    positions: Positions
    parts: npt.NDArray[np.int32] | None = None


def sort(codes: Codes, wanted: Flags | None = None) -> Sorted:
    """All rows, or those that are wanted."""
    n_rows = len(codes)
    found = Sorted(np.empty(n_rows, np.uint64), np.empty(n_rows, np.int64))
    scratch = _scratch(n_rows)
    where = [address(array) for array in (*scratch, *found)]
    kept = _sort_codes(n_rows, address(codes), address(wanted), n_rows, *where)
    return found if kept == n_rows else Sorted(found.codes[:kept], found.order[:kept])


def is_sorted(codes: Codes) -> bool:
    """Whether they are in their order already; for most that are not, the first few tell."""
    first = codes[:_FIRST_FEW]
    return bool((first[1:] >= first[:-1]).all()) and bool((codes[1:] >= codes[:-1]).all())


def merged(parts: Sequence[Codes]) -> tuple[Codes, Places]:
    """Sorted codes of several parts as one, and where each row is; of equal codes those of earlier parts come first."""
    sizes = np.array([len(part) for part in parts], np.int64)
    n_rows = int(sizes.sum())
    codes, places = np.empty(n_rows, np.uint64), Places(np.empty(n_rows, np.int64), np.empty(n_rows, np.int32))
    sources = addresses([address(part) for part in parts])
    scratch = np.empty(len(parts) + 1, np.int64), *_scratch(n_rows)
    where = [address(array) for array in (*scratch, codes, *places)]
    _merge_codes(n_rows, address(sources), address(sizes), len(parts), n_rows, *where)
    return codes, places


def _scratch(n_rows: int) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    return np.empty(n_rows * _ROW_BYTES, np.uint8), np.empty(n_rows * _ROW_BYTES, np.uint8)
