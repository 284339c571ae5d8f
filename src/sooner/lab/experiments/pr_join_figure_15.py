"""PR-Join figure 15 and the set-ups beside it: streams, against RPJ (sec. 5.3 and 6.2).

At the first tenth, and with a faster side at the first few, RPJ is ahead: until a partition has doubled its rows wait,
while in RPJ they meet what is in memory at once. On the scale of the paper's figure, up to all results, that cannot be
seen.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from sooner.lab.claims import (
    TENTHS,
    ahead,
    done_sooner,
    far_ahead,
    seconds_to_end,
    share_before_clean_up,
    similar_all_along,
)
from sooner.lab.experiment import Claim, Experiment, Figure
from sooner.lab.races.pr_join_streams import FULL_SCALES, NEVER_EARLY, SETTING, SLOW_DISK, StreamRace
from sooner.lab.races.rpj import PANELS

SECTION: Final = "sec. 6.2, fig. 15"
TIMES_AS_FAST: Final = 100
NOT_YET_DOUBLED: Final = "the paper: until a partition has doubled its rows wait; RPJ's meet what is there at once"
CLAIMS: Final = (
    Claim(SECTION, "PR-Join is far ahead of RPJ when the streams end", "significantly", far_ahead("pr_join", "rpj")),
    Claim(
        SECTION,
        "PR-Join is ahead of RPJ from the very beginning, at each tenth of the arrivals",
        "from the very beginning",
        ahead("pr_join", "rpj"),
        NOT_YET_DOUBLED,
    ),
    Claim(
        SECTION,
        "PR-Join is ahead of RPJ at each tenth of the second half of the arrivals",
        "ahead",
        ahead("pr_join", "rpj", after=TENTHS[4]),
        NOT_YET_DOUBLED,
    ),
    Claim(
        "sec. 6.2, fig. 15(b)",
        "PR-Join has finished sooner than RPJ",
        "less time to finish",
        done_sooner([("pr_join", "rpj")]),
    ),
)
UNRELIABLE: Final = Claim(
    "sec. 6.2",
    "PR-Join and RPJ are alike on an unreliable network, at each tenth of the arrivals",
    "very similar output rates",
    similar_all_along("pr_join", "rpj"),
    "unexplained: in a silence PR-Join joins the partition with most to gain as a whole, RPJ the best task of all",
)
SLOW: Final = dict(zip(("slow", "reverse", "one-faster"), PANELS, strict=False))


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
        mutants=(NEVER_EARLY, SLOW_DISK),
        full_scale=FULL_SCALES[race.network],
    )


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
