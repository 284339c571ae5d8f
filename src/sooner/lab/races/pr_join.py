"""What races in the experiments of PR-Join on tables (sec. 6.1): data, machine, algorithms.

Given in the paper: two relations of 10 GB, rows of 100 bytes, each row of A matches one of B, in random order; 500 MB
of memory, of which rows get M/F, F = 1.29; inputs on one disk, temporary storage on another one or on an SSD; what a
megabyte takes on each; extents of 1 MB, on the SSD also of 64 KB and 4 KB; what leaves memory is gathered and written
in sequence. GRACE and PR-Join read extents at random, Ripple all that it has written in sequence. The SSD has 250 MB/s
and 170 MB/s, and 60% of the former with reads of 4 KB.

Not given, and chosen here: inputs are read on while the machine is busy, 2 seconds ahead at most (with the paper's
partitions, which are smaller, a quarter of that is enough to read through the join of one). To join a partition takes
no memory from the others. The processor is free, as in the paper's model. A ripple is as wide as memory, as in the
paper; `sooner`'s own begins at 80% of it, since it does not know how much comes next.

Partitions. The paper has as many as 2 extents of memory each allow: 193 of 1 MB, 3,100 of 64 KB. Here PR-Join has 48,
which takes a quarter of the time and makes the intervals between reports four times as long; where those are compared,
96 stand for smaller extents. GRACE has 32, which fit into memory.

Scale. A row stands for 200 of the paper's; memory and extents hold that many times fewer, a megabyte takes what it does
in the paper. Flushes, joins and seconds are thus as many as in the paper, whatever the scale. With a row for 1,000 of
the paper's the end-to-end ratios of figures 9 and 10 move by less than 1%, and the early rates by 5%.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, Self

import numpy as np

from sooner.errors import InvalidCall
from sooner.kernels.array_types import Flags
from sooner.lab.feed import Scan
from sooner.lab.history import History
from sooner.lab.races.mutants import idle_in_silence, with_flush_of_all
from sooner.lab.races.pr_join_model import Costs
from sooner.lab.resources import Disk, Machine, Overlap
from sooner.lab.simulator import Laboratory, simulate, simulate_subject
from sooner.lab.subject import ROW_BYTES
from sooner.lab.traces import Keys, Pushed, Trace
from sooner.lab.waiting_join import waiting
from sooner.named_algorithms import ALGORITHMS, Algorithm, algorithm
from sooner.policies.flush.all import All
from sooner.policies.react.growth import Growth, wholes
from sooner.policies.view import JoinView, Task
from sooner.sides import SIDES

FULL_SCALE: Final = 200
ROWS_OF_MB: Final = 10_000
MB_OF_GB: Final = 1_000
MEMORY_MB: Final = 500.0
FUDGE: Final = 1.29
PARTITIONS: Final = 48
GRACE_PARTITIONS: Final = 32
CHUNK_MB: Final = 64  # of both inputs; each is a call for every partition
RIPPLE_CHUNK_MB: Final = 8
READ_AHEAD_SECONDS: Final = 2.0
ZIPF_SKEW: Final = 0.7  # then the largest of the partitions has more than 1 GB of each relation, as in the paper
ZIPF_RESULTS: Final = 4  # times as many as without skew
INPUT: Final = "input"


@dataclass(frozen=True)
class Storage:
    """What a megabyte takes."""

    name: str
    read_seconds: float  # in sequence
    random_read_seconds: float  # an extent after another
    write_seconds: float


DISK: Final = Storage("temporary disk", 13.687e-3, 25.515e-3, 13.757e-3)
SSD: Final = Storage("SSD", 1 / 250, 1 / 250, 1 / 170)
SSD_4_KB: Final = replace(SSD, name="SSD, 4 KB", random_read_seconds=1 / (0.6 * 250))
EVEN: Final = Storage("disk without seeks", 13.687e-3, 13.687e-3, 13.687e-3)  # of table 2

SETTING: Final = (
    "rows of 100 bytes, 500 MB of memory of which rows get 1/1.29, 13.687 ms to read 1 MB of the inputs; "
    "a disk (1 MB: 13.687 ms, at random 25.515 ms, written 13.757 ms) or an SSD (250 and 170 MB/s) for temporary rows"
)

AlgorithmName = Literal["pr_join", "ripple", "hash_ripple", "grace", "sms", "dbo"]
KeyDistribution = Literal["each row matches one", "Zipf"]

GIGABYTES: Final = (10, 10)
SECONDS: Final[Mapping[AlgorithmName, float]] = {  # that a race of so many takes
    "pr_join": 0.5,
    "ripple": 1.0,
    "hash_ripple": 0.9,
    "grace": 0.4,
    "sms": 5.0,  # with real rows
    "dbo": 0.5,
}


@dataclass(frozen=True)
class FullWidth:
    """Ripple to the letter (sec. 3.2.1): all that is new is joined when the next rows would not fit into memory."""

    chunk_bytes: int

    def choose(self, view: JoinView) -> Task | None:
        is_full = view.resident_bytes.sum() + self.chunk_bytes > view.memory_bytes
        return wholes(view, np.full(len(view.whole_rows), is_full))


NEVER_EARLY: Final = "nothing is joined before the end"
NO_STAGGER: Final = "first joins are not staggered"
NO_STOP: Final = "no stop constraint"
SLOW_READS: Final = "temporary rows are read at half the speed"
HALF_THE_MEMORY: Final = "half the memory"
EVERYTHING: Final = "everything is flushed"
NO_REMAPPING: Final = "no remapping"


@dataclass(frozen=True)
class AllAtOnce(Growth):
    """All partitions have their first join together."""

    def _has_grown(self, view: JoinView) -> Flags:
        grown: Flags = view.arrived_rows.sum(axis=0) >= (1 + self.gamma) * view.whole_rows
        return grown


def _without_stagger(algorithm: Algorithm) -> Algorithm:
    assert isinstance(algorithm.react, Growth)
    return replace(algorithm, react=AllAtOnce(algorithm.react.gamma, algorithm.react.stops))


PLANTED: Final[Mapping[str, Callable[[Algorithm], Algorithm]]] = {
    NEVER_EARLY: idle_in_silence,
    NO_STAGGER: _without_stagger,
    EVERYTHING: with_flush_of_all,
}


@dataclass(frozen=True)
class PrJoinRace:
    algorithm: AlgorithmName
    storage: Storage = DISK
    overlap: Overlap = "at once"
    gamma: float = 1.0
    stops: Literal["near the end", "never"] = "near the end"
    gigabytes: tuple[int, int] = GIGABYTES
    keys: KeyDistribution = "each row matches one"
    partitions: int = PARTITIONS  # of PR-Join
    remaps: bool = True  # PR-Join: whether partitions are evened out when memory is half full
    rows_mb: float = MEMORY_MB / FUDGE  # that memory holds
    mutant: str = ""  # of PLANTED

    @property
    def seconds(self) -> float:
        return SECONDS[self.algorithm] * sum(self.gigabytes) / sum(GIGABYTES)

    def run(self, scale: int, seed: int) -> History:
        stands_for = FULL_SCALE * scale
        if scale < 1 or ROWS_OF_MB % stands_for:
            raise InvalidCall(f"scale={scale} is not possible here; give 1, 2, 5, 10, 25 or 50.")
        keys = self._keys(stands_for, np.random.default_rng((seed, 3)))
        nothing = Pushed(np.empty(0), np.empty(0, np.int32), silence_seconds=1.0)
        domain = int(max(some.max() for some in keys)) + 1
        trace = Trace.of_inputs([nothing] * len(SIDES), domain, self._partitions)
        algorithm, laboratory = self._algorithm(stands_for), self._laboratory(keys, stands_for)
        if algorithm.waits == "never":
            return replace(simulate(trace, algorithm, laboratory, rows="real"), stands_for=stands_for)
        return replace(simulate_subject(trace, waiting(algorithm), laboratory), stands_for=stands_for)

    def mutated(self, mutant: str) -> Self:
        """A mutant is an algorithm and what is wrong with it."""
        algorithm, wrong = mutant.split(": ")
        return replace(self, **self._changes_of(wrong)) if algorithm == self.algorithm else self

    def _changes_of(self, wrong: str) -> Mapping[str, Any]:
        """What is different in a race with this mutant."""
        slower = {name: 2 * getattr(self.storage, name) for name in ("read_seconds", "random_read_seconds")}
        changes: Mapping[str, Mapping[str, Any]] = {
            NO_STOP: {"stops": "never"},
            NO_REMAPPING: {"remaps": False},
            HALF_THE_MEMORY: {"rows_mb": self.rows_mb / 2},
            SLOW_READS: {"storage": replace(self.storage, **slower)},
        }
        return changes.get(wrong, {"mutant": wrong})

    @property
    def _partitions(self) -> int:
        match self.algorithm:
            case "pr_join":
                return self.partitions
            case "grace":
                return GRACE_PARTITIONS
        return 1

    @property
    def _chunk_mb(self) -> int:
        return CHUNK_MB if self.algorithm in ("pr_join", "grace") else RIPPLE_CHUNK_MB

    def _keys(self, stands_for: int, rng: np.random.Generator) -> tuple[Keys, Keys]:
        left, right = (gigabytes * MB_OF_GB * ROWS_OF_MB // stands_for for gigabytes in self.gigabytes)
        if self.keys == "Zipf":
            return self._zipf(left, rng), self._zipf(right, rng)
        of_left, of_right = (rng.permutation(max(left, right)).astype(np.int32) for _ in SIDES)
        return of_left[:left], of_right[:right]

    def _zipf(self, rows: int, rng: np.random.Generator) -> Keys:
        """A partition by Zipf, and one of its keys, of which there are few enough for so many results."""
        shares = np.arange(1, PARTITIONS + 1) ** -ZIPF_SKEW
        shares /= shares.sum()
        keys_of_partition = round(rows * float(shares @ shares) / ZIPF_RESULTS)
        places = rng.integers(0, keys_of_partition, rows)
        keys: Keys = (places * PARTITIONS + rng.choice(PARTITIONS, rows, p=shares)).astype(np.int32)
        return keys

    def _algorithm(self, stands_for: int) -> Algorithm:
        algorithm = self._sound_algorithm(stands_for)
        return PLANTED[self.mutant](algorithm) if self.mutant else algorithm

    def _sound_algorithm(self, stands_for: int) -> Algorithm:
        match self.algorithm:
            case "pr_join":
                growth = Growth(self.gamma, self.stops)
                partitions = "from the first rows" if self.remaps else "of equal ranges"
                return algorithm("pr_join", react=growth, flushes="what is needed", partitions=partitions)
            case "ripple":
                chunk_bytes = RIPPLE_CHUNK_MB * ROWS_OF_MB // stands_for * ROW_BYTES
                return Algorithm("ripple", All(), FullWidth(chunk_bytes), waits="once memory was full")
            case "grace":
                return algorithm("grace", flushes="what is needed")
        return ALGORITHMS[self.algorithm]

    def _laboratory(self, keys: tuple[Keys, Keys], stands_for: int) -> Laboratory:
        """A page is a row, so that nothing is rounded; what is read at random lies in extents."""
        rows_of_mb = ROWS_OF_MB // stands_for
        times, in_extents = self.storage, self.algorithm in ("pr_join", "grace")
        disk = Disk(
            ROW_BYTES,
            times.random_read_seconds - times.read_seconds,
            times.read_seconds / rows_of_mb,
            times.write_seconds / rows_of_mb,
            extent_pages=rows_of_mb if in_extents else None,
        )
        machine = Machine(
            disk,
            int(self.rows_mb * rows_of_mb) * ROW_BYTES,
            comparison_seconds=0.0,
            flushed_to="one log",
            overlap=self.overlap,
            whole_partitions="run after run",
            read_ahead_seconds=READ_AHEAD_SECONDS,
        )
        device = Disk(ROW_BYTES, 0.0, DISK.read_seconds / rows_of_mb, 0.0, INPUT)
        total = sum(map(len, keys))
        in_turn = self.algorithm == "dbo"
        chunk_mb = self.rows_mb if in_turn else self._chunk_mb
        scans = tuple(
            Scan(side, some, device, ROW_BYTES, round(chunk_mb * rows_of_mb * len(some) / total))
            for side, some in enumerate(keys)
        )
        return Laboratory(machine, chunk_rows=1, scans=scans, reading="in turn" if in_turn else "together")

    def costs(self, results: float) -> Costs:
        """What the paper's model needs to know; Ripple reads in sequence what the others read at random."""
        times = self.storage
        reading = times.read_seconds if self.algorithm == "ripple" else times.random_read_seconds
        left, right = (gigabytes * MB_OF_GB for gigabytes in self.gigabytes)
        return Costs(left, right, self.rows_mb, 1.0, DISK.read_seconds, times.write_seconds, reading, results)
