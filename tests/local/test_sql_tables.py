"""Names in FROM mean what was given under them, or else what DuckDB would take: variables of the caller, and files.

With `replacements=()` nothing but what was given is ever opened.
"""

import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

import sooner
from queries import refused
from sooner.errors import InvalidJoin

OUTER_ = pa.table({"k": [1]})

OTHERS = [
    "'{path}'",
    '"{path}"',
    "'/etc/passwd'",
    '"../secret.parquet"',
    "'secret.parquet'",
    "read_parquet('{path}')",
    "parquet_scan('{path}')",
    "read_csv('/etc/passwd')",
    "glob('/*')",
    '"{folder}"."secret.parquet"',
    "main.secret",
    "memory.main.a",
    "other.a",
    "information_schema.tables",
    "duckdb_settings()",
    "pragma_database_list",
    "(FROM '{path}')",
    "(SELECT * FROM '{path}')",
    "(VALUES (1))",
    "LATERAL (SELECT 1)",
    "a_",
]
SHADOWS = [
    "WITH a AS (SELECT * FROM '{path}') SELECT count(*) FROM a JOIN b ON a.k = b.k",
    "SELECT count(*) FROM a JOIN b ON a.k = b.k WHERE a.k IN (SELECT k FROM '{path}')",
    "SELECT (SELECT max(k) FROM '{path}') FROM a JOIN b ON a.k = b.k",
    "SELECT count(*) FROM a JOIN b ON a.k = b.k UNION ALL SELECT k FROM '{path}'",
    "COPY a TO '{path}'",
    "ATTACH '{path}'",
    "INSTALL httpfs",
    "SELECT getenv('HOME') FROM a JOIN b ON a.k = b.k",
]


@pytest.fixture
def secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that nobody gave, in the directory above the present one and in it."""
    table = pa.table({"k": [1, 2]})
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for folder in (tmp_path, tmp_path / "here"):
        pq.write_table(table, folder / "secret.parquet")
    return tmp_path / "secret.parquet"


@pytest.fixture
def opened() -> list[str]:
    """What Python opens from now on; an audit hook cannot be taken away again."""
    paths: list[str] = []
    sys.addaudithook(lambda event, arguments: paths.append(str(arguments[0])) if event == "open" else None)
    return paths


def queries(secret: Path) -> list[str]:
    names = [name.format(path=secret, folder=secret.parent) for name in OTHERS]
    joins = [f"SELECT count(*) FROM {name} x JOIN b ON x.k = b.k" for name in names]
    joins += [f"SELECT * FROM a x JOIN {name} y ON x.k = y.k" for name in names]
    return joins + [query.format(path=secret) for query in SHADOWS]


def test_nothing_that_was_not_given_is_opened(secret: Path, opened: list[str]) -> None:
    given: dict[str, Any] = {"a": pa.table({"k": [1]}), "b": pa.table({"k": [1]})}
    for query in queries(secret):
        with pytest.raises(InvalidJoin):
            sooner.sql(query, given, replacements=())
    assert not [path for path in opened if "secret" in path or "passwd" in path]


def test_a_name_is_a_variable_of_the_caller() -> None:
    orders, Customers = OUTER_, pa.table({"id": [1, 2], "name": ["Ada", "Alan"]})  # noqa: N806, F841 - found by name
    rows: Any = sooner.sql("SELECT name FROM orders o JOIN customers c ON o.k = c.id ")
    assert rows.to_table().to_pydict() == {"name": ["Ada"]}
    rows = sooner.sql("SELECT x.k AS one FROM OUTER_ x JOIN (SELECT k FROM orders) y ON x.k = y.k")
    assert rows.to_table().to_pydict() == {"one": [1]}
    given: Any = sooner.sql("SELECT o.k FROM orders o JOIN OUTER_ u ON o.k = u.k", {"orders": pa.table({"k": [7]})})
    assert given.to_table().num_rows == 0


def test_a_variable_of_another_function_is_not_seen() -> None:
    def inner() -> None:
        sooner.sql("SELECT 1 AS one FROM hidden JOIN OUTER_ ON OUTER_.k = hidden.k")

    hidden = OUTER_  # noqa: F841 - it is of another frame
    with refused(InvalidJoin, "FROM has hidden", "nor is there such a variable", "OUTER_"):
        inner()


@pytest.mark.parametrize(
    ("name", "mentions"),
    [
        ("number", ["the variable number is an int", "no rows"]),
        ("Path", ["the variable Path is a type"]),
        ("sys", ["the variable sys is a module"]),
        ("lines", ["lines is a list", "give an Arrow table"]),
        ("word", ["there is no file nowhere.parquet"]),
        ("OUTER__", ["did you mean OUTER_?"]),
        ("a.parquet", ["FROM has a.parquet", "in quotes: 'a.parquet'"]),
        ("'a.parquet'", ["there is no file a.parquet"]),
        ("lying_here", ["FROM has lying_here", "in quotes: 'lying_here'"]),
        ("read_csv('a.csv', header=true)", ["no options", "sooner.sources"]),
        ("range(3)", ["no name of a table", "read_parquet"]),
    ],
)
def test_what_is_no_input_is_named(
    name: str, mentions: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lying_here").touch()
    number, lines, word = 3, [OUTER_.schema], "nowhere.parquet"  # noqa: F841 - found by name
    with refused(InvalidJoin, *mentions):
        sooner.sql(f"SELECT 1 FROM {name} JOIN OUTER_ USING (k)")


@pytest.mark.parametrize(
    "name",
    ["'a.parquet'", '"a.parquet"', "'a.csv'", "'a.arrow'", "read_parquet('a.parquet')", "read_parquet(['a.parquet'])",
     "parquet_scan('a')", "read_csv('a.txt')", "read_csv_auto('a.csv')", "'{folder}/a.parquet'", "folder", "'a'"],
)  # fmt: skip
def test_files_are_named_in_quotes_or_by_functions(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(OUTER_, "a.parquet")
    pq.write_table(OUTER_, "a")
    for file in ("a.csv", "a.txt"):
        csv.write_csv(OUTER_, file)
    with pa.OSFile("a.arrow", "wb") as file_, pa.ipc.new_file(file_, OUTER_.schema) as writer:
        writer.write_table(OUTER_)
    folder = tmp_path / "a.parquet"  # noqa: F841 - a path in a variable
    name = name.format(folder=tmp_path)
    rows: Any = sooner.sql(f"SELECT x.k FROM {name} AS x JOIN OUTER_ ON OUTER_.k = x.k")
    assert rows.to_table().to_pydict() == {"k": [1]}


def test_a_file_is_called_as_by_duckdb(tmp_path: Path) -> None:
    pq.write_table(OUTER_, tmp_path / "some.parquet")
    rows: Any = sooner.sql(f"SELECT some.k FROM '{tmp_path}/some.parquet' JOIN OUTER_ ON OUTER_.k = some.k")
    assert rows.to_table().num_rows == 1
    with refused(InvalidJoin, "replacements='files'", "()"):
        sooner.sql("SELECT 1 FROM a JOIN b USING (k)", replacements="files")  # type: ignore[arg-type]


def test_names_that_look_like_paths_mean_what_was_given(secret: Path) -> None:
    table = pa.table({"k": [1, 1, 1]})
    found: Any = sooner.sql(
        f"SELECT count(*) AS n FROM '{secret}' x JOIN B y USING (k)", {str(secret): table, "b": table}
    )
    assert found.final()["n"].value == 9
