"""How PR-Join's figures are read: end-to-end times, early rates, intervals between reports (sec. 6.1).

A rate is that of a tenth of the input: the results that came out while it was read, or was waited for, over the seconds
that took. It is early as long as rows arrive. A report is possible whenever a partition has been joined as a whole.
"""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from sooner.lab.claims import TENTHS, Read
from sooner.lab.experiment import Histories, Measurement, Reading, Verdict
from sooner.lab.experiments.pr_join import INPUT
from sooner.lab.experiments.pr_join_model import Curve
from sooner.lab.history import History

PART_OF_THE_PAPERS: Final = 0.2  # how far a ratio of ours may be from the paper's


def ratio_of(
    measure: Callable[[History], float], name: str, other: str, shown: str, unit: str, holds: Callable[[float], bool]
) -> Read:
    """What is measured of the one, over the same of the other."""

    def read(histories: Histories) -> Reading:
        ratio = measure(histories[name]) / measure(histories[other])
        return Reading(ratio, ratio, shown, _verdict(holds(ratio)), unit)

    return read


def ends_sooner(name: str, other: str, times: float) -> Read:
    """So many times as fast end to end, give or take a fifth."""

    def is_near(ratio: float) -> bool:
        return abs(ratio / times - 1) <= PART_OF_THE_PAPERS

    return ratio_of(_end, other, name, "{:.2f}", " times as fast", is_near)


def ends_with(name: str, other: str, at_most: float, at_least: float = 0.0) -> Read:
    """It takes so many times as long as the other, end to end."""
    return ratio_of(_end, name, other, "{:.2f}", " times as long", lambda ratio: at_least <= ratio <= at_most)


def early_rate(name: str, other: str, at_least: float) -> Read:
    """The best tenth of the one has so many times the rate of the best tenth of the other."""
    return ratio_of(best_early_rate, name, other, "{:.1f}", " times the rate", lambda ratio: ratio >= at_least)


def best_rate(name: str, other: str, at_least: float) -> Read:
    """The same with what comes out when all rows have arrived, in as long as a tenth of all takes."""

    def best(history: History) -> float:
        return max(best_early_rate(history), _last_rate(history))

    return ratio_of(best, name, other, "{:.1f}", " times", lambda ratio: ratio >= at_least)


def reports_more_often(name: str, other: str, times: float) -> Read:
    """Between two reports it takes so many times less, on average from the beginning to the end."""
    return ratio_of(report_interval, other, name, "{:.1f}", " times shorter", lambda ratio: ratio >= times)


def more_early_results(name: str, other: str, shares: Sequence[float] = TENTHS[4:9]) -> Read:
    """At each of these shares of the other's time to read all input, it has more results."""

    def read(histories: Histories) -> Reading:
        times = [share * histories[other].last_arrival_seconds for share in shares]
        ratios = [histories[name].results_at(at) / histories[other].results_at(at) for at in times]
        return Reading(min(ratios), max(ratios), "{:.2f}", _verdict(min(ratios) > 1), " times as many")

    return read


def follows(name: str, curve: Curve, tolerance: float) -> Read:
    """Nowhere further from the model than this share of all results."""

    def read(histories: Histories) -> Reading:
        history = histories[name]
        shares = history.columns["results"] / history.total_results
        apart = float(np.abs(shares - curve.at(history.columns["seconds"]) / curve.results[-1]).max())
        return Reading(apart, apart, "{:.1%}", _verdict(apart <= tolerance), " of all results apart")

    return read


def ends_as(name: str, curve: Curve, tolerance: float) -> Read:
    """End to end as long as by the model."""

    def read(histories: Histories) -> Reading:
        ratio = histories[name].end_seconds / curve.end_seconds
        return Reading(ratio, ratio, "{:.3f}", _verdict(abs(ratio - 1) <= tolerance), " times the model's")

    return read


def seconds_to_end(name: str) -> Measurement:
    return Measurement(f"{name}: end to end", lambda histories: histories[name].end_seconds, "{:,.0f} s")


def rate_of_early_results(name: str) -> Measurement:
    def measure(histories: Histories) -> float:
        return best_early_rate(histories[name]) * histories[name].stands_for

    return Measurement(f"{name}: results a second, in the best tenth of the input", measure, "{:,.0f}")


def seconds_between_reports(name: str) -> Measurement:
    return Measurement(
        f"{name}: between two reports, on average", lambda histories: report_interval(histories[name]), "{:.1f} s"
    )


def _end(history: History) -> float:
    return history.end_seconds


def report_interval(history: History) -> float:
    return history.end_seconds / history.events["Merged"]


def rate_between(history: History, first: float, last: float) -> float:
    """Of results while the input was read from this share of it to that."""
    arriving = history.columns["seconds"] <= history.last_arrival_seconds
    read = history.columns[f"{INPUT}_seconds"]
    results, seconds = (
        np.interp([first, last], read[arriving] / read[-1], history.columns[name][arriving])
        for name in ("results", "seconds")
    )
    return float((results[1] - results[0]) / (seconds[1] - seconds[0]))


def best_early_rate(history: History) -> float:
    return max(rate_between(history, tenth - 0.1, tenth) for tenth in TENTHS)


def _last_rate(history: History) -> float:
    missing = history.total_results - history.results_at(history.last_arrival_seconds)
    return missing / max(history.clean_up_seconds, 0.1 * history.end_seconds)


def _verdict(holds: bool) -> Verdict:
    return "holds" if holds else "does not hold"
