"""The commands `sooner state ...`: the state of a join on Spark, between two runs of its query."""

import argparse
from pathlib import Path

from sooner.plain_text import plain_text
from sooner.ui.exit_codes import FAILED
from sooner.ui.numbers import whole_number
from sooner.ui.tables import print_table


def add_state_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("state", metavar="STATE", help="the directory that was given as state=, by path or URI")


def add_export_arguments(parser: argparse.ArgumentParser) -> None:
    add_state_argument(parser)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="gets left.parquet and right.parquet")


def add_rescale_arguments(parser: argparse.ArgumentParser) -> None:
    add_state_argument(parser)
    parser.add_argument("--partitions", type=_at_least_one, required=True, metavar="M", help="as for ss.join")


def show(options: argparse.Namespace) -> int:
    """What is in it."""
    from sooner.spark.states.reporting import described  # here, because it loads Spark

    print_table(("", ""), described(options.state))
    return 0


def check(options: argparse.Namespace) -> int:
    """Whether it is whole: one line for each thing that is not."""
    from sooner.spark.states.reporting import check as checked

    found = checked(options.state)
    for trouble in found.troubles:
        print(plain_text(trouble))
    print(f"{'damaged' if found.troubles else 'whole'}: {found}")
    return FAILED if found.troubles else 0


def export(options: argparse.Namespace) -> int:
    """Its rows as Parquet."""
    from sooner.spark.states.reporting import export as exported

    for file, n_rows in exported(options.state, options.folder):
        print(f"wrote {plain_text(file)}: {n_rows:,} rows" if n_rows else f"no rows for {plain_text(file)}")
    return 0


def rescale(options: argparse.Namespace) -> int:
    """More or fewer partitions."""
    from sooner.spark.states.rescaling import rescale as rescaled

    print(plain_text(rescaled(options.state, options.partitions)))
    return 0


def _at_least_one(text: str) -> int:
    number = whole_number(text)
    if not number:
        raise argparse.ArgumentTypeError("there must be 1 partition or more")
    return number
