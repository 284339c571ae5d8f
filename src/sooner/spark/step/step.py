"""One step of a join in one partition: version b-1 of its state and the rows of batch b give version b and results.

It is a pure function of the state and of the *set* of rows. So it does not matter in which order a shuffle delivers
them, nor whether the task is the first, a retry or a speculative twin: all publish equivalent states and give the same
results. Nothing here looks at a clock; work on disk is limited by bytes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pyspark import TaskContext

from sooner.budget import Budget
from sooner.errors import InvalidJoin
from sooner.operators.events import Event, Merged, Scanned
from sooner.operators.pieces import Sides
from sooner.operators.two_way.join import TwoWayJoin
from sooner.operators.two_way.output import plan_output
from sooner.runs.files import RunFiles
from sooner.runs.private_files import make_directory
from sooner.runs.saved_runs import MappedRuns
from sooner.runs.shared_memory import open_shared_memory
from sooner.runs.versions import Header, Versions, version_prefix
from sooner.sides import LEFT, RIGHT, SIDES
from sooner.spark.plan import JoinPlan
from sooner.spark.shuffle.delivery import Arrivals
from sooner.spark.step.standing import summary_of
from sooner.spark.step.state_directory import QUERY, open_state, partition_directory, start_from

CODE_RANGES: Final = 4  # per Spark partition: how finely a flush can choose
FRAMING_SHARE: Final = 16  # of the memory, one part in so many is for what files add to rows
ARRIVING_SHARE: Final = 2  # rows that arrive together take at most one part of the memory in so many, or are cut
MOST_ARRIVING_BYTES: Final = 256 * 2**20
WORK_BYTES: Final = 64 * 2**20  # of disk work in a step
LEAST_TASK_BYTES: Final = 64 * 2**10  # what any piece of disk work counts as
ONE_BLOCK: Final = 2**62
MEMORY_IN_BLOCKS: Final = 64  # blocks of spilled runs are small beside the memory
LEAST_BLOCK_BYTES: Final = 16 * 2**10
MOST_BLOCK_BYTES: Final = 2**20
RESULT_ROWS: Final = 64 * 1024  # results go to Spark in batches of about so many rows,
RESULT_BYTES: Final = 8 * 2**20  # and of at most so many bytes, unless one row has more


@dataclass(frozen=True)
class Attempt:
    """Which batch of which query a task works for."""

    version: int
    query: str

    @staticmethod
    def of_this_task() -> "Attempt":
        context = TaskContext.get()
        assert context is not None, "a step runs inside a Spark task"
        version = context.getLocalProperty("streaming.sql.batchId")
        query = context.getLocalProperty("sql.streaming.queryId")
        if version is None or query is None:
            raise InvalidJoin("The join runs in streaming queries only: start it with writeStream.")
        return Attempt(int(version), query)


def run_step(plan: JoinPlan, attempt: Attempt, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The results of this batch. The new version is in place once all of them were taken."""
    with Arrivals(plan, batches) as arrivals:
        if arrivals.place is None:
            return
        step = Step(plan, attempt, arrivals, arrivals.place)
        yield from in_larger_batches(step.results())
        step.publish()


class Step:
    def __init__(self, plan: JoinPlan, attempt: Attempt, arrivals: Arrivals, place: int) -> None:
        self._plan = plan
        self._attempt = attempt
        self._arrivals = arrivals
        filesystem, path = open_state(plan.state)
        directory = partition_directory(path, place)
        self._versions = Versions(filesystem, directory)
        self._identity = {**plan.identity, QUERY: attempt.query}
        self._parent = start_from(self._versions, attempt.version, self._identity, plan.state, place)
        if self._parent is None:
            make_directory(filesystem, directory)
        self._late_rows: list[int] = [0, 0] if self._parent is None else self._parent["late_rows"]

        share_bytes = plan.partition_bytes
        prefix = version_prefix(attempt.version)
        self._copies = open_shared_memory(plan.state, place, share_bytes, plan.shared_memory)
        schemas = arrivals.schemas
        block_bytes = min(max(share_bytes // MEMORY_IN_BLOCKS, LEAST_BLOCK_BYTES), MOST_BLOCK_BYTES)
        spilled = [
            RunFiles(filesystem, directory, schema, block_bytes, removal="by the owner", prefix=prefix)
            for schema in schemas
        ]
        resident = [
            RunFiles(filesystem, directory, schema, ONE_BLOCK, rows="resident", removal="by the owner", prefix=prefix)
            for schema in schemas
        ]
        self._mapped = MappedRuns(resident[LEFT], self._copies), MappedRuns(resident[RIGHT], self._copies)
        self._join = TwoWayJoin(
            arrivals.keys,
            arrivals.coders,
            (spilled[LEFT], spilled[RIGHT]),
            plan.algorithm,
            Budget(share_bytes - share_bytes // FRAMING_SHARE),
            CODE_RANGES,
            result_of=plan_output(*schemas, arrivals.keys, plan.suffixes).batch,
            listener=self._note,
            saved_runs=self._mapped,
        )
        self._work_bytes = 0
        self._was_busy = False
        if self._parent is not None:
            self._join.restore(self._parent["join"])

    def results(self) -> Iterator[pa.RecordBatch]:
        """Take in what arrived, or use the silence; then whatever the pulse allows."""
        join, pulse = self._join, self._arrivals.pulse
        if self._rows_came:
            for piece in self._arrivals.pieces(min(join.budget.limit_bytes // ARRIVING_SHARE, MOST_ARRIVING_BYTES)):
                left, right = self._without_late_rows(piece)
                if left.num_rows or right.num_rows:
                    yield from join.arrive([left], [right], now=float(self._attempt.version))
        elif join.phase in ("arriving", "reactive") and pulse.settling == "not now":
            yield from self._use_silence()
        for side in SIDES:
            if pulse.ended[side] and not join.ended[side]:
                join.end(side)
        while join.phase == "clean-up" and self._may_work:
            yield from join.clean_up()
        if pulse.settling == "at once" or (pulse.settling == "in portions" and not self._rows_came):
            while not join.is_settled and self._may_work:
                yield from join.settle()

    def publish(self) -> None:
        """Put the new version in place, then let go of what only older ones needed."""
        self._join.compact()
        state = {"join": self._join.snapshot(), "late_rows": self._late_rows}
        summary = summary_of(self._join, self._late_rows, self._was_busy)
        self._versions.publish(Header(self._attempt.version, self._identity, summary), state)
        if self._parent is not None:
            version = self._attempt.version
            self._versions.sweep(version, version - 1, _files_in(self._parent["join"]))
        self._copies.keep_only(name for mapped in self._mapped for name in mapped.copy_names)
        for mapped in self._mapped:
            mapped.copy()

    def _without_late_rows(self, piece: Sides) -> Sides:
        """A side that was said to have ended gets no more rows, whatever its source still gives."""
        rows = list(piece)
        for side in SIDES:
            if self._join.ended[side]:
                self._late_rows[side] += rows[side].num_rows
                rows[side] = rows[side].slice(0, 0)
        return rows[LEFT], rows[RIGHT]

    @property
    def _rows_came(self) -> bool:
        return any(self._arrivals.n_rows)

    @property
    def _may_work(self) -> bool:
        """Whether this step may do more on disk; if it is the last there will be, it has to."""
        return self._work_bytes < WORK_BYTES or self._arrivals.pulse.settling == "at once"

    def _use_silence(self) -> Iterator[pa.RecordBatch]:
        while self._may_work and (task := self._join.choose_task()) is not None:
            self._work_bytes += LEAST_TASK_BYTES
            yield from self._join.perform(task)

    def _note(self, event: Event) -> None:
        self._was_busy = True
        if isinstance(event, Scanned | Merged):
            self._work_bytes += event.n_bytes


def in_larger_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows: each batch on its way to Spark costs as much as thousands of rows."""
    held: list[pa.RecordBatch] = []
    rows, n_bytes = 0, 0
    for batch in batches:
        if held and n_bytes + batch.nbytes > RESULT_BYTES:
            yield pa.concat_batches(held)
            held, rows, n_bytes = [], 0, 0
        held.append(batch)
        rows, n_bytes = rows + batch.num_rows, n_bytes + batch.nbytes
        if rows >= RESULT_ROWS:
            yield pa.concat_batches(held)
            held, rows, n_bytes = [], 0, 0
    if held:
        yield pa.concat_batches(held)


def _files_in(join: dict[str, Any]) -> set[str]:
    partitions = [partition for side in join["partitions"] for partition in side]
    return {run["file"] for partition in partitions for run in (*partition["resident"], *partition["spilled"])}
