"""What races in PR-Join figure 14: a join that says how good its estimate is (sec. 6.1), set up as figure 10(d).

SELECT SUM(B.val) FROM A, B WHERE A.key = B.key, B.val by Pareto with shape 1.5. What a partition has joined is a
rectangle of the rows that came first: n of N rows of A, m of M of B, in random order. Each row of A matches one of B;
so the ripple join's formulas come down to this. With Q the sum of the squares of the values and T their sum, the
estimate, (N/n) (M/m) times the sum of what is joined, has the variance

    Q (N/n M/m - 1) + (T^2 - Q) ((1 - 1/n) / (1 - 1/N) (1 - 1/m) / (1 - 1/M) - 1)

and those of partitions add up. This is what a sample's own variance is on average, and it depends on no luck with the
sample. The interval is new at a report, when something has been joined; it is 1 as long as a partition has nothing.

Scale. A row stands for 200 of the paper's here too, and has the values of all of them: rectangles are counted in the
paper's rows, and the 100 million values are drawn one by one. So 0.001 is the paper's 0.001. It could not be had by
scaling the target: Pareto 1.5 has no variance, Q is little more than the few largest values and grows with rows^(4/3),
so intervals shrink with the cube root of the rows, not with the square root.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import NormalDist
from typing import Final

import numpy as np

from sooner.errors import InvalidCall
from sooner.lab.history import History
from sooner.lab.races.pr_join import FULL_SCALE, ROWS_OF_MB, PrJoinRace
from sooner.lab.simulator import simulate_subject
from sooner.lab.traces import Pushed, Trace
from sooner.lab.waiting_join import WaitingJoin
from sooner.named_algorithms import Algorithm
from sooner.operators.operator import Means
from sooner.policies.react.growth import open_pairs
from sooner.policies.view import Counts, Numbers
from sooner.sides import RIGHT, SIDES

HALF_INTERVAL: Final = "relative_half_interval"
SHAPE: Final = 1.5
DEVIATIONS: Final = NormalDist().inv_cdf(0.975)  # on both sides of the estimate, for 95%
DRAWN_AT_ONCE: Final = 10**6
ALL_BITS: Final = 53  # of a random number
FEW_BITS: Final = 15


@dataclass(frozen=True, eq=False)
class Values:
    """B.val, of all rows of the paper that a key of ours stands for: their sum, and the sum of their squares."""

    sums: Numbers  # [key]
    squares: Numbers
    stands_for: int

    @staticmethod
    @lru_cache(maxsize=2)
    def drawn(keys: int, stands_for: int, random_bits: int, seed: int) -> "Values":
        rng, sums, squares = np.random.default_rng((seed, 14)), np.empty(keys), np.empty(keys)
        step = max(1, DRAWN_AT_ONCE // stands_for)
        for first in range(0, keys, step):
            some = slice(first, min(first + step, keys))
            numbers = 1 + rng.integers(0, 2**random_bits, (some.stop - first, stands_for))
            values = (numbers / 2**random_bits) ** (-1 / SHAPE)
            sums[some], squares[some] = values.sum(axis=1), (values**2).sum(axis=1)
        return Values(sums, squares, stands_for)

    def by_partition(self, of_key: Counts, partitions: int) -> "Partitions":
        sums, squares = (np.bincount(of_key, some, partitions).astype(np.float64) for some in (self.sums, self.squares))
        return Partitions(sums, squares, self.stands_for * np.bincount(of_key, minlength=partitions))


@dataclass(frozen=True, eq=False)
class Partitions:
    """What the paper's rows amount to in each of them, [partition]; each side has as many, for each row matches one."""

    sums: Numbers
    squares: Numbers
    rows: Counts

    def relative_half_interval(self, joined: Counts) -> float:
        """When so many of the paper's rows, [side, partition], are a rectangle that has met."""
        if not joined[:, self.rows > 0].all():
            return 1.0
        variance = variance_of_estimate(self.sums, self.squares, self.rows, joined)[self.rows > 0].sum()
        return min(1.0, DEVIATIONS * float(np.sqrt(max(variance, 0.0)) / self.sums.sum()))


def variance_of_estimate(sums: Numbers, squares: Numbers, rows: Counts, joined: Counts) -> Numbers:
    """[partition]: of the sum, from a rectangle of so many rows, [side, partition]."""
    with np.errstate(divide="ignore", invalid="ignore"):  # where there are no rows at all
        scaled_up = (rows / joined).prod(axis=0)
        twice = np.where(joined == rows, 1.0, (1 - 1 / joined) / (1 - 1 / rows)).prod(axis=0)
    variance: Numbers = squares * (scaled_up - 1) + (sums**2 - squares) * (twice - 1)
    return variance


class Estimating(WaitingJoin):
    """A join that says how good its estimate is. Where nothing is open, the rectangle is all that has arrived."""

    def __init__(self, trace: Trace, algorithm: Algorithm, means: Means, values: Values) -> None:
        super().__init__(trace, algorithm, means)
        self._values = values
        self._joined = np.zeros((len(SIDES), 1), np.int64)
        self._cut()

    def _cut(self) -> None:
        """Partitions may be evened out, once, as long as nothing is open."""
        self._of_key = self.partition_of_key
        self._by_partition = self._values.by_partition(self._of_key, len(self.view().whole_rows))

    def measures(self) -> Mapping[str, float]:
        if self.partition_of_key is not self._of_key:
            self._cut()
        view = self.view()
        self._joined = np.where(open_pairs(view) == 0, view.arrived_rows, self._joined)
        half_interval = self._by_partition.relative_half_interval(self._joined * self._values.stands_for)
        return {**super().measures(), HALF_INTERVAL: half_interval}


@dataclass(frozen=True)
class IntervalRace(PrJoinRace):
    random_bits: int = ALL_BITS  # of the numbers that values are made of

    @property
    def seconds(self) -> float:
        """The same for all algorithms, so that they race one after another, and the values are drawn once."""
        return 2

    def run(self, scale: int, seed: int) -> History:
        stands_for = FULL_SCALE * scale
        if scale < 1 or ROWS_OF_MB % stands_for:
            raise InvalidCall(f"scale={scale} is not possible here; give 1, 2, 5, 10, 25 or 50.")
        keys = self._keys(stands_for, np.random.default_rng((seed, 3)))  # as in figure 10
        domain, algorithm = len(keys[RIGHT]), self._algorithm(stands_for)
        nothing = Pushed(np.empty(0), np.empty(0, np.int32), silence_seconds=1.0)
        values = Values.drawn(domain, stands_for, self.random_bits, seed)

        def estimating(trace: Trace, means: Means) -> Estimating:
            return Estimating(trace, algorithm, means, values)

        trace = Trace.of_inputs([nothing] * len(SIDES), domain, self._partitions)
        history = simulate_subject(trace, estimating, self._laboratory(keys, stands_for))
        return replace(at_reports(history), stands_for=stands_for)


def at_reports(history: History) -> History:
    """With intervals that are new at the end of what was done, not evenly over the time that it took."""
    columns = {name: np.repeat(column, 2) for name, column in history.columns.items()}
    intervals = columns[HALF_INTERVAL]
    columns[HALF_INTERVAL] = np.concatenate((intervals[:1], intervals[:-1]))
    return replace(history, columns=columns, phases=tuple(np.repeat(history.phases, 2).tolist()))
