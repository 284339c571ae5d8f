"""What users of other libraries write out of habit, and odd files: an answer, or a sentence that says what to write."""

from pathlib import Path

import pyarrow as pa
import pytest

import sooner

ORDERS = pa.table({"customer": [3, 1, 2, 1], "cents": [500, 120, 990, 75]})
CUSTOMERS = pa.table({"customer": [1, 2, 3], "name": ["Ada", "Grace", "Edsger"]})


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("collect", "to_table().to_pylist()"),
        ("fetchall", "to_table().to_pylist()"),
        ("toPandas", "to_pandas()"),
        ("df", "to_pandas()"),
        ("pl", "to_polars()"),
        ("show", "head(n)"),
        ("columns", "schema"),
        ("write_parquet", "to_parquet(path)"),
    ],
)
def test_names_of_other_libraries_lead_to_ours(name: str, ours: str) -> None:
    query = sooner.join(ORDERS, CUSTOMERS, on="customer")
    with pytest.raises(AttributeError) as refusal:
        getattr(query, name)
    assert str(refusal.value) == f"Query has no {name!r}; here that is {ours}"
    assert hasattr(type(query), ours.partition("(")[0]) or ours.partition("(")[0] in vars(query)
    assert query.to_table().num_rows == 4


def test_a_name_that_nobody_has_is_an_error_without_a_cure() -> None:
    query = sooner.join(ORDERS, CUSTOMERS, on="customer")
    with pytest.raises(AttributeError, match=r"^Query has no 'nothing'$"):
        query.nothing  # type: ignore[attr-defined] # noqa: B018
    assert not hasattr(query, "_repr_png_")
    query.stop()


def test_a_text_file_that_is_not_utf_8_is_refused_unless_bytes_are_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "latin.csv"
    file.write_bytes("customer,name\n1,Jörg\n".encode("latin1"))
    with pytest.raises(sooner.InvalidJoin, match="column 'name' is no text in UTF-8; convert the file"):
        sooner.join(ORDERS, file, on="customer")
    as_bytes = sooner.sources.csv(file, column_types={"name": pa.binary()})
    found = sooner.join(ORDERS, as_bytes, on="customer").to_table()
    assert {*found["name"].to_pylist()} == {"Jörg".encode("latin1")}


def test_a_comment_of_sql_is_in_no_name() -> None:
    found = sooner.sql("-- all\nSELECT customer, COUNT(*) /* of them */ FROM ORDERS GROUP BY customer /* each */")
    assert found.to_table().column_names == ["customer", "COUNT(*)"]


@pytest.mark.parametrize("name", ["with space & ü.csv", "UPPER.CSV", "a#b?c.csv", "100%.csv", "it's.csv"])
def test_odd_names_of_files_are_names(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("customer,name\n1,Ada\n")
    assert sooner.join(ORDERS, tmp_path / name, on="customer").to_table().num_rows == 2
    assert sooner.join(ORDERS, str(tmp_path / name), on="customer").to_table().num_rows == 2
