"""The papers' experiments by name. A new one is a module of its own and a line here."""

from typing import Final

from sooner.lab.experiment import Experiment
from sooner.lab.experiments import (
    agf_figures_6_to_9,
    diner_bounds,
    diner_choices,
    diner_figure_9,
    diner_figure_13,
    diner_figure_18,
    diner_figures_7_and_8,
    diner_figures_10_to_12,
    diner_figures_14_and_15,
    diner_figures_16_and_17,
    flush_policies,
    miner_figures_20_to_22,
    pr_join_figure_14,
    pr_join_figure_15,
    pr_join_figures_8_and_9,
    pr_join_figures_10_to_13,
    pr_join_table_2,
    rpj_figure_8,
    rpj_figure_9,
    rpj_figure_10,
    rpj_figures_11_and_12,
    semi_stream_figure_4,
    semi_stream_figure_5,
    semi_stream_figure_6,
)

EXPERIMENTS: Final[dict[str, Experiment]] = {
    experiment.name: experiment
    for family in (
        rpj_figure_8,
        rpj_figure_9,
        rpj_figure_10,
        rpj_figures_11_and_12,
        flush_policies,
        diner_figures_7_and_8,
        diner_figure_9,
        diner_figures_10_to_12,
        diner_figure_13,
        diner_figures_14_and_15,
        diner_figures_16_and_17,
        diner_figure_18,
        diner_choices,
        diner_bounds,
        miner_figures_20_to_22,
        agf_figures_6_to_9,
        pr_join_table_2,
        pr_join_figures_8_and_9,
        pr_join_figures_10_to_13,
        pr_join_figure_14,
        pr_join_figure_15,
        semi_stream_figure_4,
        semi_stream_figure_5,
        semi_stream_figure_6,
    )
    for experiment in family.EXPERIMENTS
}
