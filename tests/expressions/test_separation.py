"""Sums of products are the expression for every pair of rows, also where numbers are not finite."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sooner.expressions.checking import typed
from sooner.expressions.reading import parse
from sooner.expressions.separation import Products, of_count, of_sum
from sooner.expressions.tree import ONE, ZERO, Case, Column, IsNull, Node, columns_of, renamed

ROWS = 12
NULLABLE = {"n", "y"}


SPECIAL = [math.nan, math.inf, -math.inf, 0.0, 2.0, -1.0]


def side(seed: int, names: str, floats: bool) -> pa.RecordBatch:
    rng = np.random.default_rng(seed)
    type_ = pa.float64() if floats else pa.decimal128(9, 2)

    def column(name: str) -> pa.Array:
        values = [Decimal(int(v)).scaleb(-2) for v in rng.integers(-300, 300, ROWS)]
        gone = (rng.random(ROWS) < 0.4) & (name in NULLABLE)
        some = rng.choice(SPECIAL, ROWS).tolist() if floats else values
        return pa.array([None if g else v for v, g in zip(some, gone, strict=True)], type_)

    fields = [pa.field(name, type_, nullable=name in NULLABLE) for name in names]
    return pa.record_batch([column(name) for name in names], schema=pa.schema(fields))


PLACES = np.array(list(itertools.product(range(ROWS), range(ROWS))))


class Rows:
    """Of the left and the right, and all pairs of them."""

    def __init__(self, floats: bool) -> None:
        self.sides = side(1, "abn", floats), side(2, "xyz", floats)
        columns = {}
        for at, some in enumerate(self.sides):
            columns |= {name: some.column(name).take(pa.array(PLACES[:, at])) for name in some.schema.names}
        self.pairs = pa.record_batch(columns)


DECIMALS, FLOATS = Rows(floats=False), Rows(floats=True)


def side_of(column: Column) -> int:
    return int(column.name in "xyz")


def may_be_null(column: Column) -> bool:
    return column.name in NULLABLE


def values_of(node: Node | None, batch: pa.RecordBatch) -> list[Any]:
    if node is None:
        return [1] * batch.num_rows
    checked = typed(node, batch.schema, "part")
    found = checked.evaluate(batch).to_pylist()
    if not checked.kind.is_exact:
        return found
    return [None if value is None else Decimal(value).scaleb(-checked.kind.scale) for value in found]


def summed(products: Products, rows: Rows) -> list[Any]:
    """Of each pair what products add, of which any part may be null."""
    parts = [[values_of(part, some) for part, some in zip(product, rows.sides, strict=True)] for product in products]
    found = []
    for i, j in PLACES:
        terms = [(left[i], right[j]) for left, right in parts]
        found.append(sum(_product(*term) for term in terms if None not in term))
    return found


def _product(one: Any, other: Any) -> Any:
    return float(one) * float(other) if isinstance(one, float) or isinstance(other, float) else one * other


def directly(node: Node, rows: Rows) -> list[Any]:
    return [value or 0 for value in values_of(node, rows.pairs)]


def same(found: list[Any], expected: list[Any]) -> bool:
    return [repr(float(one) + 0.0) for one in found] == [repr(float(one) + 0.0) for one in expected]


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
    ("CAST(a AS DOUBLE) * x", 1),
    ("CASE WHEN x > 0 THEN a ELSE 0 END", 1),
    ("CASE WHEN x > 0 THEN a * b ELSE z END", 2),
    ("CASE WHEN y > 0 THEN a WHEN n > 0 THEN x ELSE a * x END", 3),
    ("CASE WHEN a > 0 AND x > 0 THEN a ELSE z END", None),
    ("CASE WHEN a > 0 OR y > 0 THEN 1 ELSE 0 END", None),
    ("CASE WHEN NOT (n > 0 AND y > 0) THEN 1 WHEN n IS NOT NULL THEN 2 ELSE 3 END", None),
    ("CASE WHEN x > 0 THEN a ELSE 0 END * (b + z)", 4),
    ("CASE WHEN x > 0 THEN 0 WHEN a > 0 THEN 0.0 ELSE 0 END", 1),
]


@pytest.mark.parametrize(("text", "count"), SEPARABLE)
def test_parts_are_of_one_side_each(text: str, count: int | None) -> None:
    products = of_sum(parse(text, "x="), side_of, may_be_null)
    assert products is not None
    assert count is None or len(products) == count
    for product in products:
        assert all(side_of(column) == 0 for column in columns_of(product.left or ZERO))
        assert all(side_of(column) == 1 for column in columns_of(product.right or ZERO))


WITH_NULLS = [
    "CASE WHEN x > 0 THEN a END",
    "CASE WHEN x > 0 THEN n ELSE 0 END",
    "CASE WHEN x > 0 THEN n * y WHEN y > 1 THEN a + y END",
    "(n + y) * CASE WHEN y > 0 THEN n END",
    "CASE WHEN x > 0 THEN n END + y",
    "n - CASE WHEN n > 0 AND y > 0 THEN y WHEN x > 1 THEN NULL ELSE a END",
    "CASE WHEN a > 0 AND x > 0 THEN a ELSE y END",
    "CASE WHEN n > 0 OR y > 0 OR x > 1 THEN n ELSE y END",
    "CASE WHEN NOT (n > 0 OR y > 0) THEN n ELSE y END",
    "CASE WHEN NOT (NOT (n > 0 AND y > 0)) THEN n ELSE y END",
    "CASE WHEN (n > 1 AND y > 0) OR (n < 0 AND y < 1) OR a > 2 THEN n ELSE y END",
    "CASE WHEN n + y IS NULL THEN x ELSE n END",
    "CASE WHEN n > y IS NOT NULL THEN x ELSE n END",
    "CASE WHEN CASE WHEN x > 0 THEN n > 0 WHEN a > 0 THEN y > 0 END THEN a ELSE x END",
    "CASE WHEN NOT CASE WHEN x > 0 THEN n > 0 ELSE y > 0 END THEN a ELSE x END",
    "CASE WHEN CASE WHEN x > 0 THEN n ELSE y END IS NULL THEN a ELSE x END",
    "n * CASE WHEN x > 0 THEN 0 ELSE 1 END",
]
DISTRIBUTED = {  # inf * (5 - 3) is infinite, but inf * 5 - inf * 3 is not a number
    "a * (b - x)",
    "(a + x) * (b - z)",
    "CASE WHEN x > 0 THEN a ELSE 0 END * (b + z)",
    "(n + y) * CASE WHEN y > 0 THEN n END",
}


@pytest.mark.parametrize("text", [*(text for text, _ in SEPARABLE), *WITH_NULLS])
@pytest.mark.parametrize("rows", [DECIMALS, FLOATS], ids=["decimals", "floats"])
def test_products_sum_to_the_expression(text: str, rows: Rows) -> None:
    node = parse(text, "x=")
    products = of_sum(node, side_of, may_be_null)
    assert products is not None
    if rows is DECIMALS or text not in DISTRIBUTED:
        assert same(summed(products, rows), directly(node, rows))
    counted = of_count(node, side_of, may_be_null)
    assert counted is not None
    assert summed(counted, rows) == directly(Case((IsNull(node),), (ZERO,), ONE), rows)


@pytest.mark.parametrize(
    "text", ["a / x", "a % x", "a = x", "abs(a - x)", "COALESCE(n, x)", "CASE WHEN a > x THEN 1 ELSE 0 END"]
)
def test_what_is_not_of_that_form(text: str) -> None:
    assert of_sum(parse(text, "x="), side_of, may_be_null) is None


def test_too_many_products_are_none() -> None:
    assert of_sum(parse(" * ".join(["(a + x)"] * 7), "x="), side_of, may_be_null) is None


def test_renamed_columns_separate_by_their_tables() -> None:
    node = parse("o.price * l.share", "x=")
    products = of_sum(node, lambda column: int(column.table == "l"), may_be_null)
    assert products == ((Column("price", "o"), Column("share", "l")),)
    plain = renamed(node, {Column("price", "o"): Column("a"), Column("share", "l"): Column("x")})
    assert plain == parse("a * x", "x=")
