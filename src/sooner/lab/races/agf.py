"""What races in the experiments of AdaptiveGlobalFlush and the State Manager (AGF sec. 7): plans of three to six joins.

Given in the paper: memory for 10% of the input, flushes of 5% of the memory, statistics every 5 s with an EWMA of 0.5,
arrivals that are slow and bursty after a Pareto distribution. Not given, and chosen here:

- the bursts: 4,000 rows 0.1 ms apart on average, and pauses of 0.4 s and more with a shape of 1.5. A source then takes
  about two minutes; a steady one has as many rows a second. Of three, two or one bursty inputs it is the last that are
  bursty, so that with two A and B are steady, as in figures 7(c) and 7(d);
- the disk of DINER's experiments (`diner`), and silence after 25 ms: HMJ and RPJ work on disk when all inputs are
  silent. The processor takes no time, and rows that wait have memory of their own;
- a row has its key alone, and a result the keys of all its rows: it weighs as much more in memory and on disk.

All algorithms are plans of the same joins, as `sooner` has them, with real rows. They have one memory, flush as much at
a time, and write and read the same files: one for each input of a join that rows leave, however many of its partitions
they are of, and each run is read from its beginning to its end. What the paper's state manager lets go on above a
merge waits here as well, since all is done in turn.

*Without limits* (`agf_bound`) nothing ever leaves memory: nobody can have results sooner.

A race is over when the first so many results are there: no more is asked of it.

Scale. Rows, values, memory, flushes and pages on disk are divided, and the time is the paper's own. Races are always
divided by FULL_SCALE, since a call takes as long however few rows it is of.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np

from sooner.errors import InvalidCall
from sooner.lab.history import History
from sooner.lab.kept_runs import KeptRuns
from sooner.lab.races.agf_bound import without_limits
from sooner.lab.races.agf_rows import FLUSH_SHARE, Sources
from sooner.lab.races.diner import BLOCK_ROWS, RANDOM_SECONDS, SEQUENTIAL_SECONDS, trace_of
from sooner.lab.resources import Disk, Machine
from sooner.lab.simulator import Laboratory, simulate_subject
from sooner.lab.subject import ROW_BYTES, RealOperator, Subject
from sooner.lab.traces import Keys, Trace
from sooner.operators.inputs import Storage
from sooner.operators.operator import Means
from sooner.operators.plans.algorithms import PlanAlgorithm, plan_algorithm
from sooner.operators.statistics.observing import Ewma
from sooner.phases import Phase
from sooner.policies.react.never import Never
from sooner.policies.view import Evict, RoomPolicy, Surroundings, Together, View
from sooner.sources.arrival_patterns import Fixed, ParetoBursts, Seconds, arrival_times

FULL_SCALE: Final = 20
LARGEST_SCALE: Final = 2  # a page of one row is left
MEMORY_SHARE: Final = 0.10
EVERY_SECONDS: Final = 5.0
ALPHA: Final = 0.5
BURSTS: Final = ParetoBursts(mean_burst_rows=4_000, shortest_pause_seconds=0.4)
STEADY: Final = Fixed(0.0004)  # as many rows a second as in bursts and pauses
CHUNK_ROWS: Final = 6_000  # that are joined in one call at most; and never more than a flush is of
EARLY: Final = 100_000  # results
WITHOUT_LIMITS: Final = "without limits"
SETTING: Final = (
    "bursts of 4,000 rows on average, 0.1 ms apart, and Pareto pauses of 0.4 s or more with shape 1.5; 50 rows a page, "
    "10 ms random and 0.2 ms sequential access to one; 150,000 values instead of 600,000"
)
SLOW_DISK: Final = "disk ten times as slow"
TIMES_SLOWER: Final = 10


@dataclass(frozen=True)
class HighestFirst:
    """A policy for groups the wrong way round: those leave that it would keep longest."""

    policy: RoomPolicy

    def choose(self, views: Mapping[str, View], asking: str, needed_bytes: int) -> Iterator[Together]:
        one_by_one = [*self.policy.choose(views, asking, 1)][::-1]
        together: list[Evict] = []
        for group in one_by_one:
            together += group
            needed_bytes -= sum(int(views[one.operator].resident_bytes[one.input, one.partition]) for one in group)
            if needed_bytes <= 0:
                break
        yield together
        yield from one_by_one  # joins in the middle of a call let none go


def _with_reversed_flush(algorithm: PlanAlgorithm) -> PlanAlgorithm:
    return replace(algorithm, room=HighestFirst(algorithm.room))


def _idle_before_the_end(algorithm: PlanAlgorithm) -> PlanAlgorithm:
    return replace(algorithm, react=None, of_joins=replace(algorithm.of_joins, react=Never()))


MUTANTS: Final[Mapping[str, Callable[[PlanAlgorithm], PlanAlgorithm]]] = {
    "flush order reversed": _with_reversed_flush,
    "no work on disk before the end": _idle_before_the_end,
    SLOW_DISK: lambda algorithm: algorithm,
}


@dataclass(frozen=True)
class AgfRace:
    algorithm: str
    inputs: int = 4
    bursty: int = 4  # of the inputs, the last so many
    memory_share: float = MEMORY_SHARE  # of the input
    flush_share: float = FLUSH_SHARE  # of the memory
    first: int = EARLY  # results, after which it is over
    mutant: str = ""  # of MUTANTS

    @property
    def seconds(self) -> float:
        if self.algorithm == WITHOUT_LIMITS:
            return 0.2
        return 10.0 * (self.inputs - 3)

    def mutated(self, mutant: str) -> Self:
        """A mutant is an algorithm and what is wrong with it."""
        algorithm, wrong = mutant.split(": ")
        return replace(self, mutant=wrong) if algorithm == self.algorithm else self

    def run(self, scale: int, seed: int) -> History:
        if not 1 <= scale <= LARGEST_SCALE:
            raise InvalidCall(f"scale={scale} is not possible here; give 1 to {LARGEST_SCALE}.")
        sources = Sources(self.inputs, scale * FULL_SCALE)
        trace = self._trace(sources, seed)
        is_bound = self.algorithm == WITHOUT_LIMITS
        history = without_limits(trace) if is_bound else self._online(sources, trace)
        return replace(history, stands_for=sources.scale)

    def _online(self, sources: Sources, trace: Trace) -> History:
        plan = sources.plan(self._algorithm())

        def make(trace: Trace, means: Means) -> Subject:  # noqa: ARG001
            storage = Storage(sources.buckets, lambda schema: KeptRuns())  # noqa: ARG005
            operator = plan.make(sources.names, sources.schemas, storage, means)
            return OverWithTheFirst(RealOperator(operator), self.first // sources.scale)

        return simulate_subject(trace, make, self._laboratory(sources))

    def _trace(self, sources: Sources, seed: int) -> Trace:
        keys = sources.keys(np.random.default_rng((seed, 2)))
        times = [self._times(which, len(some) * sources.scale, seed) for which, some in enumerate(keys)]
        return trace_of(keys, times, sources.scale, sources.values, sources.buckets)

    def _times(self, which: int, rows: int, seed: int) -> Seconds:
        is_steady = which < self.inputs - self.bursty
        return arrival_times(STEADY if is_steady else BURSTS, rows, self.inputs * seed + which)

    def _algorithm(self) -> PlanAlgorithm:
        algorithm = replace(plan_algorithm(self.algorithm), maintenance=Ewma(ALPHA), every_seconds=EVERY_SECONDS)
        return MUTANTS[self.mutant](algorithm) if self.mutant else algorithm

    def _laboratory(self, sources: Sources) -> Laboratory:
        slower = TIMES_SLOWER if self.mutant == SLOW_DISK else 1
        page_bytes = BLOCK_ROWS * ROW_BYTES // sources.scale
        disk = Disk.with_accesses(page_bytes, slower * RANDOM_SECONDS, slower * SEQUENTIAL_SECONDS)
        memory_rows = round(self.inputs * sources.rows * self.memory_share)
        machine = Machine(disk, memory_rows * ROW_BYTES, 0.0, "a file for each side", merges="run after run")
        chunk_rows = min(CHUNK_ROWS // sources.scale, int(memory_rows * self.flush_share))
        return Laboratory(machine, chunk_rows, flush_fraction=self.flush_share)


class OverWithTheFirst:
    """An operator that is left when it has given so many results."""

    def __init__(self, operator: RealOperator, results: int) -> None:
        self._operator = operator
        self._results = results
        self._is_over = False
        self.measures = operator.measures

    @property
    def phase(self) -> Phase:
        return "done" if self._is_over else self._operator.phase

    def arrive(self, keys: Sequence[Keys], now: float) -> None:
        if not self._is_over:
            self._operator.arrive(keys, now)
            self._look()

    def end(self, which: int) -> None:
        if not self._is_over:
            self._operator.end(which)
            self._look()

    def has_work(self, around: Surroundings) -> bool:
        return not self._is_over and self._operator.has_work(around)

    def work(self, around: Surroundings) -> None:
        self._operator.work(around)
        self._look()

    def _look(self) -> None:
        self._is_over = self.measures()["results"] >= self._results
