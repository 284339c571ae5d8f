"""The ticker: a source that has something new in every batch, and says which sides have ended.

Spark runs a batch only when a source has news. With a tick in every batch, joins go on working while their inputs are
silent. That a side has ended goes through the ticker's offsets, and so through Spark's own log: a batch that runs again
sees the same sides ended as before.
"""

from collections.abc import Iterator
from typing import Final

import pyarrow.fs as pafs
from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader
from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow

from sooner.operators.progress import Progress
from sooner.policies.view import LEFT, RIGHT
from sooner.runs.private_files import create, make_directory
from sooner.spark.progress import read_progress
from sooner.spark.state_directory import open_state

FORMAT: Final = "sooner.ticks"
IDLE_TICKS: Final = 3  # before a query that is to stop by itself may do so
SIDE_NAMES: Final = {LEFT: "left", RIGHT: "right"}


class Ticks(DataSource):
    """Options: `state`, where `finish_side` leaves word; and how many sources each side has, for the query's handle."""

    @classmethod
    def name(cls) -> str:
        """What `format` takes."""
        return FORMAT

    def schema(self) -> str:
        """The number of the tick, and bits of the sides that have ended."""
        return "number long, ended int"

    def simpleStreamReader(self, schema: object) -> "TickReader":  # noqa: ARG002, N802 - Spark's contract
        """The ticker itself; it runs in the driver."""
        return TickReader(self.options["state"], int(self.options["partitions"]))


class TickReader(SimpleDataSourceStreamReader, SupportsTriggerAvailableNow):
    """Ticks for ever; or, when Spark is to stop by itself, until batches bring nothing any more."""

    def __init__(self, state: str, partitions: int) -> None:
        self._state = state
        self._partitions = partitions
        self._idle_ticks: int | None = None  # not counted
        self._last_seen: Progress | None = None

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """What is there is to be joined, and then the query is to stop."""
        self._idle_ticks = 0

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """Before the first tick."""
        return {"tick": 0, "ended": 0}

    def read(self, start: dict[str, int]) -> tuple[Iterator[tuple[int, int]], dict[str, int]]:
        """One more tick, with what is known now."""
        if self._idle_ticks is not None and self._is_idle():
            return iter([]), start
        ended, number = start["ended"] | finished_sides(self._state), start["tick"] + 1
        return iter([(number, ended)]), {"tick": number, "ended": ended}

    def _is_idle(self) -> bool:
        """Whether the last batches changed nothing. One that does, even without a tick, starts the count anew."""
        found = read_progress(self._state, self._partitions)
        seen = None if found is None else found.total
        self._idle_ticks = (self._idle_ticks or 0) + 1 if seen is not None and seen == self._last_seen else 0
        self._last_seen = seen
        return self._idle_ticks >= IDLE_TICKS

    def readBetweenOffsets(self, start: dict[str, int], end: dict[str, int]) -> Iterator[tuple[int, int]]:  # noqa: ARG002, N802
        """The same tick again, with what was known then."""
        return iter([(end["tick"], end["ended"])])


def finish_side(state: str, side: int) -> None:
    """Leave word that this side of the join has no more rows."""
    filesystem, path = open_state(state)
    make_directory(filesystem, path)
    with create(filesystem, _word(path, side)):
        pass


def finished_sides(state: str) -> int:
    """Bits of the sides of which there is word."""
    filesystem, path = open_state(state)
    words = filesystem.get_file_info([_word(path, side) for side in SIDE_NAMES])
    return sum(1 << side for side, word in zip(SIDE_NAMES, words, strict=True) if word.type == pafs.FileType.File)


def _word(path: str, side: int) -> str:
    return f"{path}/{SIDE_NAMES[side]}-has-ended"
