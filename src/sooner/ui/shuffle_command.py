"""The command `sooner shuffle`: a table written once with its rows in random order, for estimates."""

import argparse

from sooner.budget import parse_bytes
from sooner.errors import InvalidCall
from sooner.plain_text import plain_text
from sooner.sources import shuffle
from sooner.ui.new_files import new_file
from sooner.ui.numbers import whole_number
from sooner.ui.progress_line import add_progress_arguments, progress_line


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("input", metavar="INPUT", help="a Parquet, CSV or Arrow file, or a directory")
    parser.add_argument("output", type=new_file, metavar="OUTPUT.parquet", help="replaced once the new one is whole")
    parser.add_argument("--seed", type=whole_number, default=0, help="of the order (default: 0)")
    parser.add_argument("--memory", type=_size, default="256MB", help="for rows (default: 256MB)")
    add_progress_arguments(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    with progress_line(options, lambda: f"shuffling {options.input}"):
        n_rows = shuffle(options.input, options.output, seed=options.seed, memory=options.memory)
    print(f"wrote {plain_text(options.output)}: {n_rows:,} rows in random order")
    return 0


def _size(text: str) -> int:
    try:
        return parse_bytes(text)
    except InvalidCall as error:
        raise argparse.ArgumentTypeError(str(error)) from None
