"""RPJ figure 9: cost per result on a reliable network (sec. 6.1).

It depends on the disk. The paper says that RPJ is cheapest because it has the most results, which supposes that flushes
of equal size cost the same. So it is on a disk on which every page takes 10 ms. With 500 times cheaper sequential
accesses RPJ is the dearest, if a flush appends to each partition (figure 4): in time its memory holds the likeliest
partitions only, so that each flush takes a little of some 30 others and pays a seek for each; XJoin and HMJ take one or
two. n_flush is not to blame: from a fiftieth to a fifth of the memory RPJ stays the dearest, the smaller the more so.
With one file a side, as `sooner` writes, seeks are few for all of them.
"""

from dataclasses import replace
from typing import Final

from sooner.lab.claims import cheaper
from sooner.lab.experiment import Claim, Experiment, Figure
from sooner.lab.experiments.rpj import PANELS, SETTING, Panel, RpjRace, measurements, races

NAMES: Final = ("rpj", "hmj", "xjoin")
ONE_FILE: Final = ", one file a side"  # how sooner writes
ONE_SPEED: Final = ", every page 10 ms"
DEAR_SEEKS: Final = "RPJ flushes a little of some 30 partitions, each with a seek; the others flush one or two"
CLAIMS: Final = tuple(
    Claim(f"RPJ costs less per result than {shown} at every tenth of the arrivals{where}", "lowest", read, why)
    for where, suffix, why in (
        (
            " (every page 10 ms)",
            ONE_SPEED,
            "at the first tenth both have about as many results, and RPJ has flushed a tenth of the memory ahead",
        ),
        (" (10 ms random, 0.02 ms sequential)", "", DEAR_SEEKS),
        (
            " (the same disk, a flush written to one file a side, as sooner does)",
            ONE_FILE,
            "seeks are few for all of them, and what is left is a matter of a few percent",
        ),
    )
    for other, shown in (("hmj", "HMJ"), ("xjoin", "XJoin"))
    for read in [cheaper("rpj" + suffix, other + suffix)]
)


def _experiment(panel: Panel) -> Experiment:
    contestants: dict[str, RpjRace] = {}
    for name, race in races(panel, "reliable", *NAMES).items():
        contestants[name] = race
        contestants[name + ONE_SPEED] = replace(race, disk="every page 10 ms")
        contestants[name + ONE_FILE] = replace(race, flushed_to="a file for each side")
    return Experiment(
        name=f"rpj-9{panel.letter}",
        paper="RPJ",
        title=f"cost per result, reliable network: {panel.title}",
        figure=Figure("cost_per_result_microseconds", "the last arrival", "microseconds per result"),
        races=contestants,
        claims=CLAIMS,
        measurements=measurements(*contestants)[len(contestants) :],
        setting=SETTING,
        module=__name__,
    )


EXPERIMENTS: Final = tuple(map(_experiment, PANELS))
