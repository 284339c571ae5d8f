"""The two-way join by ranges as a subject: values that may be apart, perhaps in groups that must be equal."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from sooner.how import kind_of
from sooner.kernels.ranges import Near
from sooner.named_algorithms import Algorithm
from sooner.operators.two_way.plan import TwoWayPlan
from sooner.sides import LEFT, RIGHT
from sooner.testing.dice import Dice
from sooner.testing.invariants import check_invariants
from sooner.testing.subject import Row, Subject

SCHEMA: Final = pa.schema([("group", pa.int64()), ("value", pa.int64()), ("row", pa.int64())])
LAST: Final = 2**63 - 1  # of all integers that there are
Ends = tuple[int | None, int | None]


def near_subject(
    algorithm: Algorithm,
    within: Ends,
    *,
    how: str = "inner",
    groups: int = 0,
    at_the_end: bool = False,
    spills: bool = True,
) -> Subject:
    """Values with low <= right - left <= high, in so many groups; without any, wherever they are.

    `at_the_end` has the highest of them at the end of their type.
    """

    def draw_rows(dice: Dice, which: int, n_rows: int, first_number: int) -> pa.RecordBatch:  # noqa: ARG001
        moved = LAST - dice.domain if at_the_end else 0
        values = [None if key is None else key + moved for key in dice.keys(n_rows)]
        members = [dice.randrange(max(groups, 1)) for _ in values]
        numbers = range(first_number, first_number + n_rows)
        return pa.record_batch([pa.array(column, pa.int64()) for column in (members, values, numbers)], schema=SCHEMA)

    keys, near = ("group",) if groups else (), Near("value", "value", within)
    return Subject(
        name=f"the algorithm {algorithm.name!r} with how={how!r}, within={within}, {groups} groups"
        + (", at the end of all values" if at_the_end else ""),
        plan=TwoWayPlan(keys, keys, ("_left", "_right"), algorithm, kind_of(how), near),
        schemas=(SCHEMA, SCHEMA),
        draw_rows=draw_rows,
        answer=lambda tables: joined(tables, within, how, bool(groups)),
        certain=lambda tables, ended: joined(tables, within, how, bool(groups), ended),
        spills=spills,
        invariants=check_invariants,
    )


def joined(
    tables: Sequence[pa.Table], within: Ends, how: str, by_group: bool, ended: Sequence[bool] = (True, True)
) -> Counter[Row]:
    """As the columns of results are: pairs, and rows that match nothing once that is certain."""
    lefts, rights = (list(zip(*(table[name].to_pylist() for name in SCHEMA.names), strict=True)) for table in tables)
    low, high = within
    sorted_rights: dict[object, list[tuple[int, Row]]] = {}
    for row in rights:
        if row[1] is not None:
            sorted_rights.setdefault(row[0] if by_group else None, []).append((row[1], row))
    for some in sorted_rights.values():
        some.sort()
    pairs: list[tuple[Row, Row]] = []
    for row in lefts:
        if row[1] is None:
            continue
        some = sorted_rights.get(row[0] if by_group else None, [])
        first = 0 if low is None else bisect_left(some, row[1] + low, key=lambda one: one[0])
        last = len(some) if high is None else bisect_right(some, row[1] + high, key=lambda one: one[0])
        pairs += [(row, other) for _, other in some[first:last]]
    matched, matching = {left for left, _ in pairs}, {right for _, right in pairs}
    alone = [row for row in lefts if row not in matched and (row[1] is None or ended[RIGHT])]
    others = [row for row in rights if row not in matching and (row[1] is None or ended[LEFT])]
    if how in ("semi", "anti"):
        return Counter(matched if how == "semi" else alone)
    found = [_together(left, right, by_group) for left, right in pairs]
    found += [_together(left, None, by_group) for left in alone] if how in ("left", "full") else []
    found += [_together(None, right, by_group) for right in others] if how in ("right", "full") else []
    return Counter(found)


def _together(left: Row | None, right: Row | None, by_group: bool) -> Row:
    """A group that both have comes once."""
    one, other = left or (None,) * len(SCHEMA), right or (None,) * len(SCHEMA)
    return (one[0] if left else other[0], *one[1:], *other[1:]) if by_group else (*one, *other)
