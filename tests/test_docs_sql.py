"""The page about SQL is run as it stands there, from its first block to its last."""

import re
from pathlib import Path

import pyarrow.csv as arrow_csv
import pyarrow.parquet as arrow_parquet
import pytest

PAGE = (Path(__file__).parents[1] / "docs" / "sql.md").read_text()


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    first, *others = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    known: dict[str, object] = {}
    exec(first, known)
    arrow_parquet.write_table(known["orders"], "orders.parquet")
    arrow_csv.write_csv(known["customers"], "customers.csv")
    for block in others:
        exec(block, known)
    printed = capsys.readouterr().out
    assert printed.startswith("4\n")
    assert "SELECT has MEDIAN(price), which is not known here" in printed
    assert known["estimate"].table.to_pydict() == {  # type: ignore[attr-defined]
        "name": ["Ada", "Alan", None], "n": [2, 1, 1], "mean": [20.0, 20.0, 40.0], "most": [30, 20, 40]
    }  # fmt: skip
