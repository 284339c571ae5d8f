"""A plan of joins: the results of one are an input of the next, and all of them have one budget.

What a join gives goes up at once, in bounded pieces. When it has given all that follows from a call it is idle again,
so that its rows may leave memory for those above; if a call gives more than LANDING_BYTES, it is held in the middle of
it, and the joins above have the `Passage`. The clean-up begins at the base: when a join is done, the next one hears
that its left input has ended.

While a join merges a group on disk because the plan's react policy says so, its inputs and those of the joins below it
are blocked (AGF sec. 5.1): engines hold their rows back.

Beside the budget it uses what its joins do, and LANDING_BYTES for results on their way from each to the next.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from sooner.budget import Account
from sooner.errors import BudgetTooSmall, SoonerError
from sooner.kernels.content_order import hash_of_content
from sooner.kernels.gathering import as_one, gather
from sooner.operators.events import Arrived
from sooner.operators.inputs import Input
from sooner.operators.operator import Operator, Port
from sooner.operators.pieces import weight
from sooner.operators.plans.algorithms import PlanAlgorithm
from sooner.operators.plans.output import Projection
from sooner.operators.plans.passage import Passage
from sooner.operators.plans.room import SharedRoom
from sooner.operators.plans.stage import Stage
from sooner.operators.shell import Shell
from sooner.phases import Phase
from sooner.policies.view import SILENT, Counts, Surroundings, View
from sooner.progress import Progress
from sooner.runs.store import counted
from sooner.sides import LEFT

LANDING_BYTES: Final = 16 * 2**20
SUMMED: Final = ("arrived_rows", "resident_rows", "resident_bytes", "spilled_rows", "spilled_bytes", "spilled_runs")


class Door(NamedTuple):
    """Where an input comes into a plan."""

    stage: int
    side: int


class PlanOfJoins(Operator[pa.RecordBatch]):
    """`stages` from the base to the root. The first has two inputs of the plan, each other one has one more; `doors`
    say for each input to which join it comes, and on which side.
    """

    def __init__(
        self,
        stages: Sequence[Stage],
        doors: Sequence[Door],
        algorithm: PlanAlgorithm,
        projection: Projection,
        room: SharedRoom,
        passage: Passage,
        account: Account,
        shell: Shell,
        landing_bytes: int = LANDING_BYTES,
    ) -> None:
        self._stages = stages
        self._doors = doors
        self._algorithm = algorithm
        self._projection = projection
        self._room = room
        self._passage = passage
        self._account = account
        self._shell = shell
        self._landing_bytes = landing_bytes
        self.results = 0

    @property
    def inputs(self) -> Sequence[Input]:
        return [self._stages[door.stage].join.inputs[door.side] for door in self._doors]

    @property
    def phase(self) -> Phase:
        return self._shell.phase

    @property
    def account(self) -> Account:
        return self._account

    @property
    def worked_bytes(self) -> int:
        return sum(stage.join.worked_bytes for stage in self._stages)

    def port(self, which: int) -> Port:
        port, merging = super().port(which), self._merging
        return "blocked" if port == "ready" and merging is not None and self._doors[which].stage <= merging else port

    @property
    def _merging(self) -> int | None:
        """The join that works on disk because the plan says so."""
        return next((at for at, stage in enumerate(self._stages) if stage.is_merging), None)

    # Rows that arrive, and results on their way up

    def arrive(self, rows: Sequence[Sequence[pa.RecordBatch]], now: float) -> Iterator[pa.RecordBatch]:
        return self._shell.exclusively(self._in_scratch(self._arrive(rows, now)))

    def _arrive(self, rows: Sequence[Sequence[pa.RecordBatch]], now: float) -> Iterator[pa.RecordBatch]:
        self._shell.require("arriving", "reactive")
        n_rows = tuple(sum(batch.num_rows for batch in batches) for batches in rows)
        if not any(n_rows):
            return
        self._require_room([batch for batches in rows for batch in batches])
        self._shell.enter("arriving")
        self._shell.advance()
        for stage in self._stages:
            if stage.groups is not None:
                stage.groups.look(now)
        named = [self._projection.named(which, batches) for which, batches in enumerate(rows)]
        for at in range(len(self._stages)):
            own: list[Sequence[pa.RecordBatch]] = [[], []]
            for door, batches in zip(self._doors, named, strict=True):
                if door.stage == at:
                    own[door.side] = self._in_order(at, batches)
            if any(own):
                yield from self._given(at, own, now)
        self._shell.report(Arrived(self._shell.tick, n_rows, compared=0))
        self._shell.report_reached(self)

    def _require_room(self, rows: Sequence[pa.RecordBatch]) -> None:
        """Rows of a call come one join after the other, and each must find room when all others have left."""
        room_bytes = self._account.budget.limit_bytes - self._passage.share_bytes
        if (needed_bytes := weight(rows)) > room_bytes:
            raise BudgetTooSmall(f"{needed_bytes:,} bytes of rows arrived at once; raise `memory`.")

    def _in_order(self, at: int, batches: Sequence[pa.RecordBatch]) -> Sequence[pa.RecordBatch]:
        """Rows in an order that follows from what they are, unless it does not matter: where a join is held in the
        middle of a call depends on the order in which it gives its results, and what those meet depends on that.
        """
        if at == len(self._stages) - 1 or not batches:
            return batches
        rows = as_one(batches)
        return [gather(rows, np.argsort(hash_of_content(rows.columns), kind="stable"))]

    def _given(self, at: int, rows: Sequence[Sequence[pa.RecordBatch]], now: float) -> Iterator[pa.RecordBatch]:
        """A join takes in these rows, and what it finds goes up."""
        self._set_passage_aside(at)
        yield from self._passed_on(at, self._stages[at].arrive(rows, now), now)

    def _passed_on(self, at: int, results: Iterator[pa.RecordBatch], now: float) -> Iterator[pa.RecordBatch]:
        if at == len(self._stages) - 1:
            yield from self._come_out(results)
            return
        for together in self._landed(results):
            yield from self._passed_on(at + 1, self._given_results(at + 1, together, now), now)

    def _given_results(self, at: int, results: Sequence[pa.RecordBatch], now: float) -> Iterator[pa.RecordBatch]:
        """What a join finds for results of the join below, all pieces of them one after the other: what it finds for
        many goes up together.
        """
        for piece in self._stages[at].pieces(results, self._piece_bytes(at)):
            self._set_passage_aside(at)
            try:
                yield from self._stages[at].arrive([piece, []], now)
            except BudgetTooSmall as error:  # the rows that led to it are in, so this call cannot be made again
                raise SoonerError(f"A result on its way through the plan finds no room: {error}") from error

    def _piece_bytes(self, at: int) -> int:
        """Rows of joins below that are idle may leave memory for a piece; where one is held, there is the passage."""
        is_held = any(stage.join.is_busy for stage in self._stages[:at])
        return self._passage.piece_bytes if is_held else self._passage.share_bytes

    def _landed(self, results: Iterator[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
        """All of them, if they are not too many: then who gives them is idle, and its rows may leave memory."""
        together: list[pa.RecordBatch] = []
        n_bytes = 0
        for batch in results:
            self._shell.breathe()
            if batch.num_rows:
                together.append(batch)
                n_bytes += batch.nbytes
            if n_bytes > self._landing_bytes:
                yield together
                together, n_bytes = [], 0
        if together:
            yield together

    def _come_out(self, results: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in results:
            self._shell.breathe()
            for stage in self._stages[:-1]:  # what the root gives is counted as it gives it
                if stage.groups is not None:
                    stage.groups.contributed(batch)
            self.results += batch.num_rows
            yield self._projection.of(batch)

    def _in_scratch(self, work: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Results may land before all joins but the first."""
        with self._account.borrowed(self._landing_bytes * (len(self._stages) - 1)):
            yield from work

    def _set_passage_aside(self, at: int) -> None:
        """Before a join is given rows: it may be held in the middle of that, and so may those below it by now."""
        above = len(self._stages) - 1 - at
        while not self._passage.set_aside(above):
            missing_bytes = self._passage.missing_bytes(above) - self._account.budget.free_bytes
            if not self._room.let_go(self._stages[-1].name, missing_bytes):
                return  # a result that needs it will say so

    # Work on disk

    def end(self, which: int) -> None:
        door = self._doors[which]
        self._stages[door.stage].end(door.side)
        if all(one.ended for one in self.inputs):
            self._shell.enter("clean-up")

    def has_work(self, around: Surroundings) -> bool:
        if self.phase in ("clean-up", "done"):
            return self.phase == "clean-up"
        return self._merging is not None or self._who_works(around) is not None or self._to_merge(around) is not None

    def _who_works(self, around: Surroundings) -> int | None:
        """The lowest join that has something to do: what it finds goes up."""
        return next((at for at, stage in enumerate(self._stages) if stage.join.has_work(around)), None)

    def _to_merge(self, around: Surroundings) -> tuple[int, int] | None:
        """A join and the group on disk that the plan's react policy sends it to."""
        on_disk = any(stage.join.statistics.unmet_on_disk.any() for stage in self._stages)
        if self._algorithm.react is None or not on_disk:
            return None
        views = {stage.name: stage.view(around) for stage in self._stages}
        if (chosen := self._algorithm.react.choose(views)) is None:
            return None
        return list(views).index(chosen.operator), chosen.partition

    def work(self, quantum_bytes: int, around: Surroundings) -> Iterator[pa.RecordBatch]:
        return self._shell.exclusively(self._in_scratch(self._work(quantum_bytes, around)))

    def _work(self, quantum_bytes: int, around: Surroundings) -> Iterator[pa.RecordBatch]:
        self._shell.breathe()
        if not self.has_work(around):
            return
        if self.phase != "clean-up":
            self._shell.enter("reactive")
        merging = self._merging
        at = merging if merging is not None else self._who_works(around)
        if at is None and (chosen := self._to_merge(around)) is not None:
            at, group = chosen
            self._stages[at].merge(group)
        if at is not None:
            self._set_passage_aside(at)
            own = SILENT if self._stages[at].is_merging else around
            yield from self._passed_on(at, self._stages[at].work(quantum_bytes, own), around.now)
        self._tell_who_is_done()
        self._shell.report_reached(self)

    def _tell_who_is_done(self) -> None:
        """A join that is done has no more results for the next; that of the root, none at all."""
        for stage, above in zip(self._stages, self._stages[1:], strict=False):
            if stage.join.phase == "done" and not above.join.inputs[LEFT].ended:
                above.end(LEFT)
        if self._stages[-1].join.phase == "done" and self.phase == "clean-up":
            self._shell.enter("done")
            self._passage.give()

    # What is told, and the state

    @property
    def resident_bytes(self) -> Counts:
        """Of both sides of all joins, from the base to the root."""
        of_joins = [stage.join.statistics.resident_bytes for stage in self._stages]
        return _side_by_side(of_joins)

    def view(self, around: Surroundings) -> View:
        """Of both sides of all joins, from the base to the root."""
        views = [stage.join.view(around) for stage in self._stages]
        together = {name: _side_by_side([getattr(one, name) for one in views]) for name in SUMMED}
        ended = tuple(ended for view in views for ended in view.ended)
        recent = np.concatenate([view.recent_rows for view in views])
        return View(tick=self._shell.tick, ended=ended, around=around, recent_rows=recent, **together)

    def progress(self) -> Progress:
        """What is covered of a plan is what is covered in each of its joins."""
        of_joins = [stage.join.progress() for stage in self._stages]
        budget = self._account.budget

        def of_inputs(name: str) -> tuple[int, ...]:
            return tuple(getattr(of_joins[door.stage], name)[door.side] for door in self._doors)

        arrived = of_inputs("arrived_rows")
        every = math.prod(map(float, arrived))
        return Progress(
            phase=self.phase,
            arrived_rows=arrived,
            resident_rows_by_side=of_inputs("resident_rows_by_side"),
            resident_bytes=sum(one.resident_bytes for one in of_joins),
            peak_bytes=budget.peak_bytes,
            spilled_rows_by_side=of_inputs("spilled_rows_by_side"),
            spilled_bytes=sum(one.spilled_bytes for one in of_joins),
            forgotten_rows_by_side=of_inputs("forgotten_rows_by_side"),
            results=self.results,
            arrived_pairs=every,
            covered_pairs=every * math.prod(one.covered_fraction for one in of_joins),
        )

    def snapshot(self) -> dict[str, Any]:
        self._shell.require_idle()
        stages = [stage.to_plain() for stage in self._stages]
        return {**self._shell.to_plain(), "stages": stages, "results": self.results}

    def restore(self, data: dict[str, Any]) -> None:
        self._shell.load_plain(data)
        self.results = counted(data["results"])
        self._passage.give()
        for stage, saved in zip(self._stages, data["stages"], strict=True):
            stage.load_plain(saved)

    def interrupt(self) -> None:
        self._shell.interrupt()
        for stage in self._stages:
            stage.join.interrupt()

    def close(self) -> None:
        for stage in self._stages:
            stage.join.close()
        self._passage.close()
        super().close()


def _side_by_side(counts: Sequence[Counts]) -> Counts:
    """Those of all joins. One of ranges may have one partition where others have more."""
    partitions = max(of_join.shape[1] for of_join in counts)
    return np.concatenate([np.pad(one, ((0, 0), (0, partitions - one.shape[1]))) for one in counts])
