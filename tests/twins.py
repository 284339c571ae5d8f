"""Real joins and their twins that count rows, led through the same arrivals: what the tests of both twins share."""

from typing import Any, Protocol

import numpy as np

from sooner.lab.races.rpj import PANELS, PARTITIONS
from sooner.lab.subject import RealOperator
from sooner.lab.traces import Trace
from sooner.sides import SIDES


class Twins(Protocol):
    """A real join and its twin, which must agree at every step."""

    real: RealOperator
    counted: Any
    trace: Trace

    def work(self) -> None:
        """Both do the same, if they have anything to do, and are compared."""

    def compare(self) -> None: ...


def draw(seed: int, rows: int = 2000, keys_of_partition: int = 7) -> Trace:
    panel = PANELS[seed % len(PANELS)]
    return panel.arrivals("unreliable").draw(rows, PARTITIONS * keys_of_partition, 1, seed)


def run_both(twins: Twins, seed: int) -> None:
    rng = np.random.default_rng((seed, 9))
    at, rows = 0, len(twins.trace)
    while at < rows:
        end = min(rows, at + int(rng.integers(1, 60)))
        _arrive(twins, at, end)
        at = end
        if at < rows and rng.random() < 0.3:
            for _ in range(rng.integers(1, 5)):
                twins.work()
    while twins.real.phase != "done":
        twins.work()
    assert twins.counted.measures()["results"] == twins.trace.join_size()


def _arrive(twins: Twins, begin: int, end: int) -> None:
    of_input, keys = twins.trace.of_input[begin:end], twins.trace.keys[begin:end]
    for twin in (twins.real, twins.counted):
        twin.arrive([keys[of_input == side] for side in SIDES], float(twins.trace.seconds[end - 1]))
    for side in SIDES:
        if begin <= np.flatnonzero(twins.trace.of_input == side)[-1] < end:
            twins.real.end(side)
            twins.counted.end(side)
    twins.compare()
