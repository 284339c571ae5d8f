"""What races in PR-Join figure 15: PR-Join and RPJ on streams (sec. 5.3 and 6.2).

Data, network, disk and processor are those of RPJ's own experiments (`rpj`), as in the paper. Given: rows of 12 bytes,
memory for 1,000 pages of 1 KB, 10,000 keys; two streams of a million rows, which end after 2,000 seconds (slow, a row
each ms) or after 20 (fast, a hundred).

Chosen: PR-Join has RPJ's 20 partitions; gamma is 1; how many rows there will be is not known, so it never stops; it
flushes as much at a time as RPJ does. A partition is read run after run. What leaves memory is appended to its
partition, with a seek each: written page by page, fast streams would end long before their rows are written.

Scale. A row stands for 10 of the paper's. On an unreliable network, where there is something to join in each of 90,000
silences, it stands for 200, and there are fewer keys.
"""

from dataclasses import dataclass, replace
from typing import Final, Literal, Self

from sooner.lab.history import History
from sooner.lab.races.mutants import idle_in_silence
from sooner.lab.races.rpj import COMPETITORS, PANELS, Network, Panel, RpjRace, draw_trace
from sooner.lab.resources import FlushedTo
from sooner.lab.simulator import Laboratory, simulate, simulate_subject
from sooner.lab.subject import ROW_BYTES
from sooner.lab.waiting_join import waiting
from sooner.named_algorithms import ALGORITHMS

ROWS_OF_PAGE: Final = 1024 / 12
MEMORY_PAGES: Final = 1000
FULL_SCALES: Final[dict[Network, int]] = {"reliable": 10, "unreliable": 200}
SETTING: Final = "2,000,000 rows, memory for 85,333, 10 ms random and 0.02 ms sequential access to a page of 1 KB"
FLUSHED_TO: Final[FlushedTo] = "a file for each partition"
NEVER_EARLY: Final = "nothing is joined before the end"
SLOW_DISK: Final = "disk a hundred times as slow"
TIMES_SLOWER: Final = 100


@dataclass(frozen=True)
class StreamRace:
    algorithm: Literal["pr_join", "rpj"]
    panel: Panel = PANELS[0]
    network: Network = "reliable"
    times_as_fast: int = 1
    mutant: str = ""

    @property
    def seconds(self) -> float:
        if self.algorithm == "rpj":
            return 1 if self.network == "reliable" else 3
        return 1 if self.network == "reliable" else 6

    def run(self, scale: int, seed: int) -> History:
        stands_for = scale * FULL_SCALES[self.network]
        trace = draw_trace(self.panel, self.network, stands_for, seed)
        trace = replace(trace, seconds=trace.seconds / self.times_as_fast)
        laboratory = self._laboratory(stands_for)
        if self.algorithm == "rpj":
            return replace(simulate(trace, COMPETITORS["rpj"], laboratory), stands_for=stands_for)
        pr_join = ALGORITHMS["pr_join"]
        if self.mutant == NEVER_EARLY:
            pr_join = idle_in_silence(pr_join)
        return replace(simulate_subject(trace, waiting(pr_join), laboratory), stands_for=stands_for)

    def mutated(self, mutant: str) -> Self:
        return replace(self, mutant=mutant) if self.algorithm == "pr_join" else self

    def _laboratory(self, stands_for: int) -> Laboratory:
        """RPJ's own, with other rows and another memory."""
        laboratory = RpjRace(self.panel, self.network, "rpj", flushed_to=FLUSHED_TO).laboratory(stands_for)
        machine = laboratory.machine
        disk = replace(machine.disk, page_bytes=round(ROWS_OF_PAGE / stands_for * ROW_BYTES))
        if self.mutant == SLOW_DISK:
            disk = replace(disk, seek_seconds=TIMES_SLOWER * disk.seek_seconds)
        memory_bytes = int(MEMORY_PAGES * ROWS_OF_PAGE / stands_for) * ROW_BYTES
        machine = replace(machine, disk=disk, memory_bytes=memory_bytes, whole_partitions="run after run")
        return replace(laboratory, machine=machine)
