"""All that a join whose rows are only counted knows between two calls."""

from dataclasses import dataclass
from typing import Final

from sooner.errors import InvalidCall
from sooner.kernels.counting import KeyCounts
from sooner.lab.counted_memory import CountedMemory
from sooner.lab.counted_partition import CountedPartition, LeftLog
from sooner.lab.traces import key_codes
from sooner.named_algorithms import Algorithm
from sooner.operators.events import Event
from sooner.operators.leaving.room import regions_of
from sooner.operators.ledgers.open_pairs import JoinStatistics
from sooner.operators.operator import Means
from sooner.policies.view import BUSY, JoinView, Surroundings
from sooner.runs.run import NEVER
from sooner.sides import SIDES


@dataclass(frozen=True)
class Variant:
    """What papers do and `sooner` does not, or does better."""

    loops_to_the_letter: bool = False  # DINER: an outer chunk is held in memory, and the clean-up is the nested loop
    counts_joins: bool = False  # DINER: a counter for each row instead of a join bit (sec. 3.1)


AS_BUILT: Final = Variant()


class CountedState:
    def __init__(
        self,
        domain: int,
        partitions: int,
        row_bytes: int,
        algorithm: Algorithm,
        means: Means,
        variant: Variant = AS_BUILT,
    ) -> None:
        if algorithm.waits != "never":
            raise InvalidCall(f"Rows that wait are not counted; simulate {algorithm.name!r} with real rows.")
        self.algorithm = algorithm
        self.means = means
        self.variant = variant
        self.account = means.account
        self.row_bytes = row_bytes
        regions = regions_of(algorithm, partitions, means)
        self.keys = -(-domain // partitions)  # of a partition
        self.counts = KeyCounts.of_nothing(len(SIDES), partitions, self.keys)
        self.log = LeftLog()
        codes = key_codes(self.keys * partitions, partitions).reshape(self.keys, partitions)
        self.statistics = JoinStatistics(partitions, regions)
        splits_codes = algorithm.splits != "no code"
        self.memory = CountedMemory(
            self.counts, self.statistics, codes, row_bytes, splits_codes=splits_codes, counts_joins=variant.counts_joins
        )
        self.partitions = [
            CountedPartition(p, self.counts.of_partition(p), self.memory.rows, self.log) for p in range(partitions)
        ]
        self.ended = [False for _ in SIDES]
        self.tick = NEVER

    def view(self, around: Surroundings = BUSY) -> JoinView:
        means, ended = self.means, tuple(self.ended)
        return self.statistics.view(
            self.tick, ended, around, means.device, means.account.share_bytes, selectivity=self.memory.selectivity
        )

    def report(self, event: Event) -> None:
        if self.means.listener is not None:
            self.means.listener(event)
