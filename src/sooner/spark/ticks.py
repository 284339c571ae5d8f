"""The ticker: a source that has news when a join has something to do although no row comes.

Spark runs a batch only when a source has news. The ticker looks at what the partitions said in their last version, and
gives a tick when there is work on disk, when there is word that a side has ended, and after each batch that changed
something. When nothing is left to do it rests, and so does the query. What a tick says goes through the ticker's
offsets, and so through Spark's own log: a batch that runs again is told the same as before.

When Spark is to stop by itself, all that is there must be joined first: such ticks ask the steps to settle it. With
`availableNow` that may take several batches. With `once` there is one only, which Spark shows by lifting the limit that
the ticker asks for.

A tick is a row, and so Spark counts it as one that came in. It also carries how far the join is, for Spark's progress:
as of the batch before, since the ticker cannot see what will come. That is why a tick follows the last change too.
"""

import time
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader
from pyspark.sql.datasource_internal import _SimpleStreamReaderWrapper
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from sooner.spark.progress import JoinProgress, Standing, newest_batch, read_standing
from sooner.spark.row_kinds import SETTLING, Settling
from sooner.spark.words import finished_sides

FORMAT: Final = "sooner.ticks"
LOOK_SECONDS: Final = 0.25  # while resting: Spark asks a hundred times a second
ALL_ENDED: Final = 3
FIGURES: Final = {
    "phase": "string",
    "arrived_left": "long",
    "arrived_right": "long",
    "results": "long",
    "resident_bytes": "long",
    "spilled_bytes": "long",
    "covered_fraction": "double",
}

_NAMED: Final[Counter[str]] = Counter()  # how many joins this program has made with a state

Offset = dict[str, Any]
Row = tuple[Any, ...]


class Ticks(DataSource):
    """Options: `state` and `partitions`; and how many sources each side has, for the query's handle."""

    @classmethod
    def name(cls) -> str:
        """What `format` takes."""
        return FORMAT

    def schema(self) -> str:
        """What a tick says to the steps, and how far the join was before it."""
        return ", ".join(("ended int", "settling int", *(f"{name} {kind}" for name, kind in FIGURES.items())))

    def streamReader(self, schema: object) -> "TickStream":  # noqa: ARG002, N802 - Spark's contract
        """The ticker; it runs in the driver."""
        return TickStream(TickReader(self.options["state"], int(self.options["partitions"])))


class TickStream(_SimpleStreamReaderWrapper):
    """As Spark wraps a simple reader, whose rows need no task to read them; but this one learns of its limit."""

    def __init__(self, ticker: "TickReader") -> None:
        super().__init__(ticker)
        self._ticker = ticker

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """A tick at a time, unless all has to be done in one batch."""
        return ReadMaxRows(1)

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        """Where the next batch ends."""
        if isinstance(limit, ReadAllAvailable):
            self._ticker.prepare_for_one_batch()
        return super().latestOffset(start, ReadAllAvailable())


class TickReader(SimpleDataSourceStreamReader, SupportsTriggerAvailableNow):
    """Decides when there is a tick, and what it says."""

    def __init__(self, state: str, partitions: int) -> None:
        self._state = state
        self._partitions = partitions
        self._settling: Settling = "not now"
        self._standing: Standing | None = None
        self._resting_since: tuple[Offset, float] | None = None
        self._has_ticked = False

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """What is there is to be joined, and then the query is to stop."""
        self._settling = "in portions"

    def prepare_for_one_batch(self) -> None:
        """What is there is to be joined in the one batch that there will be."""
        self._settling = "at once"

    def initialOffset(self) -> Offset:  # noqa: N802
        """Before the first tick."""
        return self._offset(0, 0)

    def read(self, start: Offset) -> tuple[Iterator[Row], Offset]:
        """One more tick, if there is something to do."""
        if self._is_asleep(start):
            return iter([]), start
        is_known = self._look()
        ended = start["ended"] | self._news_of_ends(start["ended"])
        if is_known and ended == start["ended"] and not self._is_due(start["tick"]):
            self._resting_since = (start, time.monotonic())
            return iter([]), start
        self._has_ticked, self._resting_since = True, None
        end = self._offset(start["tick"] + 1, ended)
        return iter([self._row(end, self._standing)]), end

    def readBetweenOffsets(self, start: Offset, end: Offset) -> Iterator[Row]:  # noqa: ARG002, N802
        """The same tick again, with what was known then."""
        return iter([self._row(end, None)])

    def _is_asleep(self, start: Offset) -> bool:
        """Looking costs something; but a query that is to stop by itself does so as soon as there is no tick."""
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
        return newest is None or self._standing is not None

    def _news_of_ends(self, known: int) -> int:
        """A word counts once a batch has shown which query the state belongs to."""
        if self._standing is None or known == ALL_ENDED:
            return 0
        return finished_sides(self._state, self._standing.query)

    def _is_due(self, ticks: int) -> bool:
        standing = self._standing
        if self._settling == "at once":
            return True  # rows may come in this batch, and must be told
        if standing is None:
            return ticks == 0
        if self._settling == "in portions":
            return standing.was_busy or not standing.is_settled
        # A run begins with a tick: whoever watches the query hears how far it is, and that it is done if it is.
        return standing.was_busy or standing.has_work or not self._has_ticked

    def _offset(self, tick: int, ended: int) -> Offset:
        """With a name, because Spark has none for a source in Python."""
        return {"ticker of": self._state, "tick": tick, "ended": ended, "settling": self._settling}

    def _row(self, offset: Offset, standing: Standing | None) -> Row:
        figures = _figures(None if standing is None else standing.progress)
        return (offset["ended"], SETTLING.index(offset["settling"]), *figures)


def with_figures(ticks: DataFrame, state: str) -> DataFrame:
    """The same ticks; how far the join is appears in Spark's progress, among the observed metrics, under this name."""
    largest: list[Column] = [F.max(name).alias(name) for name in FIGURES]  # of one row, and of one that came twice
    _NAMED[state] += 1
    # Two joins with one state are refused in a sentence when they start; Spark would refuse their union in a page.
    again = f" ({_NAMED[state]})" if _NAMED[state] > 1 else ""
    return ticks.observe(f"sooner:{state}{again}", *largest)


def _figures(progress: JoinProgress | None) -> Row:
    """In the order of FIGURES."""
    if progress is None:
        return (None,) * len(FIGURES)
    total = progress.total
    return (
        total.phase,
        *total.arrived_rows,
        total.results,
        total.resident_bytes,
        total.spilled_bytes,
        total.covered_fraction,
    )
