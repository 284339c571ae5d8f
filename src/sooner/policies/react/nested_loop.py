"""Join what is on disk by a nested loop that hands over soon: DINER's ReactiveNL (DINER sec. 3.4, Algorithm 4).

It begins in a silence, with the smaller side on disk as the outer one. Once it works, a few rows that come are no
reason to stop: they wait, and it hands over when they are more than `max_new_arrivals` (Point 4). Which chunks have
met, and where it is in the present one, is the task's and the ledger's matter; nothing of it is lost.

`max_outer_bytes` bounds the chunk of the outer side that meets the other side at a time. The paper holds it in memory,
19 blocks of 10 KB; here both sides are read range by range, so it is a matter of how soon what has left memory since
has its turn. By default that is all of the outer side.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from sooner.errors import InvalidJoin
from sooner.policies.view import JoinView, NestedLoop, Surroundings

MAX_NEW_ARRIVALS: Final = 1000


@dataclass(frozen=True)
class ReactiveNestedLoop:
    max_new_arrivals: int = MAX_NEW_ARRIVALS
    max_outer_bytes: int = 2**62

    def __post_init__(self) -> None:
        if self.max_new_arrivals < 0 or self.max_outer_bytes < 1:
            raise InvalidJoin(f"{self} can never work; give max_new_arrivals of 0 or more and max_outer_bytes above 0.")

    def choose(self, view: JoinView) -> NestedLoop | None:
        waiting = np.flatnonzero(view.unmet_on_disk > 0)
        if not len(waiting) or not self.wants_to_work(view.around):
            return None
        # The partition that waits longest, as with HMJ: every partition has its turn.
        partition = int(waiting[view.last_merge[waiting].argmin()])
        return NestedLoop(partition, int(view.spilled_bytes[:, partition].argmin()), self.max_outer_bytes)

    def wants_to_work(self, around: Surroundings) -> bool:
        """Whether it begins, or goes on, with rows that come so."""
        return around.silent or (around.after_silence and sum(around.waiting_rows) <= self.max_new_arrivals)
