"""The command `sooner`. Each subcommand is a line in a table: its name, what it does, its arguments, its action.

Only the demo and pictures need more than a plain install; they load what they need, or say how to get it.

Exit codes: 0 done, 1 something failed (one line on standard error), 2 the command was not understood,
130 the user interrupted.
"""

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

from sooner.asked.choosing_algorithm import AUTO
from sooner.errors import SoonerError
from sooner.extras import missing
from sooner.named_algorithms import ALGORITHMS
from sooner.plain_text import plain_text
from sooner.ui.estimate_commands import add_estimate_arguments, add_sql_arguments, run_estimate, run_sql
from sooner.ui.lab_commands import NOT_UNDERSTOOD, add_run_arguments, list_experiments, run
from sooner.ui.new_files import new_picture
from sooner.ui.numbers import positive, whole_number
from sooner.ui.results_command import add_results_arguments, write_results
from sooner.ui.shuffle_command import add_shuffle_arguments, run_shuffle
from sooner.ui.tables import print_table
from sooner.ui.tpch import SCALE
from sooner.version import __version__

FAILED: Final = 1
INTERRUPTED: Final = 130  # as shells have it


@dataclass(frozen=True)
class Command:
    name: str
    summary: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int] | None  # None if it has subcommands of its own


class Parser(argparse.ArgumentParser):
    """Says in one line what it does not understand."""

    def error(self, message: str) -> NoReturn:
        self.exit(NOT_UNDERSTOOD, f"{self.prog}: {plain_text(message)} (see {self.prog} --help)\n")


def main(arguments: Sequence[str] | None = None) -> int:
    _let_streams_take_everything()
    try:
        options = _parser().parse_args(arguments)
        exit_code: int = options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever reads this has seen enough, as in `sooner lab list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except (SoonerError, OSError) as error:
        print(f"sooner: {plain_text(error)}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print("sooner: interrupted", file=sys.stderr)
        return INTERRUPTED
    return exit_code


def _let_streams_take_everything() -> None:
    """Let streams escape what their encoding lacks, and swallow what nobody reads if they were closed before."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - for as long as it runs
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _parser() -> Parser:
    parser = Parser(prog="sooner", description="Joins that answer while the data is still arriving.")
    parser.add_argument("--version", action="version", version=f"sooner {__version__}")
    _add_commands(parser, COMMANDS)
    return parser


def _add_commands(parser: argparse.ArgumentParser, commands: Sequence[Command]) -> None:
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in commands:
        subparser = subparsers.add_parser(command.name, help=command.summary, description=command.summary)
        command.add_arguments(subparser)
        if command.run is not None:
            subparser.set_defaults(run=command.run)


def _no_arguments(parser: argparse.ArgumentParser) -> None:  # noqa: ARG001 - the contract
    return None


# sooner algorithms


def _list_algorithms(options: argparse.Namespace) -> int:  # noqa: ARG001 - the contract
    auto = (AUTO, "the one of these that is right by what is known of the inputs; the default")
    print_table(("algorithm", "what it does"), [auto, *((a.name, a.summary) for a in ALGORITHMS.values())])
    return 0


# sooner demo


def _add_demo_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed", type=whole_number, default=0, help="of the arrivals (default: 0)")
    parser.add_argument("--speed", type=positive, default=1.0, help="how much faster the rows arrive (default: 1)")
    parser.add_argument("--scale", type=positive, default=SCALE, help=f"TPC-H's scale factor (default: {SCALE})")
    parser.add_argument("--picture", type=new_picture, metavar="FILE.png", help="draw the results over time")


def _demo(options: argparse.Namespace) -> int:
    try:
        from rich.console import Console

        from sooner.ui.demo import run_demo  # here, because it loads Spark
    except ModuleNotFoundError as error:
        package, _, _ = (error.name or "pyspark").partition(".")
        raise missing(package, "The demo", "demo") from None

    return 0 if run_demo(Console(), options.seed, options.speed, options.scale, options.picture) else FAILED


# sooner lab


def _add_lab_arguments(parser: argparse.ArgumentParser) -> None:
    _add_commands(parser, LAB_COMMANDS)


LAB_COMMANDS: Final = (
    Command("list", "Show the experiments.", _no_arguments, list_experiments),
    Command("run", "Repeat experiments of the papers in simulated time.", add_run_arguments, run),
)
COMMANDS: Final = (
    Command("demo", "Watch two bursty inputs being joined on Spark.", _add_demo_arguments, _demo),
    Command("algorithms", "Show the names that algorithm= takes.", _no_arguments, _list_algorithms),
    Command("estimate", "Estimate aggregates over a join of two files.", add_estimate_arguments, run_estimate),
    Command("sql", "Answer a query over two files while they are read.", add_sql_arguments, run_sql),
    Command("shuffle", "Write a table with its rows in random order.", add_shuffle_arguments, run_shuffle),
    Command("results", "Write a page of what experiments found.", add_results_arguments, write_results),
    Command("lab", "The papers' experiments.", _add_lab_arguments, run=None),
)
