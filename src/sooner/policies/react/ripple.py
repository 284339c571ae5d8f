"""Join a partition as a whole whenever as much of it is new as memory holds: block ripple join (PR-Join sec. 3.2.1).

A ripple has the same width each time, so what it finds grows only as what it reads does, and in the end all has been
read as often as memory was full: the price is quadratic. Ripple Join does all partitions at once. Here each has its
turn when as much of it is new as its share of the memory; with partitions of one size that is the same.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from sooner.policies.react.growth import most_to_gain, wholes
from sooner.policies.view import JoinView, Task

NEARLY_FULL: Final = 0.8  # of the memory: what has not met should be joined before it has to leave


@dataclass(frozen=True)
class Ripple:
    def choose(self, view: JoinView) -> Task | None:
        if view.around.silent:
            return most_to_gain(view)
        rows = np.maximum((view.resident_rows + view.spilled_rows).sum(axis=0), 1)
        row_bytes = (view.resident_bytes + view.spilled_bytes).sum(axis=0) / rows
        new_bytes = (view.arrived_rows.sum(axis=0) - view.whole_rows) * row_bytes
        return wholes(view, new_bytes >= NEARLY_FULL * view.memory_bytes / len(view.whole_rows))
