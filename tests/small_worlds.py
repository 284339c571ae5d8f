"""RPJ's experiments in small: less memory, fewer rows for each row in memory; seconds instead of minutes to run."""

from functools import cache
from typing import Final

from sooner.lab.clairvoyant import Clairvoyant
from sooner.lab.history import History
from sooner.lab.races.rpj import (
    COMPARISON_SECONDS,
    COMPETITORS,
    DISKS,
    PARTITIONS,
    ROWS_OF_PAGE,
    Network,
    Panel,
)
from sooner.lab.resources import Disk, Machine
from sooner.lab.simulator import Laboratory, Rows, simulate
from sooner.lab.subject import ROW_BYTES
from sooner.lab.traces import Trace
from sooner.named_algorithms import ALGORITHMS, Algorithm
from sooner.policies.react.never import Never

# Without silences rows are cheap to simulate, and many of them keep noise out of the chances that RPJ estimates.
SCALES: Final[dict[Network, int]] = {"reliable": 8, "unreliable": 20}
MEMORIES: Final[dict[Network, int]] = {"reliable": 8, "unreliable": 5}  # that all rows would fill


def memory_rows(network: Network) -> int:
    return 8_000 // SCALES[network]


def small_trace(panel: Panel, network: Network, seed: int = 0) -> Trace:
    scale, rows = SCALES[network], MEMORIES[network] * memory_rows(network)
    return panel.arrivals(network).draw(rows, PARTITIONS * 200 // scale, scale, seed)


def small_laboratory(network: Network) -> Laboratory:
    scale, memory = SCALES[network], memory_rows(network)
    disk = Disk.with_accesses(round(ROWS_OF_PAGE / scale * ROW_BYTES), *DISKS["seeks"])
    machine = Machine(disk, memory * ROW_BYTES, COMPARISON_SECONDS * scale**2)
    return Laboratory(machine, chunk_rows=memory // 20, unit_seconds=float(scale))


def run_small(name: str, trace: Trace, network: Network) -> History:
    """Rows that wait are not counted."""
    algorithm = competitor(name, trace, network)
    rows: Rows = "counted" if algorithm.waits == "never" else "real"
    return simulate(trace, algorithm, small_laboratory(network), rows)


@cache
def small_history(name: str, panel: Panel, network: Network) -> History:
    """Run once, for all tests that look at it."""
    return run_small(name, small_trace(panel, network), network)


def competitor(name: str, trace: Trace, network: Network) -> Algorithm:
    if name == "clairvoyant":
        return Algorithm(name, Clairvoyant(trace, ROW_BYTES, memory_rows(network)), Never())
    return COMPETITORS.get(name) or ALGORITHMS[name]
