"""SSBJ figure 5: how many stream rows a second a memory is good for, and what the cache answers (sec. 4.3).

The paper has two numbers for one set-up. With 100 million master rows, 1.12 GB and skew 1 SSBJ is 8 times as fast as
MESHJOIN in figures 5(a) and 5(c), and 5.7 times in figure 5(b).

Figure 5(d): the orders of TPC-H are spread evenly over two thirds of the customers, so no customer is frequent, and the
inequality, which goes by chance counts, can only be wrong. The paper finds what it has for skew 1; orders by Zipf are
measured beside it. Figure 5(e): with 20 million master rows and 36,000 longitudes each value has over 500 master rows,
and fewer stream rows wait for it; stations report in December as they do in April and August.

Figure 5(f) has an arrival rate that is not given. Here it is 250,000 rows a second, about what SSBJ to the letter can
do with 9% of R, from where on the paper's share does not grow.
"""

from dataclasses import replace
from typing import Final

from sooner.lab.experiment import Claim, Experiment, Measurement
from sooner.lab.experiments.semi_stream import (
    CACHE_ANSWERS_LESS,
    FOR_NOTHING,
    LETTER,
    MESHJOIN,
    MUTANTS,
    RATE,
    SHOWN,
    SSBJ,
    SetUps,
    answered_share,
    as_fast,
    best_of_any_placement,
    changes,
    contestant,
    experiment,
    faster_each_time,
    pairs,
    races,
    rate_of,
    ratios_of,
    service_rate,
    share_answered,
    share_of,
    times_the_rate,
)
from sooner.lab.races.semi_stream import NEVER_EVICTS, ROWS, SemiStreamRace

MILLION: Final = 1_000_000
PERCENTS: Final = (1, 2, 5, 10)
MEMORIES: Final[SetUps] = {f"{share}%": SemiStreamRace(SSBJ, memory_share=share / 100) for share in PERCENTS}
TABLES: Final[SetUps] = {
    f"{millions} million": SemiStreamRace(SSBJ, millions * MILLION, memory_share=0.1 * ROWS / (millions * MILLION))
    for millions in (20, 40, 60, 80, 100)
}
QUICK_STEPS: Final[SetUps] = {f"{at}, 10 ns a step": replace(race, step_seconds=10e-9) for at, race in TABLES.items()}
SKEWS: Final[SetUps] = {f"skew {skew:g}": SemiStreamRace(SSBJ, skew=skew) for skew in (0.0, 0.25, 0.5, 0.75, 1.0)}
ORDERS: Final[SetUps] = {at: replace(race, master_rows=15 * MILLION, data="tpc-h") for at, race in MEMORIES.items()}
SKEWED_ORDERS: Final[SetUps] = {
    f"{at}, skewed orders": replace(race, data="tpc-h, skewed") for at, race in ORDERS.items()
}
REPORTS: Final[SetUps] = {at: replace(race, master_rows=20 * MILLION, data="weather") for at, race in MEMORIES.items()}
ARRIVAL_RATE: Final = 250_000
ARRIVING: Final[SetUps] = {
    f"{share}%": SemiStreamRace(SSBJ, memory_share=share / 100, arrival_rate=ARRIVAL_RATE)
    for share in (1, 3, 5, 7, 9, 10)
}

AT_THE_PROCESSOR: Final = (
    "settings: with 20 million master rows the memory is half of R, and SSBJ, at two million rows a second, waits for "
    "the processor and not for the disk; with 10 ns instead of 100 for each step it is 7.5 times as fast there, and "
    "4.4 times with 100 million, as is measured beside it"
)
EMPTY_VALUES: Final = (
    "the paper: by its text (sec. 3.1) values without master rows are cached, and a third of the values are such, "
    "whatever the skew; its pseudo-code never gets to them, and to the letter the two are as fast"
)
ALL_CUSTOMERS_ALIKE: Final = (
    "data: in TPC-H all customers with orders are as likely, so there is nothing to cache; the paper 'adapted' its "
    "data and finds what it has for skew 1, and with orders by Zipf we find 2.1 to 3.3 times"
)
ALL_LONGITUDES_ALIKE: Final = (
    "data: in our twin a stream row finds 5,000 master rows, far more than stream rows wait for its value, so the "
    "cache answers 2%, nearly all without a master row; and 60% to 95% of the time goes into putting matches out"
)
MORE_THAN_SAID: Final = (
    "the paper: with values cached that have no master rows, as its text has it, the cache answers far more; see the "
    "claim to the letter"
)
BY_CHANCE: Final = (
    "data: to the letter it depends on whether the most frequent values, the first with 5% of the stream, have a "
    "master row, which is chance, and differs from seed to seed"
)


def _figure_5a() -> Experiment:
    section, compared = "sec. 4.3, fig. 5(a)", pairs(MEMORIES)
    claims = (
        Claim(
            section,
            "With 1% of R as memory SSBJ is 7 times as fast as MESHJOIN",
            "7 times",
            times_the_rate(compared[:1], 7),
            CACHE_ANSWERS_LESS,
        ),
        Claim(
            section,
            "With 10% of R as memory SSBJ is 8 times as fast as MESHJOIN",
            "8 times",
            times_the_rate(compared[-1:], 8),
            CACHE_ANSWERS_LESS,
        ),
        Claim(
            section,
            "The more memory, the larger the advantage",
            "increases slightly",
            changes(RATE, service_rate, compared, towards=1),
        ),
        Claim(section, "SSBJ is faster with each memory", "faster", faster_each_time(compared)),
        Claim(
            section,
            "SSBJ to the letter is faster with each memory",
            "faster",
            faster_each_time(pairs(MEMORIES, LETTER)),
        ),
    )
    contestants = races(MEMORIES, SSBJ, LETTER, MESHJOIN, FOR_NOTHING)
    measurements: list[Measurement] = [
        *map(rate_of, contestants),
        *(
            one
            for name in (SSBJ, LETTER, FOR_NOTHING)
            for one in ratios_of("rate", service_rate, pairs(MEMORIES, name))
        ),
        *(best_of_any_placement(at, race) for at, race in MEMORIES.items()),
    ]
    title = "service rate by memory, 100 million master rows, skew 1"
    mutants = (*MUTANTS, f"ssbj: {NEVER_EVICTS}")
    return experiment("5a", title, contestants, claims, measurements, mutants, __name__)


def _figure_5b() -> Experiment:
    section, compared = "sec. 4.3, fig. 5(b)", pairs(TABLES)
    claims = (
        Claim(
            section,
            "With 20 million master rows SSBJ is 7 times as fast as MESHJOIN",
            "7 times",
            times_the_rate(compared[:1], 7),
            AT_THE_PROCESSOR,
        ),
        Claim(
            section,
            "With 100 million master rows SSBJ is 5.7 times as fast as MESHJOIN",
            "5.7 times",
            times_the_rate(compared[-1:], 5.7),
            "settings: the 8 bytes of each value without master rows are a fifth of the memory; if they were for "
            "nothing it would be 4.6 times (ssbj-5a); the paper itself has 8 times for this set-up in figures 5(a) and "
            "5(c)",
        ),
        Claim(
            section,
            "The more master rows, the smaller the advantage",
            "from 7 to 5.7",
            changes(RATE, service_rate, compared, towards=-1),
            AT_THE_PROCESSOR,
        ),
        Claim(section, "SSBJ is faster each time", "faster", faster_each_time(compared)),
    )
    contestants = {**races(TABLES, SSBJ, MESHJOIN), **races(QUICK_STEPS, SSBJ, MESHJOIN)}
    measurements = [
        *map(rate_of, contestants),
        *ratios_of("rate", service_rate, (*compared, *pairs(QUICK_STEPS))),
    ]
    title = "service rate by size of R, 1.2 GB of memory, skew 1"
    return experiment("5b", title, contestants, claims, measurements, MUTANTS, __name__)


def _figure_5c() -> Experiment:
    section, compared = "sec. 4.3, fig. 5(c)", pairs(SKEWS)
    uniform, slight, *_, strong = SKEWS
    similar = [
        Claim(
            section,
            f"Without skew {SHOWN[name]} is as fast as MESHJOIN",
            "equal",
            as_fast(contestant(name, uniform), contestant(MESHJOIN, uniform)),
            EMPTY_VALUES,
        )
        for name in (SSBJ, LETTER)
    ]
    at_once = [
        Claim(
            section,
            f"{SHOWN[name]} is faster than MESHJOIN with a slight skew, of {SKEWS[slight].skew:g}",
            "as soon as the data has even a slight skew",
            faster_each_time([(contestant(name, slight), contestant(MESHJOIN, slight))]),
            "the paper: with this skew no value that has a master row is frequent enough for the inequality, and all "
            "that SSBJ to the letter has more are look-ups in an empty cache",
        )
        for name in (SSBJ, LETTER)
    ]
    claims = (
        *similar,
        *at_once,
        Claim(
            section,
            "The more skew, the larger SSBJ's advantage",
            "more pronounced for increasing skew",
            changes(RATE, service_rate, compared, towards=1),
        ),
        Claim(
            section,
            "The more skew, the larger the advantage of SSBJ to the letter",
            "more pronounced for increasing skew",
            changes(RATE, service_rate, pairs(SKEWS, LETTER), towards=1),
        ),
        Claim(
            section,
            "With a skew of 1 SSBJ is 8 times as fast as MESHJOIN",
            "approximately 8 times",
            times_the_rate(compared[-1:], 8),
            CACHE_ANSWERS_LESS,
        ),
        Claim(
            section,
            "MESHJOIN does not exploit skew: with 1 it is about as fast as with none",
            "decreased slightly",
            as_fast(contestant(MESHJOIN, strong), contestant(MESHJOIN, uniform)),
        ),
    )
    contestants = races(SKEWS, SSBJ, LETTER, MESHJOIN)
    measurements = [
        *map(rate_of, contestants),
        *ratios_of("rate", service_rate, (*compared, *pairs(SKEWS, LETTER))),
    ]
    title = "service rate by skew, 100 million master rows, memory for 10% of them"
    return experiment("5c", title, contestants, claims, measurements, MUTANTS, __name__)


def _figure_5d() -> Experiment:
    section, compared = "sec. 4.3, fig. 5(d)", pairs(ORDERS)
    claims = (
        Claim(
            section,
            "With 1% of R as memory SSBJ is 3.4 times as fast as MESHJOIN",
            "about 3.4 times",
            times_the_rate(compared[:1], 3.4),
            ALL_CUSTOMERS_ALIKE,
        ),
        Claim(
            section,
            "With 10% of R as memory SSBJ is 7.4 times as fast as MESHJOIN",
            "about 7.4 times",
            times_the_rate(compared[-1:], 7.4),
            ALL_CUSTOMERS_ALIKE,
        ),
    )
    contestants = {**races(ORDERS, SSBJ, MESHJOIN), **races(SKEWED_ORDERS, SSBJ, MESHJOIN)}
    measurements = [
        *map(rate_of, contestants),
        *ratios_of("rate", service_rate, (*compared, *pairs(SKEWED_ORDERS))),
        *(best_of_any_placement(at, race) for at, race in {**ORDERS, **SKEWED_ORDERS}.items()),
    ]
    title = "service rate by memory, TPC-H: 15 million customers and a stream of orders"
    return experiment("5d", title, contestants, claims, measurements, (), __name__)


def _figure_5e() -> Experiment:
    section, compared = "sec. 4.3, fig. 5(e)", pairs(REPORTS)
    claims = (
        Claim(
            section,
            "SSBJ is faster than MESHJOIN with each memory",
            "under all memory settings",
            faster_each_time(compared),
            ALL_LONGITUDES_ALIKE,
        ),
    )
    contestants = races(REPORTS, SSBJ, MESHJOIN)
    measurements = [
        *map(rate_of, contestants),
        *ratios_of("rate", service_rate, compared),
        *(share_of(contestant(SSBJ, at)) for at in REPORTS),
    ]
    title = "service rate by memory, synthetic weather reports: 20 million master rows of 36,000 longitudes"
    return experiment("5e", title, contestants, claims, measurements, (), __name__)


def _figure_5f() -> Experiment:
    section = "sec. 4.3, fig. 5(f)"
    what = "stream rows that the cache answers, when warm, as a share"
    first, *_, last_but_one, last = ARRIVING
    claims = []
    for name, why_not in ((SSBJ, MORE_THAN_SAID), (LETTER, BY_CHANCE)):
        by_memory = [(contestant(name, at), contestant(name, first)) for at in ARRIVING]
        claims += [
            Claim(
                section,
                f"With 1% of R as memory the cache of {SHOWN[name]} answers 39% of the stream",
                "39%",
                share_answered(contestant(name, first), 0.39),
                why_not,
            ),
            Claim(
                section,
                f"With 9% of R as memory and more the cache of {SHOWN[name]} answers 54% of the stream",
                "54%",
                share_answered(contestant(name, last_but_one), 0.54),
                why_not,
            ),
            Claim(
                section,
                f"The more memory, the more the cache of {SHOWN[name]} answers",
                "growing",
                changes(what, answered_share, by_memory, towards=1),
            ),
        ]
    contestants = races(ARRIVING, SSBJ, LETTER)
    measurements = [
        *map(share_of, contestants),
        *map(rate_of, contestants),
        *ratios_of("answered share", answered_share, [(contestant(LETTER, last), contestant(LETTER, last_but_one))]),
    ]
    title = f"what the cache answers by memory, at {ARRIVAL_RATE:,} rows a second"
    mutants = [mutant for mutant in MUTANTS if mutant.startswith("ssbj")]
    return experiment("5f", title, contestants, claims, measurements, mutants, __name__)


EXPERIMENTS: Final = (
    _figure_5a(),
    _figure_5b(),
    _figure_5c(),
    _figure_5d(),
    _figure_5e(),
    _figure_5f(),
)
