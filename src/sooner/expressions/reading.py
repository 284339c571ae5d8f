"""From SQL text to a tree, by sqlglot's parser in the dialect of DuckDB.

What this room cannot evaluate is refused here, in a sentence that names the part. sqlglot takes a seventh of a second
to load, so only what reads does.

Not covered: functions beyond the few of `functions`, subqueries, windows, TRY_CAST, and types that Arrow does not have.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final, NoReturn, TypeAlias

from sooner.errors import InvalidJoin
from sooner.expressions import kinds, moments
from sooner.expressions.functions import FUNCTIONS
from sooner.expressions.tree import (
    FALSE,
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
)

Parsed: TypeAlias = Any  # by sqlglot, whose names for it changed between its versions
_MOST: Final = 2**63 - 1


def parse(text: str, what: str) -> Node:
    """The expression that a text is; `what` names the argument that it came from."""
    import sqlglot

    if not isinstance(text, str) or not text.strip():
        raise InvalidJoin(f"{what} is {text!r}; give an expression over columns as a text, such as 'price * 2'.")
    try:
        # Behind a SELECT, columns may have names that begin statements elsewhere: comment, set, values.
        found = sqlglot.parse_one(f"SELECT {text}", dialect="duckdb")
    except sqlglot.errors.SqlglotError as error:
        reason = str(error).splitlines()[0].split(". Line")[0].rstrip(".")
        raise InvalidJoin(f"{what} is {text!r}, which is not SQL ({reason}); correct it.") from error
    asked = {name for name, value in found.args.items() if value}
    parts = found.args.get("expressions") or []
    if type(found).__name__ != "Select" or asked != {"expressions"} or len(parts) != 1:
        raise InvalidJoin(f"{what} is {text!r}, which is more than one expression; give one, without SELECT or FROM.")
    return from_sqlglot(parts[0], what)


def from_sqlglot(node: Parsed, what: str) -> Node:
    """The same of what sqlglot has parsed already."""
    name = type(node).__name__
    if name not in _READERS:
        _refuse(node, what)
    read, understood = _READERS[name]
    for argument, value in node.args.items():
        if value and argument not in understood and argument not in _WITHOUT_MEANING:
            raise InvalidJoin(f"{what} has {_sql(node)}, whose {argument.upper()} is not supported; leave it out.")
    found = read(node, what)
    return Not(found) if node.args.get("negate") else found


_WITHOUT_MEANING: Final = {"negate", "safe", "typed", "ignore_nulls", "nested", "is_string", "binary", "zone"}


def _sql(node: Parsed) -> str:
    text = str(node.sql(dialect="duckdb"))
    return text if len(text) <= 60 else text[:57] + "..."


def _refuse(node: Parsed, what: str) -> NoReturn:
    from sqlglot import expressions as e

    part = f"{what} has {_sql(node)}"
    if isinstance(node, e.Window):
        raise InvalidJoin(f"{part}, a window function, which needs all rows at once; leave it out.")
    if isinstance(node, e.Query | e.Exists | e.SubqueryPredicate):
        raise InvalidJoin(f"{part}, a subquery; join its table instead, or put its value here.")
    if isinstance(node, e.AggFunc | e.Filter | e.IgnoreNulls):
        raise InvalidJoin(
            f"{part}, an aggregate, inside an expression over single rows; aggregates belong on the outside, one in "
            "each entry of aggregates=, with the expression in their parentheses."
        )
    if isinstance(node, e.Star):
        raise InvalidJoin(f"{part}, which stands for many columns; name the one that is meant.")
    if isinstance(node, e.Alias):
        raise InvalidJoin(f"{part}; leave out AS and the name after it.")
    if isinstance(node, e.Anonymous | e.Func):
        known = ", ".join(sorted({*FUNCTIONS, "coalesce", "ifnull", "nullif", "if", "extract", "cast"}))
        raise InvalidJoin(f"{part}, and this function is not known here; there are {known}.")
    raise InvalidJoin(f"{part}, which is not supported in expressions here; write it in another way.")


def _column(node: Parsed, what: str) -> Node:
    if type(node.this).__name__ == "Star":
        _refuse(node.this, what)
    return Column(node.name, node.table or None)


def _literal(node: Parsed, what: str) -> Node:
    text = str(node.this)
    if node.is_string:
        return Literal(text, kinds.TEXT)
    if "e" in text.lower():
        return Literal(float(text), kinds.FLOAT)
    sign, digits, exponent = Decimal(text.replace("_", "")).as_tuple()
    assert not sign, "a minus stands in front of literals"
    unscaled, scale = int("".join(map(str, digits))), -int(exponent)
    if unscaled > _MOST:
        raise InvalidJoin(f"{what} has {text}, which has too many digits for 64 bits; write it as {float(text)!r}.")
    return Literal(unscaled, kinds.exact(scale))


def _arithmetic(operator: str) -> Callable[[Parsed, str], Node]:
    def read(node: Parsed, what: str) -> Node:
        return Arithmetic(operator, from_sqlglot(node.this, what), from_sqlglot(node.expression, what))

    return read


def _comparison(operator: str) -> Callable[[Parsed, str], Node]:
    def read(node: Parsed, what: str) -> Node:
        return Comparison(operator, from_sqlglot(node.this, what), from_sqlglot(node.expression, what))

    return read


def _logic(operator: str) -> Callable[[Parsed, str], Node]:
    def read(node: Parsed, what: str) -> Node:
        chain = [from_sqlglot(side, what) for side in node.flatten()]
        return Logic(operator, tuple(chain))

    return read


def _call(name: str) -> Callable[[Parsed, str], Node]:
    def read(node: Parsed, what: str) -> Node:
        parts = [node.this, *(node.args.get(word) for word in ("start", "length")), *node.expressions]
        return Call(name, tuple(from_sqlglot(part, what) for part in parts if part is not None))

    return read


def _negative(node: Parsed, what: str) -> Node:
    of = from_sqlglot(node.this, what)
    if isinstance(of, Literal) and of.kind.is_numeric:
        return Literal(-of.value, of.kind)  # type: ignore[operator]
    return Negative(of)


def _is(node: Parsed, what: str) -> Node:
    of, other = from_sqlglot(node.this, what), type(node.expression).__name__
    if other == "Null":
        return IsNull(of)
    if other == "Boolean":
        return Coalesce((of if node.expression.this else Not(of), FALSE))
    return _refuse(node, what)


def _distinct_from(node: Parsed, what: str) -> Node:
    return Not(_not_distinct_from(node, what))


def _not_distinct_from(node: Parsed, what: str) -> Node:
    left, right = from_sqlglot(node.this, what), from_sqlglot(node.expression, what)
    return Coalesce((Comparison("=", left, right), Logic("AND", (IsNull(left), IsNull(right)))))


def _between(node: Parsed, what: str) -> Node:
    of, low, high = (from_sqlglot(node.args[name], what) for name in ("this", "low", "high"))
    return Logic("AND", (Comparison(">=", of, low), Comparison("<=", of, high)))


def _in(node: Parsed, what: str) -> Node:
    if node.args.get("query"):
        _refuse(node.args["query"], what)
    return In(from_sqlglot(node.this, what), tuple(from_sqlglot(option, what) for option in node.expressions))


def _like(any_case: bool) -> Callable[[Parsed, str], Node]:
    def read(node: Parsed, what: str) -> Node:
        return _matching(node, None, any_case, what)

    return read


def _escape(node: Parsed, what: str) -> Node:
    name = type(node.this).__name__
    if name not in ("Like", "ILike") or not node.expression.is_string or len(str(node.expression.this)) != 1:
        _refuse(node, what)
    found = _matching(node.this, str(node.expression.this), name == "ILike", what)
    return Not(found) if node.this.args.get("negate") else found


def _matching(node: Parsed, escape: str | None, any_case: bool, what: str) -> Node:
    if not node.expression.is_string:
        raise InvalidJoin(f"{what} has {_sql(node)}; the pattern must be a text in quotes.")
    pattern, characters = "", iter(str(node.expression.this))
    for character in characters:
        if character == escape:
            pattern += "\\" + next(characters, "\\")
        else:
            pattern += "\\\\" if character == "\\" else character
    return Like(from_sqlglot(node.this, what), pattern, any_case)


def _case(node: Parsed, what: str) -> Node:
    subject = None if node.this is None else from_sqlglot(node.this, what)
    conditions, results = [], []
    for branch in node.args["ifs"]:
        when = from_sqlglot(branch.this, what)
        conditions.append(when if subject is None else Comparison("=", subject, when))
        results.append(from_sqlglot(branch.args["true"], what))
    default = node.args.get("default")
    return Case(tuple(conditions), tuple(results), None if default is None else from_sqlglot(default, what))


def _if(node: Parsed, what: str) -> Node:
    otherwise = node.args.get("false")
    return Case(
        (from_sqlglot(node.this, what),),
        (from_sqlglot(node.args["true"], what),),
        None if otherwise is None else from_sqlglot(otherwise, what),
    )


def _null_if(node: Parsed, what: str) -> Node:
    of, value = from_sqlglot(node.this, what), from_sqlglot(node.expression, what)
    return Case((Comparison("=", of, value),), (Literal(None, kinds.NULL),), of)


def _coalesce(node: Parsed, what: str) -> Node:
    return Coalesce(tuple(from_sqlglot(part, what) for part in (node.this, *node.expressions)))


def _cast(node: Parsed, what: str) -> Node:
    of = node.this
    kind = _cast_kind(node, what)
    if of.is_string and _is_moment(kind):
        value = {"date": moments.date_of, "local time": moments.local_time_of}.get(kind.name, moments.instant_of)(
            of.this
        )
        if value is None:
            like = "2025-12-31" if kind.name == "date" else "2025-12-31 23:59:59"
            like += "+00:00" if kind.name == "instant" else ""
            raise InvalidJoin(f"{what} has {_sql(node)}, and {of.this!r} is not {kind}; write it as '{like}'.")
        return Literal(value, kind)
    return Cast(from_sqlglot(of, what), kind)


def _is_moment(kind: kinds.Kind) -> bool:
    return kind.name in ("date", "local time", "instant")


def _cast_kind(node: Parsed, what: str) -> kinds.Kind:
    type_ = node.args["to"]
    name = str(type_.this.name) if hasattr(type_.this, "name") else str(type_.this)
    if name == "DECIMAL":
        sizes = [int(str(size.this.this)) for size in type_.expressions]
        return kinds.exact(3 if not sizes else sizes[1] if len(sizes) > 1 else 0)
    if name not in _TYPES:
        cure = "write DOUBLE" if name in ("FLOAT", "REAL") else "there are " + ", ".join(_NAMED_TYPES)
        raise InvalidJoin(f"{what} has {_sql(node)}, and values are not cast to that type here; {cure}.")
    return _TYPES[name]


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


def _interval(node: Parsed, what: str) -> Node:
    unit = node.args.get("unit")
    of = node.this
    while type(of).__name__ == "Paren":
        of = of.this
    sign, of = ("-", of.this) if type(of).__name__ == "Neg" else ("", of)
    found = moments.interval_of(sign + str(of.this), str(unit.this)) if unit is not None else None
    if found is None:
        raise InvalidJoin(f"{what} has {_sql(node)}; write an interval as a whole number of units: INTERVAL 3 MONTH.")
    return Literal(found, kinds.INTERVAL)


def _extract(node: Parsed, what: str) -> Node:
    return _part_of_moment(str(node.this.this), node.expression, node, what)


def _anonymous(node: Parsed, what: str) -> Node:
    if str(node.this).lower() in ("date_part", "datepart") and len(node.expressions) == 2:
        return _part_of_moment(str(node.expressions[0].this), node.expressions[1], node, what)
    return _refuse(node, what)


def _part_of_moment(part: str, of: Parsed, node: Parsed, what: str) -> Node:
    name = part.lower().removesuffix("s")
    if name not in ("year", "quarter", "month", "day", "hour", "minute"):
        raise InvalidJoin(f"{what} has {_sql(node)}; of a moment there are year, quarter, month, day, hour and minute.")
    return Call(name, (from_sqlglot(of, what),))


_ONE: Final = {"this"}
_TWO: Final = {"this", "expression"}
_MANY: Final = {"this", "expressions"}
_READERS: Final[dict[str, tuple[Callable[[Parsed, str], Node], set[str]]]] = {
    "Column": (_column, {"this", "table"}),
    "Literal": (_literal, _ONE),
    "Boolean": (lambda node, _: Literal(bool(node.this), kinds.BOOLEAN), _ONE),
    "Null": (lambda _, __: Literal(None, kinds.NULL), set()),
    "Paren": (lambda node, what: from_sqlglot(node.this, what), _ONE),
    "Add": (_arithmetic("+"), _TWO),
    "Sub": (_arithmetic("-"), _TWO),
    "Mul": (_arithmetic("*"), _TWO),
    "Div": (_arithmetic("/"), _TWO),
    "IntDiv": (_arithmetic("//"), _TWO),
    "Mod": (_arithmetic("%"), _TWO),
    "Neg": (_negative, _ONE),
    "EQ": (_comparison("="), _TWO),
    "NEQ": (_comparison("<>"), _TWO),
    "LT": (_comparison("<"), _TWO),
    "LTE": (_comparison("<="), _TWO),
    "GT": (_comparison(">"), _TWO),
    "GTE": (_comparison(">="), _TWO),
    "NullSafeEQ": (_not_distinct_from, _TWO),
    "NullSafeNEQ": (_distinct_from, _TWO),
    "And": (_logic("AND"), _TWO),
    "Or": (_logic("OR"), _TWO),
    "Not": (lambda node, what: Not(from_sqlglot(node.this, what)), _ONE),
    "Is": (_is, _TWO),
    "Between": (_between, {"this", "low", "high"}),
    "In": (_in, {"this", "expressions", "query"}),
    "Like": (_like(any_case=False), _TWO),
    "ILike": (_like(any_case=True), _TWO),
    "Escape": (_escape, _TWO),
    "Case": (_case, {"this", "ifs", "default"}),
    "If": (_if, {"this", "true", "false"}),
    "Nullif": (_null_if, _TWO),
    "Coalesce": (_coalesce, _MANY),
    "Cast": (_cast, {"this", "to"}),
    "Interval": (_interval, {"this", "unit"}),
    "Extract": (_extract, _TWO),
    "Anonymous": (_anonymous, _MANY),
    "Abs": (_call("abs"), _ONE),
    "Greatest": (_call("greatest"), _MANY),
    "Least": (_call("least"), _MANY),
    "Upper": (_call("upper"), _ONE),
    "Lower": (_call("lower"), _ONE),
    "Length": (_call("length"), _ONE),
    "Substring": (_call("substring"), {"this", "start", "length"}),
    "Year": (_call("year"), _ONE),
    "Quarter": (_call("quarter"), _ONE),
    "Month": (_call("month"), _ONE),
    "Day": (_call("day"), _ONE),
    "DayOfMonth": (_call("day"), _ONE),
    "Hour": (_call("hour"), _ONE),
    "Minute": (_call("minute"), _ONE),
}
