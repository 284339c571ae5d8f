"""Expressions mean what they mean in DuckDB: exactly, but for the last bits of floats."""

from __future__ import annotations

import math
import pickle
from typing import Any

import pyarrow as pa
import pytest

from expression_tables import as_python, by_duckdb, table
from sooner.expressions.checking import typed
from sooner.expressions.reading import parse

BATCH = table()
EXPRESSIONS = [
    "i",
    "u",
    "p",
    "w",
    "i + j",
    "p * (1 - q)",
    "p * (1 - 0.05) * (1 + 0.015)",
    "i - p + 2 * q",
    "-p",
    "-(i + 1)",
    "abs(p)",
    "abs(f)",
    "i * 1.50",
    "f * i",
    "p + f",
    "h + 0",
    "p / 4",
    "i / nullif(j, 0)",
    "i % 3",
    "i % -1",
    "i % -3",
    "p % 0.7",
    "i // 3",
    "i // nullif(j, 0)",
    "1 + NULL",
    "2 * 3.5",
    "CAST(p AS DOUBLE)",
    "CAST(w AS DOUBLE)",
    "CAST(p AS BIGINT)",
    "CAST(q AS DECIMAL(10, 1))",
    "CAST(i AS DECIMAL(10, 2))",
    "CAST(f * 100 AS BIGINT)",
    "CAST(f AS DECIMAL(10, 3))",
    "CAST(b AS BIGINT)",
    "CAST(m AS DATE)",
    "CAST(d AS VARCHAR)",
    "CAST(i AS VARCHAR)",
    "CAST(CAST(i AS VARCHAR) AS BIGINT)",
    "CAST(CAST(d AS VARCHAR) AS DATE)",
    "i < j",
    "p > 12.5",
    "p > 100",
    "i > 0.5",
    "p <> q",
    "f > 0",
    "f < p",
    "i = 1.0",
    "b = c",
    "b < TRUE",
    "s = 'MAIL'",
    "s < t",
    "s <> t",
    "d > DATE '1995-03-15'",
    "d > '1995-03-15'",
    "'1995-3-5' <= d",
    "d < '1995-03-15 10:00:00'",
    "d >= DATE '1994-01-31' + INTERVAL 1 MONTH AND d < DATE '1994-01-01' + INTERVAL '1' YEAR",
    "d > TIMESTAMP '1995-01-01 12:00:00'",
    "d = m",
    "m > DATE '1995-01-03'",
    "m > '1995-01-03 10:00:00'",
    "m BETWEEN '1995-01-01' AND TIMESTAMP '1995-01-05 00:00:00'",
    "d + 3",
    "d - i",
    "3 + d",
    "d - e",
    "d - DATE '1995-01-01'",
    "d + INTERVAL 2 DAY",
    "m - INTERVAL 90 MINUTE",
    "d + INTERVAL 1 WEEK > e",
    "year(d)",
    "EXTRACT(month FROM d)",
    "date_part('day', m)",
    "quarter(m)",
    "hour(m) * 60 + minute(m)",
    "hour(d)",
    "b AND c",
    "b OR c",
    "NOT b",
    "b AND NULL",
    "b OR NULL",
    "b AND NULL = NULL",
    "b OR NULL IN (NULL, NULL)",
    "NULLIF(NULL, NULL) IS NULL",
    "NULLIF(d, NULL - 514)",
    "d = 5 - NULL",
    "CAST(NULL - 174 AS TIMESTAMP) IS NULL",
    "b AND (i > 0 OR j > 0) AND NOT c",
    "b IS TRUE",
    "b IS NOT FALSE",
    "b IS NULL",
    "s IS NOT NULL",
    "i IS DISTINCT FROM j",
    "i IS NOT DISTINCT FROM j",
    "s IN ('MAIL', 'SHIP')",
    "s NOT IN ('MAIL', 'SHIP')",
    "s IN ('MAIL', NULL)",
    "i IN (1, 2.5, -3)",
    "i IN (j, 3)",
    "p IN (1, 2)",
    "d IN ('1995-01-01', DATE '1995-01-02')",
    "i BETWEEN -3 AND j",
    "i NOT BETWEEN 0 AND 5",
    "s LIKE 'PROMO%'",
    "s NOT LIKE '%A%'",
    "s ILIKE 'promo%'",
    "s LIKE 'two%s'",
    "s LIKE 'a_b'",
    "s LIKE 'a!_b' ESCAPE '!'",
    "s LIKE '%\\%'",
    "s LIKE 'back\\slash'",
    "upper(s)",
    "lower(s) = 'mail'",
    "length(s)",
    "substring(s, 2, 3)",
    "substring(s, 3)",
    "substring(s, 0, 3)",
    "CASE WHEN s LIKE 'PROMO%' THEN p ELSE 0 END",
    "CASE WHEN b THEN i WHEN c THEN p END",
    "CASE WHEN b THEN 'yes' WHEN NULL THEN 'never' ELSE s END",
    "CASE i WHEN 1 THEN 10 WHEN 2 THEN 20 ELSE j END",
    "CASE WHEN b THEN d ELSE DATE '2000-01-01' END",
    "CASE WHEN b THEN d ELSE '2000-01-01' END",
    "CASE WHEN i > 0 THEN 1 ELSE 0.5 END",
    "CASE WHEN i > 0 THEN f ELSE p END",
    "IF(b, i, 0)",
    "NULLIF(i, 1)",
    "COALESCE(i, p, 0)",
    "COALESCE(s, t, 'none')",
    "ifnull(f, 0)",
    "greatest(i, j, 0)",
    "least(p, i)",
    "least(NULL, NULL) IS NULL",
    "COALESCE(NULL, NULL) IS NULL",
    "greatest(d, TIMESTAMP '1995-01-01 00:00:00')",  # a time, although all of them are midnights
    "COALESCE(CASE WHEN b THEN d END, TIMESTAMP '1995-01-01 00:00:00')",
    "least(TIMESTAMP '1995-01-01 12:00:00', NULLIF(NULL, DATE '1970-01-03'))",  # a moment and what is NULL by itself
    "TRUE",
    "1.50",
    "'text'",
    "5 // 2",
    "CASE WHEN i < 0 THEN 0 ELSE 9223372036854775807 - i END",
]


@pytest.fixture(scope="module")
def of_duckdb() -> dict[str, list[Any]]:
    return dict(zip(EXPRESSIONS, by_duckdb(EXPRESSIONS, BATCH), strict=True))


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_as_in_duckdb(text: str, of_duckdb: dict[str, list[Any]]) -> None:
    expected = of_duckdb[text]
    checked = pickle.loads(pickle.dumps(typed(parse(text, "x="), BATCH.schema, "x=")))
    array = checked.evaluate(BATCH)
    assert array.type == checked.kind.type
    found = as_python(array, checked.kind.scale)
    assert [value is None for value in found] == [value is None for value in expected]
    if checked.kind.name == "float":
        pairs = zip(found, expected, strict=True)
        assert all(a is None or math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-15) for a, b in pairs)
    else:
        assert found == expected
    if None in found:
        assert checked.may_be_null


@pytest.mark.parametrize("text", [text for text in EXPRESSIONS if "/ nullif" not in text][::3])
def test_slices_and_no_rows_at_all(text: str) -> None:
    checked = typed(parse(text, "x="), BATCH.schema, "x=")
    whole = checked.evaluate(BATCH)
    assert checked.evaluate(BATCH.slice(13, 100)).equals(whole.slice(13, 100))
    assert checked.evaluate(BATCH.slice(0, 0)).to_pylist() == []


ENCODINGS = [pa.string_view(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]
TEXTS = [text for text in EXPRESSIONS if "s " in text or "(s" in text or "t" in text.split()]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(
    "encoding", [pa.string_view(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())], ids=str
)
def test_encodings_of_texts_do_not_matter(text: str, encoding: pa.DataType) -> None:
    checked = typed(parse(text, "x="), BATCH.schema, "x=")
    columns = dict(zip(BATCH.schema.names, BATCH.columns, strict=True))
    for name in ("s", "t"):
        column = columns[name]
        columns[name] = column.dictionary_encode() if pa.types.is_dictionary(encoding) else column.cast(encoding)
    encoded = pa.record_batch(columns)
    again = typed(parse(text, "x="), encoded.schema, "x=")
    for batch in (encoded, encoded.slice(13, 40), encoded.slice(5, 3)):
        found = again.evaluate(batch)
        assert found.type == again.kind.type
        assert found.to_pylist() == checked.evaluate(BATCH).slice(batch.column("k")[0].as_py(), len(batch)).to_pylist()
    assert checked.evaluate(encoded).to_pylist() == checked.evaluate(BATCH).to_pylist()


def test_a_value_by_zero_is_null() -> None:
    batch = pa.record_batch({"a": [1, 2, 3], "z": [0, 1, 0]})
    for text, expected in [("a / z", [None, 2.0, None]), ("a // z", [None, 2, None]), ("a % z", [None, 0, None])]:
        checked = typed(parse(text, "x="), batch.schema, "x=")
        assert checked.evaluate(batch).to_pylist() == expected
        assert checked.may_be_null
    assert typed(parse("a / 0", "x="), batch.schema, "x=").evaluate(batch).to_pylist() == [None] * 3


def test_whether_a_value_may_be_null() -> None:
    schema = pa.schema([pa.field("a", pa.int64(), nullable=False), pa.field("n", pa.int64())])
    for text, expected in [
        ("a + 1", False),
        ("a + n", True),
        ("a / 2", False),
        ("a / a", True),
        ("COALESCE(n, a)", False),
        ("n IS NULL", False),
        ("CASE WHEN n > 1 THEN a ELSE 2 END", False),
        ("CASE WHEN a > 1 THEN a END", True),
        ("a IN (1, NULL)", True),
        ("a IN (1, 2)", False),
    ]:
        assert typed(parse(text, "x="), schema, "x=").may_be_null is expected, text


def test_a_mask_is_true_where_a_condition_is_for_certain() -> None:
    for text in ("i > 0", "b AND c", "NULL", "TRUE", "i IN (1, NULL)"):
        mask = typed(parse(text, "where="), BATCH.schema, "where=").mask(BATCH)
        assert mask.tolist() == [value is True for value in by_duckdb([text], BATCH)[0]]


SPECIAL = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.5, 3.0, None]
COMPARED = [
    *(f"x {operator} y" for operator in ("=", "<>", "<", "<=", ">", ">=")),
    *(f"x {operator} 3" for operator in ("=", "<>", "<", "<=", ">", ">=")),
    *(f"x {operator} CAST('nan' AS DOUBLE)" for operator in ("=", "<>", "<", "<=", ">", ">=")),
    "x = x",
    "h = y",
    "NOT (x < y)",
    "NOT (h >= 3)",
    "x IN (3, 0)",
    "x IN (CAST('NaN' AS DOUBLE), -0.0)",
    "x NOT IN (1.5, NULL)",
    "x IN (y, 3)",
    "x BETWEEN 1 AND y",
    "x NOT BETWEEN y AND 3",
    "x IS DISTINCT FROM y",
    "x IS NOT DISTINCT FROM y",
    "CASE x WHEN y THEN 1 WHEN 3 THEN 2 ELSE 0 END",
    "CASE WHEN x > y THEN 'more' WHEN x = y THEN 'same' ELSE 'less' END",
    "NULLIF(x, y) IS NULL",
    "greatest(x, y) = x",
    "least(x, y) = x",
    "greatest(x, y, 1) = least(x, y)",
    "abs(x) > 1",
    "-x > y",
    "x + y = x",
    "x * 0 > 1",
    "CAST(h AS DOUBLE) > 2",
]


@pytest.mark.parametrize("text", COMPARED)
def test_nan_equals_itself_and_is_larger_than_all_else(text: str) -> None:
    pairs = [(x, y) for x in SPECIAL for y in SPECIAL]
    x, y = (pa.array(values, pa.float64()) for values in zip(*pairs, strict=True))
    batch = pa.record_batch({"x": x, "y": y, "h": x.cast(pa.float32()), "k": range(len(pairs))})
    checked = typed(parse(text, "x="), batch.schema, "x=")
    assert checked.evaluate(batch).to_pylist() == by_duckdb([text], batch)[0]
