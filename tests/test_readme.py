"""The words of the README and the guides about what runs in process are run as they stand there."""

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pandas
import polars
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as arrow_parquet
import pytest

import sooner
import sql_chain
from sooner.ui.examples_command import write_examples

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def guide(name: str) -> str:
    return (ROOT / "docs" / "guides" / f"{name}.md").read_text()


def blocks_of(text: str) -> list[str]:
    return re.findall(r"^```(?:python)?\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


IN_PROCESS = guide("in-process")
FIRST, OUTPUT, CHAIN, CHAINED, COMMANDS, OTHERS = blocks_of(IN_PROCESS)
ORDERS = pa.table({"cust": [3, 1, 2, 1], "cents": [500, 120, 990, 75]})
CUSTOMERS = pa.table({"id": [1, 2, 3], "name": ["Ada", "Grace", "Edsger"]})


def printed_by(program: str, **known: object) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(program, known)
    return printed.getvalue()


def test_the_first_query_prints_what_the_readme_says() -> None:
    assert printed_by(FIRST) == OUTPUT
    assert f"```python\n{FIRST}```\n```\n{OUTPUT}```" in README


def test_the_readme_is_read_in_one_sitting_and_links_to_what_is_there() -> None:
    assert len(README.splitlines()) <= 160
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")):
        words = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", words):
            assert target.startswith("http") or (page.parent / target).exists(), f"{page.name} links to {target}"


def test_sql_runs_as_the_readme_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = pa.table({"l_orderkey": [1, 2, 2], "l_extendedprice": [10, 20, 30]})
    orders = pa.table({"o_orderkey": [1, 2], "o_orderpriority": ["high", "low"]})
    arrow_parquet.write_table(lines, "lineitem.parquet")
    arrow_parquet.write_table(orders, "orders.parquet")
    [program] = [block for block in blocks_of(README) if block.startswith("sooner.sql(")]
    found = eval(program, {"sooner": sooner}).to_table()
    assert sorted(zip(*found.to_pydict().values(), strict=True)) == [("high", 10), ("low", 50)]


def test_a_chain_of_joins_with_a_source_of_ones_own_prints_what_the_readme_says() -> None:
    orders = pa.table({"customer": [3, 1, 2, 1], "cents": [500, 120, 990, 75]})
    customers = CUSTOMERS.rename_columns(["customer", "name"])
    assert printed_by(CHAIN, sooner=sooner, pa=pa, orders=orders, customers=customers) == CHAINED


def test_commands_do_what_the_readme_says(tmp_path: Path) -> None:
    write_examples(tmp_path)
    arrow_csv.write_csv(ORDERS.rename_columns(["customer", "cents"]), tmp_path / "orders.csv")
    shell = f'sooner() {{ "{sys.executable}" -m sooner "$@"; }}\nset -e\n'
    join, pipe = COMMANDS.splitlines()
    for command in (join, pipe.replace("tail -f", "tail")):  # which would wait for more orders
        subprocess.run(["bash", "-c", shell + command], cwd=tmp_path, check=True)
    assert arrow_parquet.read_metadata(tmp_path / "joined.parquet").num_rows == 1_000


def test_a_look_up_explains_itself_as_the_readme_says() -> None:
    _, program, output = blocks_of(guide("look-ups"))
    events = pa.table({"customer": [3, 1], "cents": [500, 120]})
    assert printed_by(program, sooner=sooner, pa=pa, events=events) == output


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("pa.table(query)", pa.Table),
        ("polars.DataFrame(query)", polars.DataFrame),
        ('duckdb.sql("select ... from query")', duckdb.DuckDBPyRelation),
        ("query.to_pandas()", pandas.DataFrame),
        ("query.to_polars()", polars.DataFrame),
        ("query.head(10)", pa.Table),
    ],
)
def test_what_reads_a_query_gives_a_table_of_its_columns(words: str, kind: type[Any]) -> None:
    assert f"`{words}`" in IN_PROCESS
    query = sooner.join(ORDERS, CUSTOMERS, left_on="cust", right_on="id")
    found = eval(words.replace("select ...", "select *"), {**globals(), "query": query})
    assert isinstance(found, kind)
    assert found.shape == (4, 4)


def test_the_other_queries_can_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    arrow_parquet.write_table(ORDERS, "orders.parquet")
    arrow_csv.write_csv(CUSTOMERS, "customers.csv")
    table = pa.table({"k": [1], "k1": [1], "k2": [2], "value": [3]})
    exec(OTHERS, {"sooner": sooner, "a": table, "b": table})


def test_sql_over_many_tables_runs_as_the_readme_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lines").mkdir()
    lines = sql_chain.TABLES["lines"].append_column("line", sql_chain.TABLES["lines"]["id"])
    arrow_parquet.write_table(lines, "lines/part.parquet")
    arrow_parquet.write_table(sql_chain.TABLES["customers"], "customers.parquet")
    arrow_parquet.write_table(lines.slice(0, 50).select(["line"]), "returns.parquet")
    nations = sql_chain.TABLES["nations"].rename_columns(["id", "region", "name"])
    [program] = blocks_of(guide("sql"))
    found: dict[str, Any] = {"sooner": sooner, "orders": sql_chain.TABLES["orders"], "nations": nations}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(program, found)
    assert "exact, " in printed.getvalue()
    assert found["estimate"].exact
    revenues = found["estimate"].table["revenue"].to_pylist()
    assert len(revenues) == 5
    assert revenues == sorted(revenues, reverse=True)
