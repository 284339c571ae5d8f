"""A query on Spark, and the state of one, as a dashboard shows them: after each batch, by what partitions say."""

import threading
import time
import weakref
from typing import Any, Final, NoReturn

from sooner.spark.query.query import Query
from sooner.spark.states.contents import UsedState
from sooner.spark.step.standing import JoinProgress, read_progress
from sooner.threads import start_thread
from sooner.trace import TraceHeader
from sooner.ui.dashboard.estimates import Intervals
from sooner.ui.dashboard.metrics import metrics_of
from sooner.ui.dashboard.picture import Picture
from sooner.ui.dashboard.progress import plain_progress
from sooner.ui.dashboard.series import Known
from sooner.ui.dashboard.server import Server
from sooner.ui.dashboard.subject import DONE, STOPPED, Refused
from sooner.ui.dashboard.time_left import Clock

LOOK_SECONDS: Final = 0.25


class Batches:
    """A picture that grows by the progress after each batch."""

    def __init__(self, header: TraceHeader) -> None:
        self.picture = Picture(header)
        self.newest: JoinProgress | None = None
        self._clock = Clock()
        self._left: Any = None
        self._lock = threading.Lock()

    def note(self, seconds: float, progress: JoinProgress | None) -> None:
        """How far it is, if that is news."""
        with self._lock:
            said = self.newest
            if progress is None or (said is not None and progress.batch <= said.batch):
                return
            self.newest = progress
            if progress.total.phase != self.picture.phase:
                self.picture.phases.append((seconds if said is not None else 0.0, progress.total.phase))
            self.picture.sample(seconds, progress.total)
            self._left = self._clock.look(seconds, progress.total, None)

    def news(self, known: Known, seconds: float) -> dict[str, Any]:
        with self._lock:
            said = self.newest
            state = {**self.picture.to_plain(), "seconds": max(seconds, self.picture.seconds)}
            state["told"] = self.picture.seconds  # when the newest batch was
            if said is not None:
                state |= plain_progress(said.total, self._clock, self._left)
                parts = said.partitions
                state |= {
                    "batch": said.batch,
                    "partitions": [{"covered": one.covered_fraction, "results": one.results} for one in parts],
                    "hot_keys": [{"name": key.name, "since": key.since} for key in said.hot_keys],
                    "late": list(said.late_rows),
                    "memory": _memory(said),
                }
            return {"series": self.picture.news(known), "state": state}


class QueryOnSpark:
    """A query that `sooner.spark.start` started. It is held weakly; a thread of ours looks whether it has ended."""

    def __init__(self, query: Query) -> None:
        self._query = weakref.ref(query)
        join = query.joins[-1]
        self._inputs = list(join.inputs)
        self._has_estimate = bool(join.estimate)
        self._about = {"title": "a query on Spark", "notes": str(join), "inputs": self._inputs}
        self._batches = Batches(TraceHeader("a query on Spark", query.id, time.time(), [], self._inputs))
        self._intervals = Intervals()
        self._began = time.monotonic()
        self._how_it_ended = ""

    def about(self) -> dict[str, Any]:
        newest = self._batches.newest
        return {
            **self._about,
            "algorithm": "" if newest is None else newest.algorithm,
            "expected": [],
            "can_stop": True,
            "can_finish": self._inputs,
        }

    def news(self, known: Known) -> dict[str, Any]:
        told = self._batches.news(known, time.monotonic() - self._began)
        told["state"]["estimate"] = self._intervals.to_plain()
        return told

    def over(self) -> str:
        return self._how_it_ended

    def stop(self) -> None:
        start_thread(self._running().stop, "sooner-dashboard-stop")  # Spark takes its time

    def finish(self, name: str) -> None:
        self._running().finish(name)

    def metrics(self) -> str:
        newest = self._batches.newest
        return metrics_of(None if newest is None else newest.total, self._inputs)

    def watch(self) -> None:
        """Until it has ended."""
        while (query := self._query()) is not None:
            is_active = query.is_watched
            self._batches.note(time.monotonic() - self._began, query.progress)
            if self._has_estimate and query.progress is not None and (found := query.estimate) is not None:
                self._intervals.add(found)
            if not is_active:
                self._how_it_ended = DONE if query.is_complete else STOPPED
                return
            del query
            time.sleep(LOOK_SECONDS)
        self._how_it_ended = "The query was dropped."

    def _running(self) -> Query:
        query = self._query()
        if query is None or self._how_it_ended:
            raise Refused("The query has ended.")
        return query


def open_on_spark(query: Query) -> Server:
    """It is closed when the query has ended."""
    subject = QueryOnSpark(query)
    server = Server(subject)

    def watch() -> None:
        subject.watch()
        server.end_soon()

    start_thread(watch, "sooner-dashboard-watch")
    return server


class StateOnSpark:
    """A state directory, whether a query runs with it or not: its newest batch, again and again."""

    def __init__(self, state: str) -> None:
        self._used = UsedState.at(state)
        self._inputs = ["left", "right"] if self._used.is_of_a_join else []
        title = f"the state {self._used.location}"
        self._batches = Batches(TraceHeader(title, "", time.time(), [], self._inputs))
        self._began = time.monotonic()

    def about(self) -> dict[str, Any]:
        identity = self._used.identity
        return {
            "title": self._batches.picture.header.what,
            "algorithm": str(identity.get("algorithm", "")),
            "inputs": self._inputs,
            "expected": [],
            "notes": f"{self._used.partitions} partitions",
            "is_state": True,
        }

    def news(self, known: Known) -> dict[str, Any]:
        self._look()
        return self._batches.news(known, time.monotonic() - self._began)

    def over(self) -> str:
        return ""

    def stop(self) -> NoReturn:
        raise Refused("This page reads a state; stop the query where it was started.")

    def finish(self, name: str) -> NoReturn:
        raise Refused(f"This page reads a state; finish {name!r} where the query was started.")

    def metrics(self) -> str:
        self._look()
        newest = self._batches.newest
        return metrics_of(None if newest is None else newest.total, self._inputs)

    def _look(self) -> None:
        version = self._used.complete_version()
        progress = None if version is None else read_progress(self._used.location, self._used.partitions, version)
        self._batches.note(time.monotonic() - self._began, progress)


def _memory(said: JoinProgress) -> list[list[int]]:
    """What each partition has in memory of each input: its bytes, as its rows divide them."""
    inputs = len(said.total.arrived_rows)
    return [
        [one.resident_bytes * one.resident_rows_by_side[which] // max(one.resident_rows, 1) for one in said.partitions]
        for which in range(inputs)
    ]
