"""The page about inputs and answers is run as it stands there."""

import re
import warnings
from pathlib import Path

import pyarrow as pa
import pytest

from files import write_file

PAGE = (Path(__file__).parents[1] / "docs" / "inputs-and-results.md").read_text()
ORDERS = pa.table({"customer": [3, 1, 2, 1], "cents": [500, 120, 990, 75]})
CUSTOMERS = pa.table({"customer": [1, 2, 3], "known_as": ["Ada", "Grace", "Edsger"]})


@pytest.mark.filterwarnings("default")  # what other libraries warn of is not ours
def test_all_code_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for day in ("2024-01-01", "2024-01-02"):
        place = tmp_path / "orders" / f"day={day}"
        place.mkdir(parents=True)
        write_file(ORDERS, place / "rows.parquet")
    for name in ("orders.parquet", "orders.csv", "a.parquet", "b.parquet"):
        write_file(ORDERS, tmp_path / name)
    for name in ("customers.csv.gz", "customers.jsonl", "customers.tsv.zst", "customers.json"):
        write_file(CUSTOMERS, tmp_path / name)
    known: dict[str, object] = {"__name__": "page"}
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for block in blocks:
            exec(block, known)
    assert (tmp_path / "most.csv").read_text() == '"name","most"\n"Grace",990\n"Ada",120\n'
