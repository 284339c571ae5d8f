"""`sooner.spark.start`: run a query with joins in it, watch it, and end it when there is nothing left to join.

A plain `writeStream...start()` runs the joins as well; this handle adds what needs an eye on the whole query. It sees
in Spark's log that the last row of a finite source is in a batch, leaves a note for the join, and stops the query
once all partitions say that every pair of rows has met. A side that never ends by itself ends with `finish`.
"""

import contextlib
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from sooner.errors import InvalidJoin
from sooner.estimation.estimate import Estimate
from sooner.fallbacks import report
from sooner.runs.custody.shared_memory_directory import remove_copies
from sooner.spark.dataflow.endings import note_end
from sooner.spark.dataflow.wanted_estimates import wanted_estimate
from sooner.spark.interop.streams import ended_streams
from sooner.spark.query.batch_figures import BatchFigures, last_batch
from sooner.spark.query.failures import as_sooner_error
from sooner.spark.query.joins import RunningJoin, joins_in
from sooner.spark.query.running import RUNNING
from sooner.spark.session.connect import is_connect
from sooner.spark.session.versions import require_trigger
from sooner.spark.step.estimates import read_estimate
from sooner.spark.step.standing import JoinProgress, newest_batch, read_progress
from sooner.spark.step.state_directory import location_of
from sooner.threads import start_thread
from sooner.viewing import Dashboard, dashboard

POLL_SECONDS: Final = 0.05
Listener = Callable[[JoinProgress], None]


def start(writer: DataStreamWriter, path: str | None = None, *, listener: Listener | None = None) -> "Query":
    """Start what `writer` writes; `path` is for sinks that need one.

    The query stops by itself when both inputs of its joins have ended and the answer is complete. `listener` is called
    with the progress of the (last) join after each batch, from a thread of its own.
    """
    if type(writer).__name__ != DataStreamWriter.__name__:  # of a classic session or of Connect
        raise InvalidJoin(
            f"start takes a writer, and this is a {type(writer).__name__}; give it joined.writeStream, with a format "
            "and a checkpointLocation."
        )
    joins = joins_in(writer)
    if not joins:
        raise InvalidJoin("What this writer writes has no join of sooner.spark in it; start it with writer.start().")
    require_trigger(writer)
    query = writer.start(path)
    require_trigger(query)
    return Query(query, joins, listener)


class Query:
    """A running query, in the manner of Spark's `StreamingQuery`, which is at `spark_query`."""

    def __init__(self, spark_query: StreamingQuery, joins: list[RunningJoin], listener: Listener | None) -> None:
        self.spark_query = spark_query
        self._joins = joins
        self._listener = listener
        self._progress: dict[str, JoinProgress] = {}
        self._figures = BatchFigures(joins)
        self._ended: set[int] = set()  # streams
        self._finished: set[tuple[str, str]] = set()  # inputs, by state and name
        self._seen_batch = -1
        self._failure: BaseException | None = None
        self._began = time.monotonic()
        RUNNING[self.id] = self
        self._watcher = start_thread(self._watch, "sooner-query")

    @property
    def id(self) -> str:
        """Stays the same when the query goes on from its checkpoint."""
        return str(self.spark_query.id)

    @property
    def runId(self) -> str:  # noqa: N802 - as in Spark
        """Another one whenever the query is started."""
        return str(self.spark_query.runId)

    @property
    def name(self) -> str | None:
        """As `queryName` of the writer has it."""
        name: str | None = self.spark_query.name
        return name

    @property
    def status(self) -> dict[str, Any]:
        """What Spark does at the moment."""
        return dict(self.spark_query.status)

    @property
    def lastProgress(self) -> Any:  # noqa: N802 - as in Spark
        """Spark's own progress of the last batch, with the join's figures after it among the observed metrics."""
        newest = self._figures.among_metrics(self._newest_progress)
        return newest[0] if newest else None

    @property
    def recentProgress(self) -> Any:  # noqa: N802 - as in Spark
        """The same of the newest batches."""
        return self._figures.among_metrics(lambda: self.spark_query.recentProgress)

    @property
    def isActive(self) -> bool:  # noqa: N802 - as in Spark
        return bool(self.spark_query.isActive)

    @property
    def progress(self) -> JoinProgress | None:
        """The progress of the join, or of the last join if there are several; None before the first batch."""
        return self._progress.get(self._joins[-1].state)

    def progress_of(self, state: str | Path) -> JoinProgress | None:
        """The progress of the join with this state."""
        return self._progress.get(self._join(state).state)

    @property
    def joins(self) -> list[RunningJoin]:
        """The joins that are in it."""
        return self._joins

    @property
    def is_watched(self) -> bool:
        """Whether there may be news of it; asks nothing of Spark, which may be gone."""
        return self._watcher.is_alive()

    def dashboard(self) -> Dashboard:
        """A page that shows how it goes, for this machine only; it is closed when the query ends."""
        return dashboard(self)

    @property
    def estimate(self) -> Estimate | None:
        """The newest, of the last estimate if there are several; None before the first batch. Its seconds are those
        since the query was started, this time.
        """
        estimating = [join for join in self._joins if join.estimate]
        if not estimating:
            raise InvalidJoin("The query makes no estimate; sooner.spark.estimate gives a DataFrame that does.")
        join = estimating[-1]
        seconds = time.monotonic() - self._began
        return read_estimate(join.state, join.partitions, wanted_estimate(join.estimate), seconds)

    @property
    def is_complete(self) -> bool:
        """Whether every pair of rows has met, in all joins."""
        found = [self._progress.get(join.state) for join in self._joins]
        return all(progress is not None and progress.total.phase == "done" for progress in found)

    def finish(self, side: str, state: str | Path | None = None) -> None:
        """This side, or this input of many, has no more rows: what its source still gives is left out. Of which join,
        if several have one of that name?
        """
        joins = self._joins if state is None else [self._join(state)]
        having = [join for join in joins if side in join.inputs]
        if not having:
            names = dict.fromkeys(name for join in joins for name in join.inputs)
            raise InvalidJoin(f"side={side!r} must be {' or '.join(map(repr, names))}.")
        if len({join.state for join in having}) > 1:
            states = ", ".join(join.state for join in having)
            raise InvalidJoin(f"The query has several joins with a {side}; say which by its state: {states}.")
        note_end(having[0].state, side, self.id)

    def awaitTermination(self, timeout: float | None = None) -> bool:  # noqa: N802 - as in Spark
        """Wait until the query has ended, by itself or not; whether it has. Raises what made it fail."""
        try:
            ended = self.spark_query.awaitTermination(timeout)  # type: ignore[arg-type] # fractions do
        except StreamingQueryException as error:
            self._watcher.join()
            raise (as_sooner_error(error) or error) from None
        if ended is False:
            return False
        self._watcher.join()
        if self._failure is not None:
            raise self._failure
        return True

    def processAllAvailable(self) -> None:  # noqa: N802 - as in Spark
        """Wait until all that is there by now is joined, and what came of it written. Raises what made it fail.

        A query that ends meanwhile, since its inputs have, is no failure.
        """
        try:
            self.spark_query.processAllAvailable()
        except Exception as error:
            if self.spark_query.isActive:
                raise
            if (failure := self.exception()) is not None:
                raise failure from error

    def explain(self, extended: bool = False) -> None:
        """Print the plan by which Spark runs it."""
        self.spark_query.explain(extended)

    def stop(self) -> None:
        """Stop now; started again with the same checkpoint and state, the query goes on."""
        self.spark_query.stop()
        if threading.current_thread() is not self._watcher:  # a listener may stop its query
            self._watcher.join()

    def exception(self) -> BaseException | None:
        """What made the query fail, if it has."""
        error = self.spark_query.exception()
        return self._failure if error is None else as_sooner_error(error) or error

    def __repr__(self) -> str:
        """A description that asks nothing of Spark, which may be gone."""
        running = "running" if self.is_watched else "ended"
        known = "no batch yet" if self.progress is None else str(self.progress.total)
        return f"<sooner.spark.Query {running}, {known}; state {self._joins[-1].state}>"

    def __enter__(self) -> "Query":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _newest_progress(self) -> list[Any]:
        last = self.spark_query.lastProgress
        return [] if last is None else [last]

    def _join(self, state: str | Path) -> RunningJoin:
        for join in self._joins:
            if join.state == location_of(state):
                return join
        raise InvalidJoin(f"The query has no join with the state {state!r}.")

    def _watch(self) -> None:
        try:
            while self.spark_query.isActive:
                self._look()
                if self.is_complete:
                    self.spark_query.stop()
                time.sleep(POLL_SECONDS)
            self._look()
        except Exception as error:
            self._failure = error
            with contextlib.suppress(Exception):
                self.spark_query.stop()
        finally:
            for join in self._joins:
                remove_copies(join.state, join.shared_memory)

    def _look(self) -> None:
        """Take note of what the last batch brought, and of what is in the one that runs."""
        self._pass_on_ends()
        last = self.spark_query.lastProgress
        if last is None or (batch := last_batch(last)) <= self._seen_batch:
            return
        self._seen_batch = batch
        for join in self._joins:
            if (progress := read_progress(join.state, join.partitions, self._seen_batch)) is not None:
                self._progress[join.state] = progress
                self._figures.note(join, progress)
                report(progress.total.fallbacks)
            elif is_connect(self.spark_query) and newest_batch(join.state) is None:
                raise InvalidJoin(
                    f"A batch is done, and this program does not find it in the state, {join.state}: give state= by a "
                    "path or URI that means the same place here and where the Spark Connect server and its workers run."
                )
        if self._listener is not None and self.progress is not None:
            self._listener(self.progress)

    def _pass_on_ends(self) -> None:
        """Leave a note for each input all of whose streams have ended: finite sources, or joins that are done.

        What has its last row in a batch that is in Spark's log has ended for the next one, which will find the note.
        """
        open_inputs = [
            (join.state, name, streams)
            for join in self._joins
            for name, streams in zip(join.inputs, join.streams, strict=True)
            if (join.state, name) not in self._finished
        ]
        if not open_inputs:
            return
        self._ended |= {join.stream for join in self._joins if self._is_done(join)}
        unknown = {stream for *_, streams in open_inputs for stream in streams} - self._ended
        self._ended |= ended_streams(self.spark_query, unknown)
        for state, name, streams in open_inputs:
            if self._ended.issuperset(streams):
                note_end(state, name, self.id)
                self._finished.add((state, name))

    def _is_done(self, join: RunningJoin) -> bool:
        progress = self._progress.get(join.state)
        return progress is not None and progress.total.phase == "done"
