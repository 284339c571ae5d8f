"""Options of the file sources; that they give the right rows is in test_opening."""

from pathlib import Path

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.dataset as arrow_dataset
import pyarrow.parquet as arrow_parquet
import pytest

from sooner.errors import InvalidCall, SourceFailed
from sooner.sources import Source, checked, csv, open_source, parquet


def table_of(source: Source) -> pa.Table:
    return pa.Table.from_batches(source.batches(), source.schema)


@pytest.fixture
def example() -> pa.Table:
    return pa.table({"a": range(50_000), "b": [str(n) for n in range(50_000)], "c": [n / 4 for n in range(50_000)]})


@pytest.fixture
def parquet_file(example: pa.Table, tmp_path: Path) -> Path:
    arrow_parquet.write_table(example, tmp_path / "rows.parquet", row_group_size=9_000)
    return tmp_path / "rows.parquet"


@pytest.fixture
def csv_file(example: pa.Table, tmp_path: Path) -> Path:
    arrow_csv.write_csv(example, tmp_path / "rows.csv")
    return tmp_path / "rows.csv"


def test_parquet_columns_are_limited_and_ordered(parquet_file: Path, example: pa.Table) -> None:
    for path in (parquet_file, parquet_file.parent, [parquet_file]):
        source = parquet(path, columns=["c", "a"])
        assert source.schema.names == ["c", "a"]
        assert table_of(checked(source)).equals(example.select(["c", "a"]))


def test_csv_columns_are_limited_and_ordered(csv_file: Path, example: pa.Table) -> None:
    source = csv(csv_file, columns=["c", "a"])
    assert source.schema.names == ["c", "a"]
    assert table_of(checked(source)).equals(example.select(["c", "a"]))


@pytest.mark.parametrize("batch_rows", [1_000, 10_000])
def test_parquet_batches_are_never_larger_than_asked(parquet_file: Path, batch_rows: int) -> None:
    for path in (parquet_file, parquet_file.parent):
        sizes = [batch.num_rows for batch in parquet(path, batch_rows=batch_rows).batches()]
        assert max(sizes) <= batch_rows
        assert sum(sizes) == 50_000


def test_a_file_that_is_left_halfway_can_be_read_again(parquet_file: Path) -> None:
    source = parquet(parquet_file)
    abandoned = source.batches()
    assert next(abandoned).num_rows == 8_192
    abandoned.close()
    assert table_of(source).num_rows == 50_000


def test_files_name_themselves_unless_told(parquet_file: Path, csv_file: Path) -> None:
    assert parquet(parquet_file).name == "rows.parquet"
    assert csv(csv_file).name == "rows.csv"
    assert parquet(parquet_file, name="orders").name == "orders"


def test_csv_takes_types_and_delimiters(tmp_path: Path) -> None:
    (tmp_path / "rows.txt").write_text("k;v\n1;007\n2;008\n")
    source = csv(tmp_path / "rows.txt", delimiter=";", column_types={"v": pa.string()})
    assert source.schema == pa.schema([("k", pa.int64()), ("v", pa.string())])
    assert table_of(source).to_pylist() == [{"k": 1, "v": "007"}, {"k": 2, "v": "008"}]


def test_csv_that_changes_its_type_far_down_fails_with_its_name(tmp_path: Path) -> None:
    lines = ["k", *(str(n) for n in range(400_000)), "twelve"]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(SourceFailed, match=r"source 'rows\.csv' failed after [1-9][\d,]+ rows: .*twelve"):
        table_of(checked(csv(tmp_path / "rows.csv")))


def test_a_file_that_vanishes_before_it_is_read_fails(parquet_file: Path) -> None:
    source = checked(parquet(parquet_file, name="orders"))
    parquet_file.unlink()
    with pytest.raises(SourceFailed, match="source 'orders' failed after 0 rows"):
        table_of(source)


def test_a_parquet_file_that_is_changed_before_it_is_read_is_refused(parquet_file: Path) -> None:
    source = checked(parquet(parquet_file, name="orders"))
    arrow_parquet.write_table(arrow_parquet.read_table(parquet_file).slice(1), parquet_file)
    with pytest.raises(SourceFailed, match="was changed after it was opened; open it again"):
        table_of(source)


def test_the_footer_of_a_parquet_file_is_read_once(parquet_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes 11 ms of a large file, and two requests of one on an object store."""
    source = parquet(parquet_file)
    monkeypatch.setattr(arrow_parquet, "read_metadata", None)
    assert table_of(source).num_rows == 50_000


def test_a_damaged_parquet_file_fails_halfway(parquet_file: Path) -> None:
    content = bytearray(parquet_file.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 2_000] = b"\xff" * 2_000
    parquet_file.write_bytes(content)
    with pytest.raises(SourceFailed, match=r"source 'orders' failed after [1-9][0-9,]* rows"):
        table_of(checked(parquet(parquet_file, batch_rows=4_000, name="orders")))


@pytest.mark.parametrize(
    ("columns", "culprit"),
    [
        (["a", "d"], "orders: there is no column 'd'; there are a, b, c"),
        (["a", "a"], "orders: columns names 'a' 2 times"),
        ([], "orders: columns is \\[\\]"),
        ("a", "orders: columns is 'a'; give a list"),
    ],
)
def test_bad_columns_are_refused(columns: list[str], culprit: str, parquet_file: Path, csv_file: Path) -> None:
    for make in (
        lambda: parquet(parquet_file, columns=columns, name="orders"),
        lambda: parquet([parquet_file], columns=columns, name="orders"),
        lambda: csv(csv_file, columns=columns, name="orders"),
    ):
        with pytest.raises(InvalidCall, match=culprit):
            make()


def test_a_type_for_a_column_that_is_not_there_is_refused(csv_file: Path) -> None:
    with pytest.raises(InvalidCall, match=r"rows\.csv: there is no column 'z'"):
        csv(csv_file, column_types={"z": pa.int64()})


def test_a_batch_of_no_rows_is_refused(parquet_file: Path) -> None:
    with pytest.raises(InvalidCall, match="batch_rows is 0"):
        parquet(parquet_file, batch_rows=0)


def test_a_column_asked_for_by_an_ambiguous_name_is_refused(tmp_path: Path) -> None:
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    arrow_parquet.write_table(twice, tmp_path / "rows.parquet")
    with pytest.raises(InvalidCall, match="orders: there are 2 columns 'a'"):
        parquet(tmp_path / "rows.parquet", columns=["a"], name="orders")


def test_datasets_cannot_have_two_columns_of_one_name() -> None:
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(InvalidCall, match="left: there are 2 columns 'a'"):
        open_source(arrow_dataset.dataset(twice), "left")
