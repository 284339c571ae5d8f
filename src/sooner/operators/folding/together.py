"""One estimate of what many partitions have folded, each for itself: in tasks of Spark, or from versions of a state.

Each says its groups, its sums and how many rows of the *whole* inputs had come when they were made: tallies go to all
partitions. So rectangles of different partitions stand side by side as those of one operator do. Groups have numbers of
their own in each partition, and are numbered anew.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sooner.budget import UNLIMITED_BYTES, Budget
from sooner.estimation.estimate import Estimate
from sooner.estimation.groups import Groups
from sooner.estimation.reading_off import estimate_of, sizes_by_now
from sooner.estimation.reckoning import Reckoning
from sooner.estimation.workings import Workings
from sooner.kernels.folding import Sums
from sooner.operators.folding.folds import (
    Counts,
    Folds,
    groups_of,
    keys_of,
    load_sums,
    no_keys,
    packed,
    rectangle_of,
    sums_of,
    sums_to_plain,
    unpacked,
)
from sooner.sides import SIDES

Told = dict[str, Any]


@dataclass(frozen=True)
class Wanted:
    """What is read off, and what is known beside the sums."""

    workings: Workings
    confidence: float
    total_rows: tuple[int | None, int | None] = (None, None)


def told_by(folds: Folds, ended: Sequence[bool], *, done: bool) -> Told:
    """What one partition says, as plain data; `ended` are the inputs that have no more rows."""
    found: dict[bytes, tuple[Counts, Sums, int]] = {}
    for sums, tallies in folds.rectangles(done=done):
        known = found.get(tallies.tobytes())
        if known is not None:
            known[1].add(sums)
        together = _copy(sums) if known is None else known[1]
        found[tallies.tobytes()] = tallies, together, 1 if known is None else known[2] + 1
    return {
        "groups": [one.to_plain() for one in folds.groups],
        "n_tags": folds.n_tags,
        "rectangles": [[tallies.tolist(), sums_to_plain(sums), weight] for tallies, sums, weight in found.values()],
        "tallies": folds.tallies.tolist(),
        "keys": packed(folds.keys),
        "ended": list(ended),
        "done": done,
    }


def told_in(workings: Workings, snapshot: dict[str, Any]) -> Told:
    """The same, from the snapshot of an operator."""
    folds = Folds(workings, 1, Budget(UNLIMITED_BYTES).account("rows"), 0, None)
    folds.load_plain(snapshot["folds"])
    return told_by(folds, [one["ended"] for one in snapshot["inputs"]], done=snapshot["phase"] == "done")


def estimated(wanted: Wanted, told: Sequence[Told], seconds: float) -> Estimate:
    """What all partitions say together; exact when each of them is done."""
    workings = wanted.workings
    exact = all(one["done"] for one in told)
    tallies = np.max([one["tallies"] for one in told], axis=0)
    rows = [int(count) for count in tallies.sum(axis=1)]
    ended = [all(one["ended"][side] for one in told) for side in SIDES]
    sizes = sizes_by_now(wanted.total_rows, rows, ended)
    if not all(one["rectangles"] for one in told):  # what one cannot say yet, all together cannot
        return estimate_of(workings, (), None, rows, sizes, seconds, exact=exact)
    groups, merged = _merged(workings, told)
    rectangles = [rectangle_of(sums, counts, sizes, weight=weight) for counts, sums, weight in merged]
    counted = np.sum([unpacked(one["keys"], no_keys()) for one in told], axis=0)
    reckoning = Reckoning(workings, rectangles, wanted.confidence, keys_of(counted, tallies), exact=exact)
    return estimate_of(workings, groups, reckoning, rows, sizes, seconds, exact=exact)


def _merged(workings: Workings, told: Sequence[Told]) -> tuple[list[Groups], list[tuple[Counts, Sums, int]]]:
    """Groups of all, and sums by what had come when they were made."""
    every = [[_loaded(groups_of(workings, side), one["groups"][side]) for side in SIDES] for one in told]
    groups = [groups_of(workings, side) for side in SIDES]
    numbers = [[groups[side].numbers_of_all(some[side]) for side in SIDES] for some in every]
    n_tags = min(one["n_tags"] for one in told)
    room = len(groups[0]), len(groups[1])
    found: dict[bytes, tuple[Counts, Sums, int]] = {}
    for one, mine, at in zip(told, every, numbers, strict=True):
        for tallies, data, weight in one["rectangles"]:
            counts = np.array(tallies, np.int64)
            known = found.get(counts.tobytes()) or (counts, sums_of(workings, n_tags, room), 0)
            sums = load_sums(sums_of(workings, one["n_tags"], (len(mine[0]), len(mine[1]))), data)
            while sums.n_tags > n_tags:
                sums.halve_tags()
            known[1].add_at(np.ix_(*at), sums)
            found[counts.tobytes()] = *known[:2], known[2] + weight
    return groups, list(found.values())


def _loaded(groups: Groups, text: str) -> Groups:
    groups.load_plain(text)
    return groups


def _copy(sums: Sums) -> Sums:
    n_wholes, n_reals, n_moments = (array.shape[2] for array in sums.arrays)
    copy = Sums(n_wholes, n_reals, sums.n_tags, sums.groups, n_moments)
    copy.add(sums)
    return copy
