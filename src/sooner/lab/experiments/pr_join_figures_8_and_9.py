"""PR-Join figures 8 and 9: temporary rows on a disk, without and with things done at once (sec. 6.1).

Figure 8 holds the algorithms to the paper's own model (`pr_join_model`), with synchronous I/O.

Figure 9's early rate is not what the paper says of it. Its sentence, "orders of magnitude higher", cannot be meant of
early results: by its own equations 2 and 10, with these disks and the stop constraint, which ends joins at half of the
input, PR-Join's last early join has 4 times Ripple's rate. When all has arrived and partitions are joined for the last
time, the rate is ten times and more; so both are here.
"""

from dataclasses import replace
from typing import Final

from sooner.lab.claims import seconds_to_end, within
from sooner.lab.experiment import Claim, Experiment, Histories
from sooner.lab.experiments.pr_join import experiment
from sooner.lab.experiments.pr_join_claims import (
    best_rate,
    early_rate,
    ends_as,
    ends_later,
    ends_sooner,
    follows,
    rate_of_early_results,
    reports_more_often,
    seconds_between_reports,
)
from sooner.lab.races.pr_join import (
    NEVER_EARLY,
    NO_STOP,
    PARTITIONS,
    SLOW_READS,
    AlgorithmName,
    PrJoinRace,
)
from sooner.lab.races.pr_join_model import (
    Costs,
    Curve,
    grace_curve,
    pr_join_curve,
    pr_join_seconds,
    ripple_curve,
)

FIGURE_8: Final = "sec. 6.1, fig. 8"
FIGURE_9: Final = "sec. 6.1, fig. 9"
SHOWN: Final[dict[AlgorithmName, str]] = {"pr_join": "PR-Join", "ripple": "Ripple", "grace": "GRACE"}
RACES: Final[dict[str, PrJoinRace]] = {name: PrJoinRace(name) for name in SHOWN}
GAMMAS: Final = (0.5, 1.0, 2.0)
BY_ITS_OWN_EQUATIONS: Final = (
    "the paper: by its equations 2 and 10 it is 4 times on these disks, when the stop constraint ends joins"
)
MUTANTS_8: Final = (f"pr_join: {NO_STOP}", f"grace: {SLOW_READS}", f"ripple: {SLOW_READS}")
MUTANTS_9: Final = (f"pr_join: {NEVER_EARLY}", f"ripple: {NEVER_EARLY}")


def _model(name: str, costs: Costs) -> Curve:
    match name:
        case "pr_join":
            return pr_join_curve(costs, gamma=1.0, partitions=PARTITIONS)
        case "ripple":
            return ripple_curve(costs)
    return grace_curve(costs)


def _bounded(name: str, gamma: float, costs: Costs) -> Claim:
    """Equation 13: the stop constraint bounds what is read again and again."""
    bound = pr_join_seconds(costs, gamma)

    def value(histories: Histories) -> float:
        return histories[name].end_seconds / bound

    return Claim(
        "sec. 4.4, equation 13",
        f"PR-Join with gamma = {gamma:g} takes no longer than (|A| + |B|)(T_ri + T_wt + (1 + 1/gamma) T_rt)",
        f"at most {bound:,.0f} s",
        within("seconds of I/O, one thing at a time, over the bound", value, "{:.3f}", " of the bound", 0, 1, "none"),
    )


def _figure_8() -> Experiment:
    races = {name: replace(race, overlap="in turn") for name, race in RACES.items()}
    others = {f"gamma {gamma:g}": replace(races["pr_join"], gamma=gamma) for gamma in GAMMAS if gamma != 1.0}
    claims = []
    for name, shown in SHOWN.items():
        curve = _model(name, races[name].costs(results=1.0))
        expected = f"very well ({curve.end_seconds:,.0f} s)"
        claims += [
            Claim(FIGURE_8, f"{shown} takes as long as by the model, end to end", expected, ends_as(name, curve)),
            Claim(
                FIGURE_8,
                f"{shown} has as many results as by the model, all the time",
                "very well",
                follows(name, curve),
            ),
        ]
    costs = races["pr_join"].costs(results=1.0)
    claims += [_bounded("pr_join" if gamma == 1.0 else f"gamma {gamma:g}", gamma, costs) for gamma in GAMMAS]
    title = "the model and what is measured: temporary disk, one thing at a time"
    contestants = {**races, **others}
    return experiment("8", title, contestants, claims, tuple(map(seconds_to_end, contestants)), MUTANTS_8, __name__)


def _figure_9() -> Experiment:
    claims = (
        Claim(
            FIGURE_9,
            "PR-Join is 6.2 times as fast as Ripple, end to end",
            "6.2 times",
            ends_sooner("pr_join", "ripple", 6.2),
        ),
        Claim(
            FIGURE_9,
            "PR-Join is 44% slower than GRACE, end to end",
            "1.44 times",
            ends_later("pr_join", "grace", 1.44),
        ),
        Claim(
            "sec. 6.1, fig. 9(c)",
            "PR-Join's early results come at more than 10 times Ripple's rate",
            "orders of magnitude higher",
            early_rate("pr_join", "ripple"),
            BY_ITS_OWN_EQUATIONS,
        ),
        Claim(
            "sec. 6.1, fig. 9(c)",
            "PR-Join's results, the last ones too, come at more than 10 times Ripple's rate",
            "orders of magnitude higher",
            best_rate("pr_join", "ripple"),
        ),
        Claim(
            "sec. 6.1, fig. 9(d)",
            "PR-Join reports after intervals at least 10 times as short as Ripple's",
            "orders of magnitude lower",
            reports_more_often("pr_join", "ripple"),
            "settings: with a quarter of the paper's partitions intervals are four times as long",
        ),
    )
    measurements = (
        *map(seconds_to_end, RACES),
        *map(rate_of_early_results, ("pr_join", "ripple")),
        *map(seconds_between_reports, ("pr_join", "ripple")),
    )
    return experiment("9", "temporary disk", RACES, claims, measurements, MUTANTS_9, __name__)


EXPERIMENTS: Final = (_figure_8(), _figure_9())
