"""The commands `sooner join`, `multijoin` and `enrich`: rows of files and pipes joined while they are read.

Each imports its own kind of join; `sooner sql` and `sooner estimate`, which have arguments from here, import none.
"""

import argparse
import contextlib
from collections.abc import Sequence
from typing import Any, Final, get_args

from sooner.errors import InvalidJoin
from sooner.how import KINDS, kind_of
from sooner.named_algorithms import ALGORITHMS
from sooner.ui.output import add_output_arguments, format_of, write_rows
from sooner.ui.standard_input import inputs_of

INPUT: Final = "a file, directory or pattern (Parquet, CSV, JSON, Arrow), or - (standard input)"


def add_join_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("left", metavar="LEFT", help=INPUT)
    parser.add_argument("right", metavar="RIGHT", help="another")
    add_key_arguments(parser, "left", "right")
    parser.add_argument(
        "--within", type=_within, metavar="WIDTH", help="how far keys may be apart: 0.5, '10 minutes', or LOW,HIGH"
    )
    _add_columns(parser, "--by", "that must be equal beside that")
    parser.add_argument("--how", type=_kind, choices=tuple(KINDS), default="inner", help="by default inner")
    _add_algorithm(parser, ("auto", *ALGORITHMS), "of `sooner algorithms`; by default auto")
    _add_means(parser)
    add_output_arguments(parser)
    parser.set_defaults(run=_run_join)


def add_multijoin_arguments(parser: argparse.ArgumentParser) -> None:
    from sooner.asked.multijoins import MultiAlgorithmName

    parser.add_argument("inputs", nargs="+", type=named, metavar="NAME=INPUT", help=f"a name, and {INPUT}")
    parser.add_argument(
        "--on", action="append", required=True, metavar="EQUALITY", help="'a.x = b.y', or a column of all; again"
    )
    parser.add_argument("--how", action="append", type=named, metavar="NAME=KIND", help="such as customers=left; again")
    parser.add_argument("--where", action="append", type=named, metavar="NAME=CONDITION", help="in SQL, for rows of it")
    _add_algorithm(parser, get_args(MultiAlgorithmName), "such as miner or agf; by default auto")
    _add_means(parser)
    add_output_arguments(parser)
    parser.set_defaults(run=_run_multijoin)


def add_enrich_arguments(parser: argparse.ArgumentParser) -> None:
    from sooner.asked.enrichments import EnrichAlgorithm, EnrichHow

    parser.add_argument("stream", metavar="STREAM", help=INPUT)
    parser.add_argument("master", metavar="MASTER", help="another, which is read whole")
    add_key_arguments(parser, "stream", "master")
    parser.add_argument("--how", choices=get_args(EnrichHow), default="inner", help="by default inner")
    _add_columns(parser, "--columns", "of the master to add; by default all")
    parser.add_argument("--as-of", metavar="COLUMN", help="of the stream: a time at which the master's row was valid,")
    parser.add_argument("--valid-from", metavar="COLUMN", help="of the master: from when on it is")
    _add_algorithm(parser, get_args(EnrichAlgorithm), "probe, ssbj or meshjoin; by default auto")
    _add_means(parser)
    add_output_arguments(parser)
    parser.set_defaults(run=_run_enrich)


def add_key_arguments(parser: argparse.ArgumentParser, left: str, right: str) -> None:
    _add_columns(parser, "--on", "that must be equal; may be given again")
    _add_columns(parser, f"--{left}-on", f"where names differ: that of the {left}")
    _add_columns(parser, f"--{right}-on", f"and that of the {right}")


def named(text: str) -> tuple[str, str]:
    """NAME=VALUE in two."""
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE, such as orders=orders.parquet")
    return name.strip(), value


def _run_join(options: argparse.Namespace) -> int:
    from sooner.local.join import join

    format_ = format_of(options)
    left, right = inputs_of((options.left, options.right), ("LEFT", "RIGHT"))
    rows = join(
        left,
        right,
        options.on,
        left_on=options.left_on,
        right_on=options.right_on,
        within=options.within,
        by=options.by,
        how=options.how,
        algorithm=options.algorithm,
        memory=options.memory,
        trace=options.trace,
    )
    return write_rows(rows, options, format_)


def _run_multijoin(options: argparse.Namespace) -> int:
    from sooner.local.multijoin import multijoin

    format_ = format_of(options)
    names = [name for name, _ in options.inputs]
    inputs = inputs_of([given for _, given in options.inputs], names)
    rows = multijoin(
        dict(zip(names, inputs, strict=True)),
        options.on,
        how=_by_name(options.how),
        where=_by_name(options.where),
        algorithm=options.algorithm,
        memory=options.memory,
        trace=options.trace,
    )
    return write_rows(rows, options, format_)


def _run_enrich(options: argparse.Namespace) -> int:
    from sooner.local.enrich import enrich

    format_ = format_of(options)
    stream, master = inputs_of((options.stream, options.master), ("STREAM", "MASTER"))
    rows = enrich(
        stream,
        master,
        options.on,
        stream_on=options.stream_on,
        master_on=options.master_on,
        how=options.how,
        columns=options.columns,
        as_of=options.as_of,
        valid_from=options.valid_from,
        algorithm=options.algorithm,
        memory=options.memory,
        trace=options.trace,
    )
    return write_rows(rows, options, format_)


def _kind(word: str) -> str:
    """The kind of join that a word of PySpark, pandas or Polars means."""
    with contextlib.suppress(InvalidJoin):
        return kind_of(word).name
    return word


def _by_name(given: Sequence[tuple[str, str]] | None) -> dict[str, Any] | None:
    return None if given is None else dict(given)


def _add_columns(parser: argparse.ArgumentParser, option: str, what: str) -> None:
    """Columns may be given with commas between them, or one by one."""
    parser.add_argument(option, action="extend", type=_columns, metavar="COLUMN", help=what)


def _columns(text: str) -> list[str]:
    return [column.strip() for column in text.split(",")]


def _add_algorithm(parser: argparse.ArgumentParser, names: Sequence[str], what: str) -> None:
    parser.add_argument("--algorithm", choices=names, default="auto", metavar="NAME", help=what)


def _add_means(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--memory", default="1GB", help="for rows; what does not fit goes to disk (default: 1GB)")
    parser.add_argument("--trace", metavar="FILE", help="keep what happens, for `sooner dashboard FILE`")


def _within(text: str) -> Any:
    """A number or an interval, or two of them with a comma; a side that is empty has no limit."""
    ends = [_width(end.strip()) for end in text.split(",")]
    return ends[0] if len(ends) == 1 else tuple(ends)


def _width(text: str) -> float | str | None:
    for number in (int, float):
        with contextlib.suppress(ValueError):
            return number(text)
    return text or None
