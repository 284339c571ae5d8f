"""The command `sooner`. Each subcommand is a line in a table: its name, what it does, and what prepares its parser.

A subcommand is loaded when it is asked for: all of them together take a second. Only the demo and pictures need more
than a plain install; they load what they need, or say how to get it.

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
from typing import Any, Final, NoReturn

from sooner.errors import SoonerError
from sooner.extras import missing
from sooner.plain_text import plain_text
from sooner.ui.exit_codes import FAILED, INTERRUPTED, NOT_UNDERSTOOD
from sooner.ui.new_files import new_picture
from sooner.ui.numbers import positive, whole_number
from sooner.ui.tables import print_table
from sooner.version import __version__

Prepare = Callable[[argparse.ArgumentParser], None]


@dataclass(frozen=True)
class Command:
    name: str
    summary: str
    prepare: Prepare  # a parser with its arguments, and `run` to run it


class Parser(argparse.ArgumentParser):
    """Gets its arguments when it is used, and says in one line what it does not understand."""

    prepare: Prepare | None = None

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if self.prepare is not None:
            self.prepare(self)
            self.prepare = None
        return super().parse_known_args(args, namespace)

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
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)
    for command in commands:
        subparser = subparsers.add_parser(command.name, help=command.summary, description=command.summary)
        subparser.prepare = command.prepare


# sooner algorithms


def _algorithms(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=_list_algorithms)


def _list_algorithms(options: argparse.Namespace) -> int:  # noqa: ARG001 - the contract
    from sooner.asked.choosing_algorithm import AUTO
    from sooner.named_algorithms import ALGORITHMS

    auto = (AUTO, "the one of these that is right by what is known of the inputs; the default")
    print_table(("algorithm", "what it does"), [auto, *((a.name, a.summary) for a in ALGORITHMS.values())])
    return 0


# sooner demo


def _demo(parser: argparse.ArgumentParser) -> None:
    from sooner.ui.tpch import SCALE

    parser.add_argument("--seed", type=whole_number, default=0, help="of the arrivals (default: 0)")
    parser.add_argument("--speed", type=positive, default=1.0, help="how much faster the rows arrive (default: 1)")
    parser.add_argument("--scale", type=positive, default=SCALE, help=f"TPC-H's scale factor (default: {SCALE})")
    parser.add_argument("--picture", type=new_picture, metavar="FILE.png", help="draw the results over time")
    parser.set_defaults(run=_run_demo)


def _run_demo(options: argparse.Namespace) -> int:
    try:
        from rich.console import Console

        from sooner.ui.demo import run_demo  # here, because it loads Spark
    except ModuleNotFoundError as error:
        package, _, _ = (error.name or "pyspark").partition(".")
        raise missing(package, "The demo", "demo") from None

    return 0 if run_demo(Console(), options.seed, options.speed, options.scale, options.picture) else FAILED


# The others have modules of their own.


def _estimate(parser: argparse.ArgumentParser) -> None:
    from sooner.ui.estimate_commands import add_estimate_arguments, run_estimate

    add_estimate_arguments(parser)
    parser.set_defaults(run=run_estimate)


def _sql(parser: argparse.ArgumentParser) -> None:
    from sooner.ui.estimate_commands import add_sql_arguments, run_sql

    add_sql_arguments(parser)
    parser.set_defaults(run=run_sql)


def _shuffle(parser: argparse.ArgumentParser) -> None:
    from sooner.ui.shuffle_command import add_shuffle_arguments, run_shuffle

    add_shuffle_arguments(parser)
    parser.set_defaults(run=run_shuffle)


def _dashboard(parser: argparse.ArgumentParser) -> None:
    from sooner.ui.dashboard_command import add_dashboard_arguments, run_dashboard

    add_dashboard_arguments(parser)
    parser.set_defaults(run=run_dashboard)


def _results(parser: argparse.ArgumentParser) -> None:
    from sooner.ui.results_command import add_results_arguments, write_results

    add_results_arguments(parser)
    parser.set_defaults(run=write_results)


def _state(parser: argparse.ArgumentParser) -> None:
    _add_commands(parser, STATE_COMMANDS)


def _state_info(parser: argparse.ArgumentParser) -> None:
    from sooner.ui.state_commands import add_state_argument, show

    add_state_argument(parser)
    parser.set_defaults(run=show)


def _state_check(parser: argparse.ArgumentParser) -> None:
    from sooner.ui.state_commands import add_state_argument, check

    add_state_argument(parser)
    parser.set_defaults(run=check)


def _state_export(parser: argparse.ArgumentParser) -> None:
    from sooner.ui.state_commands import add_export_arguments, export

    add_export_arguments(parser)
    parser.set_defaults(run=export)


def _state_rescale(parser: argparse.ArgumentParser) -> None:
    from sooner.ui.state_commands import add_rescale_arguments, rescale

    add_rescale_arguments(parser)
    parser.set_defaults(run=rescale)


def _lab(parser: argparse.ArgumentParser) -> None:
    _add_commands(parser, LAB_COMMANDS)


def _lab_list(parser: argparse.ArgumentParser) -> None:
    from sooner.ui.lab_commands import list_experiments

    parser.set_defaults(run=list_experiments)


def _lab_run(parser: argparse.ArgumentParser) -> None:
    from sooner.ui.lab_commands import add_run_arguments, run

    add_run_arguments(parser)
    parser.set_defaults(run=run)


LAB_COMMANDS: Final = (
    Command("list", "Show the experiments.", _lab_list),
    Command("run", "Repeat experiments of the papers in simulated time.", _lab_run),
)
STATE_COMMANDS: Final = (
    Command("info", "Show what is in a state.", _state_info),
    Command("check", "Read all of a state, to see whether it is whole.", _state_check),
    Command("export", "Write the rows of a state as Parquet.", _state_export),
    Command("rescale", "Give a state more or fewer partitions.", _state_rescale),
)
COMMANDS: Final = (
    Command("demo", "Watch two bursty inputs being joined on Spark.", _demo),
    Command("algorithms", "Show the names that algorithm= takes.", _algorithms),
    Command("estimate", "Estimate aggregates over a join of two files.", _estimate),
    Command("sql", "Answer a query over several files while they are read.", _sql),
    Command("shuffle", "Write a table with its rows in random order.", _shuffle),
    Command("dashboard", "Show a trace, or several, or a state, as a page.", _dashboard),
    Command("state", "The state of a join on Spark.", _state),
    Command("results", "Write a page of what experiments found.", _results),
    Command("lab", "The papers' experiments.", _lab),
)
