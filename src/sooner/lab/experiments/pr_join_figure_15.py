"""PR-Join figure 15 and the set-ups beside it: streams, against RPJ (sec. 5.3 and 6.2).

Data, network, disk and processor are those of RPJ's own experiments (`rpj`), as in the paper. Given: rows of 12 bytes,
memory for 1,000 pages of 1 KB, 10,000 keys; two streams of a million rows, which end after 2,000 seconds (slow, a row
each ms) or after 20 (fast, a hundred).

Chosen: PR-Join has RPJ's 20 partitions; gamma is 1; how many rows there will be is not known, so it never stops; it
flushes as much at a time as RPJ does. A partition is read run after run.

At the first tenth, and with a faster side at the first few, RPJ is ahead: until a partition has doubled its rows wait,
while in RPJ they meet what is in memory at once. On the scale of the paper's figure, up to all results, that cannot be
seen.

Scale. PR-Join runs on real rows, so a row stands for 10 of the paper's. On an unreliable network, where there is
something to join in each of 90,000 silences, it stands for 200, and few keys are left.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from sooner.lab.claims import ahead, alike, share_before_clean_up
from sooner.lab.experiment import Claim, Experiment, Figure
from sooner.lab.experiments.pr_join_claims import ends_with, seconds_to_end
from sooner.lab.experiments.rpj import COMPETITORS, PANELS, Network, Panel, RpjRace, draw_trace
from sooner.lab.history import History
from sooner.lab.simulator import Laboratory, simulate
from sooner.lab.subject import ROW_BYTES
from sooner.named_algorithms import ALGORITHMS

ROWS_OF_PAGE: Final = 1024 / 12
MEMORY_PAGES: Final = 1000
FULL_SCALES: Final[dict[Network, int]] = {"reliable": 10, "unreliable": 200}
TIMES_AS_FAST: Final = 100
SETTING: Final = "2,000,000 rows, memory for 85,333, 10 ms random and 0.02 ms sequential access to a page of 1 KB"
NOT_YET_DOUBLED: Final = "the paper: until a partition has doubled its rows wait; RPJ's meet what is there at once"


@dataclass(frozen=True)
class StreamRace:
    algorithm: Literal["pr_join", "rpj"]
    panel: Panel = PANELS[0]
    network: Network = "reliable"
    times_as_fast: int = 1

    @property
    def seconds(self) -> float:
        if self.algorithm == "rpj":
            return 2 if self.network == "reliable" else 7
        return 8 if self.network == "reliable" else 45

    def run(self, scale: int, seed: int) -> History:
        stands_for = scale * FULL_SCALES[self.network]
        trace = draw_trace(self.panel, self.network, stands_for, seed)
        trace = replace(trace, seconds=trace.seconds / self.times_as_fast)
        laboratory = self._laboratory(stands_for)
        if self.algorithm == "rpj":
            history = simulate(trace, COMPETITORS["rpj"], laboratory)
        else:
            history = simulate(trace, ALGORITHMS["pr_join"], laboratory, rows="real")
        return replace(history, stands_for=stands_for)

    def _laboratory(self, stands_for: int) -> Laboratory:
        """RPJ's own, with other rows and another memory."""
        laboratory = RpjRace(self.panel, self.network, "rpj").laboratory(stands_for)
        machine = laboratory.machine
        disk = replace(machine.disk, page_bytes=round(ROWS_OF_PAGE / stands_for * ROW_BYTES))
        memory_bytes = int(MEMORY_PAGES * ROWS_OF_PAGE / stands_for) * ROW_BYTES
        machine = replace(machine, disk=disk, memory_bytes=memory_bytes, whole_partitions="run after run")
        return replace(laboratory, machine=machine)


def _experiment(name: str, title: str, race: StreamRace, claims: Sequence[Claim]) -> Experiment:
    races = {"pr_join": race, "rpj": replace(race, algorithm="rpj")}
    return Experiment(
        name=f"pr-join-15-{name}",
        paper="PR-Join",
        title=f"streams, {title}",
        figure=Figure("results", "the end", "results"),
        races=races,
        claims=claims,
        measurements=(*map(share_before_clean_up, races), *map(seconds_to_end, races)),
        setting=SETTING,
        module=__name__,
        full_scale=FULL_SCALES[race.network],
    )


CLAIMS: Final = (
    Claim("PR-Join is ahead of RPJ when the streams end", "far ahead", ahead("pr_join", "rpj", after=1.0)),
    Claim(
        "PR-Join is ahead of RPJ from the very beginning, at each tenth of the arrivals",
        "ahead",
        ahead("pr_join", "rpj"),
        NOT_YET_DOUBLED,
    ),
    Claim(
        "PR-Join is ahead of RPJ at each tenth of the second half of the arrivals",
        "ahead",
        ahead("pr_join", "rpj", after=0.5),
        NOT_YET_DOUBLED,
    ),
    Claim("PR-Join has finished sooner than RPJ", "sooner", ends_with("pr_join", "rpj", at_most=0.995)),
)
UNRELIABLE: Final = Claim(
    "PR-Join and RPJ are alike on an unreliable network", "very similar (ours: 5%)", alike(("pr_join", "rpj"), 0.05)
)


SLOW: Final = dict(zip(("slow", "reverse", "one-faster"), PANELS, strict=False))

EXPERIMENTS: Final = (
    *(_experiment(name, f"slow: {panel.title}", StreamRace("pr_join", panel), CLAIMS) for name, panel in SLOW.items()),
    _experiment("fast", f"fast: {PANELS[0].title}", StreamRace("pr_join", times_as_fast=TIMES_AS_FAST), CLAIMS),
    _experiment(
        "unreliable",
        f"unreliable network: {PANELS[0].title}",
        StreamRace("pr_join", network="unreliable"),
        (UNRELIABLE,),
    ),
)
