"""How much room a two-way join has, uses and makes: numbers that the lab's twin of it shares."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from sooner.budget import Account
from sooner.named_algorithms import Algorithm
from sooner.operators.operator import Means
from sooner.operators.statistics.regions import RegionStatistics
from sooner.sides import SIDES

E = TypeVar("E")  # of evictions

SCRATCH_SHARE: Final = 8  # of the memory, one part in so many
LEAST_SCRATCH_BYTES: Final = 4 * 2**20
MOST_SCRATCH_BYTES: Final = 256 * 2**20
CLEAN_UP_BYTES: Final = 32 * 2**20  # if so much is free: larger slabs save nothing more


def flush_bytes_of(algorithm: Algorithm, means: Means) -> int:
    """How much leaves memory at least when it is full."""
    if isinstance(algorithm.flushes, int):
        return algorithm.flushes
    share = means.flush_fraction if algorithm.flushes == "a share of the memory" else 0
    return int(means.account.share_bytes * share)


def regions_of(algorithm: Algorithm, partitions: int, means: Means) -> RegionStatistics | None:
    """What is remembered of regions, where the flush policy looks at them."""
    flush_bytes = flush_bytes_of(algorithm, means)
    return RegionStatistics(len(SIDES), partitions, flush_bytes) if algorithm.sees == "regions" else None


def scratch_bytes_of(account: Account) -> int:
    """What is used beside the memory to work in."""
    return min(max(account.share_bytes // SCRATCH_SHARE, LEAST_SCRATCH_BYTES), MOST_SCRATCH_BYTES)


def enough_of(groups: Iterable[Sequence[E]], goal_bytes: int, freed_by: Callable[[E], int]) -> list[E]:
    """The first of these groups of evictions that free so many bytes together."""
    chosen: list[E] = []
    for group in groups:
        chosen += group
        goal_bytes -= sum(map(freed_by, group))
        if goal_bytes <= 0:
            break
    return chosen
