"""What the experiments of RPJ (sec. 6) have in common: data, network, disk, processor, algorithms.

Given in the paper: 2 million rows of 10 bytes, memory for 100,000, pages of 1 KB, 10,000 keys in 20 partitions, shares
of the partitions, a gap of 1 ms or Zipf gaps of 1 to 30 ms, silence after 25 ms, speed ratio 1 or 5. In its formula for
reverse, 20 - j must be 21 - j, or the last partition would have no share.

Not given, and chosen here before any result was seen: n_flush is a tenth of the memory, for RPJ; lambda is
0.5; a comparison takes 10 ns; F is 10; Zipf's skew is 1 (then the last row comes at 15,000 s; the paper has "around
14,000"). The disk is not given either: a random access takes 10 ms (seek and half a turn of a desktop disk of 2005), a
sequential one 0.02 ms (1 KB at 50 MB/s). What leaves memory is written page by page, each at random: memory and disk
are pages of 1 KB in the paper, and that RPJ costs least because it has the most results (sec. 6.1) supposes that rows
cost the same to flush wherever they come from. Figure 9 has two other ways to write beside it.

XJoin and HMJ flush as the paper has it, one partition (sec. 2.1) and one pair of them (sec. 2.2). XJoin is as RPJ
describes it: in a silence, the largest partition in memory meets the disk, even if nothing of it is new. `sooner`'s own
`xjoin` passes over a partition that has met the disk already, which takes the statistics of RPJ (sec. 5.3) to know; it
is here as "xjoin_that_knows". RPJ is Lemma 1 to the letter, without the tolerance of `sooner`'s own `rpj`, which is
here as "rpj_rounded", and its tasks are rated by the paper's formula, with passes by pages.

Scale. Experiments run at the paper's size, on counted rows. A smaller one divides rows, memory and keys. Each simulated
row then stands for `scale` rows of the paper: a page holds so many times fewer, a comparison takes the square of it as
long, time is the paper's own. Flushes, runs, pages, silences and seconds are thus as many as in the paper, whatever the
scale; results are `scale` times fewer, and chances are estimated from fewer rows.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Literal, Self

import numpy as np

from sooner.errors import InvalidCall
from sooner.lab.clairvoyant import Clairvoyant
from sooner.lab.history import History
from sooner.lab.races.mutants import idle_in_silence, with_flush_of_all, with_reversed_flush
from sooner.lab.resources import CleanUp, Disk, FlushedTo, Machine
from sooner.lab.simulator import Laboratory, TaskManner, simulate
from sooner.lab.subject import ROW_BYTES
from sooner.lab.traces import Arrivals, Trace
from sooner.named_algorithms import ALGORITHMS, Algorithm
from sooner.policies.flush.largest import Largest
from sooner.policies.flush.rate_optimal import RateOptimal
from sooner.policies.flush.smallest import Smallest
from sooner.policies.react.best_rate import BestRate, Tasks
from sooner.policies.react.never import Never
from sooner.policies.view import JoinView, MemoryDisk, Task
from sooner.sides import opposite
from sooner.sources.arrival_patterns import ArrivalPattern, Fixed, ZipfGaps

ROWS: Final = 2_000_000
MEMORY_ROWS: Final = 100_000
PARTITIONS: Final = 20
KEYS_OF_PARTITION: Final = 500
ROWS_OF_PAGE: Final = 1024 / 10
SILENCE_SECONDS: Final = 0.025
DISKS: Final[Mapping["DiskName", tuple[float, float]]] = {  # a random access, and a sequential one
    "seeks": (0.010, 0.00002),
    "every page 10 ms": (0.010, 0.010),
}
COMPARISON_SECONDS: Final = 10e-9
SHARES: Final = tuple((1 + 8 / 19 * j) / 100 for j in range(PARTITIONS))
CHUNKS_OF_MEMORY: Final = 50
LARGEST_SCALE: Final = 250  # two keys a partition are left
SLOW_DISK: Final = "disk three times as slow"
TIMES_SLOWER: Final = 3

SETTING: Final = (
    f"{ROWS:,} rows, memory for {MEMORY_ROWS:,}, 10 ms random and 0.02 ms sequential access to a page of 1 KB, "
    f"{COMPARISON_SECONDS * 1e9:g} ns a comparison"
)

DiskName = Literal["seeks", "every page 10 ms"]
Network = Literal["reliable", "unreliable"]
GAPS: Final[Mapping[Network, ArrivalPattern]] = {"reliable": Fixed(0.001), "unreliable": ZipfGaps()}


@dataclass(frozen=True)
class Panel:
    """One of the four pictures of each figure."""

    letter: str
    distribution: Literal["harmony", "reverse"]
    speed_ratio: int

    @property
    def title(self) -> str:
        speeds = "same speed" if self.speed_ratio == 1 else f"left {self.speed_ratio} times faster"
        return f"{self.distribution}, {speeds}"

    def arrivals(self, network: Network) -> Arrivals:
        shares = SHARES if self.distribution == "harmony" else SHARES[::-1]
        left_share = self.speed_ratio / (self.speed_ratio + 1)
        return Arrivals(GAPS[network], SILENCE_SECONDS, left_share, (SHARES, shares))


PANELS: Final = (Panel("a", "harmony", 1), Panel("b", "reverse", 1), Panel("c", "harmony", 5), Panel("d", "reverse", 5))


class LargestMeetsDisk:
    """XJoin's second stage to the letter of RPJ sec. 2.1."""

    def choose(self, view: JoinView) -> Task | None:
        if not view.around.silent:
            return None
        side, partition = np.unravel_index(int(view.resident_rows.argmax()), view.resident_rows.shape)
        if not view.spilled_rows[opposite(int(side)), partition]:
            return None
        return MemoryDisk(int(side), int(partition))


class LargestOnDisk:
    """Not in the paper: what is largest on disk meets the memory of the other side, even if nothing there is new."""

    def choose(self, view: JoinView) -> Task | None:
        if not view.around.silent or not view.spilled_rows.any():
            return None
        side, partition = np.unravel_index(int(view.spilled_rows.argmax()), view.spilled_rows.shape)
        return MemoryDisk(opposite(int(side)), int(partition))


def _rpj(name: str, tasks: Tasks = "both") -> Algorithm:
    return Algorithm(name, RateOptimal(tolerance=0), BestRate(tasks=tasks, passes_by="pages"))


COMPETITORS: Final = {
    "rpj": _rpj("rpj"),
    "rpj_md": _rpj("rpj_md", "memory-disk"),
    "rpj_dd": _rpj("rpj_dd", "disk-disk"),
    "rpj_rounded": ALGORITHMS["rpj"],
    "hmj": ALGORITHMS["hmj"],
    "xjoin": Algorithm("xjoin", Largest(), LargestMeetsDisk(), flushes="what is needed"),
    "xjoin_that_knows": ALGORITHMS["xjoin"],
    "xjoin_on_disk": Algorithm("xjoin_on_disk", Largest(), LargestOnDisk(), flushes="what is needed"),
    "smallest": Algorithm("smallest", Smallest(), Never(), flushes="what is needed"),
    **{name: ALGORITHMS[name] for name in ("hmj_all", "hmj_smallest", "hmj_largest", "random")},
}


def _coarsely_rounded(algorithm: Algorithm) -> Algorithm:
    return replace(algorithm, flush=RateOptimal(tolerance=4))


MUTANTS: Final[Mapping[str, Callable[[Algorithm], Algorithm]]] = {
    "flush order reversed": with_reversed_flush,
    "everything is flushed": with_flush_of_all,
    "nothing is done in silence": idle_in_silence,
    "chances rounded to steps of 400%": _coarsely_rounded,
    SLOW_DISK: lambda algorithm: algorithm,
}


@dataclass(frozen=True)
class RpjRace:
    panel: Panel
    network: Network
    algorithm: str  # of COMPETITORS, or "clairvoyant"
    disk: DiskName = "seeks"
    flushed_to: FlushedTo = "pages"
    clean_up: CleanUp = "run after run"
    a_task: TaskManner = "finishes"
    mutant: str = ""  # of MUTANTS

    @property
    def seconds(self) -> float:
        return 1.3 if self.network == "reliable" else 10

    def run(self, scale: int, seed: int) -> History:
        trace = draw_trace(self.panel, self.network, scale, seed)
        algorithm = _competitor(self.algorithm, trace, scale)
        if self.mutant:
            algorithm = MUTANTS[self.mutant](algorithm)
        return replace(simulate(trace, algorithm, self.laboratory(scale)), stands_for=scale)

    def mutated(self, mutant: str) -> Self:
        """A mutant is an algorithm and what is wrong with it."""
        algorithm, wrong = mutant.split(": ")
        return replace(self, mutant=wrong) if algorithm == self.algorithm else self

    def laboratory(self, scale: int) -> Laboratory:
        memory_rows = MEMORY_ROWS // scale
        slower = TIMES_SLOWER if self.mutant == SLOW_DISK else 1
        random_seconds, sequential_seconds = (slower * seconds for seconds in DISKS[self.disk])
        disk = Disk.with_accesses(round(ROWS_OF_PAGE / scale * ROW_BYTES), random_seconds, sequential_seconds)
        memory_bytes, comparison_seconds = memory_rows * ROW_BYTES, COMPARISON_SECONDS * scale**2
        machine = Machine(disk, memory_bytes, comparison_seconds, self.flushed_to, self.clean_up)
        # The operator's unit of time holds as many rows as the paper's second, for the same noise in what it counts.
        return Laboratory(machine, max(1, memory_rows // CHUNKS_OF_MEMORY), float(scale), a_task=self.a_task)


def races(panel: Panel, network: Network, *names: str) -> dict[str, RpjRace]:
    """These algorithms on the same trace; "clairvoyant" is the bound."""
    return {name: RpjRace(panel, network, name) for name in names}


def draw_trace(panel: Panel, network: Network, scale: int, seed: int) -> Trace:
    if not 1 <= scale <= LARGEST_SCALE:
        raise InvalidCall(f"scale={scale} is not possible here; give 1 (the paper's size) to {LARGEST_SCALE}.")
    domain = PARTITIONS * round(KEYS_OF_PARTITION / scale)
    return _drawn(panel.arrivals(network), ROWS // scale, domain, scale, seed)


@lru_cache(maxsize=1)
def _drawn(arrivals: Arrivals, rows: int, domain: int, scale: int, seed: int) -> Trace:
    """Algorithms race one after another over the same trace."""
    return arrivals.draw(rows, domain, scale, seed)


def _competitor(name: str, trace: Trace, scale: int) -> Algorithm:
    if name == "clairvoyant":
        return Algorithm(name, Clairvoyant(trace, ROW_BYTES, MEMORY_ROWS // scale), Never())
    return COMPETITORS[name]
