"""PR-Join figures 10 to 13: temporary rows on an SSD (sec. 6.1).

On an SSD extents matter by what is read in a second, and by how many partitions memory has room for. The paper has 16
times as many with 64 KB as with 1 MB, we have twice as many in figure 10; all later figures have 48 partitions.

Figure 11. With gamma = 0.5 the paper has fewer early results than with 1, since the SSD is too busy. Ours has now more,
now fewer: it is late by a tenth only, as an SSD that reads and writes at its full bandwidth must be (2.5 MB are read
and 1 written for each that comes in, 15.8 ms against 13.7). `pr-join-11-why` has one that reads at 60% of it.

Figure 12. The paper's skew is in the partitions that its hash function makes; so it is here. With remapping partitions
have as many rows, but frequent keys give more results for a row: steps are not as small as without skew.
"""

from dataclasses import replace
from typing import Final

import numpy as np

from sooner.lab.claims import Read
from sooner.lab.experiment import Claim, Experiment, Histories, Measurement
from sooner.lab.experiments.pr_join import PARTITIONS, SSD, SSD_4_KB, PrJoinRace, experiment
from sooner.lab.experiments.pr_join_claims import (
    early_rate,
    ends_with,
    more_early_results,
    rate_of_early_results,
    ratio_of,
    reports_more_often,
    seconds_between_reports,
    seconds_to_end,
)
from sooner.lab.history import History

CLOSE: Final = 1.1  # times as long as GRACE
GRACE: Final = PrJoinRace("grace", SSD)
RIPPLE: Final = PrJoinRace("ripple", SSD)
STOPS: Final = PrJoinRace("pr_join", SSD)
NEVER_STOPS: Final = replace(STOPS, stops="never")
IDEAL: Final = "pr_join, no stop"


def _figure_10() -> Experiment:
    mb, kb_64, kb_4 = (f"pr_join, {extent}" for extent in ("1 MB", "64 KB", "4 KB"))
    smaller = replace(STOPS, partitions=2 * PARTITIONS)
    races = {
        "grace": GRACE,
        "ripple": RIPPLE,
        mb: STOPS,
        kb_64: smaller,
        kb_4: replace(STOPS, storage=SSD_4_KB),
        IDEAL: NEVER_STOPS,
    }
    claims = (
        Claim("PR-Join is very close to GRACE, end to end", "very close (ours: 10%)", ends_with(kb_64, "grace", CLOSE)),
        Claim("PR-Join ends far sooner than Ripple", "sooner (ours: twice as soon)", ends_with(kb_64, "ripple", 0.5)),
        Claim(
            "Extents of 64 KB and 1 MB are alike, end to end",
            "similar (ours: 5%)",
            ends_with(kb_64, mb, 1.05, 1 / 1.05),
        ),
        Claim(
            "Extents of 4 KB are significantly worse", "worse (ours: 10% at least)", ends_with(kb_4, kb_64, 9.9, CLOSE)
        ),
        Claim(
            "Reports come at shorter intervals with 64 KB than with 1 MB",
            "significantly (ours: 1.5 times, with twice the partitions, not 16 times)",
            reports_more_often(kb_64, mb, 1.5),
        ),
        Claim(
            "Without the stop constraint PR-Join is still close to GRACE (d)",
            "close to optimal (ours: 10%)",
            ends_with(IDEAL, "grace", CLOSE),
        ),
        Claim(
            "Without it, early results come at more than 10 times Ripple's rate (figure 2)",
            "an order of magnitude",
            early_rate(IDEAL, "ripple", at_least=10),
            "the paper: by equations 2 and 10 the very last join has 11 times the rate, the tenths before it less",
        ),
    )
    early = ("ripple", mb, IDEAL)
    measurements = (
        *map(seconds_to_end, races),
        *map(rate_of_early_results, early),
        *map(seconds_between_reports, ("ripple", mb, kb_64)),
        _share_at("ripple", 250),
        _share_at(IDEAL, 250),
    )
    return experiment("10", "SSD, extents of 1 MB to 4 KB", races, claims, measurements, __name__)


def _share_at(name: str, seconds: float) -> Measurement:
    def measure(histories: Histories) -> float:
        return histories[name].results_at(seconds) / histories[name].total_results

    return Measurement(f"{name}: share of all results after {seconds:g} s", measure, "{:.1%}")


def _by_gamma(race: PrJoinRace, *gammas: float) -> dict[str, PrJoinRace]:
    return {_gamma(gamma): replace(race, gamma=gamma) for gamma in gammas}


def _gamma(gamma: float) -> str:
    return f"gamma {gamma:g}"


def _figure_11() -> Experiment:
    races = _by_gamma(NEVER_STOPS, 0.5, 1.0, 2.0)
    half, one, two = races
    claims = (
        Claim(
            "gamma = 2 ends sooner than 1",
            "faster",
            ends_with(two, one, at_most=0.995),
            "settings: our SSD hides nearly all that gamma = 1 reads, so there is little to gain; see pr-join-11-why",
        ),
        Claim("gamma = 2 has fewer early results than 1", "fewer", more_early_results(one, two)),
        Claim("gamma = 0.5 ends later than 1", "later (ours: 5% at least)", ends_with(half, one, 9.9, at_least=1.05)),
        Claim(
            "gamma = 0.5 has fewer early results than 1",
            "fewer",
            more_early_results(one, half),
            "settings: our SSD reads and writes at full bandwidth at once, and is late by 10% only; see pr-join-11-why",
        ),
    )
    measurements = (*map(seconds_to_end, races), *(_share_at(name, 200) for name in races))
    return experiment("11", "SSD, gamma 0.5, 1 and 2, no stop constraint", races, claims, measurements, __name__)


def _why_11() -> Experiment:
    races = _by_gamma(replace(NEVER_STOPS, storage=SSD_4_KB), 0.5, 1.0, 2.0)
    half, one, two = races
    claims = (
        Claim(
            "On an SSD that reads at 60% of its bandwidth gamma = 0.5 has fewer early results than 1",
            "fewer (the bandwidth is a hypothesis of ours)",
            more_early_results(one, half),
        ),
        Claim(
            "On such an SSD gamma = 2 ends sooner than 1",
            "faster (the bandwidth is a hypothesis of ours)",
            ends_with(two, one, at_most=0.995),
        ),
    )
    title = "what might explain figure 11: an SSD with 60% of the bandwidth for reads"
    return experiment("11-why", title, races, claims, tuple(map(seconds_to_end, races)), __name__)


def _figure_12() -> Experiment:
    """Skewed keys, with and without remapping."""
    grace, plain, remapped, skewed = "grace, Zipf", "pr_join, no skew", "pr_join, Zipf", "pr_join, Zipf, no remapping"
    races = {
        grace: replace(GRACE, keys="Zipf"),
        remapped: replace(NEVER_STOPS, keys="Zipf"),
        skewed: replace(NEVER_STOPS, keys="Zipf", remaps=False),
        plain: NEVER_STOPS,
    }

    def steps(name: str, other: str, at_least: float, at_most: float) -> Read:
        unit = " times the largest step"
        return ratio_of(_largest_step, name, other, "{:.2f}", unit, lambda ratio: at_least <= ratio <= at_most)

    claims = (
        Claim(
            "Without remapping results come in large steps",
            "large (ours: 2 times those without skew)",
            steps(skewed, plain, 2, 99),
        ),
        Claim(
            "With it results come in smaller steps",
            "smooth (ours: 0.9 times those without it)",
            steps(remapped, skewed, 0, 0.9),
            "code: partitions have as many rows each, but those with frequent keys give more results for a row",
        ),
        Claim("With it PR-Join is close to GRACE, end to end", "good (ours: 10%)", ends_with(remapped, grace, CLOSE)),
    )
    sizes = tuple(
        Measurement(
            f"{name}: results of the largest step, a fiftieth of the arrivals, as a share of all",
            lambda histories, name=name: _largest_step(histories[name]),  # type: ignore[misc]
            "{:.1%}",
        )
        for name in (plain, remapped, skewed)
    )
    measurements = (*map(seconds_to_end, races), *sizes)
    return experiment("12", "SSD, skewed keys, with and without remapping", races, claims, measurements, __name__)


def _largest_step(history: History) -> float:
    """In a fiftieth of the time in which rows arrive, as a share of all results."""
    results = [history.results_at(at) for at in np.linspace(0, history.last_arrival_seconds, 51)]
    return float(np.diff(results).max() / history.total_results)


def _figure_13() -> Experiment:
    races = {
        name: replace(race, gigabytes=(10, 20))
        for name, race in (("grace", GRACE), ("ripple", RIPPLE), ("pr_join", NEVER_STOPS))
    }
    claims = (
        Claim(
            "PR-Join is close to GRACE, end to end",
            "close to optimal (ours: 10%)",
            ends_with("pr_join", "grace", CLOSE),
        ),
        Claim(
            "PR-Join ends far sooner than Ripple", "sooner (ours: twice as soon)", ends_with("pr_join", "ripple", 0.5)
        ),
        Claim(
            "PR-Join's early results come at more than 10 times Ripple's rate",
            "fast (figure 10: an order of magnitude)",
            early_rate("pr_join", "ripple", at_least=10),
        ),
    )
    measurements = (*map(seconds_to_end, races), *map(rate_of_early_results, ("ripple", "pr_join")))
    return experiment("13", "SSD, 10 GB with 20 GB", races, claims, measurements, __name__)


EXPERIMENTS: Final = (_figure_10(), _figure_11(), _why_11(), _figure_12(), _figure_13())
