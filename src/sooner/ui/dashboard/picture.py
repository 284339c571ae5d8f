"""What is known of a query at a moment, from the entries of its trace: bounded, however long it runs."""

import itertools
import re
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from sooner.operators.events import (
    Arrived,
    Entered,
    Event,
    Flushed,
    Inside,
    Looped,
    Merged,
    OwnEvent,
    Reached,
    Scanned,
    Tidied,
)  # fmt: skip
from sooner.progress import Progress
from sooner.trace import Entry, TraceHeader
from sooner.ui.dashboard.rectangle import CLEAN_UP, DISK_DISK, MOST_PARTITIONS, PLACES, Rectangle
from sooner.ui.dashboard.series import MOST_ROWS, Known, Series

DISK_WORK: Final = ("written by flushes", "memory-disk", "disk-disk", "clean-up", "tidied")
FLUSHED, SCANNED, MERGED, CLEANED, TIDIED = range(len(DISK_WORK))
COLUMNS: Final = ("seconds", "results", "memory", "covered", *DISK_WORK)
LAST_FLUSHES: Final = 10
MOST_PHASES: Final = 400
MOST_INPUTS_IN_PAIRS: Final = 5
MOST_LANES: Final = 24
MOST_BARS: Final = 128  # partitions of an input whose memory is shown one by one


class Picture:
    """Of one operator, or of all partitions of one; operators inside of it have pictures of their own."""

    def __init__(
        self,
        header: TraceHeader,
        *,
        thinned_to: int = MOST_ROWS,
        gap: float = 0.0,
        followed: int = MOST_PARTITIONS,
    ) -> None:
        """`followed`: of how many partitions the rectangle is worked out; the others are taken to be like them."""
        self.header = header
        self.lanes: dict[str, Picture] = {}
        self.seconds = 0.0
        self.results = 0
        self.rows: list[int] = [0] * len(header.inputs)
        self.phases: deque[tuple[float, str]] = deque(maxlen=MOST_PHASES)
        self._like_this = partial(Picture, thinned_to=thinned_to, gap=gap, followed=followed)
        self._followed = followed
        self._is_lane = False
        self._series = Series(thinned_to, gap)
        self._disk = [0] * len(DISK_WORK)
        self._memory: dict[int, Sequence[Sequence[int]]] = {}  # by place, input and partition
        self._results_of_places: dict[int, int] = {}
        self._flushes: deque[dict[str, Any]] = deque(maxlen=LAST_FLUSHES)
        self._last_arrival: list[float] = [0.0] * len(self.rows)
        self._sampled_rows: Sequence[int] = [0] * len(self.rows)
        self._covered: float | None = None
        self._rectangles: dict[tuple[int, int], Rectangle] = {}

    @property
    def columns(self) -> list[str]:
        return [*COLUMNS, *(f"rows of {name}" for name in self._names)]

    @property
    def phase(self) -> str:
        return self.phases[-1][1] if self.phases else "arriving"

    @property
    def resident_bytes(self) -> int:
        return sum(sum(map(sum, of_place)) for of_place in self._memory.values())

    def note(self, entry: Entry) -> None:
        """One more entry; they come in the order of their time, as far as it matters."""
        self.seconds = max(self.seconds, entry.seconds)
        self._take(entry.event, entry.place)
        if isinstance(entry.event, Reached | Entered):
            self._add_row()

    def sample(self, seconds: float, progress: Progress) -> None:
        """What an operator says of itself between two entries."""
        self.seconds, self.results = max(self.seconds, seconds), max(self.results, progress.results)
        self._covered = progress.covered_fraction
        self._take_note_of(len(progress.arrived_rows))
        for which, (before, rows) in enumerate(zip(self._sampled_rows, progress.arrived_rows, strict=False)):
            if rows > before:
                self._last_arrival[which] = self.seconds
        self._sampled_rows = progress.arrived_rows
        self._add_row(progress.resident_bytes, progress.arrived_rows)

    def news(self, known: Known) -> dict[str, Any]:
        return {"columns": self.columns, **self._series.news(known)}

    def to_plain(self) -> dict[str, Any]:
        """The present state, beside the curves."""
        return {
            "seconds": self.seconds,
            "phase": self.phase,
            "results": self.results,
            "inputs": self._names,
            "rows": list(self.rows),
            "resident_bytes": self.resident_bytes,
            "memory": self._memory_by_input(),
            "phases": list(self.phases),
            "flushes": list(self._flushes),
            "disk": dict(zip(DISK_WORK, self._disk, strict=True)),
            "last_arrival": list(self._last_arrival),
            "rectangles": [{"of": pair, **one.to_plain()} for pair, one in self._rectangles.items()],
            "lanes": [{"name": name, **lane.in_short()} for name, lane in self.lanes.items()],
        }

    def in_short(self) -> dict[str, Any]:
        return {
            "phase": self.phase,
            "results": self.results,
            "rows": list(self.rows),
            "resident_bytes": self.resident_bytes,
            "disk": dict(zip(DISK_WORK, self._disk, strict=True)),
            "shares": [one.to_plain()["shares"] for one in self._rectangles.values()][:1],
        }

    @property
    def _names(self) -> list[str]:
        names = list(self.header.inputs) or (["left", "right"] if len(self.rows) == 2 else [])
        return [*names, *(f"input {which}" for which in range(len(names), len(self.rows)))][: len(self.rows)]

    def _take(self, event: Event, place: int) -> None:
        match event:
            case Inside(join=name, event=own):
                self._lane(name).note(Entry(self.seconds, own, place))
                self._take_disk_work(own)
            case Arrived(rows=rows):
                self._take_arrivals(rows)
            case Reached(results=results, resident_bytes=resident_bytes):
                self._results_of_places[place] = results
                self.results = max(self.results, sum(self._results_of_places.values()))
                self._memory[place] = resident_bytes
                for pair, rectangle in self._rectangles.items():
                    if len(resident_bytes) > max(pair) and not place:
                        rectangle.in_memory([resident_bytes[which] for which in pair])
            case Entered(phase=phase):
                self.phases.append((self.seconds, phase))
                if phase == "done" and not place:
                    for rectangle in self._rectangles.values():
                        rectangle.all_met()
            case _:
                self._take_disk_work(event)
                self._take_meeting(event, place + getattr(event, "partition", 0))

    def _take_arrivals(self, rows: Sequence[int]) -> None:
        self._take_note_of(len(rows))
        self._make_rectangles(len(rows))
        for which, count in enumerate(rows):
            self.rows[which] += count
            if count:
                self._last_arrival[which] = self.seconds
        for (a, b), rectangle in self._rectangles.items():
            rectangle.arrived((rows[a], rows[b]))

    def _take_note_of(self, inputs: int) -> None:
        """There are so many inputs."""
        if len(self.rows) < inputs:
            self.rows += [0] * (inputs - len(self.rows))
            self._last_arrival += [self.seconds] * (inputs - len(self._last_arrival))

    def _make_rectangles(self, inputs: int) -> None:
        """Where rows are told of as they come; of what says of itself how far it is, and no more, there are none."""
        plan = str(self.header.plan)
        has_no_pairs = "EnrichPlan" in plan or ("JoinsPlan" in plan and not self._is_lane)
        if not self._rectangles and 2 <= inputs <= MOST_INPUTS_IN_PAIRS and not has_no_pairs:
            places = PLACES if inputs == 2 else PLACES // 2
            meets = "waits='always'" not in plan
            for pair in itertools.combinations(range(inputs), 2):
                self._rectangles[pair] = Rectangle(arrival_meets=meets, places=places, most_partitions=self._followed)

    def _take_disk_work(self, event: OwnEvent) -> None:
        match event:
            case Flushed(n_bytes=n_bytes):
                self._disk[FLUSHED] += n_bytes
            case Scanned(n_bytes=n_bytes):
                self._disk[SCANNED] += n_bytes
            case Merged(n_bytes=n_bytes, written_bytes=written_bytes):
                self._disk[CLEANED if self._is_clean_up(event) else MERGED] += n_bytes + written_bytes
            case Looped(n_bytes=n_bytes):
                self._disk[CLEANED if self.phase == "clean-up" else MERGED] += n_bytes
            case Tidied(n_bytes=n_bytes):
                self._disk[TIDIED] += n_bytes

    def _take_meeting(self, event: OwnEvent, p: int) -> None:
        match event:
            case Flushed(side=side, run=run):
                self._note_flush(event, p)
                for pair, rectangle in self._rectangles.items():
                    if side in pair:
                        if "waits='once" in str(self.header.plan):
                            rectangle.no_more_meetings()
                        rectangle.flushed(pair.index(side), p, run)
            case Scanned(side=side, runs=runs) if len(self.rows) == 2:
                for rectangle in self._rectangles.values():
                    rectangle.memory_met(side, p, runs)
            case Merged(cells=cells) | Looped(cells=cells):
                how = CLEAN_UP if self._is_clean_up(event) else DISK_DISK
                pairs = list(self._rectangles.values())
                for number, (left, right) in enumerate(cells if pairs else ()):  # of each pair in turn
                    pairs[number % len(pairs)].runs_met(p, how, left, right)

    def _is_clean_up(self, event: OwnEvent) -> bool:
        return self.phase == "clean-up" or getattr(event, "task", None) == "clean-up"

    def _note_flush(self, event: Flushed, p: int) -> None:
        side = event.side
        memory = next(iter(self._memory.values()), ())
        of_side = memory[side] if side < len(memory) else ()
        held = of_side[p] if p < len(of_side) else 0
        self._flushes.append(
            {
                "seconds": self.seconds,
                "input": self._names[side] if side < len(self._names) else str(side),
                "partition": p,
                "rows": event.n_rows,
                "bytes": event.n_bytes,
                "why": event.why,
                "rank": sum(other > held for other in of_side) + 1,  # among the partitions of its input, by size
                "partitions": len(of_side),
            }
        )

    def _lane(self, name: str) -> "Picture":
        if name not in self.lanes:
            if len(self.lanes) >= MOST_LANES:
                return Picture(self.header)
            below = TraceHeader(name, self.header.query, 0.0, self.header.plan, ["joined so far", name])
            self.lanes[name] = self._like_this(below)
            self.lanes[name]._is_lane = True
        return self.lanes[name]

    def _add_row(self, resident_bytes: int | None = None, rows: Sequence[int] = ()) -> None:
        memory = self.resident_bytes if resident_bytes is None else resident_bytes
        arrived = [max(ours, theirs) for ours, theirs in itertools.zip_longest(self.rows, rows, fillvalue=0)]
        self._series.add(self.seconds, (self.results, memory, self._covered, *self._disk, *arrived))

    def _memory_by_input(self) -> list[list[int]]:
        """Of each input the bytes of its partitions; those of places one after the other."""
        inputs = max((len(one) for one in self._memory.values()), default=0)
        return [
            list(itertools.chain(*(one[which] for _, one in sorted(self._memory.items()))))[:MOST_BARS]
            for which in range(inputs)
        ]


def algorithm_of(header: TraceHeader) -> tuple[str, str]:
    """The name of its algorithm and what that does, as a trace has them; nothing where it has none."""
    text = str(header.plan)
    name = re.search(r"algorithm=(?:\w+\(name=)?'([^']*)'", text) or re.search(r"'algorithm': '([^']*)'", text)
    summary = re.search(r"summary='([^']*)'", text)
    return (name[1] if name else "", summary[1] if summary else "")
