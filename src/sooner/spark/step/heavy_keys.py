"""Which keys of a partition have many rows: a sketch of few bytes, in every version of the state.

In each piece of a batch, keys with at least one row in LEAST_SHARE of it are counted, and of all that were ever counted
those with the most rows stay. So a count is never more than there were, and falls short by no more than that share
(lossy counting: Manku, Motwani 2002, with pieces as buckets). Counts age: what comes now weighs more than what came
long ago. All of it is a pure function of sets of rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from sooner.kernels.array_types import Codes
from sooner.kernels.keys import KeyPlan
from sooner.operators.order import CodeRows
from sooner.operators.pieces import Rows
from sooner.runs.store import counted, counts_of_each
from sooner.sides import SIDES
from sooner.spark.shuffle.hot_keys import text_of_key

HEAVY_KEYS: Final = "heavy_keys"  # in what a version says of itself
LEAST_SHARE: Final = 32  # one row in so many, or more
KEPT: Final = 16  # keys of a side
HALF_LIFE_ROWS: Final = 2**22  # when so many rows of a side are counted, all counts of it are halved
MOST_TEXT: Final = 2_048  # of a key; a longer one stays at home
_BUCKET_BITS: Final = 12  # codes are told apart by so many at first: most keys need no closer look


@dataclass(frozen=True)
class HeavyKey:
    side: int
    code: int
    rows: int
    key: str  # see `hot_keys.text_of_key`
    name: str


def none_counted() -> dict[str, Any]:
    """What a partition says that begins to count."""
    return {"seen": [0 for _ in SIDES], "found": []}


class HeavyKeys:
    def __init__(self, keys: KeyPlan, coders: Sequence[CodeRows]) -> None:
        self._names = (keys.left, keys.right)
        self._types = keys.types
        self._coders = coders
        self._seen = [0 for _ in SIDES]
        self._found: list[dict[int, HeavyKey]] = [{} for _ in SIDES]

    def count(self, rows: Rows) -> None:
        """Of a piece of a batch: rows of each side that are joined."""
        for side in SIDES:
            codes, wanted = self._coders[side](rows[side])
            for code, n_rows in _heavy(codes if wanted is None else codes[wanted]):
                self._add(side, code, n_rows, rows[side], codes)
            self._seen[side] += rows[side].num_rows
            self._tidy_up(side)

    def _add(self, side: int, code: int, n_rows: int, rows: pa.RecordBatch, codes: Codes) -> None:
        found = self._found[side]
        if code not in found:
            row = rows.slice(int(np.argmax(codes == np.uint64(code))), 1)
            texts = text_of_key(row, self._names[side], self._types)
            if texts is None or len(texts[0]) > MOST_TEXT:
                return
            found[code] = HeavyKey(side, code, 0, *texts)
        found[code] = replace(found[code], rows=found[code].rows + n_rows)

    def _tidy_up(self, side: int) -> None:
        largest = sorted(self._found[side].values(), key=lambda one: (-one.rows, one.code))[:KEPT]
        if self._seen[side] > HALF_LIFE_ROWS:
            self._seen[side] //= 2
            largest = [replace(one, rows=one.rows // 2) for one in largest]
        self._found[side] = {one.code: one for one in largest}

    def to_plain(self) -> dict[str, Any]:
        found = [[one.side, one.code, one.rows, one.key, one.name] for side in self._found for one in side.values()]
        return {"seen": self._seen, "found": found}

    def load_plain(self, data: dict[str, Any]) -> None:
        self._seen = list(partition_keys_in(data).seen)
        for one in partition_keys_in(data).found:
            self._found[one.side][one.code] = one


@dataclass(frozen=True)
class PartitionKeys:
    """What a version says of the keys in its partition."""

    seen: tuple[int, ...]  # rows of each side
    found: tuple[HeavyKey, ...]


def partition_keys_in(data: dict[str, Any]) -> PartitionKeys:
    """What `to_plain` wrote."""
    found = (HeavyKey(counted(side), int(code), counted(rows), *texts) for side, code, rows, *texts in data["found"])
    return PartitionKeys(tuple(counts_of_each(data["seen"], len(SIDES))), tuple(found))


def _heavy(codes: Codes) -> list[tuple[int, int]]:
    """Codes that have a large share of these, and how many."""
    least = max(len(codes) // LEAST_SHARE, 2)
    buckets = (codes & np.uint64(2**_BUCKET_BITS - 1)).astype(np.int64)
    suspects = np.bincount(buckets, minlength=2**_BUCKET_BITS) >= least
    if not suspects.any():
        return []
    found, counts = np.unique(codes[suspects[buckets]], return_counts=True)
    return [(code, rows) for code, rows in zip(found.tolist(), counts.tolist(), strict=True) if rows >= least]
