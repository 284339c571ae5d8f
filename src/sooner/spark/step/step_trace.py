"""The trace of one step: a file for each partition and batch, written once the new version is in place.

An attempt that runs again writes the same file anew. The state knows nothing of it. Of each partition the files of the
newest batches are kept, since a stream has no end.
"""

import contextlib
import time
from typing import Any, Final

import pyarrow as pa

from sooner.operators.events import Event
from sooner.runs.custody.private_files import create, make_directory
from sooner.runs.formats.versions import version_prefix
from sooner.spark.step.layout import partition_directory
from sooner.spark.step.state_directory import open_state
from sooner.trace import LOG, Entry, Lines, TraceHeader

KEPT_BATCHES: Final = 1_000
MOST_STEP_BYTES: Final = 16 * 2**20  # of a file, which is held until it is written


class StepTrace:
    def __init__(self, folder: str, place: int, version: int, query: str, plan: dict[str, Any]) -> None:
        self._filesystem, path = open_state(folder, "trace")
        self._directory = partition_directory(path, place)
        self._place = place
        self._version = version
        self._query = query
        what = f"partition {place} of a query on Spark, batch {version}; the newest {KEPT_BATCHES:,} batches are kept"
        self._lines = Lines(TraceHeader(what, query, 0.0, [plan]), MOST_STEP_BYTES)
        self._written = [self._lines.first]

    def note(self, event: Event) -> None:
        self._written.append(self._lines.of(Entry(time.time(), event, self._place, query=self._query)))

    def write(self) -> None:
        """Also removes what is too old. A folder that takes nothing is no reason to fail the query."""
        try:
            make_directory(self._filesystem, self._directory)
            with create(self._filesystem, self._file_of(self._version)) as file:
                file.write("".join([*self._written, self._lines.last()]).encode())
        except (OSError, pa.ArrowException) as error:
            LOG.warning("Batch %d has no trace, since %s takes none (%r).", self._version, self._directory, error)
        if self._version >= KEPT_BATCHES:
            with contextlib.suppress(OSError, pa.ArrowException):
                self._filesystem.delete_file(self._file_of(self._version - KEPT_BATCHES))

    def _file_of(self, version: int) -> str:
        return f"{self._directory}/{version_prefix(version).rstrip('-')}.jsonl"
