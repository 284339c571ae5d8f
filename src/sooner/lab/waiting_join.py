"""The twin of a two-way join in which rows wait (PR-Join, Ripple, GRACE, hash ripple), for the lab: it counts them.

It has the same statistics, view, evictions, tasks and events, and asks the very same policies, in the same order; a
test holds each event of the one against the other's. `CountedJoin` is the twin of joins in which no row waits.

Not covered: keys that share a code, more rows of a key on disk than fit a slab, quanta of a task, more than one worker,
snapshots; and policies that let a part of a side leave, or want other tasks than whole partitions.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from sooner.errors import BudgetTooSmall, InvalidCall
from sooner.kernels.array_types import Flags, Positions
from sooner.lab.subject import ROW_BYTES, MakeSubject
from sooner.lab.traces import Keys, Trace
from sooner.lab.waiting_rows import WaitingRows
from sooner.named_algorithms import Algorithm
from sooner.operators.events import Arrived, Entered, Event, Flushed, Merged, MergingTask
from sooner.operators.leaving.room import CLEAN_UP_BYTES, enough_of, flush_bytes_of, scratch_bytes_of
from sooner.operators.ledgers.open_pairs import JoinStatistics
from sooner.operators.operator import Means
from sooner.operators.sweeping.parts import COPIES
from sooner.operators.two_way.evening_out import HALF
from sooner.phases import Phase, Phases
from sooner.policies.view import BUSY, EvictAll, EvictSince, JoinView, Surroundings, Task, Together, WholePartitions
from sooner.runs.run import NEVER
from sooner.sides import LEFT, RIGHT, SIDES


def waiting(algorithm: Algorithm) -> MakeSubject:
    """A join with this algorithm, whose rows are only counted."""
    return lambda trace, means: WaitingJoin(trace, algorithm, means)


class WaitingJoin:
    def __init__(self, trace: Trace, algorithm: Algorithm, means: Means) -> None:
        if algorithm.waits == "never":
            raise InvalidCall(f"In {algorithm.name!r} no row waits; simulate counted rows.")
        self._algorithm = algorithm
        self._means = means
        self._account = means.account
        self._flush_bytes = flush_bytes_of(algorithm, means)
        self._statistics = JoinStatistics(trace.partitions)
        keeps_rights = algorithm.waits == "once memory was full, of the right"
        self._rows = WaitingRows(trace.domain, trace.partitions, ROW_BYTES, self._statistics, keeps_rights=keeps_rights)
        self._evens_out = algorithm.partitions == "from the first rows" and trace.partitions > 1
        self._partitions = range(trace.partitions)
        self._phases = Phases()
        self._ended = [False for _ in SIDES]
        self._tick = NEVER
        self._next_to_clean = 0
        self._choice: tuple[object, Task | None] = (None, None)  # of the react policy, and when it was asked
        if algorithm.waits == "always":
            self._rows.begin_waiting(self._tick)

    @property
    def phase(self) -> Phase:
        return self._phases.now

    @property
    def partition_of_key(self) -> Positions:
        """Of each key; another array when partitions were evened out."""
        return self._rows.partition_of_key

    def measures(self) -> Mapping[str, float]:
        return {"results": self._statistics.results, "memory_bytes": self._account.used_bytes}

    def view(self, around: Surroundings = BUSY) -> JoinView:
        means = self._means
        told = means.device, self._account.share_bytes, means.expected_rows, self._rows.full_since
        return self._statistics.view(self._tick, tuple(self._ended), around, *told)

    def end(self, which: int) -> None:
        self._ended[which] = True
        if all(self._ended):
            self._enter("clean-up")

    # Rows that arrive

    def arrive(self, keys: Sequence[Keys], now: float) -> None:
        """Rows with these keys of each side have come; what is due then is done."""
        self._phases.require("arriving", "reactive")
        if not any(map(len, keys)):
            return
        self._enter("arriving")
        self._make_room(keys)
        self._tick += 1
        rows = (len(keys[LEFT]), len(keys[RIGHT]))
        for side in SIDES:
            self._statistics.rows_received(side, rows[side], now)
        compared = self._rows.arrive(keys, self._are_kept())
        self._report(Arrived(self._tick, rows, compared))
        while isinstance(due := self._algorithm.react.choose(self.view()), WholePartitions):
            for p in due.partitions:
                self._join(p, "rest")
        if self._evens_out:
            self._even_out_once()

    def _make_room(self, keys: Sequence[Keys]) -> None:
        """For those that are kept; what leaves memory for them can make them more."""
        arrived, reserved = self._rows.by_partition(keys), 0
        while (kept := int(arrived[self._are_kept()].sum()) * ROW_BYTES) > reserved:
            self._reserve(kept - reserved)
            reserved = kept

    def _are_kept(self) -> Flags:
        """[side, partition]: whether rows that arrive may match something that they do not meet at once."""
        waits = self._rows.full_since is not None
        of_side = [waits or not ended for ended in reversed(self._ended)]
        return np.repeat(np.array(of_side)[:, None], len(self._partitions), axis=1)

    def _even_out_once(self) -> None:
        """When memory is half full, and all that there is has met (`operators.two_way.evening_out`)."""
        if self._rows.full_since is not None or any(self._ended):
            self._evens_out = False
        elif self._account.used_bytes * HALF >= self._account.share_bytes:
            self._evens_out = False
            self._rows.even_out()

    # Rows that leave memory

    def _reserve(self, needed_bytes: int) -> None:
        while (missing := needed_bytes - self._account.free_bytes) > 0:
            goal_bytes = max(missing, self._flush_bytes)
            groups = self._algorithm.flush.choose(self.view(), goal_bytes)
            if not self._evict(enough_of(groups, goal_bytes, lambda one: self._rows.going(one) * ROW_BYTES)):
                raise BudgetTooSmall(f"The memory is full and the algorithm {self._algorithm.name!r} does not spill.")
        self._account.reserve(needed_bytes)

    def _evict(self, evictions: Together) -> bool:
        """Let these rows leave memory, those of a side and partition as a new run; whether any did."""
        if self._rows.full_since is None:
            self._rows.begin_waiting(self._tick)
        self._tick += 1
        leaving: dict[tuple[int, int], int] = {}
        whys = {(one.input, one.partition): one.why for one in reversed(evictions)}
        for one in evictions:
            place = one.input, one.partition
            leaving[place] = max(self._rows.going(one), leaving.get(place, 0))
            if one.input == RIGHT and not isinstance(one, EvictSince):
                self._rows.first_rights_leave(one.partition)
        for (side, p), rows in leaving.items():
            if rows:
                run = self._rows.leave(side, p, rows)
                self._account.release(run.n_bytes)
                self._report(Flushed(self._tick, side, p, rows, run.n_bytes, run.number, whys[side, p]))
        return any(leaving.values())

    # Partitions as wholes

    def has_work(self, around: Surroundings) -> bool:
        if self.phase in ("clean-up", "done"):
            return self.phase == "clean-up"
        return self._chosen(around) is not None

    def work(self, around: Surroundings) -> None:
        """The most urgent task, all of it."""
        if not self.has_work(around):
            return
        if self.phase == "clean-up":
            self._clean_up()
            return
        self._enter("reactive")
        chosen = self._chosen(around)
        if not isinstance(chosen, WholePartitions):
            raise InvalidCall("Rows that wait are counted if whole partitions are joined; simulate real rows.")
        self._join(chosen.partition, "rest")

    def _chosen(self, around: Surroundings) -> Task | None:
        """What the react policy wants; it is asked once while nothing has happened."""
        moment = (self._tick, *self._ended, around)
        if self._choice[0] != moment:
            self._choice = moment, self._algorithm.react.choose(self.view(around))
        return self._choice[1]

    def _join(self, p: int, task: MergingTask) -> None:
        """All that is open in a partition meets."""
        self._tick += 1
        runs = self._rows.runs(p)
        self._rows.meet_as_whole(p, self._tick)
        left, right = (tuple(run.number for run in some) for some in runs)
        read = [run for some in runs for run in some]
        n_bytes = sum(run.n_bytes for run in read)
        self._report(Merged(self._tick, p, len(read), n_bytes, 0, ((left, right),), task))

    def _clean_up(self) -> None:
        """The next partition is joined for the last time, and forgotten."""
        p = self._next_to_clean
        self._next_to_clean += 1
        self._free_memory_for(p)
        self._join(p, "clean-up")
        self._account.release(int(self._statistics.resident_bytes[:, p].sum()))
        self._rows.forget(p)
        if self._next_to_clean == len(self._partitions):
            self._enter("done")

    def _free_memory_for(self, p: int) -> None:
        """Let later partitions leave memory for larger slabs of this one, as the real join does."""
        needed_bytes = min(COPIES * int(self._statistics.spilled_bytes[:, p].sum()), CLEAN_UP_BYTES)
        scratch_bytes = scratch_bytes_of(self._account)
        for later in reversed(self._partitions[p + 1 :]):
            if max(scratch_bytes, min(self._account.free_bytes, CLEAN_UP_BYTES)) >= needed_bytes:
                return
            self._evict([EvictAll(side, later) for side in SIDES])

    def _enter(self, phase: Phase) -> None:
        if phase != self.phase:
            self._phases.enter(phase)
            self._report(Entered(self._tick, phase))

    def _report(self, event: Event) -> None:
        if self._means.listener is not None:
            self._means.listener(event)
