"""Arithmetic over aggregates: exact as SQL has it, and how it varies as its slopes have it."""

from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from sooner.errors import ResultTooLarge
from sooner.estimation.formulas import Linear, exactly, linear
from sooner.expressions.reading import parse

VALUES: dict[str, Any] = {"a": 7, "b": Decimal("2.50"), "c": 0.5, "none": None, "zero": 0}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a * a - 1", 48),
        ("a + b", Decimal("9.50")),
        ("b * 0.1", Decimal("0.250")),
        ("b - a", Decimal("-4.50")),
        ("-b", Decimal("-2.50")),
        ("a / b", 2.8),
        ("a / 2", 3.5),
        ("c * b", 1.25),
        ("a - c + 1e0", 7.5),
        ("a / zero", None),
        ("a + none", None),
        ("-none", None),
        ("a * NULL", None),
    ],
)
def test_values_are_those_of_sql(text: str, expected: Any) -> None:
    found = exactly(parse(text, "formula"), VALUES)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize("text", ["large * 2", "large + large", "-large - 9", "fine * fine * 100", "fine + large"])
def test_what_fits_no_type_of_sql_is_said(text: str) -> None:
    values = {"large": 2**127 - 1, "fine": Decimal(10**18 + 1).scaleb(-2)}
    with pytest.raises(ResultTooLarge, match="are the most that exact numbers have; cast"):
        exactly(parse(text, "formula"), values)
    assert exactly(parse("-large - 1", "formula"), values) == -(2**127)


@pytest.mark.parametrize("text", ["a + 2 * b", "a - b", "a * b", "100 * a / b", "-(a / (b + 3)) * b - a", "1 / b / b"])
def test_it_varies_as_its_slopes_say(text: str) -> None:
    node, step = parse(text, "formula"), 1e-6
    at = {"a": 7.0, "b": 2.5}
    cells = {"a": np.array([1.0, -2.0, 0.5]), "b": np.array([0.3, 0.7, -1.0])}
    found = linear(node, {name: Linear(at[name], cells[name]) for name in at})
    assert found is not None
    expected = np.zeros(3)
    for name in at:
        high, low = (exactly(node, at | {name: at[name] + sign * step}) for sign in (1, -1))
        expected += (float(high or 0) - float(low or 0)) / (2 * step) * cells[name]
    assert found.value == pytest.approx(exactly(node, at))
    assert found.cells == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("text", "power"),
    [("a / b", 0), ("100 * a / b - 3", 0), ("a + b", 1), ("a * b", 2), ("a + 1", None), ("(a + 1) * b / a", None)],
)
def test_it_is_known_how_it_grows_with_the_inputs(text: str, power: int | None) -> None:
    found = linear(parse(text, "formula"), {name: Linear(2.0, np.ones(2)) for name in "ab"})
    assert found is not None
    assert found.power == power


@pytest.mark.parametrize("text", ["a / b", "-(a / b)", "a + NULL"])
def test_what_is_null_does_not_vary(text: str) -> None:
    assert linear(parse(text, "formula"), {"a": Linear(1.0, np.ones(2)), "b": Linear(0.0, np.ones(2))}) is None
