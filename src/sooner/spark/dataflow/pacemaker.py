"""The pacemaker: a source that has news when a join has something to do although no row comes.

Spark runs a batch only when a source has news. The pacemaker looks at what the partitions said in their last version,
and gives a pulse when there is work on disk, when there is a note that an input has ended, and after each batch that
changed something. When nothing is left to do it rests, and so does the query. What a pulse says goes through the
pacemaker's offsets, and so through Spark's own log: a batch that runs again is told the same as before.

When Spark is to stop by itself, all that is there must be joined first: such pulses ask the steps to settle it. With
`availableNow` that may take several batches. With `once` there is one only, which Spark shows by lifting the limit that
the pacemaker asks for.

A pulse is a row, and so Spark counts it as one that came in. It also carries how far the join is, for Spark's progress:
as of the batch before, since the pacemaker cannot see what will come. That is why a pulse follows the last change too.
"""

import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader
from pyspark.sql.datasource_internal import _SimpleStreamReaderWrapper

from sooner.errors import InvalidJoin, StateCorrupted
from sooner.spark.dataflow.endings import noted_ends
from sooner.spark.dataflow.figures import figures, figures_of, metrics_of
from sooner.spark.dataflow.finding_hot_keys import newly_hot
from sooner.spark.session.versions import (
    SETS_LIMITS,
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from sooner.spark.shuffle.row_kinds import SETTLING, Settling, text_of_pulse
from sooner.spark.shuffle.shared_columns import SAID, quoted
from sooner.spark.step.in_use import note_done, note_in_use
from sooner.spark.step.standing import Standing, newest_batch, read_standing

FORMAT: Final = "sooner.pulses"
LOOK_SECONDS: Final = 0.25  # while resting: Spark asks a hundred times a second

_NAMED: Final[Counter[str]] = Counter()  # how many joins this program has made with a state

Offset = dict[str, Any]
Row = tuple[Any, ...]


class Pulses(DataSource):
    """Options: `state`, `partitions` and the names of the `inputs`; and what the query's handle has to know."""

    @classmethod
    def name(cls) -> str:
        """What `format` takes."""
        return FORMAT

    def schema(self) -> str:
        """What a pulse says to the steps, and how far the join was before it."""
        said = ("ended int", "settling int", f"{SAID} string")
        return ", ".join((*said, *(f"{quoted(name)} {kind}" for name, kind in figures_of(self._inputs).items())))

    def streamReader(self, schema: object) -> _SimpleStreamReaderWrapper:  # noqa: ARG002, N802 - Spark's contract
        """The pacemaker; it runs in the driver."""
        retention = self.options.get("retention", "")
        complete_rows = json.loads(self.options.get("complete_rows", "[]"))
        where = self.options["state"], int(self.options["partitions"]), self._inputs
        reader = PulseReader(*where, retention, complete_rows, json.loads(self.options.get("spreads", "[]")))
        return PulseStream(reader) if SETS_LIMITS else _SimpleStreamReaderWrapper(reader)

    @property
    def _inputs(self) -> list[str]:
        return self.options["inputs"].split(",")


class PulseStream(_SimpleStreamReaderWrapper):
    """Spark's wrapper of a simple reader, whose rows need no task; but this one learns of its limit."""

    def __init__(self, pacemaker: "PulseReader") -> None:
        super().__init__(pacemaker)
        self._pacemaker = pacemaker

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """A pulse at a time, unless all has to be done in one batch."""
        return ReadMaxRows(1)

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        """Where the next batch ends."""
        if isinstance(limit, ReadAllAvailable):
            self._pacemaker.prepare_for_one_batch()
        return super().latestOffset(start, ReadAllAvailable())


class PulseReader(SimpleDataSourceStreamReader, SupportsTriggerAvailableNow):
    """Decides when there is a pulse, and what it says."""

    def __init__(
        self,
        state: str,
        partitions: int,
        inputs: Sequence[str],
        retention: str = "",
        complete_rows: Sequence[int | None] = (),
        spreads: Sequence[int] = (),
    ) -> None:
        self._retention = retention
        self._complete_rows = complete_rows  # of each input, where that is known and it ends with the last of them
        self._spreads = tuple(spreads)  # sides whose rows may be dealt out, if their key is hot
        self._state = state
        self._partitions = partitions
        self._inputs = inputs
        self._settling: Settling = "not now"
        self._standing: Standing | None = None
        self._resting_since: tuple[Offset, float] | None = None
        self._has_given_any = False

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """What is there is to be joined, and then the query is to stop."""
        self._require_that_time_passes("availableNow")
        self._settling = "in portions"

    def prepare_for_one_batch(self) -> None:
        """What is there is to be joined in the one batch that there will be."""
        self._require_that_time_passes("once")
        self._settling = "at once"

    def _require_that_time_passes(self, trigger: str) -> None:
        if self._retention:
            raise InvalidJoin(
                f"retention={self._retention} counts the time since rows arrived, but with the trigger {trigger} all "
                "that is there arrives at once, however long it took to come; use a trigger that goes on."
            )

    def initialOffset(self) -> Offset:  # noqa: N802
        """Before the first pulse."""
        note_in_use(self._state)
        return self._offset(0, 0)

    def read(self, start: Offset) -> tuple[Iterator[Row], Offset]:
        """One more pulse, if there is something to do. All batches before it are done."""
        note_in_use(self._state)
        self._require_own(start)
        if self._is_asleep(start):
            return iter([]), start
        is_known = self._look()
        ended = start["ended"] | self._news_of_ends(start["ended"])
        if is_known and ended == start["ended"] and (not self._is_due(start["pulse"]) or self._may_wait(start)):
            self._resting_since = (start, time.monotonic())
            return iter([]), start
        self._has_given_any, self._resting_since = True, None
        end = self._offset(start["pulse"] + 1, ended)
        return iter([self._row(end, self._standing)]), end

    def readBetweenOffsets(self, start: Offset, end: Offset) -> Iterator[Row]:  # noqa: ARG002, N802
        """The same pulse again, with what was known then."""
        self._require_own(end)
        return iter([self._row(end, None)])

    def _require_own(self, offset: Offset) -> None:
        """It comes from Spark's log, which somebody may have changed."""
        kinds = {"pulse": int, "ended": int, "settling": str, "newest": list}
        is_own = isinstance(offset, dict) and isinstance(offset.get("hot", []), list)
        if not is_own or any(type(offset.get(name)) is not kind for name, kind in kinds.items()):
            raise StateCorrupted(
                f"The checkpoint has {offset!r} as the offset of the join in {self._state}; it is none."
            )

    def _is_asleep(self, start: Offset) -> bool:
        """Looking costs something; but a query that is to stop by itself does so as soon as there is no pulse."""
        if self._resting_since is None or self._settling != "not now":
            return False
        where, since = self._resting_since
        return where == start and time.monotonic() - since < LOOK_SECONDS

    def _look(self) -> bool:
        """Whether it is known how the join stands: not if a partition lacks the newest version."""
        newest = newest_batch(self._state)
        if newest is None:
            self._standing = None
        elif self._standing is None or self._standing.progress.batch != newest:
            self._standing = read_standing(self._state, self._partitions, newest)
            if self._standing is not None:
                note_done(self._state, newest)
        return newest is None or self._standing is not None

    def _news_of_ends(self, known: int) -> int:
        """A note counts once a batch has shown which query the state belongs to."""
        if self._standing is None or known == 2 ** len(self._inputs) - 1:
            return 0
        arrived = self._standing.progress.total.arrived_rows
        both = enumerate(zip(self._complete_rows, arrived, strict=False))
        complete = sum((rows is not None and came >= rows) << which for which, (rows, came) in both)
        return complete | noted_ends(self._state, self._inputs, self._standing.query)

    def _is_due(self, pulses: int) -> bool:
        standing = self._standing
        if self._settling == "at once":
            return True  # rows may come in this batch, and must be told
        if standing is None:
            return pulses == 0
        if self._settling == "in portions":
            return standing.was_busy or not standing.is_settled
        # A run begins with a pulse: whoever watches the query hears how far it is, and that it is done if it is.
        return standing.was_busy or standing.has_work or not self._has_given_any

    def _may_wait(self, start: Offset) -> bool:
        """Whether the pulse that all is done may wait: whoever watches the query will stop it without a batch."""
        if self._settling != "not now" or self._standing is None or self._standing.progress.total.phase != "done":
            return False
        return self._resting_since is None or self._resting_since[0] != start

    def _offset(self, pulse: int, ended: int) -> Offset:
        """The offset of a pulse, with a name, because Spark has none for a source in Python."""
        newest = [] if self._standing is None else list(self._standing.progress.total.newest)
        said: Offset = {"pulse": pulse, "ended": ended, "settling": self._settling, "newest": newest}
        if self._spreads and self._standing is not None and (hot := newly_hot(self._standing, self._spreads, ended)):
            said["hot"] = hot
        return {"pacemaker of": self._state, **said}

    def _row(self, offset: Offset, standing: Standing | None) -> Row:
        known = figures(None if standing is None else standing.progress, self._inputs)
        said = text_of_pulse(offset["newest"], offset.get("hot", []))
        return (offset["ended"], SETTLING.index(offset["settling"]), said, *known.values())


def with_figures(pulses: DataFrame, state: str, inputs: Sequence[str]) -> DataFrame:
    """The same pulses; how far the join is appears in Spark's progress, among the observed metrics, under this name."""
    # Of one row, and of one that came twice.
    largest: list[Column] = [F.max(quoted(name)).alias(name) for name in figures_of(inputs)]
    _NAMED[state] += 1
    # Two joins with one state are refused in a sentence when they start; Spark would refuse their union in a page.
    again = f" ({_NAMED[state]})" if _NAMED[state] > 1 else ""
    return pulses.observe(f"{metrics_of(state)}{again}", *largest)
