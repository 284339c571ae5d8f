"""The commands `sooner lab list`, `sooner lab run` and `sooner lab recheck`."""

import argparse
import difflib
import fnmatch
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from sooner.lab.code_version import code_version
from sooner.lab.experiment import Experiment
from sooner.lab.experiments import EXPERIMENTS
from sooner.lab.own.contestants import with_own
from sooner.lab.running import run_experiments
from sooner.plain_text import plain_text
from sooner.ui.exit_codes import FAILED, NOT_UNDERSTOOD
from sooner.ui.lab_reports import add_report_arguments, show
from sooner.ui.new_files import folder
from sooner.ui.numbers import whole_number
from sooner.ui.progress_bar import Told
from sooner.ui.progress_line import add_progress_arguments, progress_line
from sooner.ui.reports import to_json
from sooner.ui.result_files import read_report
from sooner.ui.tables import print_table

ALL: Final = "all"
SAID: Final = ("section", "what", "quantity", "expected", "tolerance")  # of a claim, before anything is run
RUN_WITH: Final = "all_seeds_run_with"  # of a result: the mark of that code


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
    _add_size_arguments(parser)
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


def add_recheck_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("results", type=Path, metavar="FOLDER", help="with files of `sooner lab run --json`")
    parser.add_argument("names", nargs="*", default=[ALL], metavar="NAME", help="as in `sooner lab run` (default: all)")
    _add_size_arguments(parser)
    add_progress_arguments(parser)
    parser.set_defaults(run=_recheck)


def _add_size_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--scale", type=whole_number, default=1, help="divide the paper's size by this (default: 1)")
    parser.add_argument("--workers", type=whole_number, default=os.cpu_count(), help="processes (default: one a core)")
    parser.add_argument(
        "--kept", type=folder, metavar="FOLDER", help="take what was run before from there, and keep what is run"
    )


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


def _recheck(options: argparse.Namespace) -> int:
    """The first seed of each result of other code is run again. If its curves are the same, all that was found counts
    as of this code, which the result then names; with which code all seeds were run, it keeps.
    """
    experiments = _named(options.names)
    why_not = next((name for name, found in experiments.items() if not found), None)
    if why_not is not None:
        return _not_understood(_unknown(why_not))
    if not options.workers:
        return _not_understood("--workers must be 1 or more")
    chosen = {one.name: replace(one, mutants=()) for found in experiments.values() for one in found}
    files = {name: file for name in chosen if (file := options.results / f"{name}.json").exists()}
    if not files:
        return _not_understood(f"{options.results} has no results of these experiments; run them with --json")
    stale = {name: found for name, file in files.items() if _is_stale(chosen[name], found := read_report(file))}
    told = Told(sum(chosen[name].seconds for name in stale) / max(options.scale, 1) / options.workers)
    rows, differs = [(name, "is of this code") for name in files if name not in stale], False
    with progress_line(options, told.in_words) as line:
        for seed in sorted({found["seeds"][0] for found in stale.values()}):
            some = [chosen[name] for name, found in stale.items() if found["seeds"][0] == seed]
            for report in run_experiments(some, options.scale, [seed], options.workers, told.tell, options.kept):
                found = stale[report.name]
                if is_same := _shown(vars(report)) == _shown(found):
                    renewed = {"code": report.code, RUN_WITH: found.get(RUN_WITH, found["code"])}
                    files[report.name].write_text(to_json(found | renewed))
                rows.append((report.name, "has the same curves" if is_same else "differs: run it anew"))
                differs |= not is_same
        line.clear()
    print_table(("experiment", f"{len(stale)} of {len(files)} were of other code"), sorted(rows))
    return FAILED if differs else 0


def _shown(report: Mapping[str, Any]) -> Any:
    """What does not depend on how many seeds there are: the curves of the first, and what is claimed of them."""
    claims = [{part: claim[part] for part in SAID} for claim in report["claims"]]
    return json.loads(json.dumps([claims, report["series"]]))


def _is_stale(experiment: Experiment, found: dict[str, Any]) -> bool:
    return bool(found["code"] != code_version(experiment))


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
