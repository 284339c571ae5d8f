"""DINER figures 7 and 8: progress on the data that stands in for the paper's real data (sec. 5.1).

RPJ flushes one block, as DINER does; beside it, a tenth of the memory, and flushes that append to a file for each
partition. There a block of RPJ's is 23 seeks, so for how long whole joins take it flushes a tenth.
"""

from dataclasses import replace
from typing import Final

from sooner.lab.claims import ahead, ahead_in_the_end, clean_up_seconds, comparable_completion, seconds_to_end
from sooner.lab.experiment import Claim, Experiment
from sooner.lab.experiments.diner import FLUSHED, REVERSED, contestant, figure, races
from sooner.lab.races.diner import SLOW_DISK, DinerRace
from sooner.lab.races.diner_workloads import REAL_DATA

SECTION: Final = "sec. 5.1, fig. {}"
NAMES: Final = ("diner", "rpj", "hmj", "xjoin", "pmj")
TITLES: Final = {"CSCO": "stock trades like CSCO (synthetic)", "weather": "temperatures of two stations"}
WALKED_LITTLE: Final = (
    "data: while synthetic prices have hardly walked, another may be ahead by a few percent; in the end none is"
)
EVENLY_SPREAD: Final = "data: prices that walk at random are spread evenly over RPJ's partitions; chances say nothing"


def _experiment(number: str, data: str) -> Experiment:
    diner, *others = (contestant(name, data) for name in NAMES)
    section = SECTION.format(number)
    claims = [
        Claim(
            section,
            f"DINER has more results than {other.partition(',')[0]} at every tenth of the arrivals",
            "much higher",
            ahead(diner, other),
            WALKED_LITTLE,
        )
        for other in others
    ]
    claims.append(
        Claim(
            "sec. 5",
            "DINER, RPJ and HMJ take about as long, end to end, if flushes append to partitions",
            "comparable",
            comparable_completion(*(contestant(name, f"{data}, appending") for name in ("diner", "rpj", "hmj"))),
            "settings: memory has room for 1,000 rows; to append a tenth of RPJ's takes longer than it took to come",
        )
    )
    if data == "CSCO":
        caught_up = ahead_in_the_end(contestant("rpj", data), contestant("xjoin", data))
        claims.append(Claim(section, "RPJ has caught up with XJoin in the end", "caught up", caught_up, EVENLY_SPREAD))
    given = DinerRace(REAL_DATA[data], "diner")
    appending = replace(given, flushed_to="a file for each partition")
    contestants = {
        **races({data: given}, *NAMES),
        **races({f"{data}, flushing a tenth": replace(given, flush="a tenth")}, "diner", "rpj"),
        **races({f"{data}, appending": appending}, "diner", "hmj"),
        **races({f"{data}, appending": replace(appending, flush="a tenth")}, "rpj"),
        **races({f"{data}, appending blocks": appending}, "rpj"),
    }
    by_ranges = contestant("diner", f"{data}, clean-up by ranges")
    contestants[by_ranges] = replace(given, to_the_letter=False)
    measured = [measure(name) for measure in (clean_up_seconds, seconds_to_end) for name in contestants]
    mutants = (REVERSED, FLUSHED, "rpj: flush order reversed", f"diner: {SLOW_DISK}")
    title = f"progress on {TITLES[data]}"
    return figure(number, title, contestants, claims, mutants, __name__, measured)


EXPERIMENTS: Final = (_experiment("7", "CSCO"), _experiment("8", "weather"))
