"""A trace that was kept, as a dashboard shows it: read once, into curves and as many moments as a slider can show."""

import contextlib
import itertools
import json
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NoReturn

from sooner.errors import InvalidCall
from sooner.plain_text import plain_text
from sooner.trace import Entry, TraceHeader, lines_of, read_whole_trace
from sooner.ui.dashboard.picture import Picture, algorithm_of
from sooner.ui.dashboard.rectangle import MOST_PARTITIONS
from sooner.ui.dashboard.series import Known
from sooner.ui.dashboard.subject import Refused

FRAMES: Final = 120
MOST_ROWS: Final = 800
HEAD_LINES: Final = 2  # what it is of, and an entry
TAIL_BYTES: Final = 2**20
LONG_BYTES: Final = 2 * 2**20  # of a trace; of a longer one
FEW_PARTITIONS: Final = 2  # are enough to follow
REACHED: Final = '"event": "Reached"'
FLUSHED: Final = '"event": "Flushed"'
SECONDS: Final = '{"seconds": '
UNKNOWN: Final = TraceHeader("a trace of a version before", "", 0.0, [])


class RecordedQuery:
    """Of a file, or of a folder that a query on Spark wrote to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.dropped = 0
        self._header, entries, span = self._of_folder() if path.is_dir() else self._of_file()
        self.frames: list[dict[str, Any]] = []
        self.early_results = 0  # that were out when the last row had come
        followed = MOST_PARTITIONS if not path.is_file() or path.stat().st_size < LONG_BYTES else FEW_PARTITIONS
        self.picture = Picture(self._header, thinned_to=MOST_ROWS, gap=span / MOST_ROWS, followed=followed)
        self._read(entries, span)

    def about(self) -> dict[str, Any]:
        algorithm, summary = algorithm_of(self._header)
        missing = f"{self.dropped:,} entries are missing. " if self.dropped else ""
        return {
            "title": self._header.what,
            "algorithm": algorithm,
            "summary": summary,
            "inputs": self._header.inputs,
            "expected": self._header.rows,
            **({} if self.path.is_dir() else {"memory_bytes": self._header.memory_bytes}),  # on Spark nobody said
            "began_at": self._header.began_at,
            "notes": f"{missing}Read from {plain_text(self.path)}.",
            "frames": self.frames,
        }

    def news(self, known: Known) -> dict[str, Any]:
        return {"series": self.picture.news(known), "state": self.frames[-1]}

    def over(self) -> str:
        return "a trace that was kept"

    def stop(self) -> NoReturn:
        raise Refused("It is over: this is a trace that was kept.")

    def finish(self, name: str) -> NoReturn:
        raise Refused(f"It is over: this is a trace that was kept; {name!r} has ended.")

    def metrics(self) -> str:
        return ""

    def _read(self, entries: Iterable[Entry], span: float) -> None:
        picture, due = self.picture, 0.0
        for entry in entries:
            if entry.seconds >= due:
                if picture.seconds:
                    self.frames.append(picture.to_plain())
                due = entry.seconds + span / FRAMES
            before = picture.phase
            picture.note(entry)
            if picture.phase != before and picture.phase in ("clean-up", "done"):
                self.early_results = picture.results if picture.phase == "clean-up" else self.early_results
        self.frames.append(picture.to_plain())

    def _of_file(self) -> tuple[TraceHeader, Iterator[Entry], float]:
        began = _first_second(self.path)
        span = max(_last_second(self.path) - began, 0.0)
        lines = lines_of(self.path, FewReached(span / MOST_ROWS))
        first = next(lines, None)
        if first is None:
            raise InvalidCall(f"{self.path} is empty; give a trace, as trace= writes one.")
        header = first if isinstance(first, TraceHeader) else UNKNOWN

        def entries() -> Iterator[Entry]:
            for told in itertools.chain([first], lines):
                if isinstance(told, Entry):
                    yield told._replace(seconds=max(told.seconds - began, 0.0))
                elif isinstance(told, int):
                    self.dropped = told

        return header, entries(), span

    def _of_folder(self) -> tuple[TraceHeader, Iterator[Entry], float]:
        trace = read_whole_trace(self.path)
        if not trace.entries:
            raise InvalidCall(f"There is no trace in {self.path}; give a file or folder that trace= named.")
        began = trace.entries[0].seconds
        self.dropped = trace.dropped
        header = trace.headers[0]._replace(what="a query on Spark", began_at=began) if trace.headers else UNKNOWN
        entries = (entry._replace(seconds=entry.seconds - began) for entry in trace.entries)
        return header, entries, trace.entries[-1].seconds - began


class FewReached:
    """Which lines are wanted: all but those that say again how far an operator is, and soon after it was said."""

    def __init__(self, gap: float) -> None:
        self._gap = gap
        self._due = 0.0
        self._skipped = 0

    def __call__(self, line: str) -> bool:
        if REACHED not in line:
            self._skipped = 0 if FLUSHED in line else self._skipped
            return True
        seconds = float(line[len(SECONDS) : line.index(",")]) if line.startswith(SECONDS) else math.inf
        self._skipped += 1
        if seconds < self._due and self._skipped > 1:  # the first after a flush says what that left in memory
            return False
        self._due = seconds + self._gap
        return True


def is_trace(path: Path) -> bool:
    """Whether it is a file, or a folder with files of a trace; a state on Spark has none in it."""
    return path.is_file() or next(path.rglob("*.jsonl"), None) is not None


def _first_second(path: Path) -> float:
    """When the first entry was written: a query may have been made long before anybody asked for a row."""
    with path.open("rb") as file:
        for line in itertools.islice(file, HEAD_LINES):
            with contextlib.suppress(ValueError, KeyError, TypeError):
                return float(json.loads(line)["seconds"])
    return 0.0


def _last_second(path: Path) -> float:
    """When the last entry was written, read off the end of a file."""
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - TAIL_BYTES, 0))
        for line in reversed(file.read().split(b"\n")):
            try:
                return float(json.loads(line)["seconds"])
            except (ValueError, KeyError, TypeError):
                continue
    return 0.0
