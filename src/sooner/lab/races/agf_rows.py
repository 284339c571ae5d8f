"""What streams into the experiments of AdaptiveGlobalFlush (AGF sec. 7): sources, and how they join.

The paper has 300,000 tuples a source, with keys that are uniform over 600,000 values, and "each join key bucket is
assigned to a source with equal probability": some buckets overlap at a join, and others do not.

- A *bucket* is the values of one partition, for that is what the paper's policies can tell apart.
- *Equal probability*: a source has a bucket or has it not, and each combination of sources has as many buckets. So each
  source has half of them, each two a quarter in common, and all four a sixteenth.
- *How many buckets*: the paper gives no number, but frees 5% of the memory by whole groups, and in figure 8 from 1% to
  15%. So a group must not have more than 5% of the memory, even when nothing else is left in it than the groups that
  give final results: each combination has seven buckets with three joins, and four with five or six. Before, each
  combination had one. Then a third of the memory left at once, with all that a join had to give, and the order of
  flushes was of no account. The number follows from the text, but it was written down after a first look at seed 0.
- All joins are by the one key: the paper names no other, and draws JoinAB, JoinABC and JoinABCD.
- *A quarter of the values*: 150,000. With 600,000 there are 37,500 results of four sources in all, with any share of
  the buckets and by one key or by several, and the paper shows the first 100,000. With 150,000 a value comes four times
  in each source that has it, and there are about 2.4 million results of four sources, of which 100,000 are early ones.
  Half as many values were tried first, with one seed: of 300,000 results nobody, also with memory for everything, could
  have had the first 100,000 in less than 60% of the time that the slowest took, which the paper's numbers need. All
  were within 25% of each other, most of them in the clean-up.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import pyarrow as pa

from sooner.lab.subject import SCHEMA
from sooner.lab.traces import Keys, batch_of
from sooner.operators.multiway.graph import ColumnOf
from sooner.operators.plans.algorithms import PlanAlgorithm, plan_algorithm
from sooner.operators.plans.plan import JoinsPlan, JoinWith

FLUSH_SHARE: Final = 0.05  # of the memory
SOURCE_ROWS: Final = 300_000
VALUES: Final = 150_000  # of the paper's 600,000
NAMES: Final = "ABCDEFG"


@dataclass(frozen=True)
class Sources:
    """So many of them; rows and values are divided by the scale, and buckets are not."""

    inputs: int
    scale: int

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(NAMES[: self.inputs])

    @property
    def schemas(self) -> tuple[pa.Schema, ...]:
        return (SCHEMA,) * self.inputs

    @property
    def rows(self) -> int:
        """Of each."""
        return SOURCE_ROWS // self.scale

    @property
    def values(self) -> int:
        return VALUES // self.scale

    @property
    def buckets(self) -> int:
        """As many for each combination of sources that have it, also for that of none."""
        return self._of_combination << self.inputs

    @property
    def _of_combination(self) -> int:
        """As many as all joins together need, so that memory can be full of groups that are no larger than a flush."""
        joins = self.inputs - 1
        return math.ceil(1 / (FLUSH_SHARE * joins))

    def plan(self, algorithm: PlanAlgorithm) -> JoinsPlan:
        """Left-deep, as in figure 5(b)."""
        first, *others = self.names
        [key] = SCHEMA.names
        joins = tuple(JoinWith(name, ((ColumnOf(first, key), key),)) for name in others)
        return JoinsPlan(self.names, joins, algorithm)

    def keys(self, rng: np.random.Generator) -> list[Keys]:
        """The rows of each, in the order of their arrival."""
        combinations = rng.permutation(self.buckets) % (1 << self.inputs)  # of sources that have a bucket, one bit each
        of_value = combinations[self._bucket_of_value]
        own = [np.flatnonzero(of_value >> which & 1) for which in range(self.inputs)]
        return [rng.choice(values, self.rows).astype(np.int32) for values in own]

    @cached_property
    def _bucket_of_value(self) -> "np.typing.NDArray[np.int64]":
        """The partition, by the hash that the joins use."""
        order = self.plan(plan_algorithm("agf")).order(self.schemas)
        codes, _ = order.coders[0](batch_of(np.arange(self.values, dtype=np.int32)))
        return np.searchsorted(order.bounds(self.buckets), codes, side="right")

    def results(self, keys: Sequence[Keys]) -> int:
        """How many there are in all."""
        counts = [np.bincount(some, minlength=self.values) for some in keys]
        return int(np.prod(counts, axis=0).sum())
