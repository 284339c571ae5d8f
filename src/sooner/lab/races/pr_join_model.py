"""What PR-Join's authors compute of I/O: equations 1 to 13 (sec. 3 and 4), and the curves that figure 8 draws of them.

Processing in memory is free, and nothing is done at once. Rates are in results per second, if there are as many results
as `Costs.results`. Pages are megabytes here. Of the magic join of equation 9 only PR-Join is left (equation 10), which
differs by what is still in memory.
"""

from dataclasses import dataclass

import numpy as np

from sooner.policies.view import Numbers


@dataclass(frozen=True)
class Costs:
    """Table 1 of the paper."""

    left_pages: float  # |A|
    right_pages: float  # |B|
    memory_pages: float  # M
    fudge: float  # F: hash tables take so many times what rows do
    read_input_seconds: float  # T_ri, a page
    write_seconds: float  # T_wt
    read_seconds: float  # T_rt
    results: float = 1.0  # of the whole join

    @property
    def input_pages(self) -> float:
        return self.left_pages + self.right_pages

    @property
    def rows_pages(self) -> float:
        """What memory holds of rows before any leave it: a + b."""
        return self.memory_pages / self.fudge

    @property
    def memories(self) -> float:
        """How many times that there is to read: l."""
        return self.input_pages / self.rows_pages

    @property
    def unit_rate(self) -> float:
        """Table 2's c times T: two blocks that fill memory meet, in as long as it takes to read them."""
        return self.results * self.rows_pages / self.input_pages**2


def grace_seconds(costs: Costs) -> float:
    """Equation 1."""
    return costs.input_pages * (costs.read_input_seconds + costs.write_seconds + costs.read_seconds)


def grace_join_rate(costs: Costs) -> float:
    """Equation 1: once all is partitioned; before that it is 0."""
    return costs.results / (costs.input_pages * costs.read_seconds)


def symmetric_hash_rate(costs: Costs) -> float:
    """Equation 2, while all fits into memory."""
    return costs.unit_rate / costs.read_input_seconds


def block_ripple_rate(costs: Costs, k: int) -> float:
    """Equation 2: the k-th ripple after memory was full."""
    seconds = costs.read_input_seconds + costs.write_seconds + k * costs.read_seconds
    return costs.unit_rate * (2 * k + 1) / seconds


def ripple_seconds(costs: Costs) -> float:
    """Equation 3."""
    n = costs.memories
    pages = n * costs.read_input_seconds + (n - 1) * costs.write_seconds + n * (n - 1) / 2 * costs.read_seconds
    return costs.rows_pages * pages


def hash_ripple_seconds(costs: Costs) -> float:
    """Equation 4."""
    kept = costs.rows_pages * costs.right_pages / costs.input_pages
    on_disk = (costs.input_pages - kept) * (costs.write_seconds + costs.read_seconds)
    return costs.input_pages * costs.read_input_seconds + on_disk


def hash_ripple_rate(costs: Costs) -> float:
    """Equation 5: rows of one side meet what is in memory of the other."""
    return costs.unit_rate / (costs.read_input_seconds + costs.write_seconds)


def sms_seconds(costs: Costs) -> float:
    """Equation 6."""
    return grace_seconds(costs)


def sms_rate(costs: Costs) -> float:
    """Equation 7: runs as large as all of the memory, since there are no hash tables."""
    return costs.fudge * hash_ripple_rate(costs)


def dbo_rate(costs: Costs) -> float:
    """Equation 8: each run meets two of the other side."""
    return 2 * sms_rate(costs)


def pr_join_rate(costs: Costs, before: float, growth: float) -> float:
    """Equation 10: the join of a partition that was whole when `before` (mu) times what fits into memory had been read,
    and has grown by `growth` (nu) since.
    """
    new = growth * (costs.read_input_seconds + costs.write_seconds + costs.read_seconds)
    old = (1 - 1 / before) * costs.read_seconds
    return costs.unit_rate * before * (growth**2 + 2 * growth) / (new + old)


def step(gamma: float, j: int, stagger: float) -> tuple[float, float]:
    """Equation 12: mu and nu of the j-th join of a partition, of which `stagger` (i/n) come before it."""
    if j == 1:
        return 1.0, float((1 + gamma) ** (1 + stagger) - 1)
    return float((1 + gamma) ** (j - 1 + stagger)), gamma


def pr_join_seconds(costs: Costs, gamma: float) -> float:
    """Equation 13, an upper bound."""
    return costs.input_pages * (costs.read_input_seconds + costs.write_seconds + (1 + 1 / gamma) * costs.read_seconds)


@dataclass(frozen=True, eq=False)
class Curve:
    """Results by time, straight between these points."""

    seconds: Numbers
    results: Numbers

    def at(self, seconds: Numbers) -> Numbers:
        results: Numbers = np.interp(seconds, self.seconds, self.results)
        return results

    @property
    def end_seconds(self) -> float:
        return float(self.seconds[-1])


def grace_curve(costs: Costs) -> Curve:
    partitioned = costs.input_pages * (costs.read_input_seconds + costs.write_seconds)
    return Curve(np.array([0, partitioned, grace_seconds(costs)]), np.array([0, 0, costs.results]))


def ripple_curve(costs: Costs) -> Curve:
    """The symmetric hash join, then ripple after ripple; the last is as wide as what is left."""
    read = np.minimum(np.arange(1, np.ceil(costs.memories) + 1), costs.memories) * costs.rows_pages
    spilled = np.append(0, read[:-1])
    seconds = read * costs.read_input_seconds + spilled * costs.write_seconds + spilled.cumsum() * costs.read_seconds
    return _from_nothing(seconds, costs.results * (read / costs.input_pages) ** 2)


def pr_join_curve(costs: Costs, gamma: float, partitions: int, *, stops_near_the_end: bool = True) -> Curve:
    """Joins by equation 11, one each time that what was read has grown by the n-th root of 1 + gamma."""
    last = costs.input_pages / (1 + gamma if stops_near_the_end else 1)
    joins = int(partitions * (np.log(last / costs.rows_pages) / np.log(1 + gamma) - 1)) + 1
    grown = (1 + gamma) ** (1 + np.arange(joins) / partitions)
    read = np.concatenate(([1], grown, np.full(partitions, costs.memories))) * costs.rows_pages
    before = np.concatenate((np.full(partitions, costs.rows_pages), grown * costs.rows_pages))[: joins + partitions]
    before = np.append(0, before)
    found = costs.results * (read**2 - before**2) / costs.input_pages**2 / partitions
    found[0] *= partitions
    reading = (read - costs.rows_pages) / partitions * costs.read_seconds
    spilled = read - costs.rows_pages
    seconds = read * costs.read_input_seconds + spilled * costs.write_seconds + reading.cumsum()
    return _from_nothing(seconds, found.cumsum())


def _from_nothing(seconds: Numbers, results: Numbers) -> Curve:
    return Curve(np.append(0, seconds), np.append(0, results))
