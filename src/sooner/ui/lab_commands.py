"""The commands `sooner lab list` and `sooner lab run`."""

import argparse
import difflib
import fnmatch
import os
import sys
from functools import partial
from typing import Final

from sooner.lab.experiment import Experiment
from sooner.lab.experiments import EXPERIMENTS
from sooner.lab.own.contestants import with_own
from sooner.lab.running import run_experiments
from sooner.plain_text import plain_text
from sooner.ui.exit_codes import NOT_UNDERSTOOD
from sooner.ui.lab_reports import add_report_arguments, show
from sooner.ui.new_files import folder
from sooner.ui.numbers import whole_number
from sooner.ui.progress_bar import Told
from sooner.ui.progress_line import add_progress_arguments, progress_line
from sooner.ui.tables import print_table

ALL: Final = "all"


def add_list_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=_list)


def _list(options: argparse.Namespace) -> int:  # noqa: ARG001 - the contract
    rows = [(one.name, one.paper, one.title, f"{one.seconds:.0f} s") for one in EXPERIMENTS.values()]
    print_table(("experiment", "paper", "what it shows", "takes about, on one core"), rows)
    return 0


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="+", metavar="NAME", help="of `sooner lab list`, a pattern as 'rpj-8*', or all")
    parser.add_argument("--seed", type=whole_number, default=0, help="of all that is random (default: 0)")
    parser.add_argument("--seeds", type=whole_number, default=1, metavar="N", help="run with so many, from --seed on")
    parser.add_argument("--scale", type=whole_number, default=1, help="divide the paper's size by this (default: 1)")
    parser.add_argument("--workers", type=whole_number, default=os.cpu_count(), help="processes (default: one a core)")
    parser.add_argument(
        "--kept", type=folder, metavar="FOLDER", help="take what was run before from there, and keep what is run"
    )
    parser.add_argument(
        "--algorithm",
        action="append",
        default=[],
        metavar="MODULE:NAME",
        help="of your own, to race beside those of a figure of two-way joins; again",
    )
    add_report_arguments(parser)
    add_progress_arguments(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    experiments = _named(options.names)
    why_not = next((name for name, found in experiments.items() if not found), None)
    if why_not is not None:
        return _not_understood(_unknown(why_not))
    chosen = list({one.name: one for found in experiments.values() for one in found}.values())
    if len(chosen) > 1 and any(place is not None and not place.is_dir() for place in (options.json, options.plot)):
        return _not_understood("several experiments write several files; give --json and --plot a folder that is there")
    if not options.seeds or not options.workers:
        return _not_understood("--seeds and --workers must be 1 or more")
    if options.algorithm and options.kept is not None:
        return _not_understood("--kept cannot tell when an algorithm of your own has changed; leave out one of the two")
    chosen = [with_own(one, options.algorithm) for one in chosen]
    by_name = {one.name: one for one in chosen}
    seeds = range(options.seed, options.seed + options.seeds)
    told = Told(sum(one.seconds for one in chosen) * len(seeds) / max(options.scale, 1) / options.workers)
    with progress_line(options, told.in_words) as line:
        for report in run_experiments(chosen, options.scale, seeds, options.workers, told.tell, options.kept):
            line.wiped(partial(show, by_name[report.name], report, options))
    return 0


def _named(names: list[str]) -> dict[str, list[Experiment]]:
    patterns = {name: "*" if name == ALL else name for name in names}
    return {
        name: [one for one in EXPERIMENTS.values() if fnmatch.fnmatchcase(one.name, pattern)]
        for name, pattern in patterns.items()
    }


def _not_understood(why: str) -> int:
    print(f"sooner: {plain_text(why)}", file=sys.stderr)
    return NOT_UNDERSTOOD


def _unknown(name: str) -> str:
    near = difflib.get_close_matches(name, EXPERIMENTS, n=3, cutoff=0.4)
    hint = f"did you mean {' or '.join(near)}?" if near else "`sooner lab list` shows all."
    return f"there is no experiment {name!r}; {hint}"
