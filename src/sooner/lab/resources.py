"""Simulated resources, each with its own time: disks and a processor that are only numbers.

What an operator does is told by its events; a machine turns each into work, a list of (resource, seconds). A machine
does the parts of a piece of work in turn, or at once; then the longest of them is what the clock sees. While it is busy
otherwise, a device from which inputs are pulled may read on, so many seconds ahead.

A page that follows the one before it on a disk takes its transfer; any other also a seek. Rows that were written
together lie together, in extents of so many pages. Each event costs:

- a flush: a seek for each page (RPJ sec. 6.1); or for each partition, to the end of what is there of it (RPJ sec. 4.1,
  figure 4), then pages in sequence; or for each side, since `sooner` writes what leaves together into one file a side;
  or none, where all of it is gathered and appended to one log (PR-Join sec. 6.1);
- a memory-disk task: a seek for each run, then pages in sequence;
- a chunk of a nested loop: a seek for each side, then blocks in sequence, one flush after another as they were written;
- a merge: a seek for each page read and for each page written, since runs are read side by side with little memory; or
  read as in the clean-up run after run, and written with a seek for each side;
- the clean-up, when all of the memory is free: as much as fits is read run after run, so a partition that fits the
  memory costs a seek for each run and then pages in sequence, and a larger one that many times the seeks. Or file after
  file, a seek for each side, where a flush appends to what is there of a partition. Or as RPJ has it (sec. 5.3): every
  page at random, read and written, in as many passes as its formula says;
- a partition that is joined as a whole before the end: as a merge that writes nothing, every page at random; or run
  after run, a seek for each, or for each extent if there are more of these (PR-Join sec. 6.1).

The processor compares an arriving row with a fifth of its partition: RPJ (sec. 6) divides each by a second hash into 5.
The processor's part in disk work is left out, as in sec. 5.3: the disk dominates it.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from sooner.operators.events import Arrived, Entered, Event, Flushed, Inside, Looped, Merged, Reached, Scanned, Tidied
from sooner.phases import Phase
from sooner.policies.view import DeviceCosts
from sooner.sides import SIDES

INSPECTED_SHARE: Final = 1 / 5
PROCESSOR: Final = "processor"

Work = Sequence[tuple[str, float]]  # which resource, for how many seconds
FlushedTo = Literal["pages", "a file for each partition", "a file for each side", "one log"]
CleanUp = Literal["run after run", "file after file", "page by page"]
Merges = Literal["page by page", "run after run"]
Overlap = Literal["in turn", "at once"]


@dataclass(frozen=True)
class Disk:
    page_bytes: int
    seek_seconds: float
    read_seconds: float  # of a page that follows
    write_seconds: float
    name: str = "disk"
    extent_pages: int | None = None  # that lie together; None: as many as are written together

    @staticmethod
    def with_accesses(page_bytes: int, random_seconds: float, sequential_seconds: float) -> "Disk":
        """A disk as in RPJ: a random or a sequential access takes so long, in both directions."""
        return Disk(page_bytes, random_seconds - sequential_seconds, sequential_seconds, sequential_seconds)

    @property
    def costs(self) -> DeviceCosts:
        """What policies are told of it."""
        return DeviceCosts(self.page_bytes, self.seek_seconds + self.read_seconds, self.read_seconds)

    def pages(self, n_bytes: int) -> int:
        return -(-n_bytes // self.page_bytes)

    def reading(self, pieces: int, n_bytes: int) -> float:
        """Pieces that lie apart, each of them from its beginning to its end."""
        return self._transfer(pieces, n_bytes, self.read_seconds)

    def writing(self, pieces: int, n_bytes: int) -> float:
        return self._transfer(pieces, n_bytes, self.write_seconds)

    def appending(self, n_bytes: int) -> float:
        """The seconds to append to what was written last."""
        return self.pages(n_bytes) * self.write_seconds

    def at_random(self, read_bytes: int, written_bytes: int) -> float:
        """Page by page, each of them somewhere else."""
        read, written = self.pages(read_bytes), self.pages(written_bytes)
        return read * (self.seek_seconds + self.read_seconds) + written * (self.seek_seconds + self.write_seconds)

    def _transfer(self, pieces: int, n_bytes: int, page_seconds: float) -> float:
        pages = max(self.pages(n_bytes), pieces)
        seeks = pieces if self.extent_pages is None else max(pieces, -(-pages // self.extent_pages))
        return seeks * self.seek_seconds + pages * page_seconds


@dataclass(frozen=True)
class Machine:
    disk: Disk  # for rows that leave memory
    memory_bytes: int
    comparison_seconds: float
    flushed_to: FlushedTo = "a file for each partition"
    clean_up: CleanUp = "run after run"
    fan_in: int = 10  # of the clean-up page by page
    overlap: Overlap = "in turn"
    whole_partitions: Merges = "page by page"  # how they are read before the end
    merges: Merges = "page by page"  # before the end, of runs that are written as one
    read_ahead_seconds: float = 0.0  # of pulled inputs, while all else is busy; if things are done at once
    buffer_bytes: int = 0  # of the memory, for rows that wait; 0: they have memory of their own, without a limit


class Meter:
    """Adds up what the events of one operator cost, by resource."""

    def __init__(self, machine: Machine, others: Iterable[str] = ()) -> None:
        self._machine = machine
        self._files_of_flush: tuple[int, set[int]] = (0, set())  # the last flush's tick, the sides it has files of
        self._flushed_bytes: Counter[tuple[int, int]] = Counter()  # of each side and partition
        self._begun: list[tuple[str, float]] = []
        self._inside: defaultdict[str, Meter] = defaultdict(lambda: Meter(machine))  # of each join of a plan
        self.seconds = dict.fromkeys((PROCESSOR, machine.disk.name, *others), 0.0)
        self._ahead_seconds = dict.fromkeys(self.seconds.keys() - {PROCESSOR, machine.disk.name}, 0.0)

    def add(self, event: Event, phase: Phase) -> None:
        """It has happened, as part of the present piece of work."""
        self._begun += self.work_of(event, phase)

    def spend(self, more: Work = ()) -> float:
        """The present piece of work is over; how long it takes."""
        work, self._begun = [*self._begun, *more], []
        for resource, seconds in work:
            self.seconds[resource] += seconds
        if self._machine.overlap == "in turn":
            return sum(seconds for _, seconds in work)
        of_resource: dict[str, float] = {}
        for resource, seconds in work:
            of_resource[resource] = of_resource.get(resource, 0.0) + seconds
        return self._at_once(of_resource)

    def _at_once(self, of_resource: Mapping[str, float]) -> float:
        """A device that has read ahead has so much less to do; while it waits for the others, it reads on."""
        ahead = self._ahead_seconds
        elapsed = max((some - ahead.get(resource, 0.0) for resource, some in of_resource.items()), default=0.0)
        elapsed = max(elapsed, 0.0)
        for device in ahead:
            rest = ahead[device] + elapsed - of_resource.get(device, 0.0)
            ahead[device] = min(rest, self._machine.read_ahead_seconds)
        return elapsed

    def work_of(self, event: Event, phase: Phase) -> Work:
        disk, machine = self._machine.disk, self._machine
        match event:
            case Entered() | Tidied() | Reached():
                return []
            case Inside(join=join, event=own):
                return self._inside[join].work_of(own, phase)
            case Arrived(compared=pairs):
                return [(PROCESSOR, pairs * INSPECTED_SHARE * machine.comparison_seconds)]
            case Flushed(side=side, partition=partition, n_bytes=n_bytes):
                self._flushed_bytes[side, partition] += n_bytes
                if machine.flushed_to == "pages":
                    return [(disk.name, disk.at_random(0, n_bytes))]
                if machine.flushed_to == "one log":
                    return [(disk.name, disk.appending(n_bytes))]
                return [(disk.name, disk.writing(1 if self._opens_file(event) else 0, n_bytes))]
            case Scanned(n_runs=runs, n_bytes=n_bytes):
                return [(disk.name, disk.reading(runs, n_bytes))]
            case Looped(n_bytes=n_bytes):
                return [(disk.name, disk.reading(len(SIDES), n_bytes))]
            case Merged(n_runs=runs, n_bytes=n_bytes) if phase == "clean-up" and machine.clean_up == "run after run":
                return [(disk.name, self._run_after_run(runs, n_bytes))]
            case Merged(n_bytes=n_bytes) if phase == "clean-up" and machine.clean_up == "file after file":
                return [(disk.name, disk.reading(len(SIDES) * math.ceil(n_bytes / machine.memory_bytes), n_bytes))]
            case Merged(partition=partition, n_bytes=n_bytes) if phase == "clean-up":
                return [(disk.name, self._passes(partition) * disk.at_random(n_bytes, n_bytes))]
            case Merged(n_runs=runs, n_bytes=n_bytes, written_bytes=0) if machine.whole_partitions == "run after run":
                return [(disk.name, disk.reading(runs, n_bytes))]
            case Merged(n_runs=runs, n_bytes=n_bytes, written_bytes=written_bytes) if machine.merges == "run after run":
                written = disk.writing(len(SIDES), written_bytes) if written_bytes else 0.0
                return [(disk.name, self._run_after_run(runs, n_bytes) + written)]
            case Merged(n_bytes=n_bytes, written_bytes=written_bytes):
                return [(disk.name, disk.at_random(n_bytes, written_bytes))]

    def _run_after_run(self, runs: int, n_bytes: int) -> float:
        return self._machine.disk.reading(runs * math.ceil(n_bytes / self._machine.memory_bytes), n_bytes)

    def _passes(self, partition: int) -> int:
        """The passes of a merge that begins with single pages (RPJ sec. 5.3)."""
        pages = [self._machine.disk.pages(self._flushed_bytes[side, partition]) for side in SIDES]
        return max(math.ceil(math.log(max(some, 2), self._machine.fan_in)) for some in pages)

    def _opens_file(self, event: Flushed) -> bool:
        if self._machine.flushed_to == "a file for each partition":
            return True
        tick, sides = self._files_of_flush
        if tick != event.tick:
            self._files_of_flush = tick, sides = event.tick, set()
        first_of_side = event.side not in sides
        sides.add(event.side)
        return first_of_side
