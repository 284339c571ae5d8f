"""A trace: what happened in an operator and when, as plain data, an entry a line.

    {"seconds": 0.31, "place": 0, "event": "Flushed", "tick": 12, "side": 0, "partition": 3, "n_rows": 8192, ...}

Every engine can write one. Seconds are counted from the start of a query in process, since 1970 on Spark, where each
partition and batch has a file of its own, and are simulated in the lab. The kinds of events are in `operators/events`.
"""

import dataclasses
import json
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, get_args

from sooner.arguments import plain_path
from sooner.errors import InvalidJoin
from sooner.operators.events import Event, Listener

_KINDS: Final[dict[str, Any]] = {kind.__name__: kind for kind in get_args(Event)}


@dataclass(frozen=True)
class Entry:
    seconds: float
    event: Event
    place: int = 0  # the partition of a query on Spark

    def to_line(self) -> str:
        fields = {field.name: getattr(self.event, field.name) for field in dataclasses.fields(self.event)}
        where = {"seconds": round(self.seconds, 6), "place": self.place, "event": type(self.event).__name__}
        return json.dumps({**where, **fields}) + "\n"

    @staticmethod
    def from_line(line: str) -> "Entry":
        data = json.loads(line)
        seconds, place, kind = data.pop("seconds"), data.pop("place"), _KINDS[data.pop("event")]
        return Entry(seconds, kind(**{name: _tuples(value) for name, value in data.items()}), place)


Tracer = Callable[[Entry], None]


class TraceFile:
    """Takes entries, and writes them as they come. It is closed with its query, or when that is dropped."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w")
        weakref.finalize(self, self._file.close)

    def __call__(self, entry: Entry) -> None:
        self._file.write(entry.to_line())

    def close(self) -> None:
        self._file.close()


def open_trace(trace: object) -> Tracer | None:
    """What a user gave as `trace`: a path to write to, something that takes entries, or nothing."""
    if trace is None or callable(trace):
        return trace
    path = plain_path("trace", trace)
    try:
        return TraceFile(path)
    except OSError as error:
        raise InvalidJoin(f"trace={trace!r} cannot be written: {error}; give another file.") from error


def timed(tracer: Tracer) -> Listener:
    """For an operator: what it reports goes to the tracer, with the seconds since now."""
    started = time.monotonic()
    return lambda event: tracer(Entry(time.monotonic() - started, event))


def read_trace(path: Path) -> list[Entry]:
    """The entries of a file, or of all files of a folder, in the order of their time."""
    files = sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]
    lines = (line for file in files for line in file.read_text().splitlines())
    return sorted(map(Entry.from_line, lines), key=lambda entry: entry.seconds)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
