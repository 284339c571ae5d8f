"""Where the rows of an operator are kept on Spark, as the user gave it: state, memory, partitions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from sooner.arguments import plain_path, require_whole_number
from sooner.budget import format_bytes
from sooner.errors import InvalidJoin
from sooner.operators.operator import OperatorPlan
from sooner.spark.dataflow.inflow import Inflow
from sooner.spark.interop.locations import inside_of
from sooner.spark.joins.checking import require_enough, usable_memory
from sooner.spark.session.workers import cores_of
from sooner.spark.shuffle.placing import Placement
from sooner.spark.shuffle.shared_columns import share_columns
from sooner.spark.states.rescaling import rescale
from sooner.spark.step.layout import enough_partitions, read_layout
from sooner.spark.step.plan import StepPlan
from sooner.spark.step.state_directory import location_of, open_state, require_same_join, stored_identity


@dataclass(frozen=True)
class Rooms:
    """Checked, with what was left out as the state or the session has it."""

    location: str
    partitions: int  # that the state has, or is to have
    memory_bytes: int
    shared_memory: Path | None
    trace: str | None
    stored: dict[str, Any] | None  # which join the state belongs to, if it has been used
    is_divided: bool = False  # whether the state has been used by several joins, each with its part
    tasks: int | None = None  # that were asked for, of a state that has been used

    @staticmethod
    def of(
        spark: SparkSession,
        memory: int | str | None,
        partitions: int | None,
        state: str | Path | None,
        shared_memory: str | Path | None,
        trace: str | Path | None,
    ) -> "Rooms":
        where = None if shared_memory is None else plain_path("shared_memory", shared_memory)
        location = location_of(state)
        stored = stored_identity(location)
        of_part = stored_identity(_part(location, 1)) if stored is None else None
        if partitions is not None:
            require_whole_number("partitions", partitions)
        tasks = None
        if (used := stored or of_part) is None:
            partitions = cores_of(spark) if partitions is None else partitions
        else:
            tasks = partitions or read_layout(*open_state(_part(location, 1) if of_part else location)).tasks
            partitions = _partitions_for(tasks, used)
        told = None if trace is None else location_of(trace, "trace")
        n_bytes = usable_memory(memory, partitions)
        return Rooms(location, partitions, n_bytes, where, told, stored, of_part is not None, tasks)

    @property
    def algorithm(self) -> str | None:
        """The name of that which the state was made with, if it has been used."""
        return None if self.stored is None else self.stored.get("algorithm")

    def divided(self, joins: int) -> list["Rooms"]:
        """Rooms for so many joins in the place of one: each with its share of the memory and its part of the state."""
        share = self.memory_bytes // joins
        have = f"{format_bytes(self.memory_bytes)} of memory are too little"
        require_enough(share, self.partitions, f"{have} for {joins} joins with {self.partitions} partitions each")
        return [
            replace(
                self,
                location=_part(self.location, number),
                partitions=self.partitions if stored is None else _partitions_for(self.tasks, stored),
                memory_bytes=share,
                trace=None if self.trace is None else _part(self.trace, number),
                stored=stored,
                is_divided=False,
            )
            for number in range(1, joins + 1)
            for stored in [stored_identity(_part(self.location, number))]
        ]

    def require_same(self, identity: dict[str, Any], placements: Sequence[Placement] | None = None) -> None:
        """Refuse a state that another join has left, and let one that is this join's have as many tasks as are wanted.
        If it must be divided for that, `placements` say how.
        """
        if self.is_divided:
            raise InvalidJoin(
                f"The state in {self.location} is of many inputs that are joined two at a time; give this join another."
            )
        if self.stored is not None:
            require_same_join(self.location, self.stored, identity | {"partitions": self.stored["partitions"]})
            if self.tasks is not None:
                rescale(self.location, self.tasks, placements)

    def step(
        self,
        operator: OperatorPlan[Any],
        inputs: Sequence[str],
        columns: Sequence[Sequence[str]],
        inflows: Sequence[Inflow],
        identity: dict[str, Any],
        *,
        words: bool = False,
        times: bool = False,
    ) -> StepPlan:
        """What a step of an operator does here, with inputs that come this way."""
        return StepPlan(
            operator=operator,
            state=self.location,
            inputs=tuple(inputs),
            columns=tuple(map(tuple, columns)),
            packed=tuple(inflow.packed for inflow in inflows),
            shared=share_columns(*(inflow.columns for inflow in inflows), words=words, times=times),
            memory_bytes=self.memory_bytes,
            partitions=self.partitions,
            identity=identity,
            shared_memory=self.shared_memory,
            trace=self.trace,
            tasks=self.tasks,
        )


def _partitions_for(tasks: int | None, stored: dict[str, Any]) -> int:
    """How many a state must have for so many tasks; as many as it has if nobody asks."""
    partitions = int(stored["partitions"])
    return partitions if tasks is None else enough_partitions(partitions, tasks)


def _part(folder: str, number: int) -> str:
    return inside_of(folder, f"join-{number}")
