"""Sums of products are the expression for every pair of rows."""

from __future__ import annotations

import itertools
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sooner.expressions.checking import typed
from sooner.expressions.reading import parse
from sooner.expressions.separation import Products, of_condition, of_count, of_sum, separated
from sooner.expressions.tree import ONE, ZERO, Case, Column, IsNull, Node, columns_of, renamed

ROWS = 12
NULLABLE = {"n", "y"}


def side(seed: int, names: str) -> pa.RecordBatch:
    rng = np.random.default_rng(seed)

    def column(name: str) -> pa.Array:
        values = [Decimal(int(v)).scaleb(-2) for v in rng.integers(-300, 300, ROWS)]
        gone = (rng.random(ROWS) < 0.4) & (name in NULLABLE)
        return pa.array([None if g else v for v, g in zip(values, gone, strict=True)], pa.decimal128(9, 2))

    fields = [pa.field(name, pa.decimal128(9, 2), nullable=name in NULLABLE) for name in names]
    return pa.record_batch([column(name) for name in names], schema=pa.schema(fields))


LEFT, RIGHT = side(1, "abn"), side(2, "xyz")
PLACES = np.array(list(itertools.product(range(ROWS), range(ROWS))))
PAIRS = pa.record_batch(
    {
        **{name: LEFT.column(name).take(pa.array(PLACES[:, 0])) for name in LEFT.schema.names},
        **{name: RIGHT.column(name).take(pa.array(PLACES[:, 1])) for name in RIGHT.schema.names},
    }
)


def side_of(column: Column) -> int:
    return int(column.name in RIGHT.schema.names)


def may_be_null(column: Column) -> bool:
    return column.name in NULLABLE


def values_of(node: Node | None, batch: pa.RecordBatch, never_null: bool) -> list[Any]:
    if node is None:
        return [1] * batch.num_rows
    checked = typed(node, batch.schema, "part")
    assert not (never_null and checked.may_be_null), str(node)
    return [None if v is None else Decimal(v).scaleb(-checked.kind.scale) for v in checked.evaluate(batch).to_pylist()]


def summed(products: Products, never_null: bool = False) -> list[Any]:
    parts = [(values_of(p.left, LEFT, never_null), values_of(p.right, RIGHT, never_null)) for p in products]
    found = []
    for i, j in PLACES:
        terms = [(left[i], right[j]) for left, right in parts]
        found.append(None if any(None in term for term in terms) else sum(a * b for a, b in terms))
    return found


def directly(node: Node) -> list[Any]:
    return values_of(node, PAIRS, never_null=False)


SEPARABLE = [
    ("a", 1),
    ("x", 1),
    ("5", 1),
    ("a * x", 1),
    ("a * (1 - b) * x", 1),
    ("a * (1 - x)", 1),
    ("a * (b - x)", 2),
    ("a + x", 2),
    ("a - x * 2 - b", 3),
    ("-(a - x)", 2),
    ("(a + x) * (b - z)", 4),
    ("a * n + x", 2),
    ("n * y - x", 2),
    ("CAST(a AS BIGINT) * x", 1),
    ("CASE WHEN x > 0 THEN a ELSE 0 END", 1),
    ("CASE WHEN x > 0 THEN a * b ELSE z END", 2),
    ("CASE WHEN y > 0 THEN a WHEN n > 0 THEN x ELSE a * x END", 3),
    ("CASE WHEN a > 0 AND x > 0 THEN a ELSE z END", None),
    ("CASE WHEN a > 0 OR y > 0 THEN 1 ELSE 0 END", None),
    ("CASE WHEN NOT (n > 0 AND y > 0) THEN 1 WHEN n IS NOT NULL THEN 2 ELSE 3 END", None),
    ("CASE WHEN x > 0 THEN a ELSE 0 END * (b + z)", 2),
    ("CASE WHEN x > 0 THEN 0 WHEN a > 0 THEN 0.0 ELSE 0 END", 1),
]


@pytest.mark.parametrize(("text", "count"), SEPARABLE)
def test_products_sum_to_the_expression(text: str, count: int | None) -> None:
    node = parse(text, "x=")
    products = separated(node, side_of, may_be_null)
    assert products is not None
    assert count is None or len(products) == count
    for product in products:
        assert all(side_of(column) == 0 for column in columns_of(product.left or ZERO))
        assert all(side_of(column) == 1 for column in columns_of(product.right or ZERO))
    assert summed(products) == directly(node)


NOT_STRICTLY = [
    "CASE WHEN x > 0 THEN a END",
    "CASE WHEN x > 0 THEN n ELSE 0 END",
    "CASE WHEN a > 0 THEN x / a ELSE n END * z",
    "CASE WHEN x > 0 THEN n * y WHEN y > 1 THEN a + y END",
    "(n + y) * CASE WHEN y > 0 THEN n END",
]


@pytest.mark.parametrize("text", [*(text for text, _ in SEPARABLE), *NOT_STRICTLY])
def test_a_sum_counts_nulls_as_zero(text: str) -> None:
    node = parse(text, "x=")
    products = of_sum(node, side_of, may_be_null)
    if "/" in text:
        assert products is None
        return
    assert products is not None
    assert summed(products, never_null=True) == [value or 0 for value in directly(node)]


@pytest.mark.parametrize("text", NOT_STRICTLY)
def test_branches_that_may_be_null_are_not_separated_strictly(text: str) -> None:
    assert separated(parse(text, "x="), side_of, may_be_null) is None


@pytest.mark.parametrize(
    "text", ["a / x", "a % x", "a = x", "abs(a - x)", "COALESCE(n, x)", "CASE WHEN a > x THEN 1 ELSE 0 END"]
)
def test_what_is_not_of_that_form(text: str) -> None:
    assert separated(parse(text, "x="), side_of, may_be_null) is None
    assert of_sum(parse(text, "x="), side_of, may_be_null) is None


def test_too_many_products_are_none() -> None:
    assert separated(parse(" * ".join(["(a + x)"] * 7), "x="), side_of, may_be_null) is None


@pytest.mark.parametrize("text", ["n * y", "n + a * y", "a", "y", "-(n - y)"])
def test_a_count_counts_what_is_there(text: str) -> None:
    node = parse(text, "x=")
    products = of_count(node, side_of, may_be_null)
    assert products is not None
    assert summed(products, never_null=True) == directly(Case((IsNull(node),), (ZERO,), ONE))


@pytest.mark.parametrize(
    "text",
    [
        "a > 0 AND y > 0",
        "n > 0 OR y > 0",
        "(n > 1 AND y > 0) OR (n < 0 AND y < 1) OR a > 2",
        "NOT (n > 0 OR y > 0)",
        "NOT (NOT (n > 0 AND y > 0))",
        "n > 0",
    ],
)
def test_a_condition_is_one_or_zero(text: str) -> None:
    node = parse(text, "where=")
    products = of_condition(node, side_of, may_be_null)
    assert products is not None
    assert summed(products, never_null=True) == directly(Case((node,), (ONE,), ZERO))


def test_renamed_columns_separate_by_their_tables() -> None:
    node = parse("o.price * l.share", "x=")
    products = separated(node, lambda column: int(column.table == "l"), may_be_null)
    assert products == ((Column("price", "o"), Column("share", "l")),)
    plain = renamed(node, {Column("price", "o"): Column("a"), Column("share", "l"): Column("x")})
    assert plain == parse("a * x", "x=")
