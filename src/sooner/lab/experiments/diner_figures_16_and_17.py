"""DINER figures 16, 17 and 19 and table 3: delays, and what is done in them (sec. 5.3 and 5.4).

Overflow is read off the rows that waited, as in table 3, which lets them be more than the memory: 10,000 rows.
"""

from dataclasses import replace
from typing import Final

from sooner.lab.claims import ahead_each_time, alike, best_ratio, most_waiting, waiting_rows
from sooner.lab.experiment import Claim, Experiment
from sooner.lab.experiments.diner import MAX_NEW_ARRIVALS, DinerRace, SetUps, contestant, figure, pairs
from sooner.lab.experiments.diner_workloads import REAL_DATA, Zipf

MODULE: Final = "diner_figures_16_and_17"
NAMES: Final = ("diner", "rpj", "hmj")
OTHERS: Final = (("rpj", "RPJ", 1.83), ("hmj", "HMJ", 8.65))
DELAYS: Final = (0.10, 0.25, 0.50, 0.75, 1.00)
MEMORY_ROWS: Final = 10_000
A_FEW: Final = 200  # that come while the last block is joined
ZIPF: Final[SetUps] = {f"{x:.0%} delay": DinerRace(Zipf(), "diner", delay_share=x) for x in DELAYS}
CSCO: Final[SetUps] = {f"{x:.0%} delay": DinerRace(REAL_DATA["CSCO"], "diner", delay_share=x) for x in DELAYS}
CHUNKS: Final[SetUps] = {
    f"{blocks} blocks": DinerRace(Zipf(), "diner", delay_share=0.50, max_outer_blocks=blocks)
    for blocks in (9, 19, 29, 39, 49, 59)
}
FAST_TASKS: Final = "settings: the paper's disk is not known; on ours RPJ's tasks take seconds, not twenty of them"


def _claims(set_ups: SetUps) -> list[Claim]:
    claims = []
    for other, shown, times in OTHERS:
        both = pairs(set_ups, other)
        claims += [
            Claim(
                f"DINER has more early results than {shown} with each delay", "ahead", ahead_each_time(both), FAST_TASKS
            ),
            Claim(
                f"DINER has up to {times} times the results of {shown}",
                f"up to {times} times",
                best_ratio(both, 0.8 * times),
                FAST_TASKS,
            ),
        ]
    return claims


def _figure_16() -> Experiment:
    diners, rpjs = ([contestant(name, at) for at in ZIPF] for name in ("diner", "rpj"))
    table_3 = (
        Claim(
            "Table 3: with DINER little more than 1,000 rows wait, whatever the delay",
            "1,000-odd",
            waiting_rows(diners, most=MAX_NEW_ARRIVALS + A_FEW),
        ),
        Claim(
            "Table 3: with RPJ and the smallest delay 40,000 rows wait, more than the memory has room for",
            "40,000",
            waiting_rows(rpjs[:1], least=MEMORY_ROWS),
            FAST_TASKS,
        ),
    )
    experiment = figure(
        "16", "delays after each of ten fragments: Zipf", ZIPF, NAMES, (*_claims(ZIPF), *table_3), MODULE
    )
    return replace(experiment, measurements=(*experiment.measurements, *map(most_waiting, experiment.races)))


def _figure_17() -> Experiment:
    return figure("17", "delays after each of ten fragments: CSCO (synthetic)", CSCO, NAMES, _claims(CSCO)[::2], MODULE)


def _figure_19() -> Experiment:
    names = [contestant("diner", at) for at in CHUNKS]
    marginal = Claim(
        "The size of a chunk of the outer side matters very little", "marginal (ours: 5%)", alike(names, 0.05)
    )
    return figure("19", "chunks of the outer side of 9 to 59 blocks", CHUNKS, ("diner",), (marginal,), MODULE)


EXPERIMENTS: Final = (_figure_16(), _figure_17(), _figure_19())
