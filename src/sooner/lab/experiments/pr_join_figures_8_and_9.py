"""PR-Join figures 8 and 9: temporary rows on a disk, without and with things done at once (sec. 6.1).

Figure 8 holds the algorithms to the paper's own model (`pr_join_model`), with synchronous I/O.

Figure 9's early rate is not what the paper says of it. Its sentence, "orders of magnitude higher", cannot be meant of
early results: by its own equations 2 and 10, with these disks and the stop constraint, which ends joins at half of the
input, PR-Join's last early join has 4 times Ripple's rate. When all has arrived and partitions are joined for the last
time, the rate is ten times and more; so both are here.
"""

from dataclasses import replace
from typing import Final

from sooner.lab.experiment import Claim, Experiment
from sooner.lab.experiments.pr_join import PARTITIONS, AlgorithmName, PrJoinRace, experiment
from sooner.lab.experiments.pr_join_claims import (
    best_rate,
    early_rate,
    ends_as,
    ends_sooner,
    ends_with,
    follows,
    rate_of_early_results,
    reports_more_often,
    seconds_between_reports,
    seconds_to_end,
)
from sooner.lab.experiments.pr_join_model import Costs, Curve, grace_curve, pr_join_curve, ripple_curve

SHOWN: Final[dict[AlgorithmName, str]] = {"pr_join": "PR-Join", "ripple": "Ripple", "grace": "GRACE"}
RACES: Final[dict[str, PrJoinRace]] = {name: PrJoinRace(name) for name in SHOWN}
AS_THE_MODEL: Final = 0.05
BY_ITS_OWN_EQUATIONS: Final = (
    "the paper: by its equations 2 and 10 it is 4 times on these disks, when the stop constraint ends joins"
)


def _model(name: str, costs: Costs) -> Curve:
    match name:
        case "pr_join":
            return pr_join_curve(costs, gamma=1.0, partitions=PARTITIONS)
        case "ripple":
            return ripple_curve(costs)
    return grace_curve(costs)


def _figure_8() -> Experiment:
    races = {name: replace(race, overlap="in turn") for name, race in RACES.items()}
    claims = []
    for name, shown in SHOWN.items():
        curve = _model(name, races[name].costs(results=1.0))
        claims += [
            Claim(
                f"{shown} takes as long as by the model, end to end",
                f"very well ({curve.end_seconds:,.0f} s; ours: within 5%)",
                ends_as(name, curve, AS_THE_MODEL),
            ),
            Claim(
                f"{shown} has as many results as by the model, all the time",
                "very well (ours: within 5% of all results)",
                follows(name, curve, AS_THE_MODEL),
            ),
        ]
    title = "the model and what is measured: temporary disk, one thing at a time"
    return experiment("8", title, races, tuple(claims), tuple(map(seconds_to_end, races)), __name__)


def _figure_9() -> Experiment:
    claims = (
        Claim("PR-Join is 6.2 times as fast as Ripple, end to end", "6.2 times", ends_sooner("pr_join", "ripple", 6.2)),
        Claim(
            "PR-Join is 44% slower than GRACE, end to end",
            "1.44 times",
            ends_with("pr_join", "grace", 1.6, at_least=1.28),
        ),
        Claim(
            "PR-Join's early results come at more than 10 times Ripple's rate",
            "an order of magnitude",
            early_rate("pr_join", "ripple", at_least=10),
            BY_ITS_OWN_EQUATIONS,
        ),
        Claim(
            "PR-Join's results, the last ones too, come at more than 10 times Ripple's rate",
            "an order of magnitude",
            best_rate("pr_join", "ripple", at_least=10),
        ),
        Claim(
            "PR-Join reports after far shorter intervals than Ripple",
            "orders of magnitude (ours: 10 times, with a quarter of the paper's partitions)",
            reports_more_often("pr_join", "ripple", times=10),
        ),
    )
    measurements = (
        *map(seconds_to_end, RACES),
        *map(rate_of_early_results, ("pr_join", "ripple")),
        *map(seconds_between_reports, ("pr_join", "ripple")),
    )
    return experiment("9", "temporary disk", RACES, claims, measurements, __name__)


EXPERIMENTS: Final = (_figure_8(), _figure_9())
