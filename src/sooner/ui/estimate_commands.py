"""The commands `sooner estimate` and `sooner sql`: answers about files while they are read."""

import argparse
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from sooner.errors import InvalidCall
from sooner.estimation.question import aggregate_in
from sooner.local.estimate import Estimates, estimate
from sooner.local.given_tables import FILES
from sooner.local.groups import LiveGroups
from sooner.local.sql import sql
from sooner.ui.estimate_view import EstimateView, warnings_as_lines
from sooner.ui.numbers import positive, whole_number
from sooner.ui.tables import print_table
from sooner.ui.watching_figures import FiguresView, cells_of, watch


def add_estimate_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("left", metavar="LEFT", help="a Parquet, CSV or Arrow file, or a directory of Parquet files")
    parser.add_argument("right", metavar="RIGHT", help="another")
    parser.add_argument("--on", action="append", metavar="COLUMN", help="that must be equal; may be given again")
    parser.add_argument("--left-on", action="append", metavar="COLUMN", help="where names differ: that of the left")
    parser.add_argument("--right-on", action="append", metavar="COLUMN", help="and that of the right")
    parser.add_argument(
        "--aggregate", action="append", type=_aggregate, required=True, metavar="NAME=FUNCTION(EXPRESSION)",
        help="such as 'revenue=sum(price * (1 - discount))' or n=count; may be given again",
    )  # fmt: skip
    parser.add_argument("--by", action="append", metavar="COLUMN", help="or an expression, to group by")
    parser.add_argument("--where", metavar="CONDITION", help="in SQL: only such rows of the join count")
    _add_terms(parser)


def add_sql_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "query", metavar="QUERY", help="SELECT ... FROM a JOIN b ON a.k = b.k ... WHERE ... GROUP BY ..."
    )
    parser.add_argument(
        "--table",
        action="append",
        type=_table,
        required=True,
        metavar="NAME=FILE",
        help="what a name in FROM means; may be given again",
    )
    parser.add_argument("--rows", type=whole_number, default=20, help="to show without aggregates (default: 20)")
    _add_terms(parser)


def _add_terms(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--confidence", type=float, default=0.95, help="of the intervals (default: 0.95)")
    parser.add_argument("--until", metavar="SHARE", help="the relative error at which to stop, such as 1%% or 0.01")
    parser.add_argument("--seconds", type=positive, help="after which to stop")
    parser.add_argument("--memory", default="1GB", help="for rows (default: 1GB)")
    parser.add_argument("--sampling", choices=("rows", "blocks"), help="what comes in random order")
    parser.add_argument("--seed", type=whole_number, default=0, help="of the random order (default: 0)")


def run_estimate(options: argparse.Namespace) -> int:
    with warnings_as_lines():
        found = estimate(
            options.left,
            options.right,
            options.on,
            left_on=options.left_on,
            right_on=options.right_on,
            aggregates=_named(options.aggregate),
            by=options.by,
            where=options.where,
            **_terms(options),
        )
        return watch(found, EstimateView())


def run_sql(options: argparse.Namespace) -> int:
    with warnings_as_lines():
        found = sql(options.query, dict(options.table), replacements=FILES, **_terms(options))
        if isinstance(found, Estimates):
            return watch(found, EstimateView())
        if isinstance(found, LiveGroups):
            return watch(found, FiguresView())
        _print_rows(found.head(options.rows))
    return 0


def _terms(options: argparse.Namespace) -> dict[str, Any]:
    """The arguments that both commands take."""
    names = ("confidence", "until", "seconds", "sampling", "seed", "memory")
    return {name: getattr(options, name) for name in names}


def _print_rows(rows: pa.Table) -> None:
    print_table(rows.column_names, cells_of(rows))
    print(f"the first {rows.num_rows:,} rows to come")


def _aggregate(text: str) -> tuple[str, list[str]]:
    found = aggregate_in(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=FUNCTION(EXPRESSION), such as 'n=count(*)'")
    return found


def _named(aggregates: Sequence[tuple[str, list[str]]]) -> dict[str, list[str]]:
    found = dict(aggregates)
    if len(found) < len(aggregates):
        raise InvalidCall("--aggregate gives a name twice; give each a name of its own.")
    return found


def _table(text: str) -> tuple[str, str]:
    name, equals, path = text.partition("=")
    if not (name and equals and path):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=FILE, such as orders=orders.parquet")
    return name, path
