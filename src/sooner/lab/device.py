"""A simulated device: what the work of a join would take on a disk and a processor that are only numbers.

The disk is RPJ's (sec. 5.3): a page costs a random or a sequential access. Each event costs:

- a flush: a seek for each partition, to the end of what is there of it (RPJ sec. 4.1, figure 4), then pages in
  sequence; or a seek for each side, since `sooner` writes what leaves together into one file a side;
- a memory-disk task: a seek for each run, then pages in sequence;
- a merge: a seek for each page read and for each page written, since runs are read side by side with little memory;
- the clean-up, when all of the memory is free: as much as fits is read run after run, so a partition that fits the
  memory costs a seek for each run and then pages in sequence, and a larger one that many times the seeks.

The processor compares an arriving row with a fifth of its partition: RPJ (sec. 6) divides each by a second hash into 5.
The processor's part in disk work is left out, as in sec. 5.3: the disk dominates it.
"""

import math
from dataclasses import dataclass
from typing import Final, Literal

from sooner.operators.events import Arrived, Entered, Event, Flushed, Merged, Reached, Scanned, Tidied
from sooner.phases import Phase
from sooner.policies.view import DeviceCosts

INSPECTED_SHARE: Final = 1 / 5

FlushedTo = Literal["a file for each partition", "a file for each side"]


@dataclass(frozen=True)
class Device:
    disk: DeviceCosts
    memory_bytes: int
    comparison_seconds: float
    flushed_to: FlushedTo = "a file for each partition"


class Meter:
    """Adds up what the events of one join cost."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._files_of_flush: tuple[int, set[int]] = (0, set())  # the last flush's tick, the sides it has files of
        self.seconds = 0.0

    def add(self, event: Event, phase: Phase) -> None:
        self.seconds += self._cost(event, phase)

    def _cost(self, event: Event, phase: Phase) -> float:
        disk = self._device.disk
        match event:
            case Arrived(compared=pairs):
                return pairs * INSPECTED_SHARE * self._device.comparison_seconds
            case Flushed(n_bytes=n_bytes):
                return disk.scan_seconds(1 if self._opens_file(event) else 0, n_bytes)
            case Scanned(n_runs=runs, n_bytes=n_bytes):
                return disk.scan_seconds(runs, n_bytes)
            case Merged(n_runs=runs, n_bytes=n_bytes) if phase == "clean-up":
                return disk.scan_seconds(runs * math.ceil(n_bytes / self._device.memory_bytes), n_bytes)
            case Merged(n_bytes=n_bytes, written_bytes=written_bytes):
                return disk.random_seconds * (disk.pages(n_bytes) + disk.pages(written_bytes))
            case Entered() | Tidied() | Reached():
                return 0.0

    def _opens_file(self, event: Flushed) -> bool:
        if self._device.flushed_to == "a file for each partition":
            return True
        tick, sides = self._files_of_flush
        if tick != event.tick:
            self._files_of_flush = tick, sides = event.tick, set()
        first_of_side = event.side not in sides
        sides.add(event.side)
        return first_of_side
