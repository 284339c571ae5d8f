"""The papers' experiments by name. A new one is a module of its own and a line here."""

from typing import Final

from sooner.lab.experiment import Experiment
from sooner.lab.experiments import flush_policies, rpj_figure_8, rpj_figure_9, rpj_figure_10, rpj_figures_11_and_12

EXPERIMENTS: Final[dict[str, Experiment]] = {
    experiment.name: experiment
    for family in (
        rpj_figure_8,
        rpj_figure_9,
        rpj_figure_10,
        rpj_figures_11_and_12,
        flush_policies,
    )
    for experiment in family.EXPERIMENTS
}
