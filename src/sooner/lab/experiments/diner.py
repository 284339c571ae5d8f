"""What the experiments of DINER (sec. 5) have in common: network, memory, disk, algorithms.

Given in the paper: rows of 200 bytes in blocks of 10 KB, memory for 5% of the input unless it is varied, silence after
25 ms, at most 1,000 rows that wait, 19 blocks of the outer side, F = 10 for RPJ and HMJ, gaps that are exponential with
lambda = 0.1. It gives no unit. Figure 15 has 10 periods of 10 s for 100,000 rows, which is a gap of 1 ms, and so it is
here. With 10 ms the two relations together would be silent for 25 ms more than once a second, and most results would
come from the disk, where the paper has 24% to 82% of them in the end (table 4); `diner-gaps` shows it.

Not given, and chosen as for RPJ (`rpj`): a disk of which a random access takes 10 ms, and a block that follows 0.2 ms
(10 KB at 50 MB/s); 10 ns a comparison; 20 partitions of the algorithms that hash; a tenth of the memory as what RPJ
flushes. DINER and PMJ keep rows in the order of their values, in one partition. DINER flushes one block; a chunk of its
nested loop and the inner side are read in sequence, as they were written.

What differs by design: rows of a value that came together are never parted by a flush, so a little more than a block
may leave. And rows that wait have memory of their own here; how many did is a result (table 3).

Scale. A smaller experiment divides rows, memory and blocks, and not the values; each row then stands for `scale` rows
of the paper, and time is the paper's own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from sooner.errors import InvalidCall
from sooner.lab.claims import share_before_clean_up
from sooner.lab.clairvoyant import Clairvoyant
from sooner.lab.experiment import Claim, Experiment, Figure
from sooner.lab.experiments.diner_workloads import Workload
from sooner.lab.history import History
from sooner.lab.resources import Disk, Machine
from sooner.lab.simulator import Laboratory, Rows, TaskManner, simulate
from sooner.lab.subject import ROW_BYTES as REAL_ROW_BYTES
from sooner.lab.traces import Pushed, Trace, silences_of, silent_together
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

SAMPLES: Final = 50  # of each of many curves

IN_VALUE_ORDER: Final = ("diner", "pmj", "clairvoyant")
SETTING: Final = (
    f"rows of {ROW_BYTES} bytes in blocks of 10 KB, 1 ms between two rows of a relation, 10 ms random and 0.2 ms "
    f"sequential access to a block, {COMPARISON_SECONDS * 1e9:g} ns a comparison"
)


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

    @property
    def seconds(self) -> float:
        if self.within is not None:
            return 60
        return 5 if self.algorithm == "diner" else 2

    def run(self, scale: int, seed: int) -> History:
        if not 1 <= scale <= LARGEST_SCALE:
            raise InvalidCall(f"scale={scale} is not possible here; give 1 (the paper's size) to {LARGEST_SCALE}.")
        trace = self.trace(scale, seed)
        memory_rows = round(len(trace) * self.memory_share)
        if self.memory_rows is not None:
            memory_rows = self.memory_rows // scale
        algorithm = self._algorithm(trace, memory_rows, scale)
        rows: Rows = "counted" if self.within is None else "real"
        history = simulate(trace, algorithm, self._laboratory(memory_rows, scale), rows, self._row_bytes)
        return replace(history, stands_for=scale)

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
        seconds = [self._times(len(some) * scale, 2 * seed + side) for side, some in enumerate(by_relation)]
        silences = [silences_of(times, SILENCE_SECONDS) for times in seconds]
        pushed = [
            Pushed(times[scale - 1 :: scale], some, SILENCE_SECONDS)
            for times, some in zip(seconds, by_relation, strict=True)
        ]
        partitions = 1 if self.algorithm in IN_VALUE_ORDER else self.partitions
        trace = Trace.of_inputs(pushed, domain, partitions)
        silent = silent_together(silences, until_seconds=float(trace.seconds[-1]))
        return replace(trace, silences=silent, within=self.within or 0)

    def _times(self, rows: int, seed: int) -> Seconds:
        pattern: ArrivalPattern = Exponential(self.gap_seconds)
        if self.delay_share is not None:
            pattern = Fragments(rows // FRAGMENTS, self.gap_seconds, self.delay_share)
        return arrival_times(pattern, rows, seed)

    def _algorithm(self, trace: Trace, memory_rows: int, scale: int) -> Algorithm:
        block_bytes = max(1, BLOCK_ROWS // scale) * self._row_bytes
        match self.algorithm:
            case "diner":
                loop = ReactiveNestedLoop(MAX_NEW_ARRIVALS // scale, self.max_outer_blocks * block_bytes)
                return replace(ALGORITHMS["diner"], react=loop, flushes=block_bytes)
            case "rpj":
                return Algorithm("rpj", RateOptimal(tolerance=0), BestRate(passes_by="pages"), splits="codes by age")
            case "clairvoyant":
                bound = Clairvoyant(trace, ROW_BYTES, memory_rows, splits_codes=True)
                return Algorithm("clairvoyant", bound, Never(), flushes=block_bytes, splits="codes by age")
        return ALGORITHMS[self.algorithm]

    def _laboratory(self, memory_rows: int, scale: int) -> Laboratory:
        block_bytes = BLOCK_BYTES * self._row_bytes // ROW_BYTES // scale
        disk = Disk.with_accesses(block_bytes, RANDOM_SECONDS, SEQUENTIAL_SECONDS)
        machine = Machine(disk, memory_rows * self._row_bytes, COMPARISON_SECONDS * scale**2)
        a_task: TaskManner = "gives way" if self.algorithm == "diner" else "finishes"
        return Laboratory(machine, max(1, BLOCK_ROWS // scale), float(scale), a_task=a_task)


SetUps = Mapping[str, DinerRace]  # what is swept, by what it is called


def races(set_ups: SetUps, *names: str) -> dict[str, DinerRace]:
    """These algorithms in each set-up."""
    return {contestant(name, at): replace(race, algorithm=name) for at, race in set_ups.items() for name in names}


def contestant(name: str, set_up: str) -> str:
    return f"{name}, {set_up}"


def pairs(set_ups: SetUps, other: str) -> tuple[tuple[str, str], ...]:
    """DINER and another, in each set-up."""
    return tuple((contestant("diner", at), contestant(other, at)) for at in set_ups)


def figure(
    number: str, title: str, set_ups: SetUps, names: Sequence[str], claims: Sequence[Claim], module: str
) -> Experiment:
    """One of the paper's, in which something is swept; what each has before the clean-up is measured."""
    contestants = races(set_ups, *names)
    return Experiment(
        name=f"diner-{number}",
        paper="DINER",
        title=title,
        figure=Figure("results", "the last arrival", "results", samples=SAMPLES),
        races=contestants,
        claims=claims,
        measurements=tuple(map(share_before_clean_up, contestants)),
        setting=SETTING,
        module=module,
    )
