"""What cannot be right is refused in a sentence that names the part, before any row is read."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from expression_tables import table
from sooner.errors import InvalidJoin
from sooner.expressions.checking import condition, typed
from sooner.expressions.reading import parse

BATCH = table()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "give an expression"),
        ("p +", "not SQL"),
        ("p p2 p3", "not SQL"),
        ("p, q", "more than one expression"),
        ("p FROM x", "without SELECT or FROM"),
        ("p; q", "more than one expression"),
        ("p AS price", "leave out AS"),
        ("*", "many columns"),
        ("x.*", "many columns"),
        ("SUM(p)", "aggregates belong on the outside"),
        ("1 + AVG(p) * 2", "AVG"),
        ("SUM(p) FILTER (WHERE b)", "aggregate"),
        ("row_number() OVER (ORDER BY p)", "window function"),
        ("SUM(p) OVER ()", "window function"),
        ("(SELECT 1)", "subquery"),
        ("p > (SELECT max(x) FROM y WHERE y.a = b)", "subquery"),
        ("i IN (SELECT a FROM y)", "subquery"),
        ("EXISTS (SELECT 1 FROM y)", "subquery"),
        ("soundex(s)", "not known here; there are abs"),
        ("my_function(p)", "not known here"),
        ("TRY_CAST(s AS INT)", "TRY_CAST"),
        ("CAST(p AS FLOAT)", "write DOUBLE"),
        ("CAST(p AS BLOB)", "not cast to that type"),
        ("s LIKE t", "must be a text in quotes"),
        ("DATE '1995-13-01'", "2025-12-31"),
        ("i BETWEEN SYMMETRIC 1 AND 2", "SYMMETRIC"),
        ("12345678901234567890", "too many digits"),
        ("INTERVAL '1.5' DAY", "whole number of units"),
        ("EXTRACT(century FROM m)", "there are year"),
        ("a.b.c", "DB is not supported"),
        ("s COLLATE nocase", "COLLATE"),
    ],
)
def test_texts_that_are_refused(text: str, words: str) -> None:
    with pytest.raises(InvalidJoin, match=r"where=") as refused:
        parse(text, "where=")
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nothing_like_it + 1", "the columns are i, j"),
        ("P + 1", "which is not there"),
        ("p + 'a'", "a part of it is a text"),
        ("s + 1", "a part of it is a text"),
        ("b + 1", "a boolean"),
        ("-s", "only numbers have a minus"),
        ("p = '5.25'", "write 5.25 without quotes"),
        ("p = 'a'", "cast one of them"),
        ("s = 1", "s is a text and 1 is an integer"),
        ("d > 'soon'", "'soon' is not a date"),
        ("d > 5", "d is a date and 5 is an integer"),
        ("m > '1995-01-01 25:00'", "2025-12-31 23:59:59"),
        ("m > TIMESTAMPTZ '1995-01-01 00:00:00+00'", "TIMESTAMPTZ"),
        ("d + m", "no such operation"),
        ("d * 2", "a date"),
        ("i AND b", "a condition is true or false"),
        ("NOT i", "a condition is true or false"),
        ("CASE WHEN i THEN 1 END", "a condition is true or false"),
        ("CASE WHEN b THEN 1 ELSE 'x' END", "cast one of them"),
        ("i LIKE 'a%'", "LIKE needs a text"),
        ("abs(s)", "it takes numbers"),
        ("year(i)", "it takes moments"),
        ("upper(i)", "it takes text"),
        ("substring(s, i)", "number from 0 on"),
        ("f % 2", "integers and decimals only"),
        ("p // 2", "integers only"),
        ("p * p * p * p * p * p * p * p * p * p", "18 are the most"),
        ("CAST(s AS DECIMAL(5, 2))", "not cast to"),
        ("9223372036854775807 + 1", "overflows in (9223372036854775807 + 1)"),
        ("CAST('abc' AS BIGINT)", "cannot compute"),
        ("DATE '9999-12-31' + INTERVAL 1 DAY", "in no year"),
        ("DATE '0001-01-01' - 1", "in no year"),
        ("DATE '9999-12-31' + 1", "in no year"),
        ("DATE '9999-12-31' + INTERVAL 1 MONTH", "in no year"),
    ],
)
def test_expressions_that_do_not_fit(text: str, words: str) -> None:
    with pytest.raises(InvalidJoin, match=r"where=") as refused:
        typed(parse(text, "where="), BATCH.schema, "where=")
    assert words in str(refused.value)


def test_what_is_near_is_proposed() -> None:
    schema = pa.schema({"l_extendedprice": pa.int64(), "l_discount": pa.int64()})
    with pytest.raises(InvalidJoin, match=r"did you mean 'l_extendedprice'\?"):
        typed(parse("l_extendprice", "x="), schema, "x=")


def test_a_name_that_two_columns_have() -> None:
    schema = pa.schema([("a", pa.int64()), ("a", pa.int64())])
    with pytest.raises(InvalidJoin, match="there are 2 of that name"):
        typed(parse("a", "x="), schema, "x=")


def test_a_condition_is_no_number() -> None:
    with pytest.raises(InvalidJoin, match="not a condition"):
        condition(parse("p + 1", "where="), BATCH.schema, "where=")
    assert condition(parse("p > 1", "where="), BATCH.schema, "where=").kind.name == "boolean"


def test_columns_of_nested_type() -> None:
    with pytest.raises(InvalidJoin, match="flat type"):
        typed(parse("a IS NULL", "x="), pa.schema({"a": pa.list_(pa.int64())}), "x=")


# What only rows show


@pytest.mark.parametrize(
    "text", ["a + a", "a - -a", "a * 3", "-a - a", "a * a", "a + 0.5", "CAST(a AS DECIMAL(20, 5))"]
)
def test_overflow_is_never_wrapped(text: str) -> None:
    batch = pa.record_batch({"a": [1, None, 2**62 + 5]})
    checked = typed(parse(text, "total"), batch.schema, "total")
    with pytest.raises(InvalidJoin, match=r"total overflows in .*CAST\(\.\.\. AS DOUBLE\)"):
        checked.evaluate(batch)
    assert len(checked.evaluate(batch.slice(0, 2))) == 2


def test_what_no_branch_of_a_case_takes_does_no_harm() -> None:
    batch = pa.record_batch({"a": [3, 2**62, None, 5], "s": ["1", "x", None, "7"]})
    for text, expected in [
        ("CASE WHEN a < 1000 THEN a * a ELSE 0 END", [9, 0, 0, 25]),
        ("CASE WHEN s <> 'x' THEN CAST(s AS BIGINT) END", [1, None, None, 7]),
    ]:
        assert typed(parse(text, "x="), batch.schema, "x=").evaluate(batch).to_pylist() == expected


def test_wide_decimals_stay_exact_or_say_what_to_do() -> None:
    values = [Decimal("12345678901234567.8"), Decimal("-0.5"), None]
    for type_ in (pa.decimal128(38, 1), pa.decimal256(50, 1)):
        batch = pa.record_batch({"a": pa.array(values, type_)})
        assert typed(parse("a", "x="), batch.schema, "x=").evaluate(batch).to_pylist() == [123456789012345678, -5, None]
        wide = pa.record_batch({"a": pa.array([*values, Decimal(10**25)], type_)})
        with pytest.raises(InvalidJoin, match=r"write CAST\(a AS DOUBLE\)"):
            typed(parse("a + 1", "x="), wide.schema, "x=").evaluate(wide)
        floats = typed(parse("CAST(a AS DOUBLE) + 1", "x="), wide.schema, "x=").evaluate(wide)
        assert floats.to_pylist() == [12345678901234567.8 + 1, 0.5, None, 1e25 + 1]


def test_narrow_decimals_and_large_unsigned() -> None:
    for type_ in (pa.decimal32(9, 2), pa.decimal64(18, 2)):
        batch = pa.record_batch({"a": pa.array([Decimal("-1.25"), None, Decimal("2.50")], type_)})
        assert typed(parse("a", "x="), batch.schema, "x=").evaluate(batch.slice(1)).to_pylist() == [None, 250]
    batch = pa.record_batch({"a": pa.array([1, 2**64 - 1], pa.uint64())})
    with pytest.raises(InvalidJoin, match=r"CAST\(a AS DOUBLE\)"):
        typed(parse("a", "x="), batch.schema, "x=").evaluate(batch)
    assert typed(parse("CAST(a AS DOUBLE)", "x="), batch.schema, "x=").evaluate(batch).to_pylist() == [1.0, 2.0**64]


def test_garbage_under_nulls_does_no_harm() -> None:
    column = pa.array([Decimal(10**30), Decimal(5)], pa.decimal128(38, 0))
    nulls = pa.Array.from_buffers(column.type, 2, [pa.py_buffer(b"\x02"), column.buffers()[1]])
    batch = pa.record_batch({"a": nulls})
    assert typed(parse("a * 2", "x="), batch.schema, "x=").evaluate(batch).to_pylist() == [None, 10]
