"""The command `sooner algorithms`."""

import argparse

from sooner.asked.choosing_algorithm import AUTO
from sooner.named_algorithms import ALGORITHMS
from sooner.ui.tables import print_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=_show)


def _show(options: argparse.Namespace) -> int:  # noqa: ARG001 - the contract
    auto = (AUTO, "the one of these that is right by what is known of the inputs; the default")
    print_table(("algorithm", "what it does"), [auto, *((a.name, a.summary) for a in ALGORITHMS.values())])
    return 0
