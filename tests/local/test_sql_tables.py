"""Names in FROM mean what was given under them: nothing else is ever opened."""

import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sooner
from sooner.errors import InvalidJoin
from sooner.ui.command_line import main

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


def test_nothing_that_was_not_given_is_opened(
    secret: Path, opened: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    given: dict[str, Any] = {"a": pa.table({"k": [1]}), "b": pa.table({"k": [1]})}
    pq.write_table(given["a"], "given.parquet")
    for query in queries(secret):
        with pytest.raises(InvalidJoin):
            sooner.sql(query, given)
        assert main(["sql", query, "--table", "a=given.parquet", "--table", "b=given.parquet"]) != 0
        assert "Traceback" not in capsys.readouterr().err
    assert not [path for path in opened if "secret" in path or "passwd" in path]


def test_names_that_look_like_paths_mean_what_was_given(secret: Path) -> None:
    table = pa.table({"k": [1, 1, 1]})
    found: Any = sooner.sql(
        f"SELECT count(*) AS n FROM '{secret}' x JOIN B y USING (k)", {str(secret): table, "b": table}
    )
    assert found.final()["n"].value == 9
