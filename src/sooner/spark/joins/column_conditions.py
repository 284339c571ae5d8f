"""`on=left.k == right.k`, as PySpark has it: the names of the columns that must be equal.

Spark itself says which column is of which input: in a classic session the plan that it has made of such a join, under
Connect the numbers of the plans from which a program took the columns.

Not covered: conditions that are no equalities of columns, and columns that are computed; both are refused by name.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, Final

from pyspark.sql import Column, DataFrame

from sooner.arguments import ON, Columns
from sooner.asked.multijoins import Equality
from sooner.errors import InvalidJoin
from sooner.operators.two_way.plan import INPUTS
from sooner.spark.joins.checking import session_of
from sooner.spark.session.connect import is_connect, relation_of

On = Columns | Column | Sequence[Column]
OnOfMany = Equality | Column | Sequence[Equality | Column]
EQUAL: Final = ("=", "==")
Place = tuple[int, str]  # which input, and the name of a column there
Found = tuple[list[Place | None], str]  # the sides of a part, as far as they are columns; and how it is written


def in_names(
    left: DataFrame,
    right: object,
    on: On | None,
    left_on: Columns | None,
    right_on: Columns | None,
    inputs: tuple[str, str] = INPUTS,
    called: tuple[str, str, str] = ON,
) -> tuple[Columns | None, Columns | None, Columns | None]:
    """The same three by names: a condition is the names of both inputs. All else is checked elsewhere."""
    conditions = [on] if isinstance(on, Column) else on
    if not isinstance(conditions, list | tuple) or not _are_some(conditions):
        return on, left_on, right_on  # type: ignore[return-value]
    both, *each = called
    if left_on is not None or right_on is not None:
        raise InvalidJoin(f"{both}= and {'=/'.join(each)}= were both given; give one of the two.")
    if not all(isinstance(one, Column) for one in conditions):
        raise InvalidJoin(f"on={on!r} has names and conditions; give names, or conditions such as {_example(inputs)}.")
    pairs = [sorted(pair) for one in conditions for pair in _pairs(inputs, (left, right), one)]
    return None, [name for (_, name), _ in pairs], [name for _, (_, name) in pairs]


def in_equalities(inputs: Mapping[str, DataFrame], on: OnOfMany) -> Equality | Sequence[Equality]:
    """The same by names, `("a.k", "b.k")` for each equality of a condition. All else is checked elsewhere."""
    listed = [on] if isinstance(on, Column) else on
    are_several = isinstance(inputs, Mapping) and len(inputs) > 1
    if not are_several or not isinstance(listed, list | tuple) or not _are_some(listed):
        return on  # type: ignore[return-value]
    names, frames = list(inputs), list(inputs.values())
    found: list[Equality] = []
    for one in listed:
        if isinstance(one, Column):
            pairs = _pairs(names, frames, one)
            found += [(f"{names[a]}.{column}", f"{names[b]}.{other}") for (a, column), (b, other) in pairs]
        else:
            found.append(one)
    return found


def _are_some(conditions: Sequence[object]) -> bool:
    return any(isinstance(one, Column) for one in conditions)


def _pairs(inputs: Sequence[str], frames: Sequence[Any], condition: Column) -> Iterator[tuple[Place, Place]]:
    """The columns of different inputs that a condition compares."""
    for name, frame in zip(inputs, frames, strict=True):
        if not isinstance(frame, DataFrame):
            raise InvalidJoin(
                f"on={condition} compares columns, and the {name} is a {type(frame).__name__}, which has none of "
                "PySpark's; give their names."
            )
    session_of(inputs, frames)
    find = _pairs_of_connect if is_connect(frames[0]) else _pairs_of_java
    for found, part in find(frames, condition):
        one, other = found
        if one is None or other is None or one[0] == other[0]:
            raise _refusal(condition, part, inputs)
        yield one, other


def _pairs_of_java(frames: Sequence[DataFrame], condition: Column) -> Iterator[Found]:
    *others, last = frames
    joined = reduce(DataFrame.crossJoin, others).join(last, condition)
    plan: Any = joined._jdf.queryExecution().analyzed()  # PySpark itself does not know the plan
    ids = [int(one.exprId().id()) for child in (plan.left(), plan.right()) for one in _each(child.output())]
    columns = [(which, name) for which, frame in enumerate(frames) for name in frame.columns]
    places = dict(zip(ids, columns, strict=True))
    for part in _conjuncts(plan.condition().get()):
        if not _is(part, "EqualTo"):
            yield [None, None], str(part.sql())
            continue
        sides = [_without_widening(last, side) for side in (part.left(), part.right())]
        found = [places.get(int(side.exprId().id())) if _is(side, "AttributeReference") else None for side in sides]
        yield found, str(part.sql())


def _each(sequence: Any) -> Iterator[Any]:
    """Of Scala's."""
    return (sequence.apply(at) for at in range(sequence.size()))


def _conjuncts(expression: Any) -> Iterator[Any]:
    if _is(expression, "And"):
        yield from _conjuncts(expression.left())
        yield from _conjuncts(expression.right())
    else:
        yield expression


def _without_widening(rows: DataFrame, expression: Any) -> Any:
    """Spark casts the narrower of two types, which changes no value; the join compares both as they are.

    Java tells such casts from others: else columns of two types could not be compared. Plans of Connect have none.
    """
    if not _is(expression, "Cast"):
        return expression
    java: Any = rows.sparkSession._jvm
    cast = getattr(java, "org.apache.spark.sql.catalyst.expressions.Cast")  # at once, not package by package
    child = expression.child()
    to_text = expression.dataType().simpleString() == "string"
    return child if cast.canUpCast(child.dataType(), expression.dataType()) and not to_text else expression


def _is(expression: Any, kind: str) -> bool:
    return bool(expression.getClass().getSimpleName() == kind)


def _pairs_of_connect(frames: Sequence[DataFrame], condition: Column) -> Iterator[Found]:
    client: Any = frames[0].sparkSession.client
    plans = [_plans_in(relation_of(frame)) for frame in frames]

    def place(expression: Any) -> Place | None:
        if expression.WhichOneof("expr_type") != "unresolved_attribute":
            return None
        column = expression.unresolved_attribute
        name = str(column.unparsed_identifier).strip("`").replace("``", "`")
        known = column.HasField("plan_id")
        at = [
            which
            for which, frame in enumerate(frames)
            if name in frame.columns and (not known or column.plan_id in plans[which])
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
        if function.function_name in EQUAL:
            yield [place(part) for part in function.arguments], str(condition)
        else:
            yield [None, None], function.function_name or "no comparison"


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


def _example(inputs: Sequence[str]) -> str:
    return f"{inputs[0]}.a == {inputs[1]}.b"


def _refusal(condition: Column, part: str, inputs: Sequence[str]) -> InvalidJoin:
    one, other = (f"the {name}" for name in inputs) if len(inputs) == len(INPUTS) else ("one input", "another")
    return InvalidJoin(
        f"on={condition} has {part}, which is no column of {one} that equals one of {other}; compare columns as in "
        f"{_example(inputs)}, with & between several, and compute others before the join. For values that may be apart "
        "the joins have within=."
    )
