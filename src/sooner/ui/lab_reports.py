"""What the lab found: printed as tables, written as JSON, drawn."""

import argparse
from pathlib import Path

from sooner.lab.experiment import Experiment, Report
from sooner.plain_text import plain_text
from sooner.ui.new_files import new_file_or_folder, new_picture_or_folder
from sooner.ui.reports import to_json
from sooner.ui.tables import print_table


def add_report_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", type=new_file_or_folder, metavar="FILE", help="write what was found; or to a folder")
    parser.add_argument(
        "--plot", type=new_picture_or_folder, metavar="FILE.png", help="draw the curves; or to a folder"
    )


def show(experiment: Experiment, report: Report, options: argparse.Namespace) -> None:
    print(f"{plain_text(experiment.name)}: {experiment.title}\n{report.machine}\n")
    if report.claims:
        rows = [(one["what"], one["expected"], one["ours"], _verdict(one["verdict"])) for one in report.claims]
        print_table(("claim", "paper", "ours", ""), rows)
        print()
    if report.measurements:
        print_table(("measured", "ours"), [(one["what"], one["ours"]) for one in report.measurements])
        print()
    keep(experiment, report, options)


def keep(experiment: Experiment, report: Report, options: argparse.Namespace) -> None:
    """Write and draw it, as these options ask for."""
    if options.json is not None:
        _file(options.json, f"{report.name}.json").write_text(to_json(report.to_plain()))
    if options.plot is not None:
        from sooner.ui.plots import draw  # here, because matplotlib takes a second to load

        draw(experiment, report, _file(options.plot, f"{report.name}.png"))


def _verdict(verdict: str) -> str:
    return verdict.upper() if verdict == "does not hold" else verdict


def _file(place: Path, name: str) -> Path:
    return place / name if place.is_dir() else place
