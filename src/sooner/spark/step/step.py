"""One step in one partition: version b-1 of its state and the rows of batch b give version b and results.

It is a pure function of the state and of the *set* of rows. So it does not matter in which order a shuffle delivers
them, nor whether the task is the first, a retry or a speculative twin: all publish equivalent states and give the same
results. Nothing here looks at a clock; work on disk is limited by bytes.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import pyarrow as pa
import pyarrow.fs as pafs
from pyspark import TaskContext

from sooner.budget import Budget
from sooner.errors import InvalidJoin
from sooner.kernels.gathering import as_one
from sooner.operators.events import Event
from sooner.operators.inputs import Storage
from sooner.operators.operator import Means
from sooner.operators.pieces import Rows, pieces, weight
from sooner.operators.ports import Doors
from sooner.operators.two_way.plan import TwoWayPlan
from sooner.policies.view import Surroundings
from sooner.runs.custody.private_files import make_directory
from sooner.runs.custody.shared_memory import open_shared_memory
from sooner.runs.formats.files import RunFiles
from sooner.runs.formats.mapped_runs import MappedRuns
from sooner.runs.formats.versions import Header, Versions, version_prefix
from sooner.runs.store import counted, counts_of_each
from sooner.sides import SIDES, opposite
from sooner.spark.interop.grouping import grouped
from sooner.spark.session.fork_request import fallbacks_of_this_process
from sooner.spark.shuffle.hot_keys import HOT_KEYS
from sooner.spark.step.delivery import Delivery, deliveries
from sooner.spark.step.layout import partition_directory, root_of
from sooner.spark.step.plan import StepPlan
from sooner.spark.step.shelf import SpilledShelf
from sooner.spark.step.spread_keys import SpreadKeys
from sooner.spark.step.standing import summary_of
from sooner.spark.step.state_directory import QUERY, open_state, start_from
from sooner.spark.step.step_trace import StepTrace

CODE_RANGES: Final = 4  # per Spark partition: how finely a flush can choose
ARRIVING_SHARE: Final = 2  # rows that arrive together take at most one part of the memory in so many, or are cut
MOST_ARRIVING_BYTES: Final = 256 * 2**20
WORK_BYTES: Final = 64 * 2**20  # of disk work in a step, or so many times the bytes that arrived if that is more:
TIDYING: Final = 4  # then each of them can be read and written anew, and perhaps again
QUANTUM_BYTES: Final = 16 * 2**20
CROWD: Final = 16  # of so many runs on disk that are alike the smaller ones become one
ONE_BLOCK: Final = 2**62
ALL_THERE_IS: Final = 2**62
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
            raise InvalidJoin(
                "The join runs in streaming queries only: start it with writeStream. Under Spark Connect foreachBatch "
                "runs it outside of its query: write with another sink there, such as sooner.spark.sinks.parquet."
            )
        return Attempt(int(version), query)


def run_step(plan: StepPlan, attempt: Attempt, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The results of this batch. The new version of a partition is in place once all of its results were taken."""
    with deliveries(plan, batches) as of_partitions:
        for delivery in of_partitions:
            step = Step(plan, attempt, delivery)
            yield from in_larger_batches(step.results()) if plan.then is None else plan.then(step.results())
            step.publish()


class Step:
    def __init__(self, plan: StepPlan, attempt: Attempt, delivery: Delivery) -> None:
        place = delivery.place
        self._attempt = attempt
        self._tells = plan.tells
        self._partitions = plan.partitions
        self._known_fallbacks = plan.fallbacks
        self._delivery = delivery
        filesystem, path = open_state(plan.state)
        root = root_of(filesystem, path)
        directory = partition_directory(root, place)
        self._versions = Versions(filesystem, directory)
        self._identity = {**plan.identity, QUERY: attempt.query}
        self._parent = start_from(self._versions, attempt.version, self._identity, plan.state, place)
        if self._parent is None:
            make_directory(filesystem, directory)
        self._copies = open_shared_memory(plan.state, place, plan.partition_bytes, plan.shared_memory)
        files = partial(RunFiles, filesystem, directory, removal="by the owner", prefix=version_prefix(attempt.version))
        self._mapped: list[MappedRuns] = []

        def mapped(schema: pa.Schema) -> MappedRuns:
            self._mapped.append(MappedRuns(files(schema, ONE_BLOCK, rows="resident"), self._copies))
            return self._mapped[-1]

        storage = Storage(CODE_RANGES, partial(files, block_bytes=plan.block_bytes), mapped)
        account = Budget(plan.rows_bytes).account("the operator")
        means = Means(account, crowd=CROWD, listener=self._note, memory_bytes=plan.memory_bytes, alone=False)
        self._operator = plan.operator.make(plan.inputs, delivery.schemas, storage, means)
        told = place, attempt.version, attempt.query, plan.identity
        self._trace = None if plan.trace is None else StepTrace(plan.trace, *told)
        self._arrived_bytes = 0
        self._was_busy = False
        self._most_at_once = min(account.share_bytes // ARRIVING_SHARE, MOST_ARRIVING_BYTES)
        self._shelves = [
            SpilledShelf(files(schema, plan.block_bytes), self._most_at_once) for schema in delivery.schemas
        ]
        self._doors = Doors(self._operator, self._shelves)
        self._spread: SpreadKeys | None = None
        if plan.spreads:
            assert isinstance(plan.operator, TwoWayPlan), "only keys of two inputs are spread"
            self._spread = SpreadKeys(
                plan.operator.keys(delivery.schemas),
                delivery.order,
                attempt.version,
                place,
                lambda where: Versions(filesystem, partition_directory(root, where)),
                partial(self._shelf_in, plan, filesystem, root),
            )
        self._ended = [False] * len(plan.inputs)  # by the driver's word: what is held back comes before it
        self._late_rows = [0] * len(plan.inputs)
        self._copied_rows = [0] * len(plan.inputs)
        if self._parent is not None:
            with self._versions.believed(attempt.version - 1):
                self._go_on_from(self._parent)

    def _go_on_from(self, data: dict[str, Any]) -> None:
        self._operator.restore(data["operator"])
        self._late_rows = counts_of_each(data["late_rows"], len(self._late_rows))
        self._copied_rows = counts_of_each(data["copied_rows"], len(self._copied_rows))
        if self._spread is not None:
            self._spread.load_plain(data[HOT_KEYS])
            self._spread.mark_copies(self._operator.inputs)
        nothing: dict[str, Any] = {"pieces": [], "ended": False}
        held = data.get("held", [nothing] * len(self._shelves))  # earlier releases held nothing back
        for which, (one, shelf, mine) in enumerate(zip(self._operator.inputs, self._shelves, held, strict=True)):
            shelf.load_plain(mine["pieces"])
            self._ended[which] = one.ended or bool(counted(mine["ended"]))

    def results(self) -> Iterator[pa.RecordBatch]:
        """All there are; or what is to be told at the end, whether any came or not."""
        if self._tells is None:
            yield from self._results()
            return
        for _ in self._results():
            pass
        told = self._operator.told()
        assert told is not None, "who asks has an operator that tells"
        yield self._tells(told, self._attempt.version)

    def _results(self) -> Iterator[pa.RecordBatch]:
        """Take in what arrived; then work on disk, as far as the budget of bytes goes."""
        operator, pulse = self._operator, self._delivery.pulse
        rows_came, was_at_work = any(self._delivery.n_rows), operator.phase == "reactive"
        now = float(self._attempt.version) if self._delivery.time is None else self._delivery.time
        if self._delivery.time is not None:
            operator.learn(pulse.newest or (None,) * len(operator.inputs), now)
        self._count_what_came()
        if self._delivery.n_bytes > self._most_at_once:
            operator.expect(self._delivery.n_bytes)
        yield from self._take_over(now)
        for piece in self._delivery.pieces(self._most_at_once) if rows_came else ():
            rows = self._without_late_rows(piece)
            if self._spread is not None:
                self._spread.count(rows)
            yield from self._take_in(rows, now)
        self._ended = [ended or pulse.has_ended(which) for which, ended in enumerate(self._ended)]
        yield from self._doors.look(self._ended, now)
        budget_bytes = self._work_budget()
        quantum_bytes = min(QUANTUM_BYTES, budget_bytes)
        for around in self._surroundings(was_at_work, now):
            while operator.worked_bytes + quantum_bytes <= budget_bytes and operator.has_work(around):
                yield from operator.work(quantum_bytes, around)
                yield from self._doors.look(self._ended, now)

    def _take_in(self, rows: Rows, now: float) -> Iterator[pa.RecordBatch]:
        self._arrived_bytes += weight(rows)
        if any(mine.num_rows for mine in rows):
            yield from self._doors.arrive([[mine] for mine in rows], now)

    def _take_over(self, now: float) -> Iterator[pa.RecordBatch]:
        """Rows of hot keys from other partitions, unless nothing comes any more that could match them."""
        inputs, delivery = self._operator.inputs, self._delivery
        for which, batches in () if self._spread is None else self._spread.handed_over():
            if inputs[opposite(which)].ended:
                continue
            mine = as_one(batches)
            self._copied_rows[which] += mine.num_rows
            rows = [mine if one is which else pa.RecordBatch.from_pylist([], inputs[one].schema) for one in SIDES]
            for piece in pieces(rows, delivery.order.coders, self._most_at_once):
                yield from self._take_in(piece, now)

    def _surroundings(self, was_at_work: bool, now: float) -> Iterator[Surroundings]:
        """In which disk work is done: if rows came in the middle of it, perhaps so few that it goes on after them."""
        rows, settling = tuple(self._delivery.n_rows), self._delivery.pulse.settling
        silent = not any(rows)
        settles = settling == "at once" or (settling == "in portions" and silent)
        around = Surroundings(silent, rows, settling=settles, now=now)
        yield around
        if was_at_work and not silent:
            yield replace(around, after_silence=True)

    def publish(self) -> None:
        """Put the new version in place, then let go of what only older ones needed."""
        counts = {"late_rows": self._late_rows, "copied_rows": self._copied_rows}
        both = zip(self._shelves, self._ended, strict=True)
        held = [{"pieces": shelf.to_plain(), "ended": ended} for shelf, ended in both]
        state = {"operator": self._operator.snapshot(), "held": held, **counts}
        summary = summary_of(self._operator, **counts, was_busy=self._was_busy, fallbacks=self._fallbacks())
        if self._spread is not None:
            self._spread.hear(self._delivery.pulse.hot, self._partitions)
            state[HOT_KEYS] = self._spread.to_plain(self._operator.inputs)
            summary |= self._spread.summary()
        self._versions.publish(Header(self._attempt.version, self._identity, summary), state)
        if self._parent is not None:
            version = self._attempt.version
            self._versions.sweep(version, version - 1, self._parent)
        self._copies.keep_only(name for mapped in self._mapped for name in mapped.copy_names)
        for mapped in self._mapped:
            mapped.copy()
        if self._trace is not None:
            self._trace.write()

    def _fallbacks(self) -> tuple[str, ...]:
        trouble = self._copies.trouble(sum(mapped.missed_bytes for mapped in self._mapped))
        return (*self._known_fallbacks, *fallbacks_of_this_process(), *([] if trouble is None else [trouble]))

    def _shelf_in(self, plan: StepPlan, filesystem: pafs.FileSystem, root: str, place: int, which: int) -> SpilledShelf:
        """For rows of an input, in the directory of a partition."""
        directory, schema = partition_directory(root, place), self._delivery.schemas[which]
        prefix = version_prefix(self._attempt.version)
        files = RunFiles(filesystem, directory, schema, plan.block_bytes, removal="by the owner", prefix=prefix)
        return SpilledShelf(files, self._most_at_once)

    def _count_what_came(self) -> None:
        """Rows that are late, and copies among the others."""
        came = zip(self._ended, self._delivery.n_rows, self._delivery.n_copies, strict=True)
        for which, (ended, rows, copies) in enumerate(came):
            if ended:
                self._late_rows[which] += rows - copies
            else:
                self._copied_rows[which] += copies

    def _without_late_rows(self, piece: Rows) -> Rows:
        """An input that was said to have ended gets no more rows, whatever its source still gives."""
        return [rows.slice(0, 0) if ended else rows for rows, ended in zip(piece, self._ended, strict=True)]

    def _work_budget(self) -> int:
        """Bytes of disk work in this step; if it is the last there will be, all has to be done."""
        if self._delivery.pulse.settling == "at once":
            return ALL_THERE_IS
        return max(WORK_BYTES, TIDYING * self._arrived_bytes)

    def _note(self, event: Event) -> None:
        self._was_busy = True
        if self._trace is not None:
            self._trace.note(event)


def in_larger_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows: each batch on its way to Spark costs as much as thousands of rows."""
    return (pa.concat_batches(group) for group in grouped(batches, RESULT_ROWS, RESULT_BYTES))
