"""Join a partition as a whole whenever it has grown by so much since it was whole: PR-Join (sec. 4.4, equation 11).

Each join reads all of the partition, so its price grows with what has arrived; but what it finds grows with the square,
and all joins of a partition together read no more than 1/gamma times what the last one does. So the rate of early
results grows with what has been read: c, 1.7c, 3.2c, 6.2c, 12.2c for gamma = 1. The first joins are staggered, so that
partitions of one size do not all come at once. The paper staggers by index; here neighbours are far apart in turn,
since they may be alike: partitions that are evened out by a histogram have frequent keys side by side.

Near the end of a partition a join would be in vain, since all is joined then anyway (the stop constraint). It needs to
know how many rows there will be, and costs early results; where temporary storage is fast it is better left out
(sec. 5.2).

A rule of the user: nothing before so many rows, or such a share of all, have arrived (sec. 5.1). On streams, a silence
is used as well (sec. 5.3): the partition with most to gain for what is to be read comes first.
"""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from sooner.errors import InvalidJoin
from sooner.kernels.array_types import Flags
from sooner.policies.view import Counts, JoinView, Numbers, Task, WholePartitions

GOLDEN_RATIO: Final = (5**0.5 - 1) / 2


@dataclass(frozen=True)
class Growth:
    gamma: float = 1.0
    stops: Literal["near the end", "never"] = "near the end"
    not_before: int | float = 0  # rows, or a share of all rows

    def __post_init__(self) -> None:
        if not self.gamma > 0:
            raise InvalidJoin(f"gamma={self.gamma} must be more than 0: a partition is joined when it has grown by it.")
        if self.not_before < 0 or (isinstance(self.not_before, float) and self.not_before > 1):
            raise InvalidJoin(f"not_before={self.not_before} must be a number of rows, or a share of them up to 1.0.")

    def choose(self, view: JoinView) -> Task | None:
        if self._is_too_early(view):
            return None
        if view.around.silent:
            return most_to_gain(view)
        return wholes(view, self._has_grown(view) & ~self._is_near_the_end(view))

    def _has_grown(self, view: JoinView) -> Flags:
        """[partition]: whether it is to be joined."""
        is_first = view.last_merge == 0
        exponents = np.where(is_first, 1 + staggered(len(view.whole_rows)), 1)
        grown: Flags = view.arrived_rows.sum(axis=0) >= (1 + self.gamma) ** exponents * view.whole_rows
        return grown

    def _is_near_the_end(self, view: JoinView) -> Flags:
        """[partition]: whether it will not grow by so much again."""
        n_partitions = len(view.whole_rows)
        if self.stops == "never" or view.expected_rows is None:
            return np.zeros(n_partitions, np.bool_)
        near: Flags = view.expected_rows / n_partitions < (1 + self.gamma) * view.arrived_rows.sum(axis=0)
        return near

    def _is_too_early(self, view: JoinView) -> bool:
        if isinstance(self.not_before, int):
            return bool(view.arrived_rows.sum() < self.not_before)
        if view.expected_rows is None:
            raise InvalidJoin(
                f"not_before={self.not_before} is a share of all rows, and these inputs do not say how many they have; "
                "give a number of rows."
            )
        return bool(view.arrived_rows.sum() < self.not_before * view.expected_rows)


def staggered(n_partitions: int) -> Numbers:
    """[partition]: its turn among the first joins, from 0 on and below 1, evenly; neighbours are far apart."""
    turns = np.argsort(np.argsort(np.arange(n_partitions) * GOLDEN_RATIO % 1))
    shares: Numbers = turns / n_partitions
    return shares


def wholes(view: JoinView, wanted: Flags) -> Task | None:
    """Those of the wanted partitions in which anything is open."""
    partitions = np.flatnonzero(wanted & (open_pairs(view) > 0))
    return WholePartitions(tuple(partitions.tolist())) if len(partitions) else None


def most_to_gain(view: JoinView) -> Task | None:
    """The partition with most open pairs for what is to be read."""
    rates = open_pairs(view) / np.maximum(bytes_on_disk(view), 1)
    return WholePartitions((int(rates.argmax()),)) if rates.any() else None


def open_pairs(view: JoinView) -> Numbers:
    pairs: Numbers = view.unmet_with_disk.sum(axis=0) + view.unmet_on_disk
    return pairs


def bytes_on_disk(view: JoinView) -> Counts:
    n_bytes: Counts = view.spilled_bytes.sum(axis=0)
    return n_bytes
