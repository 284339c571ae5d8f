"""Literals and the types of casts, as sqlglot has parsed them: numbers, texts, moments and intervals."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from sooner.errors import InvalidJoin
from sooner.expressions import kinds, moments
from sooner.expressions.parsed import Parsed, Reader, sql_of
from sooner.expressions.tree import Cast, Literal, Negative, Node

_MOST: Final = 2**63 - 1
_NAMED_TYPES: Final = ("DOUBLE", "BIGINT", "DECIMAL(p, s)", "BOOLEAN", "VARCHAR", "DATE", "TIMESTAMP", "TIMESTAMPTZ")
_INTEGERS: Final = ("BIGINT", "INT", "SMALLINT", "TINYINT", "UINT", "USMALLINT", "UTINYINT", "UBIGINT", "INT128")
_TYPES: Final = {
    **dict.fromkeys(_INTEGERS, kinds.INTEGER),
    "DOUBLE": kinds.FLOAT,
    "BOOLEAN": kinds.BOOLEAN,
    "VARCHAR": kinds.TEXT,
    "TEXT": kinds.TEXT,
    "DATE": kinds.DATE,
    "TIMESTAMP": kinds.LOCAL_TIME,
    "TIMESTAMPNTZ": kinds.LOCAL_TIME,
    "DATETIME": kinds.LOCAL_TIME,
    "TIMESTAMPTZ": kinds.INSTANT,
}
_MOMENTS: Final = {"date": moments.date_of, "local time": moments.local_time_of, "instant": moments.instant_of}


def literal(node: Parsed, read: Reader) -> Node:
    text = str(node.this)
    if node.is_string:
        return Literal(text, kinds.TEXT)
    if "e" in text.lower():
        return Literal(float(text), kinds.FLOAT)
    sign, digits, exponent = Decimal(text.replace("_", "")).as_tuple()
    assert not sign, "a minus stands in front of literals"
    unscaled, scale = int("".join(map(str, digits))), -int(exponent)
    if unscaled > _MOST:
        raise InvalidJoin(
            f"{read.what} has {text}, which has too many digits for 64 bits; write it as {float(text)!r}."
        )
    return Literal(unscaled, kinds.exact(scale))


def negative(node: Parsed, read: Reader) -> Node:
    of = read(node.this)
    if isinstance(of, Literal) and of.kind.is_numeric:
        return Literal(-of.value, of.kind)  # type: ignore[operator]
    return Negative(of)


def cast(node: Parsed, read: Reader) -> Node:
    of = node.this
    kind = _cast_kind(node, read.what)
    if of.is_string and kind.name in _MOMENTS:
        value = _MOMENTS[kind.name](of.this)
        if value is None:
            like = "2025-12-31" if kind.name == "date" else "2025-12-31 23:59:59"
            like += "+00:00" if kind.name == "instant" else ""
            raise InvalidJoin(f"{read.what} has {sql_of(node)}, and {of.this!r} is not {kind}; write it as '{like}'.")
        return Literal(value, kind)
    return Cast(read(of), kind)


def _cast_kind(node: Parsed, what: str) -> kinds.Kind:
    type_ = node.args["to"]
    name = str(type_.this.name) if hasattr(type_.this, "name") else str(type_.this)
    if name == "DECIMAL":
        sizes = [int(str(size.this.this)) for size in type_.expressions]
        return kinds.exact(3 if not sizes else sizes[1] if len(sizes) > 1 else 0)
    if name not in _TYPES:
        cure = "write DOUBLE" if name in ("FLOAT", "REAL") else "there are " + ", ".join(_NAMED_TYPES)
        raise InvalidJoin(f"{what} has {sql_of(node)}, and values are not cast to that type here; {cure}.")
    return _TYPES[name]


def interval(node: Parsed, read: Reader) -> Node:
    unit = node.args.get("unit")
    of = node.this
    while type(of).__name__ == "Paren":
        of = of.this
    sign, of = ("-", of.this) if type(of).__name__ == "Neg" else ("", of)
    found = moments.interval_of(sign + str(of.this), str(unit.this)) if unit is not None else None
    if found is None:
        raise InvalidJoin(
            f"{read.what} has {sql_of(node)}; write an interval as a whole number of units: INTERVAL 3 MONTH."
        )
    return Literal(found, kinds.INTERVAL)
