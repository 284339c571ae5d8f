"""What races in the experiments of MINER (DINER sec. 5.5): joins of two, three and four inputs in one operator.

Network, disk, blocks and flushes are those of DINER's experiments (`diner`), for MINER and for MJoin alike. Given are
memory as a share of the input of all four, and the hand-over when 1,000 rows wait. Not given: rates (here all inputs
are equally fast, so R1 and R4 have ended after a tenth of the time), and MJoin's buckets (`sooner` has 64).

These are real operators on real rows (`miner_rows`), as `sooner` has them. So MINER's loop takes its memory beside the
join's, where the paper takes it from the rows (Algorithm 4, line 13).

The *clairvoyant* flush is that of two inputs, R2 and R3, with all of the memory (`sooner.lab.clairvoyant`). Whoever has
a result of four inputs has one of these two, so no flush policy for more inputs can be expected to do better.

Claims are of what is out while rows arrive. The clean-up is left out, unless it is asked for: the rest of the results,
known from the data, is there at once.

Scale. Rows, memory, and how many rows may wait are divided, and blocks are not: a flush takes as long however few rows
it is of, so what is saved are flushes. A block then stands for so many of the paper, and takes as much longer. Races
are always divided by FULL_SCALE: at the paper's size most of the time goes into 170 million results.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np

from sooner.errors import InvalidCall
from sooner.lab.clairvoyant import Clairvoyant
from sooner.lab.history import History
from sooner.lab.races.diner import (
    BLOCK_BYTES,
    BLOCK_ROWS,
    COMPARISON_SECONDS,
    GAP_SECONDS,
    MAX_NEW_ARRIVALS,
    MAX_OUTER_BLOCKS,
    NEVER_HANDS_OVER,
    RANDOM_SECONDS,
    SEQUENTIAL_SECONDS,
    times_of,
    trace_of,
)
from sooner.lab.races.diner import ROW_BYTES as COUNTED_ROW_BYTES
from sooner.lab.races.miner_rows import RELATIONS, Relations, Shape, WeighedRuns
from sooner.lab.races.mutants import upside_down
from sooner.lab.resources import Disk, Machine
from sooner.lab.simulator import Laboratory, simulate, simulate_subject
from sooner.lab.subject import RealOperator, Subject
from sooner.lab.traces import Keys, Trace
from sooner.named_algorithms import Algorithm
from sooner.operators.inputs import Storage
from sooner.operators.multiway.algorithms import MULTI_ALGORITHMS, MultiAlgorithm
from sooner.operators.multiway.plan import MultiPlan
from sooner.operators.operator import Means
from sooner.phases import Phase
from sooner.policies.multi_view import EvictInput, MultiEvict, MultiView
from sooner.policies.multiway.regions import RegionsOfAttributes
from sooner.policies.react.nested_loop import ReactiveNestedLoop
from sooner.policies.react.never import Never
from sooner.policies.view import Surroundings

CLAIRVOYANT: Final = "clairvoyant"
FULL_SCALE: Final = 10
LARGEST_SCALE: Final = 2  # memory for 11 flushes is left


class BestRegionFirst:
    """MINER's flush the wrong way round: from the region that joins most."""

    def choose(self, view: MultiView, needed_bytes: int) -> Sequence[Sequence[MultiEvict]]:
        assert view.regions is not None
        wrong = replace(view, regions=upside_down(view.regions))
        return [*RegionsOfAttributes().choose(wrong, needed_bytes)]


class Everything:
    """All rows of all inputs leave."""

    def choose(self, view: MultiView, needed_bytes: int) -> Sequence[Sequence[MultiEvict]]:  # noqa: ARG002
        return [[EvictInput(which) for which, rows in enumerate(view.resident_rows[:, 0].tolist()) if rows]]


def _that_never_hands_over(algorithm: MultiAlgorithm) -> MultiAlgorithm:
    assert algorithm.react is not None, "it has a loop"
    return replace(algorithm, react=replace(algorithm.react, max_new_arrivals=2**62))


MUTANTS: Final[Mapping[str, Callable[[MultiAlgorithm], MultiAlgorithm]]] = {
    "flush order reversed": lambda algorithm: replace(algorithm, flush=BestRegionFirst()),
    "everything is flushed": lambda algorithm: replace(algorithm, flush=Everything()),
    "nothing is done in silence": lambda algorithm: replace(algorithm, react=None),
    NEVER_HANDS_OVER: _that_never_hands_over,
}


@dataclass(frozen=True)
class MinerRace:
    inputs: int
    algorithm: str
    memory_share: float  # of all four inputs, however many there are
    shape: Shape = "chain"
    delay_share: float | None = None  # after each of ten fragments, of the time that it took
    cleans_up: bool = False  # whether the clean-up is simulated
    mutant: str = ""  # of MUTANTS

    @property
    def seconds(self) -> float:
        if self.algorithm == CLAIRVOYANT:
            return 1
        return 4 if self.delay_share is None else 8

    def mutated(self, mutant: str) -> Self:
        """A mutant is an algorithm and what is wrong with it."""
        algorithm, wrong = mutant.split(": ")
        return replace(self, mutant=wrong) if algorithm == self.algorithm else self

    def run(self, scale: int, seed: int) -> History:
        if not 1 <= scale <= LARGEST_SCALE:
            raise InvalidCall(f"scale={scale} is not possible here; give 1 to {LARGEST_SCALE}.")
        relations = Relations(self.inputs, self.shape, self.algorithm != "mjoin", scale * FULL_SCALE)
        keys = relations.keys(np.random.default_rng((seed, 2)))
        trace = self._trace(relations, keys, seed)
        is_bound = self.algorithm == CLAIRVOYANT
        history = self._bound(relations, trace) if is_bound else self._online(relations, trace, keys)
        return replace(history, stands_for=relations.scale)

    def _trace(self, relations: Relations, keys: Sequence[Keys], seed: int) -> Trace:
        times = [
            times_of(len(some) * relations.scale, len(RELATIONS) * seed + which, GAP_SECONDS, self.delay_share)
            for which, some in enumerate(keys)
        ]
        return trace_of(keys, times, relations.scale, domain=relations.n_values, partitions=1)

    def _online(self, relations: Relations, trace: Trace, keys: Sequence[Keys]) -> History:
        plan = MultiPlan(relations.graph, self._algorithm(relations))
        storage = Storage(1, lambda schema: WeighedRuns(relations.row_bytes))  # noqa: ARG005

        def make(trace: Trace, means: Means) -> Subject:  # noqa: ARG001
            operator = plan.make(relations.names, relations.schemas, storage, means)
            real = RealOperator(operator, relations.batch)
            return real if self.cleans_up else WithoutCleanUp(real, relations.results(keys))

        return simulate_subject(trace, make, self._laboratory(relations, relations.row_bytes))

    def _bound(self, relations: Relations, trace: Trace) -> History:
        policy = Clairvoyant(trace, COUNTED_ROW_BYTES, self._memory_rows(relations), splits_codes=True)
        algorithm = Algorithm(CLAIRVOYANT, policy, Never(), flushes=BLOCK_BYTES, splits="codes by age")
        return simulate(trace, algorithm, self._laboratory(relations, COUNTED_ROW_BYTES), row_bytes=COUNTED_ROW_BYTES)

    def _algorithm(self, relations: Relations) -> MultiAlgorithm:
        """Of two inputs as well it is the join of many, and not DINER."""
        algorithm = replace(MULTI_ALGORITHMS[self.algorithm], of_two=None)
        if algorithm.react is not None:
            outer_blocks = math.ceil(MAX_OUTER_BLOCKS / relations.scale)
            outer_bytes = outer_blocks * BLOCK_ROWS * relations.row_bytes
            loop = ReactiveNestedLoop(MAX_NEW_ARRIVALS // relations.scale, outer_bytes)
            algorithm = replace(algorithm, react=loop)
        return MUTANTS[self.mutant](algorithm) if self.mutant else algorithm

    def _memory_rows(self, relations: Relations) -> int:
        return round(relations.n_rows * self.memory_share)

    def _laboratory(self, relations: Relations, row_bytes: int) -> Laboratory:
        scale, block_bytes = relations.scale, BLOCK_ROWS * row_bytes
        memory_bytes = self._memory_rows(relations) * row_bytes
        disk = Disk.with_accesses(block_bytes, RANDOM_SECONDS * scale, SEQUENTIAL_SECONDS * scale)
        machine = Machine(disk, memory_bytes, COMPARISON_SECONDS * scale**2, "a file for each side")
        flush_fraction = (block_bytes + 0.5) / memory_bytes  # so that it is a block, however it is rounded
        return Laboratory(machine, BLOCK_ROWS, float(scale), flush_fraction, a_task="gives way")


class WithoutCleanUp:
    """An operator that is left when its inputs have ended; the rest of so many results is there at once."""

    def __init__(self, operator: RealOperator, results: int) -> None:
        self._operator = operator
        self._results = results
        self._is_done = False
        self.arrive, self.end, self.has_work = operator.arrive, operator.end, operator.has_work

    @property
    def phase(self) -> Phase:
        return "done" if self._is_done else self._operator.phase

    def work(self, around: Surroundings) -> None:
        if self.phase == "clean-up":
            self._is_done = True
        else:
            self._operator.work(around)

    def measures(self) -> Mapping[str, float]:
        measured = self._operator.measures()
        return {**measured, "results": self._results} if self._is_done else measured
