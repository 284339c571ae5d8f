"""PR-Join figure 14: how soon an estimate is good (sec. 6.1), in the setting of figure 10(d).

What we find is not the paper's 3.4 times. With 100 million values of Pareto 1.5, 0.001 takes 91% to 95% of both inputs,
by seed, and PR-Join is 6 times as fast there, nearly as much as end to end. Intervals that are estimated from samples,
which lack the largest values at first, need as much: 93% to 98% (drawn once, with five seeds). On our machine 3.4 times
is where 55% of both inputs are joined, and Q has to be 10 to 20 times smaller for that. It is if the largest values are
missing: made of 15 random bits, as many a `rand()` gives, no value is more than 1,024 times the least, and PR-Join is
3.5 times as fast. `pr-join-14-why` has such values. That the paper has is a guess.

PR-Join's interval is not the narrower one from the very beginning. Up to 33 s, by seed, there are times when Ripple's
is: partitions wait until they are two to four times as large as when memory was full, and a ripple is joined before.
"""

from typing import Final

import numpy as np

from sooner.lab.claims import OF_THE_PAPER, Measure, ratio, seconds_to_end, within
from sooner.lab.experiment import Claim, Experiment, Histories, Measurement
from sooner.lab.experiments.pr_join import experiment
from sooner.lab.history import History
from sooner.lab.races.pr_join import NEVER_EARLY, SSD, PrJoinRace
from sooner.lab.races.pr_join_intervals import ALL_BITS, FEW_BITS, HALF_INTERVAL, IntervalRace
from sooner.lab.tolerances import tolerance

TARGET: Final = 0.001
TIMES: Final = 3.4
NAMES: Final = ("pr_join", "ripple")


def seconds_to(target: float) -> Measure:
    """When the interval is as narrow as that."""

    def measure(history: History) -> float:
        [there] = np.nonzero(history.columns[HALF_INTERVAL] <= target)
        return float(history.columns["seconds"][there[0]])

    return measure


def _there(name: str) -> Measurement:
    def measure(histories: Histories) -> float:
        return seconds_to(TARGET)(histories[name])

    return Measurement(f"{name}: time to a relative half interval of {TARGET:g}", measure, "{:,.0f} s")


def _results_there(name: str) -> Measurement:
    def measure(histories: Histories) -> float:
        history = histories[name]
        return history.results_at(seconds_to(TARGET)(history)) / history.total_results

    return Measurement(f"{name}: share of all results by then", measure, "{:.0%}")


def _interval_at(name: str, seconds: float) -> Measurement:
    def measure(histories: Histories) -> float:
        return histories[name].at(seconds, HALF_INTERVAL)

    return Measurement(f"{name}: relative half interval after {seconds:g} s", measure, "{:.4f}")


def _last_wider(name: str, other: str) -> Measurement:
    def measure(histories: Histories) -> float:
        seconds = histories[name].columns["seconds"]
        mine, others = (np.array([histories[one].at(at, HALF_INTERVAL) for at in seconds]) for one in (name, other))
        return float(seconds[mine > others].max(initial=0.0))

    return Measurement(
        f"{name}: when its interval is wider than that of {other} for the last time", measure, "{:.0f} s"
    )


def _measurements() -> tuple[Measurement, ...]:
    at_times = (_interval_at(name, seconds) for seconds in (50, 100, 200, 300) for name in NAMES)
    there = (*map(_there, NAMES), *map(_results_there, NAMES))
    return (*there, _last_wider(*NAMES), *at_times, *map(seconds_to_end, NAMES))


def _races(random_bits: int) -> dict[str, PrJoinRace]:
    return {
        "pr_join": IntervalRace("pr_join", SSD, stops="never", random_bits=random_bits),
        "ripple": IntervalRace("ripple", SSD, random_bits=random_bits),
    }


def _figure_14() -> Experiment:
    off, sooner = tolerance(OF_THE_PAPER), ratio(seconds_to(TARGET), "ripple", "pr_join")
    what = "seconds until the half interval is 0.001 of the estimate, Ripple's over PR-Join's"
    claims = (
        Claim(
            "sec. 6.1, fig. 14",
            "To a relative half interval of 0.001 PR-Join is 3.4 times as fast as Ripple",
            "3.4 times",
            within(what, sooner, "{:.2f}", " times as fast", TIMES * (1 - off), TIMES * (1 + off), OF_THE_PAPER),
            "settings: how the paper's values were made is not given. 100 million of Pareto 1.5 need over 90% of both "
            "inputs for 0.001, where PR-Join is ahead by more; it is 3.4 times with 55% of them; see pr-join-14-why",
        ),
        Claim(
            "sec. 6.1, fig. 14",
            "PR-Join is there sooner than Ripple by 3.4 times at least",
            "3.4 times",
            within(what, sooner, "{:.2f}", " times as fast", TIMES, float("inf"), "none"),
        ),
    )
    title = "SSD, the 95% interval of a sum of values by Pareto, no stop constraint"
    mutants = (f"pr_join: {NEVER_EARLY}", f"ripple: {NEVER_EARLY}")
    return experiment("14", title, _races(ALL_BITS), claims, _measurements(), mutants, __name__)


def _why_14() -> Experiment:
    """What might explain the paper's 3.4: measured, and no claim."""
    title = "what might explain figure 14: values by Pareto that are made of 15 random bits"
    return experiment("14-why", title, _races(FEW_BITS), (), _measurements(), (), __name__)


EXPERIMENTS: Final = (_figure_14(), _why_14())
