"""How SSBJ's experiments (sec. 4) are put down, and how they are read: of cycles after those that warm up.

SSBJ is here as its text has it, with values in the cache that no master row has, and *to the letter* of its
pseudo-code, which never gets to them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

import numpy as np

from sooner.lab.claims import OF_THE_PAPER, TIE, Measure, Pairs, over, ratio
from sooner.lab.experiment import Claim, Experiment, Figure, Histories, Measurement, Quantity, Reading, Verdict
from sooner.lab.history import History
from sooner.lab.races.semi_stream import (
    HAS_CACHE,
    NO_CACHE,
    REVERSED,
    SETTING,
    SLOW_DISK,
    STAYS,
    WARM_CYCLES,
    SemiStreamRace,
)
from sooner.lab.races.semi_stream_model import least_bytes, most_stream_rows
from sooner.lab.races.semi_stream_values import join_values
from sooner.lab.tolerances import tolerance

SAMPLES: Final = 31
SSBJ: Final = "ssbj"
LETTER: Final = "ssbj to the letter"
FOR_NOTHING: Final = "ssbj, empty entries for nothing"
MESHJOIN: Final = "meshjoin"
SHOWN: Final = {SSBJ: "SSBJ", LETTER: "SSBJ to the letter", MESHJOIN: "MESHJOIN"}
MUTANTS: Final = (
    *(f"ssbj: {wrong}" for wrong in (NO_CACHE, REVERSED, STAYS)),
    *(f"meshjoin: {wrong}" for wrong in (HAS_CACHE, STAYS)),
)
SLOWER: Final = (f"ssbj: {SLOW_DISK}", f"meshjoin: {SLOW_DISK}")
CACHE_ANSWERS_LESS: Final = (
    "the paper: by equation 1 that takes a cache that answers 80% (5 times) to 87% (8 times) of the stream at least, "
    "and its figure 5(f) has 39% with 1% of R and never more than 54%; with our values, as many as R has rows, no "
    "placement has room for it, by theorem 1, as is measured in ssbj-4a, ssbj-4b and ssbj-5a"
)

SetUps = Mapping[str, SemiStreamRace]  # what is swept, by what it is called


def races(set_ups: SetUps, *names: str) -> dict[str, SemiStreamRace]:
    """These algorithms in each set-up."""
    return {contestant(name, at): _as(name, race) for at, race in set_ups.items() for name in names}


def _as(name: str, race: SemiStreamRace) -> SemiStreamRace:
    match name:
        case "meshjoin":
            return replace(race, algorithm="meshjoin")
        case "ssbj to the letter":
            return replace(race, algorithm="ssbj", empty_bytes=None)
        case "ssbj, empty entries for nothing":
            return replace(race, algorithm="ssbj", empty_bytes=0)
    return replace(race, algorithm="ssbj")


def contestant(name: str, set_up: str) -> str:
    return f"{name}, {set_up}"


def pairs(set_ups: SetUps, name: str = SSBJ) -> tuple[tuple[str, str], ...]:
    """SSBJ and MESHJOIN, in each set-up."""
    return tuple((contestant(name, at), contestant(MESHJOIN, at)) for at in set_ups)


def experiment(
    number: str,
    title: str,
    contestants: Mapping[str, SemiStreamRace],
    claims: Sequence[Claim],
    measurements: Sequence[Measurement],
    mutants: Sequence[str],
    module: str,
) -> Experiment:
    return Experiment(
        name=f"ssbj-{number}",
        paper="SSBJ",
        title=title,
        figure=Figure("results", "the end", "results", samples=SAMPLES),
        races=contestants,
        claims=claims,
        measurements=measurements,
        setting=SETTING,
        module=module,
        mutants=mutants,
    )


# What is measured


def since_warm(history: History, column: str) -> float:
    """By how much a column has grown."""
    values = history.columns[column]
    return float(values[-1] - np.interp(WARM_CYCLES, history.columns["cycles"], values))


def service_rate(history: History) -> float:
    """Stream rows a second."""
    return over(since_warm(history, "stream_rows"), since_warm(history, "seconds"))


def disk_rate(history: History) -> float:
    """The same of the rows that the cache does not answer (fig. 6(b))."""
    missed = since_warm(history, "stream_rows") - since_warm(history, "answered_rows")
    return over(missed, since_warm(history, "seconds"))


def answered_share(history: History) -> float:
    return over(since_warm(history, "answered_rows"), since_warm(history, "stream_rows"))


def loop_seconds(history: History) -> float:
    """c_loop."""
    return over(since_warm(history, "seconds"), since_warm(history, "iterations"))


def mean_of(history: History, column: str) -> float:
    """On average over the time."""
    return float(history.columns[column][history.columns["cycles"] >= WARM_CYCLES].mean())


def memory_bytes(history: History) -> float:
    return mean_of(history, "memory_bytes")


# Quantities

RATE: Final = "stream rows a second at full load, when warm, as a multiple of MESHJOIN's"
MEMORY: Final = "bytes of memory for that rate, MESHJOIN's as a multiple"


def times(what: str, measure: Measure, some: Pairs, paper: float) -> Quantity:
    """Each of the one is so many times the other, give or take what a number of the paper may be off."""
    off = tolerance(OF_THE_PAPER)

    def holds(found: Sequence[float]) -> bool:
        return paper * (1 - off) <= min(found) and max(found) <= paper * (1 + off)

    return _of(what, _ratios(measure, some), "{:.2f}", " times", holds, OF_THE_PAPER)


def times_the_rate(some: Pairs, paper: float) -> Quantity:
    return times(RATE, service_rate, some, paper)


def times_the_memory(some: Pairs, paper: float) -> Quantity:
    """The other needs so many times the memory of the one."""
    return times(MEMORY, memory_bytes, _turned(some), paper)


def more_each_time(what: str, measure: Measure, some: Pairs) -> Quantity:
    """In each set-up the one has more than the other, by more than a tie; nearly the same in all is a tie."""
    tie = tolerance(TIE)

    def read(histories: Histories) -> Reading:
        found = _ratios(measure, some)(histories)
        verdict: Verdict = "holds" if min(found) > 1 + tie else "does not hold"
        if max(abs(one - 1) for one in found) <= tie:
            verdict = "tie"
        return Reading(min(found), max(found), "{:.3f}", verdict, " times")

    return Quantity(f"{what}, in each set-up", read, TIE)


def faster_each_time(some: Pairs) -> Quantity:
    return more_each_time(RATE, service_rate, some)


def less_memory_each_time(some: Pairs) -> Quantity:
    return more_each_time(MEMORY, memory_bytes, _turned(some))


def changes(what: str, measure: Measure, some: Pairs, towards: float) -> Quantity:
    """From each set-up to the next a multiple grows (1) or falls (-1), or goes back a little, and in the end it has."""
    back, tie = tolerance("a step back"), tolerance(TIE)

    def read(histories: Histories) -> Reading:
        found = _ratios(measure, some)(histories)
        steps = [over(after, before) for before, after in pairwise(found)]
        forward = [step**towards for step in steps]
        verdict: Verdict = "holds" if (found[-1] / found[0]) ** towards > 1 + tie else "does not hold"
        if min(forward) < 1 - back:
            verdict = "does not hold"
        return Reading(min(steps), max(steps), "{:.2f}", verdict, " times the one before it")

    return Quantity(f"by how much this changes from one set-up to the next: {what}", read, "a step back")


def as_fast(name: str, other: str) -> Quantity:
    most = tolerance("very similar")

    def holds(found: Sequence[float]) -> bool:
        return max(abs(one - 1) for one in found) <= most

    what = "stream rows a second at full load, when warm, as a multiple of the other's"
    return _of(what, _ratios(service_rate, [(name, other)]), "{:.3f}", " times", holds, "very similar")


def share_answered(name: str, paper: float) -> Quantity:
    off = tolerance(OF_THE_PAPER)

    def holds(found: Sequence[float]) -> bool:
        return paper * (1 - off) <= found[0] <= paper * (1 + off)

    def value(histories: Histories) -> list[float]:
        return [answered_share(histories[name])]

    return _of("stream rows that the cache answers, when warm, as a share", value, "{:.1%}", "", holds, OF_THE_PAPER)


def _of(
    what: str,
    values: Callable[[Histories], list[float]],
    shown: str,
    unit: str,
    holds: Callable[[Sequence[float]], bool],
    named: str,
) -> Quantity:
    def read(histories: Histories) -> Reading:
        found = values(histories)
        return Reading(min(found), max(found), shown, "holds" if holds(found) else "does not hold", unit)

    return Quantity(what, read, named)


def _ratios(measure: Measure, some: Pairs) -> Callable[[Histories], list[float]]:
    return lambda histories: [ratio(measure, name, other)(histories) for name, other in some]


def _turned(some: Pairs) -> Pairs:
    return [(other, name) for name, other in some]


# Measurements


def rate_of(name: str) -> Measurement:
    return Measurement(f"{name}: stream rows a second", lambda found: service_rate(found[name]), "{:,.0f}")


def memory_of(name: str) -> Measurement:
    return Measurement(f"{name}: memory", lambda found: memory_bytes(found[name]) / 1e6, "{:,.1f} MB")


def share_of(name: str) -> Measurement:
    return Measurement(f"{name}: answered by the cache", lambda found: answered_share(found[name]), "{:.1%}")


def ratios_of(what: str, measure: Measure, some: Pairs) -> Iterator[Measurement]:
    for name, other in some:
        yield Measurement(f"{name}: {what}, as a multiple of {other}", ratio(measure, name, other), "{:.2f}")


def best_of_any_placement(at: str, race: SemiStreamRace) -> Measurement:
    """By theorem 1: stream rows a cycle, as a multiple of MESHJOIN's, with the join values of the first seed."""

    def measure(histories: Histories) -> float:
        scale = histories[contestant(SSBJ, at)].stands_for
        total, sizes = race.total_bytes(scale), race.sizes(scale)
        assert total is not None, "a placement is best for a memory"
        values = join_values(race.data, race.master_rows // scale, race.skew, np.random.default_rng(0))
        room = total - sizes.buffer_bytes
        most = most_stream_rows(sizes, values.masters, values.chances, values.values, room, 1e12)
        return most / (room / sizes.waiting_bytes)

    what = "the most stream rows a cycle that any placement has room for (theorem 1), as a multiple of MESHJOIN's"
    return Measurement(f"{what}, {at}", measure, "{:.2f}")


def least_of_any_placement(at: str, race: SemiStreamRace) -> Measurement:
    """By theorem 1: memory for the stream rows of a cycle of MESHJOIN's, with the join values of the first seed."""

    def measure(histories: Histories) -> float:
        history = histories[contestant(MESHJOIN, at)]
        sizes = race.sizes(history.stands_for)
        rows = over(since_warm(history, "stream_rows"), since_warm(history, "cycles"))
        n_values = race.master_rows // history.stands_for
        values = join_values(race.data, n_values, race.skew, np.random.default_rng(0))
        least = least_bytes(sizes, values.masters, rows * values.chances, values.values) + sizes.buffer_bytes
        return memory_bytes(history) / least

    what = "MESHJOIN's memory as a multiple of the least that any placement takes (theorem 1)"
    return Measurement(f"{what}, {at}", measure, "{:.2f}")
