"""Joins of several partitions by some tasks, without Spark, whose state is given other partitions on the way."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from join_steps import QUERY, Arriving, Pairs, nothing, pairs_in, plan_of, summary_of
from sooner.operators.two_way.plan import TwoWayPlan
from sooner.sides import SIDES
from sooner.spark.joins.meeting_places import placements
from sooner.spark.shuffle.packing import plain_placement
from sooner.spark.states.contents import UsedState
from sooner.spark.states.rescaling import PLACEMENTS, Rescaled, rescale
from sooner.spark.step.in_use import note_done
from sooner.spark.step.plan import StepPlan
from sooner.spark.step.step import Attempt, run_step
from step_schedules import StepSchedule


def plan_for(schedule: StepSchedule, folder: Path, algorithm: str, how: str, partitions: int) -> StepPlan:
    schemas = [schedule.left.schema, schedule.right.schema]
    left, right = schemas
    memory_bytes = schedule.memory_bytes * partitions
    keys = schedule.keys, schedule.keys
    plan = plan_of(left, right, folder, *keys, algorithm, memory_bytes, how=how, near=schedule.near)
    assert isinstance(plan.operator, TwoWayPlan)
    placed = placements(plan.operator, schemas, partitions)
    identity = {
        "partitions": partitions,
        "algorithm": algorithm,
        "left": str(schemas[0]),
        "right": str(schemas[1]),
        PLACEMENTS: list(map(plain_placement, placed)),
    }
    return replace(plan, partitions=partitions, identity=identity)


@dataclass
class PlacedLane:
    """A join that goes on from version to version, with as many partitions and tasks as its state says."""

    plan: StepPlan
    schemas: list[pa.Schema]
    version: int = 0
    results: list[pa.RecordBatch] = field(default_factory=list)

    def step(self, arriving: Arriving, only_tasks: int | None = None) -> None:
        """Results of a batch of which only some tasks came to an end are none."""
        tasks = self.plan.tasks or self.plan.partitions
        found = []
        for task in range(tasks if only_tasks is None else only_tasks):
            places = range(task, self.plan.partitions, tasks)
            batches = itertools.chain(*(self._of_place(arriving, place) for place in places))
            found += list(run_step(self.plan, Attempt(self.version, QUERY), batches))
        if only_tasks is None:
            self.results += found
            self.version += 1

    def rescale(self, tasks: int, *, is_done: bool = True) -> Rescaled:
        """From now on so many tasks; it is known that the last batch is done, or not."""
        if is_done and self.version:
            note_done(self.plan.state, self.version - 1)
        done = rescale(self.plan.state, tasks)
        used = UsedState.at(self.plan.state)
        identity = self.plan.identity | {"partitions": used.partitions}
        self.plan = replace(self.plan, partitions=used.partitions, tasks=used.tasks, identity=identity)
        return done

    def end(self) -> Pairs:
        """Both sides end; go on until all is done. All that ever came out."""
        for _ in range(200):
            self.step(nothing(self.plan, (True, True)))
            if all(phase == "done" for phase in self._phases()):
                return pairs_in(self.results)
        raise AssertionError("the join does not come to its end")

    def arrived_rows(self) -> list[int]:
        said = [summary_of(self.plan, self.version - 1, place)["progress"] for place in range(self.plan.partitions)]
        return [sum(one["arrived_rows"][side] for one in said) for side in SIDES]

    def _phases(self) -> Iterator[str]:
        for place in range(self.plan.partitions):
            yield summary_of(self.plan, self.version - 1, place)["progress"]["phase"]

    def _of_place(self, arriving: Arriving, place: int) -> Iterator[pa.RecordBatch]:
        assert isinstance(self.plan.operator, TwoWayPlan)
        placed = placements(self.plan.operator, self.schemas, self.plan.partitions)
        mine = []
        for table, placement in zip((arriving.left, arriving.right), placed, strict=True):
            if not table.num_rows:
                mine.append(table)
                continue
            rows = table.combine_chunks().to_batches()[0]
            found = np.logical_or.reduce([places == place for places in placement.places(rows)])
            complete = placement.complete(rows)
            if complete is not None:  # round robin: each of them in one place, whichever array says it
                found = np.where(complete, found, placement.places(rows)[0] == place)
            mine.append(table.filter(pa.array(found)))
        return replace(arriving, left=mine[0], right=mine[1]).batches(self.plan, place)
