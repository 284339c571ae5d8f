"""The commands `sooner estimate` and `sooner sql`: answers about files while they are read."""

import argparse
import itertools
from collections.abc import Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from sooner.errors import InvalidCall
from sooner.estimation.estimate import Estimate
from sooner.estimation.question import aggregate_in
from sooner.local.estimate import Estimates, estimate
from sooner.ui.estimate_view import shown_as_in_sql, shown_estimate, shown_figures, warnings_as_lines
from sooner.ui.join_commands import INPUT, add_key_arguments, named
from sooner.ui.numbers import positive, whole_number
from sooner.ui.output import add_output_arguments, format_of, write_rows
from sooner.ui.standard_input import inputs_of
from sooner.ui.watching_figures import View, show_figures


def add_estimate_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("left", metavar="LEFT", help=INPUT)
    parser.add_argument("right", metavar="RIGHT", help="another")
    add_key_arguments(parser, "left", "right")
    parser.add_argument(
        "--aggregate", action="append", type=_aggregate, required=True, metavar="NAME=FUNCTION(EXPRESSION)",
        help="such as 'revenue=sum(price * (1 - discount))' or n=count; again",
    )  # fmt: skip
    parser.add_argument("--by", action="append", metavar="COLUMN", help="or an expression, to group by")
    parser.add_argument("--where", metavar="CONDITION", help="in SQL: only such rows of the join count")
    _add_terms(parser)
    parser.set_defaults(run=_run_estimate)


def add_sql_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", metavar="QUERY", help="SELECT ... FROM a JOIN b ON a.k = b.k ... GROUP BY ...")
    parser.add_argument(
        "--table", action="append", type=named, default=[], metavar="NAME=INPUT",
        help=f"what a name in FROM means: {INPUT}; may be given again",
    )  # fmt: skip
    _add_terms(parser)
    parser.set_defaults(run=_run_sql)


def _add_terms(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--confidence", type=float, default=0.95, help="of the intervals (default: 0.95)")
    parser.add_argument("--until", metavar="SHARE", help="the relative error at which to stop, such as 1%% or 0.01")
    parser.add_argument("--seconds", type=positive, help="after which to stop")
    parser.add_argument("--memory", default="1GB", help="for rows (default: 1GB)")
    parser.add_argument("--sampling", choices=("rows", "blocks"), help="what comes in random order")
    parser.add_argument("--seed", type=whole_number, default=0, help="of the random order (default: 0)")
    add_output_arguments(parser)


def _run_estimate(options: argparse.Namespace) -> int:
    format_ = format_of(options)
    left, right = inputs_of((options.left, options.right), ("LEFT", "RIGHT"))
    with warnings_as_lines():
        found = estimate(
            left,
            right,
            options.on,
            left_on=options.left_on,
            right_on=options.right_on,
            aggregates=_named(options.aggregate),
            by=options.by,
            where=options.where,
            **_terms(options),
        )
        return show_figures(found, View(shown_estimate, Estimate.to_table), options, format_)


def _run_sql(options: argparse.Namespace) -> int:
    from sooner.local.given_tables import FILES
    from sooner.local.groups import LiveGroups
    from sooner.local.sql import sql

    format_ = format_of(options)
    names = [name for name, _ in options.table]
    tables = dict(zip(names, inputs_of([given for _, given in options.table], names), strict=True))
    with warnings_as_lines():
        found = sql(options.query, tables, replacements=FILES, **_terms(options))
        if isinstance(found, Estimates):
            return show_figures(found, _view_as_in_sql(options), options, format_)
        if isinstance(found, LiveGroups):
            return show_figures(found, View(shown_figures, lambda one: one.table), options, format_)
        return write_rows(found, options, format_)


def _view_as_in_sql(options: argparse.Namespace) -> View[Estimate]:
    """With the columns of the select list; in a file also with the ends of intervals, if it is to stop early."""
    from sooner.queries.reading import asked_in
    from sooner.queries.statement import Item, Statement

    asked = asked_in(options.query)
    assert isinstance(asked, Statement), "no union is estimated"
    columns = [item.name for item in asked.items if isinstance(item, Item)]
    ends = () if options.until is None and options.seconds is None else ("_low", "_high")

    def table(found: Estimate) -> pa.Table:
        wanted = [[name, *(name + end for end in ends if name in found.names)] for name in columns]
        return found.to_table().select(list(itertools.chain(*wanted)))

    return View(partial(shown_as_in_sql, columns=columns), table)


def _terms(options: argparse.Namespace) -> dict[str, Any]:
    """The arguments that both commands take."""
    names = ("confidence", "until", "seconds", "sampling", "seed", "memory")
    return {name: getattr(options, name) for name in names}


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
