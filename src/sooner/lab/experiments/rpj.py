"""What the experiments of RPJ (sec. 6) have in common: data, network, disk, processor, algorithms.

Given in the paper: 2 million rows of 10 bytes, memory for 100,000, pages of 1 KB, 10,000 keys in 20 partitions, shares
of the partitions, a gap of 1 ms or Zipf gaps of 1 to 30 ms, silence after 25 ms, speed ratio 1 or 5. In its formula for
reverse, 20 - j must be 21 - j, or the last partition would have no share.

Not given, and chosen here before any result was seen: n_flush is a tenth of the memory, for every algorithm; lambda is
0.5; a random access takes 10 ms (seek and half a turn of a desktop disk of 2005), a sequential one 0.02 ms (1 KB
at 50 MB/s); a comparison takes 10 ns; F is 10; Zipf's skew is 1 (then the last row comes at 15,000 s; the paper has
"around 14,000").

Scale. Rows, memory and keys are divided by it. Each simulated row then stands for `scale` rows of the paper: a page
holds so many times fewer, a comparison takes the square of it as long, time is the paper's own. Flushes, runs, pages,
silences and seconds are thus as many as in the paper, whatever the scale; results are `scale` times fewer, and
chances are estimated from fewer rows.

XJoin is as RPJ describes it (sec. 2.1): in a silence, the largest partition in memory meets the disk, even if nothing
of it is new. `sooner`'s own `xjoin` passes over a partition that has met the disk already, which takes the statistics
of RPJ (sec. 5.3) to know; it is here as "xjoin_that_knows". RPJ is Lemma 1 to the letter, without the tolerance of
`sooner`'s own `rpj`, which is here as "rpj_rounded".
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from sooner.errors import InvalidCall
from sooner.lab.claims import share_of_bound
from sooner.lab.clairvoyant import Clairvoyant
from sooner.lab.device import Device, FlushedTo
from sooner.lab.experiment import Claim, Histories
from sooner.lab.simulator import ROW_BYTES, Laboratory, simulate
from sooner.lab.traces import Arrivals, Trace
from sooner.named_algorithms import ALGORITHMS, Algorithm
from sooner.policies.flush.largest import Largest
from sooner.policies.flush.rate_optimal import RateOptimal
from sooner.policies.react.best_rate import BestRate
from sooner.policies.react.never import Never
from sooner.policies.view import DeviceCosts, JoinView, MemoryDisk, Task
from sooner.sides import opposite
from sooner.sources.arrival_patterns import ArrivalPattern, Fixed, ZipfGaps

ROWS: Final = 2_000_000
MEMORY_ROWS: Final = 100_000
PARTITIONS: Final = 20
KEYS_OF_PARTITION: Final = 500
ROWS_OF_PAGE: Final = 1024 / 10
SILENCE_SECONDS: Final = 0.025
RANDOM_SECONDS: Final = 0.010
SEQUENTIAL_SECONDS: Final = 0.00002
COMPARISON_SECONDS: Final = 10e-9
SHARES: Final = tuple((1 + 8 / 19 * j) / 100 for j in range(PARTITIONS))
CHUNKS_OF_MEMORY: Final = 50
LARGEST_SCALE: Final = 250  # two keys a partition are left

SETTING: Final = (
    f"{ROWS:,} rows, memory for {MEMORY_ROWS:,}, {RANDOM_SECONDS * 1e3:g} ms random and "
    f"{SEQUENTIAL_SECONDS * 1e3:g} ms sequential access to a page of 1 KB, {COMPARISON_SECONDS * 1e9:g} ns a comparison"
)

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
        side, partition = np.unravel_index(int(view.resident_rows.argmax()), view.resident_rows.shape)
        if not view.spilled_rows[opposite(int(side)), partition]:
            return None
        return MemoryDisk(int(side), int(partition))


COMPETITORS: Final = {
    "rpj": Algorithm("rpj", RateOptimal(tolerance=0), BestRate()),
    "rpj_md": Algorithm("rpj_md", RateOptimal(tolerance=0), BestRate(tasks="memory-disk")),
    "rpj_dd": Algorithm("rpj_dd", RateOptimal(tolerance=0), BestRate(tasks="disk-disk")),
    "rpj_rounded": ALGORITHMS["rpj"],
    "hmj": ALGORITHMS["hmj"],
    "xjoin": Algorithm("xjoin", Largest(), LargestMeetsDisk()),
    "xjoin_that_knows": ALGORITHMS["xjoin"],
    **{name: ALGORITHMS[name] for name in ("hmj_all", "hmj_smallest", "hmj_largest", "random")},
}


def bound_claims(*names: str) -> tuple[Claim, ...]:
    """How near each of these comes to a flush policy that knows the future."""
    return tuple(
        Claim(
            f"{name}: share of the early results of a policy that knows the future",
            "not in the paper; no more than all",
            share_of_bound(name, "clairvoyant"),
        )
        for name in names
    )


def laboratory(scale: int, flushed_to: FlushedTo = "a file for each partition") -> Laboratory:
    memory_rows = MEMORY_ROWS // scale
    disk = DeviceCosts(round(ROWS_OF_PAGE / scale * ROW_BYTES), RANDOM_SECONDS, SEQUENTIAL_SECONDS)
    device = Device(disk, memory_rows * ROW_BYTES, COMPARISON_SECONDS * scale**2, flushed_to)
    # The operator's unit of time holds as many rows as the paper's second, for the same noise in what it counts.
    return Laboratory(device, max(1, memory_rows // CHUNKS_OF_MEMORY), unit_seconds=float(scale))


def draw_trace(panel: Panel, network: Network, scale: int, seed: int) -> Trace:
    if not 1 <= scale <= LARGEST_SCALE:
        raise InvalidCall(f"scale={scale} is not possible here; give 1 (the paper's size) to {LARGEST_SCALE}.")
    domain = PARTITIONS * round(KEYS_OF_PARTITION / scale)
    return panel.arrivals(network).draw(ROWS // scale, domain, scale, seed)


def competition(panel: Panel, network: Network, names: Sequence[str]) -> Callable[[int, int], Histories]:
    """Runs these algorithms on the same trace; "clairvoyant" is the bound."""

    def run_all(scale: int, seed: int) -> Histories:
        trace = draw_trace(panel, network, scale, seed)
        return {name: simulate(trace, _competitor(name, trace, scale), laboratory(scale)) for name in names}

    return run_all


def _competitor(name: str, trace: Trace, scale: int) -> Algorithm:
    if name == "clairvoyant":
        return Algorithm(name, Clairvoyant(trace, ROW_BYTES, MEMORY_ROWS // scale), Never())
    return COMPETITORS[name]
