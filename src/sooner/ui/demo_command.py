"""The command `sooner demo`: its arguments. What it shows needs Spark, and is loaded when it runs."""

import argparse

from sooner.extras import missing
from sooner.ui.exit_codes import FAILED
from sooner.ui.new_files import new_picture
from sooner.ui.numbers import positive, whole_number
from sooner.ui.tpch import SCALE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed", type=whole_number, default=0, help="of the arrivals (default: 0)")
    parser.add_argument("--speed", type=positive, default=1.0, help="how much faster the rows arrive (default: 1)")
    parser.add_argument("--scale", type=positive, default=SCALE, help=f"TPC-H's scale factor (default: {SCALE})")
    parser.add_argument("--picture", type=new_picture, metavar="FILE.png", help="draw the results over time")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    try:
        from rich.console import Console

        from sooner.ui.demo import run_demo  # here, because it loads Spark
    except ModuleNotFoundError as error:
        package, _, _ = (error.name or "pyspark").partition(".")
        raise missing(package, "The demo", "demo") from None

    return 0 if run_demo(Console(), options.seed, options.speed, options.scale, options.picture) else FAILED
