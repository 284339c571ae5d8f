"""What races in the experiments of DINER (sec. 5): network, memory, disk, algorithms.

Given in the paper: rows of 200 bytes in blocks of 10 KB, memory for 5% of the input unless it is varied, silence after
25 ms, at most 1,000 rows that wait, 19 blocks of the outer side, F = 10 for RPJ and HMJ, gaps that are exponential with
lambda = 0.1. It gives no unit. Figure 15 has 10 periods of 10 s for 100,000 rows, which is a gap of 1 ms, and so it is
here. With 10 ms the two relations together would be silent for 25 ms more than once a second, and most results would
come from the disk, where the paper has 24% to 82% of them in the end (table 4); `diner-gaps` shows it.

Not given, and chosen as for RPJ (`rpj`): a disk of which a random access takes 10 ms, and a block that follows 0.2 ms
(10 KB at 50 MB/s); 10 ns a comparison; 20 partitions of the algorithms that hash. DINER and PMJ keep rows in the order
of their values, in one partition.

How much RPJ flushes at a time is not given, and matters more than which rows it is: so all algorithms that flush a
number of rows flush one block, as DINER does, or all of them a tenth of the memory; HMJ flushes a pair of partitions.
How the disk is written matters as much. As `sooner` does it there is a file for each side and flush, and in the end a
seek for each piece of a partition. Or a flush appends to a file for each partition, with a seek for each that it
touches, which is 23 for a block of RPJ's: its writes then take longer than the arrivals. Figures 7, 8, 16 and 17 have
both.

DINER is to the letter: its nested loop holds the outer chunk in memory, for which rows leave it (Algorithm 4, line 13),
and its clean-up is that loop with all of the memory (sec. 3.5). PMJ joins when memory is full, and not before. What
differs by design: after a flush both thresholds of the relation move, where the paper moves that of the flushed region
alone (Algorithm 2, lines 11 and 15); and an ended relation is not loaded back into memory that is free (footnote 1,
second half), which neither the paper's Algorithm 2 does.

Rows that wait have memory of their own here, unless `buffer_rows` takes it from the join's; how many did is a result.

Scale. A smaller experiment divides rows, memory and blocks, and not the values; each row then stands for `scale` rows
of the paper, and time is the paper's own.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, Self

import numpy as np

from sooner.errors import InvalidCall
from sooner.lab.clairvoyant import Clairvoyant
from sooner.lab.counted_state import Variant
from sooner.lab.history import History
from sooner.lab.races.diner_workloads import Workload
from sooner.lab.races.mutants import idle_in_silence, with_flush_of_all, with_reversed_flush, with_two_regions
from sooner.lab.resources import Disk, FlushedTo, Machine
from sooner.lab.simulator import Laboratory, Rows, TaskManner, simulate
from sooner.lab.subject import ROW_BYTES as REAL_ROW_BYTES
from sooner.lab.traces import Keys, Pushed, Trace, silences_of, silent_together
from sooner.named_algorithms import ALGORITHMS, Algorithm
from sooner.policies.flush.rate_optimal import RateOptimal
from sooner.policies.react.best_rate import BestRate
from sooner.policies.react.nested_loop import ReactiveNestedLoop
from sooner.policies.react.never import Never
from sooner.sources.arrival_patterns import ArrivalPattern, Exponential, Fragments, Seconds, arrival_times

ROW_BYTES: Final = 200
BLOCK_BYTES: Final = 10 * 1024
BLOCK_ROWS: Final = 50
MEMORY_SHARE: Final = 0.05
SILENCE_SECONDS: Final = 0.025
GAP_SECONDS: Final = 0.001
FRAGMENTS: Final = 10
MAX_NEW_ARRIVALS: Final = 1000
MAX_OUTER_BLOCKS: Final = 19
PARTITIONS: Final = 20
RANDOM_SECONDS: Final = 0.010
SEQUENTIAL_SECONDS: Final = 0.0002
COMPARISON_SECONDS: Final = 10e-9
LARGEST_SCALE: Final = 25  # two rows a block are left

WITH_COUNTERS: Final = "diner with counters"
IN_VALUE_ORDER: Final = ("diner", WITH_COUNTERS, "pmj", "clairvoyant")
Flush = Literal["a block", "a tenth"]  # of the memory
SETTING: Final = (
    f"rows of {ROW_BYTES} bytes in blocks of 10 KB, 1 ms between two rows of a relation, 10 ms random and 0.2 ms "
    f"sequential access to a block, {COMPARISON_SECONDS * 1e9:g} ns a comparison"
)


NEVER_HANDS_OVER: Final = "the loop never hands over"
JOINS_WHEN_FULL: Final = "rows meet when memory is full"
SLOW_DISK: Final = "disk ten times as slow"
TIMES_SLOWER: Final = 10
MUTANTS: Final[Mapping[str, Callable[[Algorithm], Algorithm]]] = {
    "flush order reversed": with_reversed_flush,
    "the middle region is lost": with_two_regions,
    "everything is flushed": with_flush_of_all,
    "nothing is done in silence": idle_in_silence,
    NEVER_HANDS_OVER: lambda algorithm: replace(algorithm, react=ReactiveNestedLoop(2**62)),
    JOINS_WHEN_FULL: with_flush_of_all,
    SLOW_DISK: lambda algorithm: algorithm,
}


@dataclass(frozen=True)
class DinerRace:
    workload: Workload
    algorithm: str
    memory_share: float = MEMORY_SHARE  # of the input
    memory_rows: int | None = None  # instead of a share
    delay_share: float | None = None  # after each of ten fragments, of the time that it took
    gap_seconds: float = GAP_SECONDS
    max_outer_blocks: int = MAX_OUTER_BLOCKS
    partitions: int = PARTITIONS  # of the algorithms that hash
    within: int | None = None  # values join that are no further apart: then real rows are simulated
    flush: Flush = "a block"
    flushed_to: FlushedTo = "a file for each side"
    buffer_rows: int = 0  # of the memory, for rows that wait; 0: they have memory of their own
    to_the_letter: bool = True  # DINER: its loop holds the outer chunk, and is the clean-up
    mutant: str = ""  # of MUTANTS

    @property
    def seconds(self) -> float:
        if self.within is not None:
            return 5
        if self.algorithm == "rpj":
            return 2.5 if self.flush == "a block" else 0.7
        return 1.8 if self.algorithm.startswith("diner") else 0.5

    def run(self, scale: int, seed: int) -> History:
        if not 1 <= scale <= LARGEST_SCALE:
            raise InvalidCall(f"scale={scale} is not possible here; give 1 (the paper's size) to {LARGEST_SCALE}.")
        trace = self.trace(scale, seed)
        memory_rows = round(len(trace) * self.memory_share)
        if self.memory_rows is not None:
            memory_rows = self.memory_rows // scale
        algorithm = self._algorithm(trace, memory_rows, scale)
        if self.mutant:
            algorithm = MUTANTS[self.mutant](algorithm)
        rows: Rows = "counted" if self.within is None else "real"
        history = simulate(trace, algorithm, self._laboratory(memory_rows, scale), rows, self._row_bytes)
        if self.algorithm == "pmj" or self.mutant == JOINS_WHEN_FULL:
            history = joined_when_full(history)
        return replace(history, stands_for=scale)

    def mutated(self, mutant: str) -> Self:
        """A mutant is an algorithm and what is wrong with it."""
        algorithm, wrong = mutant.split(": ")
        return replace(self, mutant=wrong) if algorithm == self.algorithm else self

    @property
    def _row_bytes(self) -> int:
        """Counted rows weigh what the paper's do; real ones are smaller, and so is all else then."""
        return ROW_BYTES if self.within is None else REAL_ROW_BYTES

    def trace(self, scale: int, seed: int) -> Trace:
        """Keys are the places of the values among all that there are, or where these may be apart, the values from the
        lowest on; silences are those of the paper's rows.
        """
        left, right = self.workload.values(np.random.default_rng((seed, 2)), scale)
        together = np.concatenate((left, right))
        values, keys = np.unique(together, return_inverse=True)
        domain = len(values)
        if self.within is not None:
            keys, domain = together - values[0], int(values[-1] - values[0]) + 1
        by_relation = np.split(keys.astype(np.int32), [len(left)])
        seconds = [
            times_of(len(some) * scale, 2 * seed + side, self.gap_seconds, self.delay_share)
            for side, some in enumerate(by_relation)
        ]
        partitions = 1 if self.algorithm in IN_VALUE_ORDER else self.partitions
        return replace(trace_of(by_relation, seconds, scale, domain, partitions), within=self.within or 0)

    def _algorithm(self, trace: Trace, memory_rows: int, scale: int) -> Algorithm:
        block_bytes = max(1, BLOCK_ROWS // scale) * self._row_bytes
        flushes = block_bytes if self.flush == "a block" else memory_rows * self._row_bytes // 10
        match self.algorithm:
            case "diner" | "diner with counters":
                loop = ReactiveNestedLoop(MAX_NEW_ARRIVALS // scale, self.max_outer_blocks * block_bytes)
                return replace(ALGORITHMS["diner"], name=self.algorithm, react=loop, flushes=flushes)
            case "rpj":
                flush, react = RateOptimal(tolerance=0), BestRate(passes_by="pages")
                return Algorithm("rpj", flush, react, flushes=flushes, splits="codes by age")
            case "clairvoyant":
                bound = Clairvoyant(trace, ROW_BYTES, memory_rows, splits_codes=True)
                return Algorithm("clairvoyant", bound, Never(), flushes=flushes, splits="codes by age")
        return ALGORITHMS[self.algorithm]

    def _laboratory(self, memory_rows: int, scale: int) -> Laboratory:
        block_bytes = BLOCK_BYTES * self._row_bytes // ROW_BYTES // scale
        slower = TIMES_SLOWER if self.mutant == SLOW_DISK else 1
        disk = Disk.with_accesses(block_bytes, slower * RANDOM_SECONDS, slower * SEQUENTIAL_SECONDS)
        memory_bytes = memory_rows * self._row_bytes
        buffer_bytes = self.buffer_rows // scale * self._row_bytes
        appends = self.flushed_to == "a file for each partition"
        machine = Machine(
            disk,
            memory_bytes,
            COMPARISON_SECONDS * scale**2,
            self.flushed_to,
            "file after file" if appends else "run after run",
            buffer_bytes=buffer_bytes,
        )
        is_diner = self.algorithm.startswith("diner")
        a_task: TaskManner = "gives way" if is_diner else "finishes"
        variant = Variant(is_diner and self.to_the_letter, counts_joins=self.algorithm == WITH_COUNTERS)
        return Laboratory(machine, max(1, BLOCK_ROWS // scale), float(scale), a_task=a_task, variant=variant)


def times_of(rows: int, seed: int, gap_seconds: float, delay_share: float | None) -> Seconds:
    """When the rows of a relation come: without delays, or with one after each fragment."""
    pattern: ArrivalPattern = Exponential(gap_seconds)
    if delay_share is not None:
        pattern = Fragments(rows // FRAGMENTS, gap_seconds, delay_share)
    return arrival_times(pattern, rows, seed)


def trace_of(
    by_relation: Sequence[Keys], seconds: Sequence[Seconds], scale: int, domain: int, partitions: int
) -> Trace:
    """Relations that come at the same time; `seconds` and silences are those of all of the paper's rows."""
    silences = [silences_of(times, SILENCE_SECONDS) for times in seconds]
    pushed = [
        Pushed(times[scale - 1 :: scale], some, SILENCE_SECONDS)
        for times, some in zip(seconds, by_relation, strict=True)
    ]
    trace = Trace.of_inputs(pushed, domain, partitions)
    return replace(trace, silences=silent_together(silences, until_seconds=float(trace.seconds[-1])))


def joined_when_full(history: History) -> History:
    """As if rows met only when memory is full, and at the end: PMJ (DINER sec. 2), where `sooner`'s joins on arrival.

    The same pairs come out, and nothing else of the run depends on when they do.
    """
    results, memory = history.columns["results"], history.columns["memory_bytes"]
    arriving = np.array([phase == "arriving" for phase in history.phases])
    is_flush = np.append(False, np.diff(memory) < 0) & arriving
    before = np.append(0, results[:-1])
    out = np.where(arriving, np.maximum.accumulate(np.where(is_flush, before, 0)), results)
    return replace(history, columns={**history.columns, "results": out}, early_results=int(out[arriving].max()))
