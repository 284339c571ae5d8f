"""How PR-Join's experiments on tables (sec. 6.1) are put down."""

from collections.abc import Mapping, Sequence

from sooner.lab.experiment import Claim, Experiment, Figure, Measurement, Race
from sooner.lab.races.pr_join import FULL_SCALE, SETTING


def experiment(
    name: str,
    title: str,
    races: Mapping[str, Race],
    claims: Sequence[Claim],
    measurements: Sequence[Measurement],
    mutants: Sequence[str],
    module: str,
) -> Experiment:
    return Experiment(
        name=f"pr-join-{name}",
        paper="PR-Join",
        title=title,
        figure=Figure("results", "the end", "results"),
        races=races,
        claims=claims,
        measurements=measurements,
        setting=SETTING,
        module=module,
        mutants=mutants,
        full_scale=FULL_SCALE,
    )
