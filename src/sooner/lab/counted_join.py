"""The two-way join's twin for the lab: it counts rows by key where the other keeps them.

It has the same statistics, view, evictions, tasks and events, and asks the very same policies, in the same order; a
test holds each event of the one against the other's. So it gives the same history, hundreds of times faster: a call
costs what the keys of a partition cost, however many rows they have.

Not covered: keys that share a code or match others than themselves, joins that give more than pairs, quanta of a task,
more than one worker, snapshots.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from sooner.lab.counted_leaving import CountedLeaving
from sooner.lab.counted_reception import CountedReception
from sooner.lab.counted_state import CountedState
from sooner.lab.counted_tasks import CountedTasks
from sooner.lab.traces import Keys
from sooner.operators.events import Entered, Event, Reached
from sooner.phases import Phase, Phases
from sooner.policies.react.best_rate import BestRate
from sooner.policies.react.memory_disk import LargestMemoryDisk
from sooner.policies.react.merge import Merge
from sooner.policies.react.never import Never
from sooner.policies.view import BUSY, JoinView, NestedLoop, Surroundings, Task

# Policies that want nothing while rows come: it is not worth asking them then.
ONLY_IN_SILENCE: Final = (BestRate, LargestMemoryDisk, Merge, Never)


class CountedJoin:
    """It need not tell what it has reached after each action: who only measures it does not listen to that."""

    def __init__(self, state: CountedState, *, tells_reached: bool = True) -> None:
        self._tells_reached = tells_reached
        self._state = state
        self._leaving = CountedLeaving(self._state)
        self._reception = CountedReception(self._state, self._leaving)
        self._tasks = CountedTasks(self._state)
        self._phases = Phases()
        self._only_in_silence = type(state.algorithm.react) in ONLY_IN_SILENCE
        self._next_to_clean = 0
        self._choice: tuple[object, Task | None] = (None, None)  # of the react policy, and when it was asked

    @property
    def phase(self) -> Phase:
        return self._phases.now

    def measures(self) -> Mapping[str, float]:
        return {"results": self._state.statistics.results, "memory_bytes": self._state.account.used_bytes}

    def view(self, around: Surroundings = BUSY) -> JoinView:
        return self._state.view(around)

    def arrive(self, keys: Sequence[Keys], now: float) -> None:
        """Rows with these keys of each side meet what is in memory, and are in memory from then on."""
        self._phases.require("arriving", "reactive")
        if any(map(len, keys)):
            self._enter("arriving")
            self._reception.receive(keys, now)
            self._report_reached()

    def end(self, which: int) -> None:
        self._state.ended[which] = True
        if all(self._state.ended):
            self._enter("clean-up")

    def has_work(self, around: Surroundings) -> bool:
        phase = self._phases.now
        if phase in ("clean-up", "done"):
            return phase == "clean-up"
        if not around.silent and self._only_in_silence:
            return False
        return (around.silent and self._tasks.merging is not None) or self._chosen(around) is not None

    def work(self, around: Surroundings) -> None:
        """The most urgent task, all of it."""
        if not self.has_work(around):
            return
        if self._phases.now == "clean-up":
            self._clean_up()
        else:
            self._enter("reactive")
            self._react(around)
        self._report_reached()
        if self._phases.now == "clean-up" and self._next_to_clean == len(self._state.partitions):
            self._enter("done")

    def rehearse(self, around: Surroundings) -> Event | None:
        """What the next task would report, with nothing done; only as far as it costs anything."""
        return self._tasks.rehearse(self._tasks.merging or self._chosen(around))

    def _chosen(self, around: Surroundings) -> Task | None:
        """What the react policy wants; it is asked once while nothing has happened."""
        state = self._state
        moment = (state.tick, *state.ended, around)
        if self._choice[0] != moment:
            self._choice = moment, state.algorithm.react.choose(state.view(around))
        return self._choice[1]

    def _react(self, around: Surroundings) -> None:
        if self._tasks.go_on():
            return
        for _ in self._state.partitions:  # in each of them it may turn out that nothing is left to merge
            chosen = self._chosen(around)
            if self._state.variant.loops_to_the_letter and isinstance(chosen, NestedLoop):
                self._leaving.make_free(self._tasks.outer_bytes(chosen))
            if self._tasks.do(chosen):
                return

    def _clean_up(self) -> None:
        p, loops = self._next_to_clean, self._state.variant.loops_to_the_letter
        self._tasks.merging = None
        if loops and self._go_on_looping(p):
            return
        self._next_to_clean += 1
        self._leaving.free_memory_for(p)
        self._tasks.clean_up(p, has_met=loops)

    def _go_on_looping(self, p: int) -> bool:
        """The next chunk of DINER's clean-up (sec. 3.5): all of the memory is for the outer side but one block."""
        state = self._state
        self._leaving.empty(p)
        outer = int(state.statistics.spilled_bytes[:, p].argmin())
        return self._tasks.do(NestedLoop(p, outer, state.account.share_bytes - state.means.device.page_bytes))

    def _enter(self, phase: Phase) -> None:
        if phase != self._phases.now:
            self._phases.enter(phase)
            self._state.report(Entered(self._state.tick, phase))

    def _report_reached(self) -> None:
        if not self._tells_reached:
            return
        statistics = self._state.statistics
        resident_bytes = tuple(map(tuple, statistics.resident_bytes.tolist()))
        self._state.report(Reached(self._state.tick, statistics.results, resident_bytes))
