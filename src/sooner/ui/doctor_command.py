"""The command `sooner doctor`: what is here, what is missing, what goes a slower way, and how to mend it."""

import argparse
from collections.abc import Iterator

from sooner.ui.exit_codes import FAILED
from sooner.ui.findings import MISSING, Finding
from sooner.ui.progress_line import add_progress_arguments, progress_line
from sooner.ui.tables import print_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--spark", action="store_true", help="also start Spark and let its workers join a few rows")
    add_progress_arguments(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    with progress_line(options, lambda: "looking at this machine"):
        found = list(_findings(options))
    print_table(("", "", "found"), [(one.what, one.state, one.found) for one in found])
    cures = [one for one in found if one.cure]
    if cures:
        print()
        print_table(("", "how to mend it"), [(one.what, one.cure) for one in cures])
    return FAILED if any(one.state == MISSING for one in found) else 0


def _findings(options: argparse.Namespace) -> Iterator[Finding]:
    from sooner.ui.machine_findings import extras_found, libraries_found, machine_found
    from sooner.ui.spark_findings import session_found, spark_found

    yield from libraries_found()
    yield from machine_found()
    yield from spark_found()
    if options.spark:
        yield session_found()
    yield from extras_found()
