"""The commands `sooner estimate` and `sooner sql`: a table at the end, and sentences instead of tracebacks."""

import importlib.util
import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as arrow_parquet
import pytest
from rich.console import Console

from sooner.estimation.estimate import Estimate
from sooner.estimation.reckoning import Value
from sooner.estimation.workings import GroupColumn
from sooner.local.estimate import Estimates
from sooner.ui.cells import number
from sooner.ui.command_line import main
from sooner.ui.estimate_view import bar_width, shown_estimate
from sooner.ui.watching_figures import frame_of
from sql_tables import ORDERS, PEOPLE, duckdb_rows

GROUP = GroupColumn("g", 0, pa.int64())
REVENUE = "SELECT region, SUM(price) AS revenue FROM orders o JOIN customers c ON o.customer = c.id GROUP BY region"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    arrow_parquet.write_table(ORDERS, folder / "orders.parquet")
    arrow_csv.write_csv(PEOPLE, folder / "customers.csv")
    return folder


@pytest.fixture
def tables(folder: Path) -> list[str]:
    return ["--table", f"orders={folder / 'orders.parquet'}", "--table", f"customers={folder / 'customers.csv'}"]


def test_aggregates_are_estimated_until_they_are_exact(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(folder / "orders.parquet"), str(folder / "customers.csv")]
    keys = ["--left-on", "customer", "--right-on", "id", "--sampling", "rows"]
    asked = ["--aggregate", "revenue=sum(price)", "--aggregate", "count(*)", "--by", "region", "--where", "price > 50"]
    assert main(["estimate", *files, *keys, *asked]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    *table, last = printed.out.splitlines()
    assert re.fullmatch(r"exact: 100.0% of the rows read in \d+\.\d\d s", last)
    query = REVENUE.replace("AS revenue", ", COUNT(*)").replace("GROUP", "WHERE price > 50 GROUP")
    for region, revenue, count in duckdb_rows(query):
        assert any(line.split() == [region, "revenue", f"{revenue:,}"] for line in table)
        assert any(line.split() == [region, "count(*)", f"{count:,}"] for line in table)


def test_a_query_is_answered_and_an_order_that_is_not_known_is_told(
    tables: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sql", REVENUE, *tables]) == 0
    printed = capsys.readouterr()
    assert printed.err.startswith("sooner: c can be read in its own order only")
    assert printed.err.count("\n") == 1
    assert all(f"{revenue:,}" in printed.out for _, revenue in duckdb_rows(REVENUE))


def test_without_aggregates_the_first_rows_are_shown(tables: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    query = "SELECT o.id, name FROM orders o JOIN customers c ON o.customer = c.id"
    assert main(["sql", query, *tables, "--limit", "3"]) == 0
    titles, *rows, last = capsys.readouterr().out.splitlines()
    assert (titles.split(), len(rows), last) == (["id", "name"], 3, "the first 3 rows to come")


def test_a_query_has_the_columns_of_its_select_list_in_their_order(
    tables: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    query = REVENUE.replace("region, SUM(price) AS revenue", "SUM(price) AS revenue, region")
    assert main(["sql", query, *tables, "--sampling", "rows"]) == 0
    titles, *rows, _ = capsys.readouterr().out.splitlines()
    assert titles.split() == ["revenue", "region"]
    assert sorted(map(str.split, rows)) == sorted([f"{revenue:,}", region] for region, revenue in duckdb_rows(REVENUE))
    assert main(["sql", query, *tables, "--sampling", "rows", "--format", "csv"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == '"revenue","region"'
    assert main(["sql", query, *tables, "--sampling", "rows", "--format", "csv", "--until", "90%"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == '"revenue","revenue_low","revenue_high","region"'


GROUPS = """SELECT a.region, MAX(price) AS m, COUNT(*) AS n FROM orders o JOIN customers a ON o.customer = a.id
    JOIN customers b ON a.id = b.id GROUP BY a.region ORDER BY n"""


@pytest.mark.parametrize("lives", [True, False])
def test_figures_of_groups_over_many_tables_are_shown_until_they_are_exact(
    lives: bool, tables: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: lives)
    assert main(["sql", GROUPS, *tables]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    lines = [line.split() for line in printed.out.splitlines()]
    expected = [[region, str(most), str(count)] for region, most, count in duckdb_rows(GROUPS)]
    assert [line for line in lines if line in expected][-len(expected) :] == expected
    assert "exact: 3 groups of" in printed.out


@pytest.mark.parametrize(
    ("arguments", "exit_code", "mentions"),
    [
        (["sql", "SELECT 1", "--table", "x"], 2, "'x' is not NAME=VALUE"),
        (["sql", "SELECT 1", "--table", "x=y.parquet"], 1, "sooner: The query has no FROM"),
        (
            ["sql", REVENUE, "--table", "orders=none.csv", "--table", "customers=none.csv"],
            1,
            "there is no file none.csv",
        ),
        (["estimate", "a.csv", "b.csv", "--on", "k"], 2, "--aggregate"),
        (["estimate", "a.csv", "b.csv", "--on", "k", "--aggregate", "x=(3"], 2, "is not NAME=FUNCTION(EXPRESSION)"),
        (["estimate", "a.csv", "b.csv", "--on", "k", "--aggregate", "max(x)"], 1, "there is no file a.csv"),
        (["estimate", "a", "b", "--on", "k", "--aggregate", "n=count", "--aggregate", "n=sum(x)"], 1, "a name twice"),
        (["estimate", "a", "b", "--on", "k", "--aggregate", "n=count", "--until", "x"], 1, "--until 'x' must be"),
        (["estimate", "a", "b", "--on", "k", "--aggregate", "n=count", "--until", "0%"], 1, "would never stop before"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    arguments: list[str], exit_code: int, mentions: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        found = main(arguments)
    except SystemExit as stop:
        found = stop.code  # type: ignore[assignment]
    answer = capsys.readouterr().err
    assert found == exit_code
    assert mentions in answer
    assert answer.count("\n") == 1


def test_an_interrupted_estimate_is_shown_as_far_as_it_is(
    tables: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    every = Estimates.__iter__

    def interrupted(self: Estimates) -> Iterator[Estimate]:
        for estimate in every(self):
            os.kill(os.getpid(), signal.SIGINT)
            yield estimate

    monkeypatch.setattr(Estimates, "__iter__", interrupted)
    assert main(["sql", REVENUE, *tables, "--sampling", "rows"]) == 130
    printed = capsys.readouterr()
    assert "read in" in printed.out
    assert printed.err == "sooner: interrupted\n"


@pytest.mark.parametrize("with_rich", [True, False])
def test_a_terminal_has_a_living_table_if_rich_is_there(
    with_rich: bool, tables: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    if not with_rich:
        monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert main(["sql", REVENUE, *tables, "--sampling", "rows"]) == 0
    printed = capsys.readouterr().out
    assert ("\x1b[?25l" in printed or "waiting for the first rows" in printed) == with_rich
    assert "exact: 100.0% of the rows read" in printed


def test_many_groups_are_cut_to_what_a_terminal_shows(capsys: pytest.CaptureFixture[str]) -> None:
    Console().print(frame_of(None))
    values = {(at,): {"n": Value(at, None, None)} for at in range(100)}
    Console().print(frame_of(shown_estimate(Estimate(("n",), (GROUP,), values, 10, None, 0.5, False))))
    printed = capsys.readouterr().out
    assert "waiting for the first rows" in printed
    assert "and 70 more" in printed
    assert "estimated: 10 rows read in 0.50 s" in printed


def test_numbers_and_bars() -> None:
    assert [number(one) for one in (None, 12345, 1234.5678, 0.1234567, 1e20)] == [
        "null", "12,345", "1,234.57", "0.123457", "1e+20",
    ]  # fmt: skip
    bars = [
        bar_width(Value(*one)) for one in ((1, None, None), (None, None, None), (100, 99, 101), (1, -5, 9), (1, 1, 1))
    ]
    assert bars == [1.0, 0.0, pytest.approx(0.1), 1.0, 0.0]
