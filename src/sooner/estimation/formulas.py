"""Arithmetic over aggregates, such as 100 * SUM(a) / SUM(b): its value, and how it varies, to first order.

A formula is an expression whose columns are the names of aggregates. An aggregate's cells are what each part of the
rows adds to it, to first order; those of a formula are theirs, weighed by how the formula follows each of them.
"""

from collections.abc import Mapping
from decimal import Context, Decimal
from typing import Final, NamedTuple

from sooner.errors import ResultTooLarge
from sooner.expressions.tree import Arithmetic, Column, Literal, Negative, Node
from sooner.kernels.folding import Reals

Number = int | float | Decimal
EXACTLY: Final = Context(prec=80)
_NOT_GROWING: Final = 0
_MOST_BITS: Final = 127  # of a whole number, beside its sign
_MOST_DIGITS: Final = 38  # of a decimal


class Formula(NamedTuple):
    """An expression over aggregates, by their names."""

    name: str
    node: Node


class Linear(NamedTuple):
    """A value and its cells. Sums grow with the inputs, to the power of 1, and averages do not, which is 0."""

    value: float
    cells: Reals | float
    power: int | None = 1  # None where parts of different powers were added up


def exactly(node: Node, values: Mapping[str, Number | None]) -> Number | None:
    """The value as in SQL: null of nulls and by zero; whole numbers and decimals stay exact, `/` gives a double."""
    match node:
        case Column():
            return values[node.name]
        case Literal():
            return _number(node)
        case Negative():
            of = exactly(node.of, values)
            return None if of is None else fitting(-of, str(node))
    assert isinstance(node, Arithmetic)
    left, right = exactly(node.left, values), exactly(node.right, values)
    if left is None or right is None:
        return None
    if node.operator == "/":
        return float(left) / float(right) if right else None
    if isinstance(left, float) or isinstance(right, float):
        return _applied(node.operator, float(left), float(right))
    if isinstance(left, int) and isinstance(right, int):
        return fitting({"+": left + right, "-": left - right, "*": left * right}[node.operator], str(node))
    of_decimals = {"+": EXACTLY.add, "-": EXACTLY.subtract, "*": EXACTLY.multiply}
    return fitting(of_decimals[node.operator](Decimal(left), Decimal(right)), str(node))


def fitting(number: Number, what: str) -> Number:
    """The same, if SQL has a type for it: whole numbers have 128 bits at most, as in DuckDB, and decimals 38 digits."""
    if isinstance(number, Decimal):
        fits, room = len(number.as_tuple().digits) <= _MOST_DIGITS, f"{_MOST_DIGITS} digits"
    else:
        fits, room = isinstance(number, float) or -(2**_MOST_BITS) <= number < 2**_MOST_BITS, "128 bits"
    if not fits:
        raise ResultTooLarge(
            f"{what} is {number:.6g}, and {room} are the most that exact numbers have; cast what it is of to DOUBLE."
        )
    return number


def linear(node: Node, parts: Mapping[str, Linear]) -> Linear | None:
    """The value of a formula over estimates, and how it varies; None where it is null."""
    match node:
        case Column():
            return parts[node.name]
        case Literal():
            number = _number(node)
            return None if number is None else Linear(float(number), 0.0, _NOT_GROWING)
        case Negative():
            of = linear(node.of, parts)
            return None if of is None else Linear(-of.value, -of.cells, of.power)
    assert isinstance(node, Arithmetic)
    left, right = linear(node.left, parts), linear(node.right, parts)
    if left is None or right is None or (node.operator == "/" and not right.value):
        return None
    powers = None if left.power is None or right.power is None else (left.power, right.power)
    if node.operator == "*":
        cells = right.value * left.cells + left.value * right.cells
        return Linear(left.value * right.value, cells, None if powers is None else sum(powers))
    if node.operator == "/":
        value = left.value / right.value
        cells = (left.cells - value * right.cells) / right.value
        return Linear(value, cells, None if powers is None else powers[0] - powers[1])
    sign = 1 if node.operator == "+" else -1
    alike = powers is not None and powers[0] == powers[1]
    return Linear(left.value + sign * right.value, left.cells + sign * right.cells, left.power if alike else None)


def _applied(operator: str, left: float, right: float) -> float:
    return left * right if operator == "*" else left + right if operator == "+" else left - right


def _number(literal: Literal) -> Number | None:
    if literal.value is None or isinstance(literal.value, float):
        return literal.value
    assert isinstance(literal.value, int), "who reads formulas has refused all but numbers"
    return Decimal(literal.value).scaleb(-literal.kind.scale, EXACTLY) if literal.kind.scale else literal.value
