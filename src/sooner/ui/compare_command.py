"""The command `sooner lab compare`: any algorithms over arrivals from a file, in simulated time."""

import argparse
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from sooner.budget import parse_bytes
from sooner.errors import InvalidCall
from sooner.lab.claims import TENTHS
from sooner.lab.experiment import Report
from sooner.lab.own.arrivals import COLUMNS, GivenArrivals
from sooner.lab.own.comparing import DISKS, Setting, comparison
from sooner.lab.running import run_experiments
from sooner.sources import close_source, open_source
from sooner.ui.lab_reports import add_report_arguments, keep
from sooner.ui.numbers import positive, whole_number
from sooner.ui.progress_bar import Told
from sooner.ui.progress_line import add_progress_arguments, progress_line
from sooner.ui.standard_input import STANDARD, inputs_of
from sooner.ui.tables import print_table

BY_DEFAULT: Final = "rpj,hmj,xjoin"
NAME: Final = "arrivals"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("arrivals", metavar="ARRIVALS", help=f"a table of {', '.join(COLUMNS)}; - is standard input")
    parser.add_argument(
        "--algorithms",
        type=_names,
        default=_names(BY_DEFAULT),
        metavar="NAME,...",
        help=f"of `sooner algorithms`, or MODULE:NAME of your own (default: {BY_DEFAULT})",
    )
    parser.add_argument(
        "--memory", default="10%", metavar="SIZE", help="for rows: a share of all, or such as 64MB (default: 10%%)"
    )
    parser.add_argument("--row-bytes", type=whole_number, default=100, metavar="N", help="of a row (default: 100)")
    parser.add_argument("--disk", choices=tuple(DISKS), default="hdd", help="that rows go to: hdd (default) or ssd")
    parser.add_argument(
        "--silence", type=positive, default=0.025, metavar="SECONDS", help="after which there is time (default: 0.025)"
    )
    parser.add_argument("--workers", type=whole_number, default=os.cpu_count(), help="processes (default: one a core)")
    add_report_arguments(parser)
    add_progress_arguments(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    [given] = inputs_of([options.arrivals], ["ARRIVALS"])
    if not options.row_bytes or not options.workers:
        raise InvalidCall("--row-bytes and --workers must be 1 or more.")
    arrivals = GivenArrivals.of_table(_table_of(given))
    setting = Setting(_memory_rows(options, len(arrivals)), options.row_bytes, options.disk, options.silence)
    name = NAME if options.arrivals == STANDARD else Path(options.arrivals).stem
    experiment = comparison(name, arrivals, options.algorithms, setting)
    told = Told(experiment.seconds / options.workers)
    with progress_line(options, told.in_words) as line:
        [report] = run_experiments([experiment], 1, [0], options.workers, told.tell)
        line.clear()
        report = replace(report, machine=f"simulated: {experiment.setting}")
        _show(report)
        keep(experiment, report, options)
    return 0


def _table_of(given: object) -> pa.Table:
    source = open_source(given, "ARRIVALS")
    try:
        return pa.Table.from_batches(source.batches(), source.schema)
    finally:
        close_source(source)


def _memory_rows(options: argparse.Namespace, rows: int) -> int:
    text: str = options.memory.strip()
    if not text.endswith("%"):
        return parse_bytes(text) // int(options.row_bytes)
    try:
        share = positive(text[:-1].strip())
    except argparse.ArgumentTypeError:
        raise InvalidCall(f"--memory {options.memory} is no share; give for example 10% or 64MB.") from None
    return int(rows * share / 100)


def _show(report: Report) -> None:
    print(f"{report.name}: {report.title}\n{report.machine}\n")
    print("results out at each tenth of the arrivals")
    print_table(("algorithm", *(f"{tenth:.0%}" for tenth in TENTHS), "in the end"), _results_by_tenth(report))
    print()
    print_table(("measured", ""), [(one["what"], one["ours"]) for one in report.measurements])


def _results_by_tenth(report: Report) -> Sequence[Sequence[str]]:
    return [
        (
            name,
            *(f"{results:,.0f}" for results in _at_tenths(series["seconds"], series["results"])),
            f"{series['total_results']:,}",
        )
        for name, series in report.series.items()
    ]


def _at_tenths(seconds: Sequence[float], results: Sequence[float]) -> Sequence[float]:
    tenths: list[float] = np.interp(np.array(TENTHS) * seconds[-1], seconds, results).tolist()
    return tenths


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise argparse.ArgumentTypeError(f"there is no name in {text!r}; give for example {BY_DEFAULT}")
    return [*dict.fromkeys(names)]
