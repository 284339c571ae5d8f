"""How soon a plan of joins by one key can have results: as soon as their rows have come (AGF's experiments).

It is a plan with memory for everything, on a processor that takes no time.
"""

from collections import Counter

import numpy as np

from sooner.lab.history import History
from sooner.lab.traces import Trace
from sooner.phases import Phase
from sooner.policies.view import Numbers


def without_limits(trace: Trace) -> History:
    results = new_results(trace).cumsum()
    nothing = np.zeros(len(trace))
    arriving: Phase = "arriving"
    columns = dict.fromkeys(("memory_bytes", "buffered_rows", "cost_seconds"), nothing)
    return History(
        {"seconds": trace.seconds, "results": results, **columns},
        phases=(arriving,) * len(trace),
        last_arrival_seconds=float(trace.seconds[-1]),
        events=Counter(),
        early_results=int(results[-1]),
        most_buffered_rows=0,
        most_buffered_in_reaction=0,
        overflowed_at_seconds=None,
    )


def new_results(trace: Trace) -> Numbers:
    """With each row that comes: the combinations of rows of all other inputs that have its key and came before."""
    order = np.argsort(trace.keys, kind="stable")
    keys, of_input = trace.keys[order], trace.of_input[order]
    begins = np.searchsorted(keys, keys)  # where the rows of each one's key begin
    found = np.ones(len(trace))
    for which in range(trace.inputs):
        before = np.append(0, (of_input == which).cumsum())
        found *= np.where(of_input == which, 1, before[:-1] - before[begins])
    in_time = np.empty(len(trace))
    in_time[order] = found
    return in_time
