"""From SQL text to a tree, by sqlglot's parser in the dialect of DuckDB.

What this room cannot evaluate is refused here, in a sentence that names the part. sqlglot takes a seventh of a second
to load, so only what reads does.

Not covered: functions beyond the few of `functions`, subqueries, windows, TRY_CAST, and types that Arrow does not have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from sooner.errors import InvalidJoin
from sooner.expressions import kinds
from sooner.expressions import reading_calls as calls
from sooner.expressions import reading_conditions as conditions
from sooner.expressions import reading_literals as literals
from sooner.expressions.parsed import Parsed, Reader, refuse, sql_of
from sooner.expressions.tree import Arithmetic, Column, Literal, Node, Not


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
    return _TreeReader(what)(node)


@dataclass(frozen=True)
class _TreeReader:
    what: str

    def __call__(self, node: Parsed) -> Node:
        name = type(node).__name__
        if name not in _READERS:
            refuse(node, self.what)
        read, understood = _READERS[name]
        for argument, value in node.args.items():
            if value and argument not in understood and argument not in _WITHOUT_MEANING:
                argument = argument.upper()
                raise InvalidJoin(f"{self.what} has {sql_of(node)}, whose {argument} is not supported; leave it out.")
        found = read(node, self)
        return Not(found) if node.args.get("negate") else found


def _column(node: Parsed, read: Reader) -> Node:
    if type(node.this).__name__ == "Star":
        refuse(node.this, read.what)
    return Column(node.name, node.table or None)


def _arithmetic(operator: str) -> Callable[[Parsed, Reader], Node]:
    return lambda node, read: Arithmetic(operator, read(node.this), read(node.expression))


_WITHOUT_MEANING: Final = {"negate", "safe", "typed", "ignore_nulls", "nested", "is_string", "binary", "zone"}
_ONE: Final = {"this"}
_TWO: Final = {"this", "expression"}
_MANY: Final = {"this", "expressions"}
_READERS: Final[dict[str, tuple[Callable[[Parsed, Reader], Node], set[str]]]] = {
    "Column": (_column, {"this", "table"}),
    "Literal": (literals.literal, _ONE),
    "Boolean": (lambda node, _: Literal(bool(node.this), kinds.BOOLEAN), _ONE),
    "Null": (lambda _, __: Literal(None, kinds.NULL), set()),
    "Paren": (lambda node, read: read(node.this), _ONE),
    "Add": (_arithmetic("+"), _TWO),
    "Sub": (_arithmetic("-"), _TWO),
    "Mul": (_arithmetic("*"), _TWO),
    "Div": (_arithmetic("/"), _TWO),
    "IntDiv": (_arithmetic("//"), _TWO),
    "Mod": (_arithmetic("%"), _TWO),
    "Neg": (literals.negative, _ONE),
    "EQ": (conditions.comparison("="), _TWO),
    "NEQ": (conditions.comparison("<>"), _TWO),
    "LT": (conditions.comparison("<"), _TWO),
    "LTE": (conditions.comparison("<="), _TWO),
    "GT": (conditions.comparison(">"), _TWO),
    "GTE": (conditions.comparison(">="), _TWO),
    "NullSafeEQ": (conditions.not_distinct_from, _TWO),
    "NullSafeNEQ": (conditions.distinct_from, _TWO),
    "And": (conditions.logic("AND"), _TWO),
    "Or": (conditions.logic("OR"), _TWO),
    "Not": (lambda node, read: Not(read(node.this)), _ONE),
    "Is": (conditions.is_, _TWO),
    "Between": (conditions.between, {"this", "low", "high"}),
    "In": (conditions.in_, {"this", "expressions", "query"}),
    "Like": (conditions.like(any_case=False), _TWO),
    "ILike": (conditions.like(any_case=True), _TWO),
    "Escape": (conditions.escape, _TWO),
    "Case": (calls.case, {"this", "ifs", "default"}),
    "If": (calls.if_, {"this", "true", "false"}),
    "Nullif": (calls.null_if, _TWO),
    "Coalesce": (calls.coalesce, _MANY),
    "Cast": (literals.cast, {"this", "to"}),
    "Interval": (literals.interval, {"this", "unit"}),
    "Extract": (calls.extract, _TWO),
    "Anonymous": (calls.anonymous, _MANY),
    "Abs": (calls.call("abs"), _ONE),
    "Greatest": (calls.call("greatest"), _MANY),
    "Least": (calls.call("least"), _MANY),
    "Upper": (calls.call("upper"), _ONE),
    "Lower": (calls.call("lower"), _ONE),
    "Length": (calls.call("length"), _ONE),
    "Substring": (calls.call("substring", "start", "length"), {"this", "start", "length"}),
    "Round": (calls.call("round", "decimals"), {"this", "decimals"}),
    "Trunc": (calls.call("trunc"), _ONE),
    "Floor": (calls.call("floor"), _ONE),
    "Ceil": (calls.call("ceil"), _ONE),
    "Sign": (calls.call("sign"), _ONE),
    "Pow": (calls.call("power", "expression"), _TWO),
    "Sqrt": (calls.call("sqrt"), _ONE),
    "Exp": (calls.call("exp"), _ONE),
    "Ln": (calls.call("ln"), _ONE),
    "Log": (calls.logarithm, _TWO),
    "Reverse": (calls.call("reverse"), _ONE),
    "Left": (calls.call("left", "expression"), _TWO),
    "Right": (calls.call("right", "expression"), _TWO),
    "Replace": (calls.call("replace", "expression", "replacement"), {"this", "expression", "replacement"}),
    "SplitPart": (calls.call("split_part", "delimiter", "part_index"), {"this", "delimiter", "part_index"}),
    "Trim": (calls.trimmed, {"this", "expression", "position"}),
    "Pad": (calls.padded, {"this", "expression", "fill_pattern", "is_left"}),
    "StartsWith": (calls.call("starts_with", "expression"), _TWO),
    "EndsWith": (calls.call("ends_with", "expression"), _TWO),
    "Contains": (calls.call("contains", "expression"), _TWO),
    "RegexpLike": (calls.call("regexp_matches", "expression"), _TWO),
    "Concat": (calls.call("concat"), {"expressions", "coalesce"}),
    "DPipe": (calls.joined, _TWO),
    "TimestampTrunc": (calls.truncated, {"this", "unit"}),
    "DateTrunc": (calls.truncated, {"this", "unit"}),
    "DateDiff": (calls.difference, {"this", "expression", "unit", "date_part_boundary"}),
    "DateAdd": (calls.shifted, _TWO),
    "TimeToStr": (calls.call("strftime", "format"), {"this", "format"}),
    "TimeToUnix": (calls.call("epoch"), _ONE),
    "Monthname": (calls.call("monthname"), _ONE),
    "Dayname": (calls.call("dayname"), _ONE),
    "DayOfWeek": (calls.call("dow"), _ONE),
    "DayOfWeekIso": (calls.call("isodow"), _ONE),
    "DayOfYear": (calls.call("doy"), _ONE),
    "Week": (calls.call("week"), _ONE),
    "WeekOfYear": (calls.call("week"), _ONE),
    "Second": (calls.call("second"), _ONE),
    "Year": (calls.call("year"), _ONE),
    "Quarter": (calls.call("quarter"), _ONE),
    "Month": (calls.call("month"), _ONE),
    "Day": (calls.call("day"), _ONE),
    "DayOfMonth": (calls.call("day"), _ONE),
    "Hour": (calls.call("hour"), _ONE),
    "Minute": (calls.call("minute"), _ONE),
}
