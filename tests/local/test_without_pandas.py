"""Statements, estimates and commands without pandas, which is installed here.

Most of PyArrow's own conversions of Python's values would load it, and take half a second of CPU time for that.
"""

import subprocess
import sys
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as arrow_parquet
import pytest

from sql_as_written import AGGREGATES, CONDITIONS, DAYS, LOC, ORDERED, TEXTS
from sql_chain import TABLES

_PREPARED: Final = """
import sys
import pyarrow as pa
import sooner

tables = {name: pa.ipc.open_file(pa.memory_map(f"{name}.arrow")).read_all() for name in NAMES}
lines, orders = tables["lines"], tables["orders"]
"""
_AT_THE_END: Final = """
assert "pandas" not in sys.modules
"""
_ESTIMATES: Final = """
aggregates = {
    "n": "count(*)", "s": "sum(price * (1 - discount))", "a": "avg(discount)", "d": "stddev(price)",
}
where = "day > DATE '1995-02-01' AND flag IN ('A', 'R')"
for asked in ({}, {"by": ["flag", "status"]}, {"where": where}, {"by": "day", "until": "20%"}):
    found = sooner.estimate(lines, orders, left_on="order", right_on="id", aggregates=aggregates, **asked)
    for each in found:
        str(each), each._repr_html_(), each.to_table(as_doubles=True)
    found.to_table()
    answers = sooner.estimate(lines, orders, left_on="order", right_on="id", aggregates=aggregates, **asked)
    assert answers.to_reader().read_all().num_rows
"""
_CONDITIONS_OF_MANY: Final = """
where = {"l": "price > 50 AND flag LIKE 'A%'", "o": "CASE WHEN status = 1 THEN day > DATE '1995-05-01' ELSE TRUE END"}
assert sooner.multijoin({"l": lines, "o": orders}, on="l.order = o.id", where=where).to_table().num_rows
"""


def _columns(expressions: list[str]) -> str:
    return ", ".join(f"{one} AS c{at}" for at, one in enumerate(expressions))


FIGURES: Final = [one for one in AGGREGATES if "VARCHAR" not in one]  # an estimate is not cast to a text
STATEMENTS: Final = [
    f"SELECT id FROM lines WHERE {' OR '.join(f'({one})' for one in CONDITIONS)}",
    f"SELECT id, {_columns(DAYS)} FROM orders",
    f"SELECT id, {_columns(TEXTS)} FROM customers",
    f"SELECT {_columns(FIGURES)} FROM lines",
    f"SELECT flag, {_columns(FIGURES)} FROM lines GROUP BY flag HAVING COUNT(*) > 3",
    f"SELECT c.nation, SUM(price * (1 - discount)) AS s, MIN(flag) AS f, MAX(day) AS d {LOC} GROUP BY 1 ORDER BY s",
    "SELECT id % 0 AS z, discount / 0 AS d, discount IN (0.0, NULL, 0.5) AS i, GREATEST(discount, 0.5) AS g, "
    "FLOOR(-price) AS f, CEIL(-price) AS c, ROUND(-price, 1) AS r, SIGN(price) AS s, CAST(discount * 100 AS BIGINT) "
    "AS whole, price::DECIMAL(12, 1) AS less FROM lines",
    "SELECT date_diff('year', DATE '1990-01-01', day) AS y, date_diff('hour', TIMESTAMP '1990-01-01 00:00:00', "
    "day::TIMESTAMP) AS h, EXTRACT(epoch FROM day::TIMESTAMP) AS e FROM orders",
    "SELECT DISTINCT flag FROM lines UNION SELECT name FROM regions",
    'SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM lines l WHERE l."order" = o.id AND price > 9950)',
    "SELECT id FROM orders WHERE customer NOT IN (SELECT id FROM customers WHERE nation > 3) AND status = 1",
    "SELECT AVG(n) AS a, MAX(n) AS m FROM (SELECT customer, COUNT(*) AS n FROM orders GROUP BY customer) x",
    *ORDERED,
]
UNTIL: Final = [
    f"SELECT c.nation, COUNT(*) AS n, SUM(price) AS s, MIN(day) AS m, 2 * AVG(price) AS d {LOC} GROUP BY 1 ORDER BY s",
    "SELECT COUNT(*) AS n, STDDEV(price) AS s, SUM(price) / COUNT(*) AS a, MAX(flag) AS f FROM lines WHERE id > 3",
    'SELECT flag, SUM(price * status) AS s FROM lines l JOIN orders o ON l."order" = o.id GROUP BY flag HAVING s > 10',
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    for name, table in TABLES.items():
        with pa.ipc.new_file(folder / f"{name}.arrow", table.schema) as writer:
            writer.write_table(table)
        arrow_parquet.write_table(table, folder / f"{name}.parquet")
    return folder


def _require_no_pandas(program: str, folder: Path) -> None:
    whole = _PREPARED.replace("NAMES", repr(list(TABLES))) + program + _AT_THE_END
    done = subprocess.run([sys.executable, "-c", whole], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr


def test_statements_do_without(folder: Path) -> None:
    program = f"""
for statement in {STATEMENTS!r}:
    sooner.sql(statement, tables).to_table()
    assert "pandas" not in sys.modules, statement
for statement in {UNTIL!r}:
    for each in sooner.sql(statement, tables, until="20%"):
        str(each), each.table
    assert "pandas" not in sys.modules, statement
"""
    _require_no_pandas(program, folder)


@pytest.mark.parametrize("program", [_ESTIMATES, _CONDITIONS_OF_MANY])
def test_estimates_and_conditions_do_without(program: str, folder: Path) -> None:
    _require_no_pandas(program, folder)


_TABLES: Final = ["--table", "lines=lines.parquet", "--table", "orders=orders.parquet"]
_KEYS: Final = ["lines.parquet", "orders.parquet", "--left-on", "order", "--right-on", "id"]
_JOINED: Final = 'FROM lines l JOIN orders o ON l."order" = o.id WHERE price > 50 AND flag IS NOT NULL'
COMMANDS: Final = [
    ["sql", *_TABLES, f"SELECT flag, SUM(price) AS s, MIN(day) AS d {_JOINED} GROUP BY 1 ORDER BY 2"],
    ["sql", *_TABLES, f"SELECT flag, price, day {_JOINED} ORDER BY 2 LIMIT 3"],
    ["estimate", *_KEYS, "--aggregate", "s=sum(price)", "--by", "flag", "--where", "price > 50"],
    ["join", *_KEYS, "--limit", "3"],
    ["multijoin", "l=lines.parquet", "o=orders.parquet", "--on", "l.order = o.id", "--where", "l=price > 50"],
]


def test_commands_do_without(folder: Path) -> None:
    program = f"""
from sooner.ui.command_line import main

for command in {COMMANDS!r}:
    for format_ in ("table", "json", "csv"):
        assert main([*command, "--format", format_]) == 0, (command, format_)
        assert "pandas" not in sys.modules, (command, format_)
"""
    _require_no_pandas(program, folder)
