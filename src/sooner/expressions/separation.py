"""An expression over both sides of a join as a sum of products of one-sided parts.

Where an aggregate is such a sum, it needs no pairs: sum over pairs of left * right is a product of sums for each key.
Parts are expressions again, of one side each, so that they are checked and evaluated as any other.

Where any part of a product is null, the product adds nothing: so conditions are parts that are 1 or null. Zero would
not do, since zero times NaN or infinity is NaN. Nor does one product of a condition take away what another one adds:
infinity less infinity is NaN too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, TypeAlias

from sooner.expressions.kinds import NULL
from sooner.expressions.tree import (
    FALSE,
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
_STRICT_OPERATORS: Final = ("+", "-", "*")
_MOST_PRODUCTS: Final = 64  # far more than anyone writes; pairs are cheaper then


class Product(NamedTuple):
    """left * right; None stands for 1."""

    left: Node | None
    right: Node | None


Products: TypeAlias = tuple[Product, ...]
_ALWAYS: Final[Products] = (Product(None, None),)


def of_sum(
    node: Node, side_of: SideOf, may_be_null: MayBeNull, is_number: IsNumber = lambda _: True
) -> Products | None:
    """Products whose sum is what a SUM adds for a pair of rows, or None if it is not of that form.

    Side 0 is left, 1 is right. Two dates subtract, but neither of them is a number to be added up: `is_number` tells.
    """
    found = _limited(_Separation(side_of, may_be_null, is_number).added(node))
    return (Product(ZERO, None),) if found == () else found


def of_count(
    node: Node, side_of: SideOf, may_be_null: MayBeNull, is_number: IsNumber = lambda _: True
) -> Products | None:
    """Products whose sum is 1 where the expression is not null, what a COUNT adds."""
    return _limited(_Separation(side_of, may_be_null, is_number).where(Not(IsNull(node))))


def _limited(found: Products | None) -> Products | None:
    return found if found is not None and len(found) <= _MOST_PRODUCTS else None


class _Separation:
    def __init__(self, side_of: SideOf, may_be_null: MayBeNull, is_number: IsNumber) -> None:
        self._side_of = side_of
        self._may_be_null = may_be_null
        self._is_number = is_number

    def added(self, node: Node) -> Products | None:
        """The value, if all that is wanted of it is to be added: then there is nothing to say where it is zero."""
        if _is_zero(node):
            return ()
        if self._side(node) is None and isinstance(node, Negative):
            return _negative(self.added(node.of))
        if self._side(node) is None and isinstance(node, Case):
            return self._case(node, self.added)
        return self._value(node)

    def where(self, node: Node, wanted: bool = True) -> Products | None:
        """1 where a condition is true, and nothing where it is false or unknown; or the other way round."""
        side = self._side(node)
        if side is not None:
            condition = node if wanted else Not(Coalesce((node, FALSE)))
            return (_on(side, Case((condition,), (ONE,), None)),)
        node = _spread(node)
        if isinstance(node, Case):
            return self._case(node, lambda result: self.where(result, wanted))
        if not isinstance(node, Logic):
            return None
        decided: Products | None = ()
        before: Products | None = _ALWAYS
        for part in node.parts:  # either all are such that the next one matters, or the first that is not decides
            decided = _plus(decided, _times(before, self.where(part, node.operator == "OR")))
            before = _times(before, self.where(part, node.operator == "AND"))
        return before if (node.operator == "AND") == wanted else decided

    def _value(self, node: Node) -> Products | None:
        side = self._side(node)
        if side is not None:
            return (_on(side, node),)
        if isinstance(node, Negative):
            return _negative(self._value(node.of))
        if isinstance(node, Case):
            return self._case(node, self._value)
        if not (isinstance(node, Arithmetic) and node.operator in _STRICT_OPERATORS):
            return None
        if not (self._is_number(node.left) and self._is_number(node.right)):
            return None
        left, right = self._value(node.left), self._value(node.right)
        if node.operator == "*":
            return _times(left, right)
        # Null where either is: there the other has nothing to add.
        left, right = _times(left, self._there(node.right)), _times(right, self._there(node.left))
        return _plus(left, right if node.operator == "+" else _negative(right))

    def _there(self, node: Node) -> Products | None:
        return self.where(Not(IsNull(node))) if self._null_is_possible(node) else _ALWAYS

    def _case(self, node: Case, branch: Callable[[Node], Products | None]) -> Products | None:
        found: Products | None = ()
        before: Products | None = _ALWAYS
        for condition, result in zip(node.conditions, node.results, strict=True):
            found = _plus(found, _times(_times(before, self.where(condition)), branch(result)))
            before = _times(before, self.where(condition, wanted=False))
        return found if node.otherwise is None else _plus(found, _times(before, branch(node.otherwise)))

    def _side(self, node: Node) -> int | None:
        """The side of all columns, the left if there are none, or None if both have some."""
        sides = {self._side_of(column) for column in columns_of(node)}
        return None if len(sides) > 1 else next(iter(sides), 0)

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


def _spread(node: Node) -> Node:
    """The same condition by AND, OR or CASE of smaller ones, if it is any."""
    if isinstance(node, IsNull) and isinstance(node.of, Case):
        return _each(node.of, IsNull)
    if isinstance(node, IsNull) and _is_strict(node.of):
        return Logic("OR", tuple(map(IsNull, node.of.children())))
    if isinstance(node, Case):
        return _each(node, lambda result: result)
    if not isinstance(node, Not):
        return node
    if isinstance(node.of, Not):
        return _spread(node.of.of)
    opposite = _spread(node.of)
    if isinstance(opposite, Case):
        return _each(opposite, Not)
    if isinstance(opposite, Logic):
        return Logic("OR" if opposite.operator == "AND" else "AND", tuple(map(Not, opposite.parts)))
    return node


def _each(node: Case, change: Callable[[Node], Node]) -> Case:
    otherwise = Literal(None, NULL) if node.otherwise is None else node.otherwise
    return Case(node.conditions, tuple(map(change, node.results)), change(otherwise))


def _is_strict(node: Node) -> bool:
    """Whether it is null if and only if any part of it is."""
    if isinstance(node, Arithmetic):
        return node.operator in _STRICT_OPERATORS
    return isinstance(node, Negative | Comparison | Not | Like | Cast)


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
    found: Node | None = None
    conditions: list[Node] = []
    for part in parts:
        if isinstance(part, Case) and part.results == (ONE,) and part.otherwise is None:
            conditions += part.conditions
        elif part is not None and part != ONE:
            found = part if found is None else Arithmetic("*", found, part)
    return found if not conditions else Case((all_of(conditions),), (ONE if found is None else found,), None)
