"""The commands `sooner state ...`: the state of a join on Spark, between two runs of its query."""

import argparse
from collections.abc import Callable
from pathlib import Path

from sooner.plain_text import plain_text
from sooner.ui.exit_codes import FAILED
from sooner.ui.numbers import whole_number
from sooner.ui.progress_line import add_progress_arguments, progress_line
from sooner.ui.tables import print_table


def add_info_arguments(parser: argparse.ArgumentParser) -> None:
    _add_state(parser, _show)


def add_check_arguments(parser: argparse.ArgumentParser) -> None:
    _add_state(parser, _check)


def add_export_arguments(parser: argparse.ArgumentParser) -> None:
    _add_state(parser, _export)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="gets left.parquet and right.parquet")


def add_rescale_arguments(parser: argparse.ArgumentParser) -> None:
    _add_state(parser, _rescale)
    parser.add_argument("--partitions", type=_at_least_one, required=True, metavar="M", help="as for ss.join")
    ahead = "while the query still runs: divide what is on disk already, so that less is left to do when it has stopped"
    parser.add_argument("--ahead", action="store_true", help=ahead)


def _add_state(parser: argparse.ArgumentParser, run: Callable[[argparse.Namespace], int]) -> None:
    parser.add_argument("state", metavar="STATE", help="the directory that was given as state=, by path or URI")
    add_progress_arguments(parser)
    parser.set_defaults(run=run)


def _show(options: argparse.Namespace) -> int:
    """What is in it."""
    with progress_line(options, lambda: f"reading {options.state}"):
        from sooner.spark.states.reporting import described  # here, because it loads Spark

        lines = described(options.state)
    print_table(("", ""), lines)
    return 0


def _check(options: argparse.Namespace) -> int:
    """Whether it is whole: one line for each thing that is not."""
    with progress_line(options, lambda: f"reading all of {options.state}"):
        from sooner.spark.states.reporting import check

        found = check(options.state)
    for trouble in found.troubles:
        print(plain_text(trouble))
    print(f"{'damaged' if found.troubles else 'whole'}: {found}")
    return FAILED if found.troubles else 0


def _export(options: argparse.Namespace) -> int:
    """Its rows as Parquet."""
    with progress_line(options, lambda: f"writing to {options.folder}"):
        from sooner.spark.states.reporting import export

        written = list(export(options.state, options.folder))
    for file, n_rows in written:
        print(f"wrote {plain_text(file)}: {n_rows:,} rows" if n_rows else f"no rows for {plain_text(file)}")
    return 0


def _rescale(options: argparse.Namespace) -> int:
    """More or fewer partitions."""
    with progress_line(options, lambda: f"writing {options.partitions} partitions"):
        from sooner.spark.states.rescaling import divide_ahead, rescale

        said = (divide_ahead if options.ahead else rescale)(options.state, options.partitions)
    print(plain_text(said))
    return 0


def _at_least_one(text: str) -> int:
    number = whole_number(text)
    if not number:
        raise argparse.ArgumentTypeError("there must be 1 partition or more")
    return number
