"""How PR-Join's figures are read: end-to-end times, early rates, intervals between reports (sec. 6.1).

A rate is that of a tenth of the input: the results that came out while it was read, or was waited for, over the seconds
that took. It is early as long as rows arrive. A report is possible whenever a partition has been joined as a whole.
"""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from sooner.lab.claims import OF_THE_PAPER, TENTHS, over, ratio, within
from sooner.lab.experiment import Histories, Measurement, Quantity, Reading, Verdict
from sooner.lab.history import History
from sooner.lab.races.pr_join import INPUT
from sooner.lab.races.pr_join_model import Curve
from sooner.lab.tolerances import tolerance

END_TO_END: Final = "seconds from the begin to the last result, as a multiple of the other's"


def ends_sooner(name: str, other: str, times: float) -> Quantity:
    """So many times as fast end to end, give or take what a number of the paper may be off."""
    off = tolerance(OF_THE_PAPER)
    least, most = times * (1 - off), times * (1 + off)
    return within(END_TO_END, ratio(_end, other, name), "{:.2f}", " times as fast", least, most, OF_THE_PAPER)


def ends_later(name: str, other: str, times: float) -> Quantity:
    """It takes so many times as long, give or take what an excess of the paper may be off."""
    off = tolerance("an excess of the paper")
    return _takes(name, other, times * (1 - off), times * (1 + off), "an excess of the paper")


def close_to_optimal(name: str, other: str) -> Quantity:
    """It takes hardly longer than the other, end to end."""
    return _takes(name, other, 0.0, 1 + tolerance("close to optimal"), "close to optimal")


def far_sooner(name: str, other: str) -> Quantity:
    return _takes(name, other, 0.0, tolerance("far sooner"), "far sooner")


def ends_before(name: str, other: str) -> Quantity:
    return _takes(name, other, 0.0, tolerance("sooner"), "sooner")


def ends_after(name: str, other: str) -> Quantity:
    return _takes(name, other, 1 + tolerance("later by far"), float("inf"), "later by far")


def early_rate(name: str, other: str) -> Quantity:
    """The best tenth of the one has ten times the rate of the best tenth of the other."""
    what = "results a second, in the tenth of the input where they are most, as a multiple of the other's"
    return _order_of_magnitude(what, ratio(best_early_rate, name, other))


def rate_of_the_first(seconds: float, name: str, other: str) -> Quantity:
    """In so many seconds the one has ten times the results of the other."""
    what = f"results in the first {seconds:g} seconds, as a multiple of the other's"
    return _order_of_magnitude(what, ratio(lambda history: history.results_at(seconds), name, other))


def best_rate(name: str, other: str) -> Quantity:
    """The same with what comes out when all rows have arrived, in as long as a tenth of all takes."""

    def best(history: History) -> float:
        return max(best_early_rate(history), _last_rate(history))

    what = "results a second where they are most, the last ones too, as a multiple of the other's"
    return _order_of_magnitude(what, ratio(best, name, other))


def reports_more_often(name: str, other: str) -> Quantity:
    """Between two reports it takes ten times less, on average from the begin to the end."""
    what = "seconds between two reports on average, as a share of the other's"
    return _order_of_magnitude(what, ratio(report_interval, other, name))


def more_early_results(name: str, other: str, shares: Sequence[float] = TENTHS[4:9]) -> Quantity:
    """At each of these shares of the other's time to read all input, it has more results."""

    def read(histories: Histories) -> Reading:
        times = [share * histories[other].last_arrival_seconds for share in shares]
        ratios = [over(histories[name].results_at(at), histories[other].results_at(at)) for at in times]
        verdict: Verdict = "holds" if min(ratios) > 1 + tolerance("a tie") else "does not hold"
        return Reading(min(ratios), max(ratios), "{:.2f}", verdict, " times as many")

    what = f"results out at {shares[0]:.0%} to {shares[-1]:.0%} of the time in which the other reads its input"
    return Quantity(f"{what}, as a multiple of the other's", read, "a tie")


def follows(name: str, curve: Curve) -> Quantity:
    """Nowhere far from the model."""

    def apart(histories: Histories) -> float:
        history = histories[name]
        shares = history.columns["results"] / history.total_results
        return float(np.abs(shares - curve.at(history.columns["seconds"]) / curve.results[-1]).max())

    what = "results out, as a share of all: the farthest from the model's, at any time"
    return within(what, apart, "{:.1%}", " of all results apart", 0.0, tolerance("the model"), "the model")


def ends_as(name: str, curve: Curve) -> Quantity:
    """End to end as long as by the model."""
    off = tolerance("the model")
    what = "seconds from the begin to the last result, over the model's"

    def value(histories: Histories) -> float:
        return histories[name].end_seconds / curve.end_seconds

    return within(what, value, "{:.3f}", " times the model's", 1 - off, 1 + off, "the model")


def rate_of_early_results(name: str) -> Measurement:
    def measure(histories: Histories) -> float:
        return best_early_rate(histories[name]) * histories[name].stands_for

    return Measurement(f"{name}: results a second, in the best tenth of the input", measure, "{:,.0f}")


def seconds_between_reports(name: str) -> Measurement:
    return Measurement(
        f"{name}: between two reports, on average", lambda histories: report_interval(histories[name]), "{:.1f} s"
    )


def share_at(name: str, seconds: float) -> Measurement:
    def measure(histories: Histories) -> float:
        return histories[name].results_at(seconds) / histories[name].total_results

    return Measurement(f"{name}: share of all results after {seconds:g} s", measure, "{:.1%}")


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


def _end(history: History) -> float:
    return history.end_seconds


def _takes(name: str, other: str, least: float, most: float, named: str) -> Quantity:
    return within(END_TO_END, ratio(_end, name, other), "{:.2f}", " times as long", least, most, named)


def _order_of_magnitude(what: str, value: Callable[[Histories], float]) -> Quantity:
    ten = tolerance("an order of magnitude")
    return within(what, value, "{:.1f}", " times", ten, float("inf"), "an order of magnitude")


def _last_rate(history: History) -> float:
    missing = history.total_results - history.results_at(history.last_arrival_seconds)
    return missing / max(history.clean_up_seconds, 0.1 * history.end_seconds)
