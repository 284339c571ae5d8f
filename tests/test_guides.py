"""What the guides show in process is run as it stands there."""

import argparse
import ast
import datetime as dt
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as arrow_parquet
import pytest

import pages
import sooner
from sooner.ui.command_line import command_parser
from sooner.ui.examples_command import ALGORITHM, write_examples
from union import UnionPlan

# The pages with Python in them that are run as a whole elsewhere.
ELSEWHERE: Final = {
    "README.md": "tests/test_readme.py",
    "docs/dashboard.md": "tests/ui/test_dashboard_command.py",
    "docs/guides/in-process.md": "tests/test_readme.py",
    "docs/guides/sql.md": "tests/test_readme.py",
    "docs/inputs-and-results.md": "tests/test_inputs_and_results.py",
    "docs/sql.md": "tests/test_docs_sql.py",
}
# Nothing of these is in process. What is of Spark, here and on other pages, is not run by this test.
ON_SPARK: Final = {"docs/guides/endless-inputs.md", "docs/guides/on-spark.md"}
Known = dict[str, Any]

TEN: Final = dt.timedelta(minutes=10)
NOON: Final = dt.datetime(2026, 1, 1, 12)
ORDERS: Final = pa.table({"customer": [3, 1, 2, 1], "cents": [500, 120, 990, 75]})
CUSTOMERS: Final = pa.table({"customer": [1, 2, 3], "name": ["Ada", "Grace", "Edsger"], "segment": ["a", "b", "a"]})


def kinds_of_joins() -> Known:
    return {"orders": ORDERS, "customers": CUSTOMERS, "blocked": pa.table({"customer": [2]})}


def look_ups() -> Known:
    arrow_parquet.write_table(CUSTOMERS, "customers.parquet")
    return {"events": pa.table({"customer": [3, 1], "cents": [500, 120]})}


def many_inputs() -> Known:
    customers = pa.table({"id": [1, 2], "nation": [7, 8], "name": ["Ada", "Grace"]})
    arrow_parquet.write_table(customers, "customers.parquet")
    return {
        "sales": pa.table({"id": [10, 11, 12], "customer": [1, 2, 1]}),
        "customers": customers.rename_columns(["customer", "nation", "name"]).rename_columns(["id", "nation", "name"]),
        "nations": pa.table({"nation": [7, 8], "country": ["Chile", "Japan"]}),
        "returns": pa.table({"sale": [11]}),
        "users": pa.table({"id": [1, 2]}),
        "views": pa.table({"user": [1, 2], "seen": [NOON, NOON]}),
        "clicks": pa.table({"clicked": [NOON + TEN / 2, NOON + 2 * TEN]}),
        "timedelta": dt.timedelta,
    }


def ranges() -> Known:
    return {
        "trades": pa.table({"price": [1.0, 2.0], "symbol": ["a", "b"]}),
        "quotes": pa.table({"price": [1.03, 2.2], "symbol": ["a", "b"]}),
        "views": pa.table({"seen": [NOON], "ad": [1]}),
        "clicks": pa.table({"clicked": [NOON + TEN / 2], "ad": [1]}),
    }


def estimates() -> Known:
    days = [dt.date(1995, 1, 1), dt.date(1996, 1, 1), dt.date(1997, 1, 1)]
    lines = {
        "l_orderkey": [1, 2, 2],
        "l_extendedprice": [1.0, 2.0, 3.0],
        "l_discount": [0.0, 0.1, 0.2],
        "l_shipdate": days,
    }
    arrow_parquet.write_table(pa.table(lines), "lineitem.parquet")
    orders = pa.table({"o_orderkey": [1, 2], "o_orderpriority": ["2-HIGH", "1-URGENT"]})
    arrow_parquet.write_table(orders, "orders.parquet")
    arrow_parquet.write_table(pa.table({"id": [1, 2], "nation": [7, 8]}), "customers.parquet")
    return {"orders": pa.table({"cust": [1, 2, 2], "price": [5, 6, 7]})}


def samples_that_grow() -> Known:
    arrow_parquet.write_table(ORDERS, "orders.parquet")
    arrow_parquet.write_table(CUSTOMERS, "customers.parquet")
    return {}


PREPARED: Final[dict[str, Callable[[], Known]]] = {
    "docs/guides/kinds-of-joins.md": kinds_of_joins,
    "docs/guides/look-ups.md": look_ups,
    "docs/guides/many-inputs.md": many_inputs,
    "docs/guides/ranges.md": ranges,
    "docs/guides/estimates.md": estimates,
    "docs/guides/samples-that-grow.md": samples_that_grow,
}
WRITE_ONE: Final = "docs/operators.md"
OWN_ALGORITHM: Final = "docs/guides/algorithms.md"


def test_every_page_with_code_is_entered_here() -> None:
    """So that what it shows in process is run when it gets its first block of Python."""
    having = {str(page.relative_to(pages.ROOT)) for page in pages.PAGES if pages.code_of(page.read_text())}
    assert having == {*ELSEWHERE, *ON_SPARK, *PREPARED, WRITE_ONE, OWN_ALGORITHM}
    for test in ELSEWHERE.values():
        assert (pages.ROOT / test).exists()


@pytest.mark.filterwarnings("ignore:Nothing says that the rows")
@pytest.mark.parametrize("page", PREPARED)
def test_what_a_guide_shows_in_process_has_an_answer(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    known: Known = {"sooner": sooner, "pa": pa, **PREPARED[page]()}
    asked = 0
    for block in pages.code_of(pages.page_named(page)):
        for statement, is_of_spark in pages.statements_of(block):
            if is_of_spark:
                continue
            if not isinstance(statement, ast.Expr):
                exec(compile(ast.Module([statement], []), page, "exec"), known)
                continue
            found = eval(compile(ast.Expression(statement.value), page, "eval"), known)
            table = found.to_table() if hasattr(found, "to_table") else found
            assert not isinstance(table, pa.Table) or table.num_rows, ast.unparse(statement)
            asked += 1
    assert asked
    capsys.readouterr()


def test_an_operator_is_checked_as_the_page_says() -> None:
    """With one seed; the suite itself runs with more."""
    schema = pa.schema([("key", pa.int64())])
    known: Known = {
        "UnionPlan": UnionPlan,
        "schema": schema,
        "batch_of": lambda keys: pa.record_batch([pa.array(keys, pa.int64())], schema),
        "pytest": pytest,
        "Algorithm": sooner.Algorithm,
        "MyFlush": sooner.algorithm("hmj").flush.__class__,
        "MyReact": sooner.algorithm("hmj").react.__class__,
    }
    whole, in_pytest, of_a_policy = pages.code_of(pages.page_named(WRITE_ONE))
    exec(whole.replace("check_operator(subject)", "check_operator(subject, seeds=[3])"), known)
    exec("from sooner.testing import CHECKS\n" + in_pytest, known)
    known["test_my_operator"]("answer", 3)
    exec(of_a_policy.replace("react=MyReact())", "react=MyReact()), seeds=[3]"), known)


def test_an_algorithm_of_ones_own_races_as_the_guide_says(tmp_path: Path) -> None:
    [shown] = pages.code_of(pages.page_named(OWN_ALGORITHM))
    assert shown in ALGORITHM
    write_examples(tmp_path)
    (tmp_path / "mine.py").write_text(shown)
    for command in pages.commands_of(pages.page_named(OWN_ALGORITHM)):
        subprocess.run([sys.executable, "-m", "sooner", *shlex.split(command)], cwd=tmp_path, check=True)
    assert {"flush-a.png", "compared.json"} <= {file.name for file in tmp_path.iterdir()}


COMMANDS: Final = [
    pytest.param(command, id=f"{page.stem}: {command}")
    for page in pages.PAGES
    for command in pages.commands_of(page.read_text())
]


def test_there_are_commands_in_the_pages() -> None:
    assert len(COMMANDS) > 8


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_a_page_shows_is_understood(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = command_parser().parse_args(shlex.split(command))
    assert isinstance(options, argparse.Namespace)
