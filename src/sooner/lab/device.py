"""A simulated device: what the work of a join would take on a disk and a processor that are only numbers.

The disk is RPJ's (sec. 5.3): a random access and a sequential one, for a page. Each event costs:

- a flush: a seek for each partition, then pages in sequence, since what leaves together is written together;
- a memory-disk task: a seek for each run, then pages in sequence;
- a merge: a seek for each page read and for each page written, since runs are read side by side with little memory;
- the clean-up, which writes nothing and has all of the memory: as much as fits is read run after run, so a partition
  that fits the memory costs a seek for each run and then pages in sequence, and a larger one that many times the seeks.

The processor compares an arriving row with a fifth of its partition: RPJ (sec. 6) divides each into 5 by a second hash.
The processor's part in disk work is left out, as in sec. 5.3: the disk dominates it.
"""

import math
from dataclasses import dataclass
from typing import Final

from sooner.operators.events import Arrived, Entered, Event, Flushed, Merged, Scanned
from sooner.policies.view import DeviceCosts

INSPECTED_SHARE: Final = 1 / 5


@dataclass(frozen=True)
class Device:
    disk: DeviceCosts
    memory_bytes: int
    comparison_seconds: float

    def seconds(self, event: Event) -> float:
        """How long this piece of work takes."""
        match event:
            case Arrived(compared=pairs):
                return pairs * INSPECTED_SHARE * self.comparison_seconds
            case Flushed(n_bytes=n_bytes):
                return self.disk.scan_seconds(1, n_bytes)
            case Scanned(n_runs=runs, n_bytes=n_bytes):
                return self.disk.scan_seconds(runs, n_bytes)
            case Merged(written_bytes=0, n_runs=runs, n_bytes=n_bytes):
                fillings = math.ceil(n_bytes / self.memory_bytes)
                return self.disk.scan_seconds(runs * fillings, n_bytes)
            case Merged(n_bytes=n_bytes, written_bytes=written_bytes):
                return self.disk.random_seconds * (self.disk.pages(n_bytes) + self.disk.pages(written_bytes))
            case Entered():
                return 0.0
