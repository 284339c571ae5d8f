"""An expression over both sides of a join as a sum of products of one-sided parts.

Where an aggregate is such a sum, it needs no pairs: sum over pairs of left * right is a product of sums for each key.
Parts are expressions again, of one side each, so that they are checked and evaluated as any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, TypeAlias

from sooner.expressions.tree import (
    ONE,
    ZERO,
    Arithmetic,
    Call,
    Case,
    Cast,
    Coalesce,
    Column,
    Comparison,
    In,
    IsNull,
    Like,
    Literal,
    Logic,
    Negative,
    Node,
    Not,
    all_of,
    columns_of,
)

SideOf: TypeAlias = Callable[[Column], int]
MayBeNull: TypeAlias = Callable[[Column], bool]
IsNumber: TypeAlias = Callable[[Node], bool]
_MOST_PRODUCTS: Final = 64  # far more than anyone writes; pairs are cheaper then


class Product(NamedTuple):
    """left * right; None stands for 1."""

    left: Node | None
    right: Node | None


Products: TypeAlias = tuple[Product, ...]


def separated(node: Node, side_of: SideOf, may_be_null: MayBeNull) -> Products | None:
    """Products whose sum is the expression for every pair of rows, or None if it is not of that form.

    Side 0 is left and 1 is right. The expression is null for a pair if and only if any part of any product is null for
    its row, so the caller leaves out left rows for which any left part is null, and right rows likewise; `of_sum` does
    that in the parts themselves. A CASE over both sides is separated only if no branch can be null: what is null in a
    branch that is not taken would make the products null, but not the expression.
    """
    return _limited(_Separation(side_of, may_be_null).strictly(node))


def of_sum(
    node: Node, side_of: SideOf, may_be_null: MayBeNull, is_number: IsNumber = lambda _: True
) -> Products | None:
    """Products whose sum is COALESCE(expression, 0), what a SUM adds for a pair of rows. No part is ever null.

    Two dates subtract, but neither of them is a number to be added up: `is_number` tells.
    """
    return _limited(_Separation(side_of, may_be_null, is_number).with_zeros(node))


def of_count(
    node: Node, side_of: SideOf, may_be_null: MayBeNull, is_number: IsNumber = lambda _: True
) -> Products | None:
    """Products whose sum is 1 where the expression is not null and 0 where it is, what a COUNT adds."""
    return _limited(_Separation(side_of, may_be_null, is_number).indicator(Not(IsNull(node))))


def of_condition(node: Node, side_of: SideOf, may_be_null: MayBeNull) -> Products | None:
    """Products whose sum is 1 where the condition is true and 0 where it is false or null."""
    return _limited(_Separation(side_of, may_be_null).indicator(node))


def _limited(found: Products | None) -> Products | None:
    return found if found is not None and len(found) <= _MOST_PRODUCTS else None


class _Separation:
    def __init__(self, side_of: SideOf, may_be_null: MayBeNull, is_number: IsNumber = lambda _: True) -> None:
        self._side_of = side_of
        self._may_be_null = may_be_null
        self._is_number = is_number

    def strictly(self, node: Node) -> Products | None:
        whole = self._one_sided(node)
        if whole is not None:
            return (whole,)
        if isinstance(node, Negative):
            return _negative(self.strictly(node.of))
        if isinstance(node, Arithmetic) and node.operator in ("+", "-", "*"):
            if not (self._is_number(node.left) and self._is_number(node.right)):
                return None
            left, right = self.strictly(node.left), self.strictly(node.right)
            if node.operator == "*":
                return _times(left, right)
            return _plus(left, right if node.operator == "+" else _negative(right))
        if isinstance(node, Case) and node.otherwise is not None:
            if any(self._null_is_possible(branch) for branch in (*node.results, node.otherwise)):
                return None
            return self._case(node, self.strictly)
        return None

    def with_zeros(self, node: Node) -> Products | None:
        whole = self._one_sided(node)
        if whole is not None:
            return (whole,) if not self._null_is_possible(node) else (Product(*map(_zero_for_null, whole)),)
        if isinstance(node, Negative):
            return _negative(self.with_zeros(node.of))
        if isinstance(node, Arithmetic) and node.operator == "*":
            return _times(self.with_zeros(node.left), self.with_zeros(node.right))
        if isinstance(node, Case):
            return self._case(node, self.with_zeros)
        # A sum is null where any of its parts is, so all of them are zero where one of them is null.
        return _masked(self.strictly(node), self._null_is_possible)

    def indicator(self, node: Node) -> Products | None:
        """1 where a condition is true, 0 where it is false or unknown."""
        side = self._side(node)
        if side is not None:
            return (_on(side, Case((node,), (ONE,), ZERO)),)
        if isinstance(node, Logic):
            first, *others = (self.indicator(part) for part in node.parts)
            for other in others:
                both = _times(first, other)
                first = both if node.operator == "AND" else _plus(_plus(first, other), _negative(both))
            return first
        if not isinstance(node, Not):
            return None
        if isinstance(node.of, Not):
            return self.indicator(node.of.of)
        if isinstance(node.of, Logic):
            opposite = "OR" if node.of.operator == "AND" else "AND"
            return self.indicator(Logic(opposite, tuple(Not(part) for part in node.of.parts)))
        if isinstance(node.of, IsNull):
            return self._all_there(node.of.of)
        return None

    def _all_there(self, node: Node) -> Products | None:
        """1 where what is null with any of its parts is not null."""
        side = self._side(node)
        if side is not None:
            return (_on(side, Case((IsNull(node),), (ZERO,), ONE)),)
        strict = isinstance(node, Negative | Comparison | Not | Like | Cast) or (
            isinstance(node, Arithmetic) and node.operator in ("+", "-", "*")
        )
        if not strict:
            return None
        found: Products | None = (Product(None, None),)
        for part in node.children():
            found = _times(found, self._all_there(part))
        return found

    def _not_true(self, node: Node) -> Products | None:
        side = self._side(node)
        if side is not None:
            return (_on(side, Case((node,), (ZERO,), ONE)),)
        return _plus((Product(None, None),), _negative(self.indicator(node)))

    def _case(self, node: Case, branch: Callable[[Node], Products | None]) -> Products | None:
        found: Products | None = ()  # and where the result is 0, there is nothing to add
        before: Products | None = (Product(None, None),)
        for condition, result in zip(node.conditions, node.results, strict=True):
            chosen = _times(before, self.indicator(condition))
            found = _plus(found, () if _is_zero(result) else _times(chosen, branch(result)))
            before = _times(before, self._not_true(condition))
        if node.otherwise is not None and not _is_zero(node.otherwise):
            found = _plus(found, _times(before, branch(node.otherwise)))
        return found if found != () else (Product(ZERO, None),)

    def _side(self, node: Node) -> int | None:
        """The side of all columns, the left if there are none, or None if both have some."""
        sides = {self._side_of(column) for column in columns_of(node)}
        return None if len(sides) > 1 else next(iter(sides), 0)

    def _one_sided(self, node: Node) -> Product | None:
        side = self._side(node)
        return None if side is None else _on(side, node)

    def _null_is_possible(self, node: Node) -> bool:
        """Whether a value may be null, from what columns may be and what the expression does with them."""
        if isinstance(node, Column):
            return self._may_be_null(node)
        if isinstance(node, Literal):
            return node.value is None
        if isinstance(node, IsNull):
            return False
        if isinstance(node, Coalesce):
            return all(map(self._null_is_possible, node.parts))
        if isinstance(node, Case):
            branches = (*node.results, *([] if node.otherwise is None else [node.otherwise]))
            return node.otherwise is None or any(map(self._null_is_possible, branches))
        if isinstance(node, Arithmetic) and node.operator in ("/", "//", "%"):
            divisor = node.right
            if not (isinstance(divisor, Literal) and divisor.value):
                return True
        known = isinstance(node, Arithmetic | Negative | Comparison | Logic | Not | In | Like | Cast | Call)
        return not known or any(map(self._null_is_possible, node.children()))


def _is_zero(node: Node) -> bool:
    return isinstance(node, Literal) and node.kind.is_numeric and node.value == 0


def _on(side: int, node: Node) -> Product:
    return Product(None, node) if side else Product(node, None)


def _zero_for_null(part: Node | None) -> Node | None:
    return None if part is None else Coalesce((part, ZERO))


def _masked(products: Products | None, may_be_null: Callable[[Node], bool]) -> Products | None:
    """With zeros in all of them for rows of which any part is null."""
    if products is None:
        return None
    masks: list[Callable[[Node | None], Node | None]] = []
    for side in (0, 1):
        parts = dict.fromkeys(part for product in products if (part := product[side]) is not None)
        masks.append(_mask([part for part in parts if may_be_null(part)]))
    return tuple(Product(masks[0](product.left), masks[1](product.right)) for product in products)


def _mask(parts: list[Node]) -> Callable[[Node | None], Node | None]:
    def masked(part: Node | None) -> Node | None:
        others = [Not(IsNull(other)) for other in parts if other != part]
        value = Coalesce((part, ZERO)) if part in parts and part is not None else part
        return value if not others else Case((all_of(others),), (ONE if value is None else value,), ZERO)

    return masked


def _negative(products: Products | None) -> Products | None:
    if products is None:
        return None
    return tuple(_negated(product) for product in products)


def _negated(product: Product) -> Product:
    if product.left is None and product.right is not None:
        return Product(None, Negative(product.right))
    if product.left is None or product.left == ONE:
        return Product(Negative(ONE), product.right)
    return Product(Negative(product.left), product.right)


def _plus(one: Products | None, other: Products | None) -> Products | None:
    return None if one is None or other is None else one + other


def _times(one: Products | None, other: Products | None) -> Products | None:
    if one is None or other is None or len(one) * len(other) > _MOST_PRODUCTS:
        return None
    return tuple(Product(_product((a.left, b.left)), _product((a.right, b.right))) for a in one for b in other)


def _product(parts: Iterable[Node | None]) -> Node | None:
    factors = [part for part in parts if part is not None and part != ONE]
    found: Node | None = None
    for factor in factors:
        found = factor if found is None else Arithmetic("*", found, factor)
    return found
