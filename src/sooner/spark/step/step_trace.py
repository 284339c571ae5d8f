"""The trace of one step: a file for each partition and batch, written once the new version is in place.

An attempt that runs again writes the same file anew. The state knows nothing of it.
"""

import time

from sooner.operators.events import Event
from sooner.runs.custody.private_files import create, make_directory
from sooner.runs.formats.versions import version_prefix
from sooner.spark.step.state_directory import open_state, partition_directory
from sooner.trace import Entry


class StepTrace:
    def __init__(self, folder: str, place: int, version: int) -> None:
        self._filesystem, path = open_state(folder, "trace")
        self._directory = partition_directory(path, place)
        self._file = f"{self._directory}/{version_prefix(version).rstrip('-')}.jsonl"
        self._place = place
        self._lines: list[str] = []

    def note(self, event: Event) -> None:
        self._lines.append(Entry(time.time(), event, self._place).to_line())

    def write(self) -> None:
        make_directory(self._filesystem, self._directory)
        with create(self._filesystem, self._file) as file:
            file.write("".join(self._lines).encode())
