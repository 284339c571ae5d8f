"""Any algorithms over arrivals of a user's own, on one simulated machine: an experiment without claims.

As in `sooner` itself, what leaves memory together becomes one file a side, and work on disk gives way, after a block,
to rows that come. A row weighs what is said, pages hold so many of them, and a comparison takes 10 ns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from sooner.errors import InvalidCall
from sooner.lab.claims import cost_per_result, seconds_to_end, share_before_clean_up
from sooner.lab.experiment import Experiment, Figure
from sooner.lab.history import History
from sooner.lab.own.algorithms import algorithm_of
from sooner.lab.own.arrivals import GivenArrivals
from sooner.lab.resources import Disk, Machine
from sooner.lab.simulator import Laboratory, Rows, simulate
from sooner.lab.subject import ROW_BYTES as SIMULATED_ROW_BYTES
from sooner.named_algorithms import Algorithm
from sooner.policies.flush.never import Never as FlushNever

PARTITIONS: Final = 20
PAGE_BYTES: Final = 4096
CHUNKS_OF_MEMORY: Final = 50
COMPARISON_SECONDS: Final = 10e-9
LEAST_MEMORY_ROWS: Final = 10
SAMPLES: Final = 201  # of each curve, so that each tenth is one of them
ROWS_OF_SECOND: Final = 300_000  # that are simulated in a second of the processor, about

DiskName = Literal["hdd", "ssd"]
DISKS: Final[Mapping[DiskName, tuple[float, float]]] = {  # a random access to a page, and a sequential one
    "hdd": (0.010, PAGE_BYTES / 100e6),
    "ssd": (100e-6, PAGE_BYTES / 1e9),
}


@dataclass(frozen=True)
class Setting:
    memory_rows: int
    row_bytes: int
    disk: DiskName = "hdd"
    silence_seconds: float = 0.025

    def in_words(self) -> str:
        random_seconds, sequential_seconds = DISKS[self.disk]
        return (
            f"memory for {self.memory_rows:,} rows of {self.row_bytes:,} bytes; {self.disk}: "
            f"{1e3 * random_seconds:g} ms random and {1e3 * sequential_seconds:.2g} ms sequential access to a page of "
            f"4 KB; silent after {1e3 * self.silence_seconds:g} ms"
        )

    def laboratory(self) -> Laboratory:
        """Pages hold as many of the simulated rows, which are lighter, as they would of the user's."""
        page_bytes = max(1, round(PAGE_BYTES / self.row_bytes * SIMULATED_ROW_BYTES))
        machine = Machine(
            Disk.with_accesses(page_bytes, *DISKS[self.disk]),
            self.memory_rows * SIMULATED_ROW_BYTES,
            COMPARISON_SECONDS,
            "a file for each side",
        )
        return Laboratory(machine, max(1, self.memory_rows // CHUNKS_OF_MEMORY), a_task="gives way")


@dataclass(frozen=True)
class GivenRace:
    """One algorithm over given arrivals. Nothing in it is random, so it is the same with every seed."""

    arrivals: GivenArrivals
    algorithm: str  # of `sooner algorithms`, or module:name
    setting: Setting

    @property
    def seconds(self) -> float:
        return len(self.arrivals) / ROWS_OF_SECOND

    def run(self, scale: int, seed: int) -> History:  # noqa: ARG002 - the contract
        algorithm = algorithm_of(self.algorithm)
        partitions = 1 if algorithm.order == "values" else PARTITIONS
        trace = self.arrivals.trace(partitions, self.setting.silence_seconds)
        rows: Rows = "counted" if algorithm.waits == "never" else "real"
        return simulate(trace, algorithm, self.setting.laboratory(), rows)

    def mutated(self, mutant: str) -> "GivenRace":  # noqa: ARG002 - the contract
        """Without claims there are no mutants."""
        return self


def comparison(name: str, arrivals: GivenArrivals, algorithms: Sequence[str], setting: Setting) -> Experiment:
    """These algorithms over these arrivals; what is not one of them is refused before anything runs."""
    if setting.memory_rows < LEAST_MEMORY_ROWS:
        raise InvalidCall(f"memory for {setting.memory_rows} rows is too little; give room for {LEAST_MEMORY_ROWS}.")
    for one in algorithms:
        _require_spilling(one, algorithm_of(one), arrivals, setting)
    return Experiment(
        name=name,
        paper="",
        title=f"{len(arrivals):,} arrivals",
        figure=Figure("results", "the last arrival", "results", samples=SAMPLES),
        races={one: GivenRace(arrivals, one, setting) for one in algorithms},
        claims=(),
        measurements=[
            measure(one) for measure in (share_before_clean_up, cost_per_result, seconds_to_end) for one in algorithms
        ],
        setting=setting.in_words(),
        module=__name__,
        mutants=(),
    )


def _require_spilling(name: str, algorithm: Algorithm, arrivals: GivenArrivals, setting: Setting) -> None:
    if isinstance(algorithm.flush, FlushNever) and len(arrivals) > setting.memory_rows:
        raise InvalidCall(
            f"{name} keeps all {len(arrivals):,} rows, and memory has room for {setting.memory_rows:,}; leave it "
            "out, or give memory for all."
        )
