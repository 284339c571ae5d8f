"""A flush policy that knows the whole trace: a bound for honest policies, as Belady's algorithm is for caches.

When memory is full, the rows leave whose keys will meet the fewest arrivals of the other side within the horizon. It
sees keys where RPJ sees partitions, and counts where RPJ estimates (RPJ sec. 4.1, equation 1 with the true numbers).

The horizon is two memories of rows. Of the next flush, a quarter, a half, one, two and four memories and all that
comes, it gave the most early results in three of RPJ's four reliable settings, and within 1% of the most in the fourth;
the next flush alone does worse than RPJ, for it throws away what the flush after it would have wanted.

Where codes are split, rows of the last key leave by age, as many as are needed; by then how many those were is seen.

Not the optimum: rows leave by greed, flush by flush. And it bounds results from memory only: what a memory-disk task
would find is another question.
"""

from collections.abc import Iterable
from typing import Final

import numpy as np

from sooner.kernels.array_types import Flags
from sooner.lab.traces import Trace, key_codes
from sooner.policies.view import Counts, EvictCodes, JoinView, Together
from sooner.sides import SIDES

HORIZON_MEMORIES: Final = 2


class Clairvoyant:
    """Unlike an honest policy it has a memory of its own, what came and what it evicted: it is good for one run."""

    def __init__(self, trace: Trace, row_bytes: int, memory_rows: int, *, splits_codes: bool = False) -> None:
        self._trace = trace
        self._codes = key_codes(trace.domain, trace.partitions)
        self._row_bytes = row_bytes
        self._horizon_rows = HORIZON_MEMORIES * memory_rows
        self._resident = np.zeros((len(SIDES), trace.domain), np.int64)
        self._seen = 0
        self._splits_codes = splits_codes
        self._split: tuple[int, int] | None = None  # the side and key of which only some rows left last

    def choose(self, view: JoinView, needed_bytes: int) -> Iterable[Together]:
        now = int(view.arrived_rows.sum())
        self._resident += self._counts(self._seen, now)
        self._seen = now
        if self._split is not None:
            side = self._split[0]
            self._resident[self._split] -= self._resident[side].sum() - view.resident_rows[side].sum()
        future = self._counts(now, now + self._horizon_rows)
        going, last, rows_of_last = self._least_worth(future[::-1], -(-needed_bytes // self._row_bytes))
        evictions = [*self._evictions(going)]
        if self._splits_codes and rows_of_last < self._resident[last]:
            going[last] = False
            place, code = (last[0], last[1] % self._trace.partitions), self._codes[last[1] :][:1]
            evictions = [*self._evictions(going), EvictCodes(*place, code, rows_of_last * self._row_bytes)]
            self._split = last
        self._resident[going] = 0
        return [evictions]

    def _least_worth(self, worth: Counts, rows: int) -> tuple[Flags, tuple[int, int], int]:
        """The keys of each side that leave, so that at least so many rows do; the last, and how many it would take."""
        resident = self._resident.ravel()
        order = np.argsort(worth.ravel(), kind="stable")
        order = order[resident[order] > 0]
        up_to = resident[order].cumsum()
        keys_to_go = min(int(np.searchsorted(up_to, rows)) + 1, len(order))
        going = np.zeros(len(resident), np.bool_)
        going[order[:keys_to_go]] = True
        last = int(order[keys_to_go - 1])
        side, key = divmod(last, worth.shape[1])
        return going.reshape(worth.shape), (side, key), int(resident[last]) - max(int(up_to[keys_to_go - 1]) - rows, 0)

    def _evictions(self, going: Flags) -> Together:
        """All of them together: the policy knows itself when it is enough."""
        evictions = []
        for side in SIDES:
            keys = np.flatnonzero(going[side])
            partitions = keys % self._trace.partitions
            evictions += [
                EvictCodes(side, int(partition), self._codes[keys[partitions == partition]])
                for partition in np.unique(partitions)
            ]
        return evictions

    def _counts(self, begin: int, end: int) -> Counts:
        """Rows of the trace from begin to end, by side and key."""
        places = self._trace.of_input[begin:end] * np.int64(self._trace.domain) + self._trace.keys[begin:end]
        counts: Counts = np.bincount(places, minlength=self._resident.size).reshape(self._resident.shape)
        return counts
