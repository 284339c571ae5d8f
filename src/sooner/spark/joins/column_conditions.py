"""`on=left.k == right.k`, as PySpark has it: the names of the columns that must be equal.

Spark itself says which column is of which side: in a classic session the plan that it has made of such a join, under
Connect the numbers of the plans from which a program took the columns.

Not covered: conditions that are no equalities of columns, and columns that are computed; both are refused by name.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from pyspark.sql import Column, DataFrame

from sooner.arguments import Columns
from sooner.errors import InvalidJoin
from sooner.operators.two_way.plan import INPUTS
from sooner.sides import LEFT, RIGHT
from sooner.spark.joins.checking import session_of
from sooner.spark.session.connect import is_connect, relation_of

On = Columns | Column | Sequence[Column]
EQUAL: Final = ("=", "==")
Place = tuple[int, str]  # a side, and the name of a column there


def in_names(
    left: DataFrame, right: DataFrame, on: On | None, left_on: Columns | None, right_on: Columns | None
) -> tuple[Columns | None, Columns | None, Columns | None]:
    """The same three by names: a condition is the names of both sides. All else is checked elsewhere."""
    conditions = [on] if isinstance(on, Column) else on
    if not isinstance(conditions, list | tuple) or not any(isinstance(one, Column) for one in conditions):
        return on, left_on, right_on  # type: ignore[return-value]
    if left_on is not None or right_on is not None:
        raise InvalidJoin("on= and left_on=/right_on= were both given; give one of the two.")
    if not all(isinstance(one, Column) for one in conditions):
        raise InvalidJoin(f"on={on!r} has names and conditions; give names, or conditions such as left.a == right.b.")
    session_of(INPUTS, (left, right))
    find = _pairs_of_connect if is_connect(left) else _pairs_of_java
    pairs = [pair for one in conditions for pair in find(left, right, one)]
    return None, [name for name, _ in pairs], [name for _, name in pairs]


def _pairs_of_java(left: DataFrame, right: DataFrame, condition: Column) -> Iterator[tuple[str, str]]:
    plan: Any = left.join(right, condition)._jdf.queryExecution().analyzed()  # PySpark itself does not know the plan
    places: dict[int, Place] = {}
    for side, child, frame in ((LEFT, plan.left(), left), (RIGHT, plan.right(), right)):
        output = child.output()
        ids = (int(output.apply(at).exprId().id()) for at in range(output.size()))
        places |= {number: (side, name) for number, name in zip(ids, frame.columns, strict=True)}
    for part in _conjuncts(plan.condition().get()):
        if part.getClass().getSimpleName() != "EqualTo":
            raise _refusal(condition, str(part.sql()))
        sides = (_without_widening(left, side) for side in (part.left(), part.right()))
        found = [places.get(int(side.exprId().id())) if _is(side, "AttributeReference") else None for side in sides]
        yield _pair(found, condition, str(part.sql()))


def _conjuncts(expression: Any) -> Iterator[Any]:
    if _is(expression, "And"):
        yield from _conjuncts(expression.left())
        yield from _conjuncts(expression.right())
    else:
        yield expression


def _without_widening(rows: DataFrame, expression: Any) -> Any:
    """Spark casts the narrower of two types, which changes no value; the join compares both as they are."""
    if not _is(expression, "Cast"):
        return expression
    java: Any = rows.sparkSession._jvm
    cast = getattr(java, "org.apache.spark.sql.catalyst.expressions.Cast")  # at once, not package by package
    child = expression.child()
    to_text = expression.dataType().simpleString() == "string"
    return child if cast.canUpCast(child.dataType(), expression.dataType()) and not to_text else expression


def _is(expression: Any, kind: str) -> bool:
    return bool(expression.getClass().getSimpleName() == kind)


def _pairs_of_connect(left: DataFrame, right: DataFrame, condition: Column) -> Iterator[tuple[str, str]]:
    client: Any = left.sparkSession.client
    plans = [_plans_in(relation_of(frame)) for frame in (left, right)]
    frames = (left, right)

    def place(expression: Any) -> Place | None:
        if expression.WhichOneof("expr_type") != "unresolved_attribute":
            return None
        column = expression.unresolved_attribute
        name = str(column.unparsed_identifier).strip("`").replace("``", "`")
        known = column.HasField("plan_id")
        at = [
            side
            for side, frame in enumerate(frames)
            if name in frame.columns and (not known or column.plan_id in plans[side])
        ]
        return (at[0], name) if len(at) == 1 else None

    def equalities(expression: Any) -> Iterator[Any]:
        function = expression.unresolved_function
        if function.function_name == "and":
            for part in function.arguments:
                yield from equalities(part)
        else:
            yield function

    for function in equalities(condition.to_plan(client)):  # type: ignore[operator] # of Connect
        if function.function_name not in EQUAL:
            raise _refusal(condition, function.function_name or "no comparison")
        yield _pair([place(part) for part in function.arguments], condition, str(condition))


def _plans_in(message: Any) -> set[int]:
    """The numbers of a plan and of those that it is made from."""
    found: set[int] = set()
    for field, value in message.ListFields():
        if field.message_type is None or field.message_type.GetOptions().map_entry:
            continue
        if field.message_type.name == "RelationCommon":
            found |= {int(value.plan_id)} if value.HasField("plan_id") else set()
            continue
        for one in [value] if hasattr(value, "ListFields") else value:
            found |= _plans_in(one)
    return found


def _pair(found: Sequence[Place | None], condition: Column, part: str) -> tuple[str, str]:
    """Which name is the left's, and which the right's."""
    sides = {place[0]: place[1] for place in found if place is not None}
    if len(sides) != len(INPUTS):
        raise _refusal(condition, part)
    return sides[LEFT], sides[RIGHT]


def _refusal(condition: Column, part: str) -> InvalidJoin:
    return InvalidJoin(
        f"on={condition} has {part}, which is no column of the left that equals one of the right; compare columns as "
        "in left.a == right.b, with & between several, compute others before the join, and for values that may be "
        "apart give within=."
    )
