"""The demo's tables: real TPC-H, in types that Spark has."""

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from sooner.errors import MissingLibrary
from sooner.ui.tpch import COLUMNS, GeneratorFailed, make_tables


def test_lines_and_orders_are_made_and_belong_together(tmp_path: Path) -> None:
    lines, orders = make_tables(tmp_path, 0.001)
    assert orders.rows == 1500
    assert lines.rows > 3 * orders.rows
    for table, columns in zip((lines, orders), COLUMNS.values(), strict=True):
        read = pq.read_table(table.file)
        assert tuple(read.column_names) == columns
        assert pa.string_view() not in read.schema.types
        assert (read.num_rows, read.nbytes) == (table.rows, table.n_bytes)
    keys = pq.read_table(orders.file)["o_orderkey"]
    assert pc.all(pc.is_in(pq.read_table(lines.file)["l_orderkey"], keys)).as_py()
    assert {file.name for file in tmp_path.iterdir()} == {"lineitem.parquet", "orders.parquet"}


def test_a_head_is_a_table_of_its_own(tmp_path: Path) -> None:
    _, orders = make_tables(tmp_path, 0.001)
    few = orders.head(10, tmp_path / "few.parquet")
    assert few.rows == pq.read_table(few.file).num_rows == 10


def test_a_missing_generator_is_named_with_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    with pytest.raises(MissingLibrary, match=r"needs tpchgen-cli; run: pip install '\.\[demo\]'"):
        make_tables(tmp_path, 0.001)


def test_what_the_generator_refuses_is_passed_on(tmp_path: Path) -> None:
    with pytest.raises(GeneratorFailed, match="could not make tables of scale -1"):
        make_tables(tmp_path, -1)
