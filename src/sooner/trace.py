"""A trace: what happened in an operator and when, as plain data, an entry a line, after a line that says what it is of.

    {"trace": 3, "what": "a join in process", "query": "3f0c...", "began_at": 1763395200.0, "plan": [...], ...}
    {"seconds": 0.31, "query": "3f0c...", "operator": 0, "place": 0, "event": "Flushed", "tick": 12, "side": 0, ...}
    {"dropped": 1200}

Every engine can write one. Seconds are counted from the start of a query in process, since 1970 on Spark, where each
partition and batch has a file of its own, and are simulated in the lab. The kinds of events are in `operators/events`;
one that has a "join" happened in that join of a plan.
A file has a limit; how many entries it lacks is its last line. Traces without a first line are of versions before.
"""

import contextlib
import json
import logging
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, TextIO, get_args

from sooner.arguments import plain_path
from sooner.errors import InvalidCall, InvalidJoin
from sooner.finalizing import Finalizer
from sooner.operators.events import Event, Inside, Listener, OwnEvent

LOG: Final = logging.getLogger("sooner")
FORMAT: Final = 3
MOST_BYTES: Final = 2**30  # of a file: about five million entries
_KINDS: Final[dict[str, Any]] = {kind.__name__: kind for kind in get_args(OwnEvent)}


class TraceHeader(NamedTuple):
    """The first line of a trace."""

    what: str
    query: str  # its id
    began_at: float  # second 0, in seconds since 1970
    plan: Sequence[Any]  # of each operator, in the order of their numbers
    inputs: Sequence[str] = ()  # their names
    rows: Sequence[int | None] = ()  # of each input, where its source knows
    memory_bytes: int | None = None  # for rows; None where there is no limit, or nobody said

    def to_line(self) -> str:
        fields = {name: list(kind._fields) for name, kind in _KINDS.items()}
        return json.dumps({"trace": FORMAT, **self._asdict(), "fields": fields}) + "\n"


class Entry(NamedTuple):
    """An event, when it happened, and where."""

    seconds: float
    event: Event
    place: int = 0  # the partition of a query on Spark
    operator: int = 0  # its number in the plan
    query: str = ""  # its id; nothing in traces of versions before

    def to_line(self) -> str:
        inside = self.event if isinstance(self.event, Inside) else None
        event = self.event if inside is None else inside.event
        where = {"seconds": round(self.seconds, 6), "query": self.query, "operator": self.operator, "place": self.place}
        what = {} if inside is None else {"join": inside.join}
        return json.dumps({**where, **what, "event": type(event).__name__, **event._asdict()}) + "\n"

    @staticmethod
    def from_line(line: str) -> "Entry":
        return _entry(json.loads(line))


Tracer = Callable[[Entry], None]


class Lines:
    """The lines of a trace, up to so many bytes; entries beyond are counted."""

    def __init__(self, header: TraceHeader, most_bytes: int = MOST_BYTES) -> None:
        self.first = header.to_line()
        self._free_bytes = most_bytes - len(self.first)
        self._dropped = 0

    def of(self, entry: Entry) -> str:
        """The text to write for an entry. A first missing entry is told at once, since nobody may come to the end."""
        line = entry.to_line()
        self._free_bytes -= len(line)
        if self._free_bytes >= 0:
            return line
        self._dropped += 1
        return self.last() if self._dropped == 1 else ""

    def last(self) -> str:
        return json.dumps({"dropped": self._dropped}) + "\n" if self._dropped else ""


class TraceFile:
    """Takes entries, and writes each at once. It is closed with its query, or when that is dropped."""

    def __init__(self, path: Path, header: TraceHeader, most_bytes: int = MOST_BYTES) -> None:
        self._lines = Lines(header, most_bytes)
        self._file = path.open("w", buffering=1)  # a line
        Finalizer(self, _close, self._file)
        self._file.write(self._lines.first)

    def __call__(self, entry: Entry) -> None:
        self._file.write(self._lines.of(entry))

    def close(self) -> None:
        if not self._file.closed:
            self._file.write(self._lines.last())
            self._file.close()


def _close(file: TextIO) -> None:
    """What a full disk does not take has been told when it was written."""
    with contextlib.suppress(OSError):
        file.close()


class Tracing:
    """Hands what the operators of one query report to tracers. One that fails is told no more; the query goes on."""

    def __init__(self, header: TraceHeader) -> None:
        self.header = header
        self._started = time.monotonic()
        self._tracers: list[Tracer] = []

    @property
    def seconds(self) -> float:
        """Since the start, as entries have them."""
        return time.monotonic() - self._started

    def add(self, tracer: Tracer) -> None:
        """It is told what happens from now on."""
        self._tracers.append(tracer)

    def listener(self, operator: int = 0) -> Listener:
        """A listener for one of the operators: its entries have the seconds since the start."""
        return lambda event: self._tell(event, operator)

    def close(self) -> None:
        for tracer in self._tracers:
            if isinstance(tracer, TraceFile):
                self._or_drop(tracer, tracer.close)

    def _tell(self, event: Event, operator: int) -> None:
        if self._tracers:
            entry = Entry(self.seconds, event, 0, operator, self.header.query)
            for tracer in tuple(self._tracers):
                self._or_drop(tracer, partial(tracer, entry))

    def _or_drop(self, tracer: Tracer, act: Callable[[], None]) -> None:
        try:
            act()
        except Exception as error:  # whatever it is, it is not the query's
            self._tracers = [one for one in self._tracers if one is not tracer]
            LOG.warning("The trace ends here, since what takes its entries failed (%r). The query goes on.", error)


def open_trace(
    trace: object, what: str, plan: Sequence[Any], inputs: Mapping[str, int | None], memory_bytes: int | None
) -> Tracing:
    """What a user gave as `trace`: a path to write to, something that takes entries, or nothing.

    `inputs` has the names, and how many rows there are of each, where that is known.
    """
    names, rows = list(inputs), list(inputs.values())
    plans = [repr(one) for one in plan]
    tracing = Tracing(TraceHeader(what, uuid.uuid4().hex, time.time(), plans, names, rows, memory_bytes))
    if trace is None:
        return tracing
    try:
        tracing.add(trace if callable(trace) else TraceFile(plain_path("trace", trace), tracing.header))
        return tracing
    except OSError as error:
        raise InvalidJoin(f"trace={trace!r} cannot be written: {error}; give another file.") from error


class Trace(NamedTuple):
    """What was read: of one file, or of all files of a folder."""

    headers: Sequence[TraceHeader]  # none of versions before
    entries: Sequence[Entry]  # in the order of their time
    dropped: int  # entries that are missing, at least


def read_whole_trace(path: Path) -> Trace:
    """The trace in a file, or in all files of a folder."""
    headers, entries, dropped = [], [], 0
    for file in sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]:
        missing = 0
        for told in lines_of(file):
            if isinstance(told, TraceHeader):
                headers.append(told)
            elif isinstance(told, Entry):
                entries.append(told)
            else:
                missing = told
        dropped += missing
    return Trace(headers, sorted(entries, key=lambda entry: entry.seconds), dropped)


def read_trace(path: Path) -> list[Entry]:
    """The entries of a file, or of all files of a folder, in the order of their time."""
    return list(read_whole_trace(path).entries)


def lines_of(file: Path, wanted: Callable[[str], bool] = bool) -> Iterator[TraceHeader | Entry | int]:
    """What a file has, a line at a time: headers, entries, and how many entries are missing."""
    with file.open(encoding="utf-8", newline="\n") as lines:
        for number, line in enumerate(lines, 1):
            if not line.endswith("\n"):
                return  # it was cut off when its writer was killed
            if not wanted(line):
                continue
            try:
                data = json.loads(line)
                if "trace" in data:
                    yield _header(data)
                else:
                    yield data["dropped"] if "dropped" in data else _entry(data)
            except (ValueError, KeyError, TypeError) as error:
                raise InvalidCall(
                    f"Line {number} of {file} is not of a trace that this version reads: {error!r}."
                ) from error


def _header(data: dict[str, Any]) -> TraceHeader:
    known = {name: data[name] for name in ("inputs", "rows", "memory_bytes") if name in data}
    return TraceHeader(data["what"], data["query"], data["began_at"], data["plan"], **known)


def _entry(data: dict[str, Any]) -> Entry:
    seconds, place, kind = data.pop("seconds"), data.pop("place"), _KINDS[data.pop("event")]
    join, whose = data.pop("join", None), (data.pop("operator", 0), data.pop("query", ""))
    event = kind(**{name: _tuples(value) for name, value in data.items()})
    return Entry(seconds, event if join is None else Inside(join, event), place, *whose)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
