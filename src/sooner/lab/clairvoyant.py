"""A flush policy that knows the whole trace: a bound for honest policies, as Belady's algorithm is for caches.

When memory is full, the rows leave whose keys will meet the fewest arrivals of the other side within the horizon. It
sees keys where RPJ sees partitions, and counts where RPJ estimates (RPJ sec. 4.1, equation 1 with the true numbers).

Only early results without disk work are bounded: what is worth keeping for a memory-disk task is another question.
"""

from collections.abc import Iterable

import numpy as np

from sooner.lab.traces import Trace, key_codes
from sooner.policies.view import SIDES, Counts, Evict, JoinView, opposite


class Clairvoyant:
    """Unlike an honest policy it has a memory of its own: what came and what it evicted. For one run only."""

    def __init__(self, trace: Trace, row_bytes: int, horizon_rows: int) -> None:
        self._trace = trace
        self._codes = key_codes(trace.domain, trace.partitions)
        self._row_bytes = row_bytes
        self._horizon_rows = horizon_rows
        self._resident = np.zeros((len(SIDES), trace.domain), np.int64)
        self._seen = 0

    def choose(self, view: JoinView, needed_bytes: int) -> Iterable[Evict]:
        now = int(view.arrived_rows.sum())
        self._resident += self._counts(self._seen, now)
        self._seen = now
        worth = self._counts(now, now + self._horizon_rows)[::-1].ravel()  # what a row of this side will meet
        resident = self._resident.ravel()
        order = np.argsort(worth, kind="stable")
        order = order[resident[order] > 0]
        enough = np.searchsorted(resident[order].cumsum(), -(-needed_bytes // self._row_bytes)) + 1
        going = np.zeros(len(worth), np.bool_)
        going[order[:enough]] = True
        resident[going] = 0
        return self._evictions(going.reshape(self._resident.shape))

    def _evictions(self, going: np.ndarray) -> Iterable[Evict]:
        for side in SIDES:
            keys = np.flatnonzero(going[side])
            for partition in np.unique(keys % self._trace.partitions):
                codes = self._codes[keys[keys % self._trace.partitions == partition]]
                yield Evict(side, int(partition), codes=codes)

    def _counts(self, begin: int, end: int) -> Counts:
        """Rows of the trace from begin to end, by side and key."""
        places = self._trace.sides[begin:end] * np.int64(self._trace.domain) + self._trace.keys[begin:end]
        counts: Counts = np.bincount(places, minlength=self._resident.size).reshape(self._resident.shape)
        return counts
