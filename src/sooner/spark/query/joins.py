"""The joins in a DataFrame: each is known by its pacemaker, which stands after the streams of its inputs."""

import itertools
import json
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from sooner.errors import InvalidJoin
from sooner.runs.custody.shared_memory_directory import trouble_with
from sooner.spark.dataflow.pacemaker import FORMAT
from sooner.spark.interop.streams import numbered, streams_of
from sooner.spark.session.fork_request import fallbacks_of_this_process
from sooner.spark.session.workers import ask_workers


@dataclass(frozen=True)
class RunningJoin:
    """A join in a query, and which of the query's streams feed each of its inputs."""

    state: str
    partitions: int
    inputs: tuple[str, ...]
    paths: tuple[str, ...]  # how each input reaches the join, in words
    notes: tuple[str, ...]  # what else there is to explain
    shared_memory: Path | None
    stream: int
    streams: tuple[tuple[int, ...], ...]
    estimate: str = ""  # which one it makes, if it does
    tasks: int = 0  # in every batch; fewer than there are partitions if some do several

    def __str__(self) -> str:
        paths = [f"{name}: {path}" for name, path in zip(self.inputs, self.paths, strict=True)]
        in_tasks = f" by {self.tasks} tasks" if self.tasks != self.partitions else ""
        return "\n  ".join((f"join in {self.partitions} partitions{in_tasks}, state {self.state}", *self.notes, *paths))


def explain(rows: DataFrame) -> str:
    """How the rows of each input reach the joins that are in this DataFrame, and why; and what is slower than usual.

    *Packed*: a source of ours reads, filters and cuts them, and Spark moves bytes. *As Spark's rows*: all others.
    *Fallback*: what Spark's workers, which are asked for it, say is in the way where they run.
    """
    if not isinstance(rows, DataFrame) or not (joins := joins_in(rows)):
        raise InvalidJoin("There is no join of sooner.spark in this; give a DataFrame that sooner.spark.join made.")
    found = {root: _fallbacks(rows.sparkSession, root) for root in {join.shared_memory for join in joins}}
    explained = ((str(join), *(f"fallback: {one}" for one in found[join.shared_memory])) for join in joins)
    return "\n".join(map("\n  ".join, explained))


def _fallbacks(spark: SparkSession, shared_memory: Path | None) -> list[str]:
    """What the workers find: each of it once."""

    def look() -> list[str]:
        trouble = trouble_with(shared_memory)
        return [*fallbacks_of_this_process(), *([] if trouble is None else [trouble])]

    return list(dict.fromkeys(itertools.chain(*ask_workers(spark, look))))


def joins_in(rows: DataFrame | DataStreamWriter) -> list[RunningJoin]:
    """The joins in a DataFrame, or in what a writer writes."""
    joins = []
    streams = streams_of(rows)
    numbers = numbered(streams)
    for position, stream in enumerate(streams):
        if (options := stream.options_of(FORMAT)) is not None:
            counts = [int(count) for count in options["streams"].split(",")]
            before = numbers[position - sum(counts) : position]
            bounds = itertools.accumulate(counts, initial=0)
            joins.append(
                RunningJoin(
                    options["state"],
                    int(options["partitions"]),
                    tuple(options["inputs"].split(",")),
                    tuple(json.loads(options["paths"])),
                    tuple(json.loads(options["notes"])),
                    Path(options["shared_memory"]) if options["shared_memory"] else None,
                    numbers[position],
                    tuple(tuple(before[begin:end]) for begin, end in itertools.pairwise(bounds)),
                    options.get("estimate", ""),
                    int(options["tasks"]),
                )
            )
    _require_a_state_each(joins)
    return joins


def _require_a_state_each(joins: list[RunningJoin]) -> None:
    """The same join may be there twice: then it does everything twice, to the same end."""
    for join in joins:
        if any(other.state == join.state and other != join for other in joins):
            raise InvalidJoin(f"Two joins of the query have one state, {join.state}; give each its own.")
