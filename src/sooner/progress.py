"""How far an operator is: plain numbers. Asked in the middle of a step, some may be a little newer than others."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, get_args

from sooner.budget import format_bytes
from sooner.phases import Phase

PerInput = tuple[int, ...]  # for a join left, then right

# Rows are counted by how long they waited: up to a millisecond, and then in steps, two of which are twice as long.
SHORTEST_WAIT: Final = 0.001
STEPS_TO_TWICE: Final = 2
WAIT_STEPS: Final = 64


@dataclass(frozen=True)
class Progress:
    """One operator, or all partitions of one."""

    phase: Phase
    arrived_rows: PerInput
    resident_rows_by_side: PerInput
    resident_bytes: int
    peak_bytes: int
    spilled_rows_by_side: PerInput
    spilled_bytes: int
    forgotten_rows_by_side: PerInput  # that have come, and that nobody needs any more: they take no room
    results: int
    arrived_pairs: float  # the rectangle of rows that have arrived, as far as they share a partition
    covered_pairs: float
    late_rows: PerInput = ()  # came too late to be joined, and were left out; nothing where none can
    newest: tuple[int | float | None, ...] = ()  # value of each input, in the units of its type, where lateness counts
    copied_rows: int = 0  # on Spark: how often a row went to another partition too: by its range, or its hot key
    fallbacks: tuple[str, ...] = ()  # what goes a slower way than usual, and why: a sentence each
    # Of a stream that is looked up in a master:
    manner: str = ""  # how that is done now
    known_rows: int = 0  # stream rows that memory alone answered
    waiting_rows: int = 0  # stream rows that have not met all of the master
    read_bytes: int = 0  # of the master, to answer the others
    waited_rows: tuple[int, ...] = ()  # that are answered, by steps of how long they waited
    newest_version: int | float | None = None  # of the changes that were taken up, in the units of its type

    @property
    def resident_rows(self) -> int:
        return sum(self.resident_rows_by_side)

    @property
    def spilled_rows(self) -> int:
        return sum(self.spilled_rows_by_side)

    @property
    def forgotten_rows(self) -> int:
        return sum(self.forgotten_rows_by_side)

    @property
    def covered_fraction(self) -> float:
        """The covered fraction of the rectangle of rows that have arrived."""
        return self.covered_pairs / self.arrived_pairs if self.arrived_pairs else 1.0

    def waited_seconds(self, share: float) -> float | None:
        """This share of the rows that are answered waited no longer; None if there are none. 0.5 is the median."""
        rows = 0
        for step, some in enumerate(self.waited_rows):
            rows += some
            if rows >= share * sum(self.waited_rows):
                return _longest_wait(step)
        return None

    def __str__(self) -> str:
        arrived = " x ".join(f"{rows:,}" for rows in self.arrived_rows)
        is_news = self.forgotten_rows and self.phase != "done"
        forgotten = f", {self.forgotten_rows:,} rows no longer needed" if is_news else ""
        late = f", {sum(self.late_rows):,} came too late" if sum(self.late_rows) else ""
        copied = f" ({self.copied_rows:,} copied)" if self.copied_rows else ""
        fallbacks = "".join(f"; {fallback}" for fallback in self.fallbacks)
        if self.manner:
            return self._of_lookups(fallbacks)
        return (
            f"{self.phase}: {arrived} rows arrived{copied}, {self.covered_fraction:.1%} of their pairs covered, "
            f"{self.results:,} results, {format_bytes(self.resident_bytes)} in memory, "
            f"{format_bytes(self.spilled_bytes)} spilled{forgotten}{late}{fallbacks}"
        )

    def _of_lookups(self, fallbacks: str) -> str:
        stream, master, *changes = (f"{rows:,}" for rows in self.arrived_rows)
        up_to = "" if self.newest_version is None else f" up to version {self.newest_version:,}"
        changed = f", {changes[0]} changes{up_to}" if changes else ""
        waiting = f", {self.waiting_rows:,} wait" if self.waiting_rows else ""
        from_memory = f"{self.known_rows / max(self.arrived_rows[0], 1):.0%} answered by memory alone{waiting}"
        return (
            f"{self.phase}: {stream} rows looked up in {master}{changed} ({self.manner}), {from_memory}, "
            f"{self.results:,} results, {format_bytes(self.resident_bytes)} in memory, "
            f"{format_bytes(self.spilled_bytes)} on disk, {format_bytes(self.read_bytes)} read{self._waits()}"
            f"{fallbacks}"
        )

    def _waits(self) -> str:
        median, nearly_all = self.waited_seconds(0.5), self.waited_seconds(0.99)
        if median is None or nearly_all is None:
            return ""
        return f", waited {_format_wait(median)} (median), {_format_wait(nearly_all)} (99th)"

    def to_plain(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_plain(data: dict[str, Any]) -> "Progress":
        values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in data.items()}
        return Progress(**values)


def together(parts: Sequence[Progress]) -> Progress:
    """The partitions of one operator as one; its phase is that of the partition which is least far."""
    phases: tuple[Phase, ...] = get_args(Phase)
    return Progress(
        phase=min((part.phase for part in parts), key=phases.index),
        arrived_rows=_sums(part.arrived_rows for part in parts),
        resident_rows_by_side=_sums(part.resident_rows_by_side for part in parts),
        resident_bytes=sum(part.resident_bytes for part in parts),
        peak_bytes=sum(part.peak_bytes for part in parts),
        spilled_rows_by_side=_sums(part.spilled_rows_by_side for part in parts),
        spilled_bytes=sum(part.spilled_bytes for part in parts),
        forgotten_rows_by_side=_sums(part.forgotten_rows_by_side for part in parts),
        results=sum(part.results for part in parts),
        arrived_pairs=sum(part.arrived_pairs for part in parts),
        covered_pairs=sum(part.covered_pairs for part in parts),
        late_rows=_sums(part.late_rows for part in parts),
        newest=tuple(map(_latest, zip(*(part.newest for part in parts), strict=True))),
        copied_rows=sum(part.copied_rows for part in parts),
        fallbacks=tuple(dict.fromkeys(fallback for part in parts for fallback in part.fallbacks)),
        manner=" and ".join(dict.fromkeys(part.manner for part in parts if part.manner)),
        known_rows=sum(part.known_rows for part in parts),
        waiting_rows=sum(part.waiting_rows for part in parts),
        read_bytes=sum(part.read_bytes for part in parts),
        waited_rows=_sums(part.waited_rows for part in parts if part.waited_rows),
        newest_version=_latest(part.newest_version for part in parts),
    )


def step_of_wait(seconds: float) -> int:
    """In which of the steps this is."""
    if seconds <= SHORTEST_WAIT:
        return 0
    return min(math.ceil(STEPS_TO_TWICE * math.log2(seconds / SHORTEST_WAIT)), WAIT_STEPS - 1)


def _longest_wait(step: int) -> float:
    return float(SHORTEST_WAIT * 2 ** (step / STEPS_TO_TWICE))


def _format_wait(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms" if seconds < 1 else f"{seconds:,.1f} s"


def _latest(values: Iterable[int | float | None]) -> int | float | None:
    return max((value for value in values if value is not None), default=None)


def _sums(per_input: Iterable[PerInput]) -> PerInput:
    return tuple(map(sum, zip(*per_input, strict=True)))
