"""SSBJ figure 4: how much memory a rate needs (sec. 4.2).

Rates of figure 4(a) are not in the text. By equation 1 both need memory in proportion to the rows of a cycle, so the
multiple hardly depends on the rate or on R.
"""

from typing import Final

from sooner.lab.experiment import Claim, Experiment
from sooner.lab.experiments.semi_stream import (
    CACHE_ANSWERS_LESS,
    LETTER,
    MEMORY,
    MESHJOIN,
    MUTANTS,
    SLOWER,
    SSBJ,
    SetUps,
    changes,
    experiment,
    least_of_any_placement,
    less_memory_each_time,
    memory_bytes,
    memory_of,
    pairs,
    races,
    ratios_of,
    times_the_memory,
)
from sooner.lab.races.semi_stream import SemiStreamRace

MILLION: Final = 1_000_000
RATE_OF_4B: Final = 51_242
RATES: Final[SetUps] = {
    f"{rate:,} a second": SemiStreamRace(SSBJ, 20 * MILLION, memory_share=None, arrival_rate=rate)
    for rate in (25_000, 50_000, 75_000, 100_000, 125_000)
}
TABLES: Final[SetUps] = {
    f"{millions} million": SemiStreamRace(SSBJ, millions * MILLION, memory_share=None, arrival_rate=RATE_OF_4B)
    for millions in (20, 40, 60, 80)
}
LONGER_CYCLES: Final = (
    "the paper: at one rate a cycle has more stream rows the longer R is, in proportion; the share of values that are "
    "cached stays the same, and with Zipf it answers more, not less, of a stream over more values"
)


def _figure_4a() -> Experiment:
    section = "sec. 4.2, fig. 4(a)"
    claims = (
        Claim(
            section,
            "MESHJOIN uses about 7 times the memory of SSBJ at all rates",
            "about 7 times",
            times_the_memory(pairs(RATES), 7),
            CACHE_ANSWERS_LESS,
        ),
        Claim(section, "SSBJ uses less memory at each rate", "less", less_memory_each_time(pairs(RATES))),
        Claim(
            section,
            "SSBJ to the letter uses less memory at each rate",
            "less",
            less_memory_each_time(pairs(RATES, LETTER)),
        ),
    )
    contestants = races(RATES, SSBJ, LETTER, MESHJOIN)
    least = (least_of_any_placement(at, race) for at, race in RATES.items())
    title = "memory by arrival rate, 20 million master rows, skew 1"
    return experiment("4a", title, contestants, claims, [*map(memory_of, contestants), *least], MUTANTS, __name__)


def _figure_4b() -> Experiment:
    section, compared = "sec. 4.2, fig. 4(b)", pairs(TABLES)
    claims = (
        Claim(
            section,
            "With 20 million master rows MESHJOIN uses 7 times the memory",
            "7 times",
            times_the_memory(compared[:1], 7),
            CACHE_ANSWERS_LESS,
        ),
        Claim(
            section,
            "With 80 million master rows MESHJOIN uses 5 times the memory",
            "5 times",
            times_the_memory(compared[-1:], 5),
            CACHE_ANSWERS_LESS,
        ),
        Claim(
            section,
            "The more master rows, the less of it SSBJ saves",
            "from 7 to 5",
            changes(MEMORY, memory_bytes, [(other, name) for name, other in compared], towards=-1),
            LONGER_CYCLES,
        ),
        Claim(section, "SSBJ uses less memory each time", "less", less_memory_each_time(compared)),
    )
    contestants = races(TABLES, SSBJ, LETTER, MESHJOIN)
    letter = [(other, name) for name, other in pairs(TABLES, LETTER)]
    least = (least_of_any_placement(at, race) for at, race in TABLES.items())
    measurements = [*map(memory_of, contestants), *ratios_of("memory", memory_bytes, letter), *least]
    title = f"memory by size of R at {RATE_OF_4B:,} rows a second, skew 1"
    return experiment("4b", title, contestants, claims, measurements, (*MUTANTS, *SLOWER), __name__)


EXPERIMENTS: Final = (_figure_4a(), _figure_4b())
