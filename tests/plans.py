"""Plans of joins as subjects of the conformance suite: shapes, kinds, and joins in Python as the oracle."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from sooner.how import kind_of
from sooner.operators.multiway.graph import ColumnOf
from sooner.operators.plans.algorithms import plan_algorithm
from sooner.operators.plans.plan import Apart, JoinsPlan, JoinWith
from sooner.testing.dice import Dice
from sooner.testing.subject import Row, Subject

SPREAD = 3  # times as many keys as for two inputs, or a hot one would meet itself in too many ways


@dataclass(frozen=True)
class Step:
    """Another input joins: its column `key` and that of an earlier input, which is so far below at most."""

    to: int
    key: str
    how: str = "inner"
    apart: int | None = None


# Which columns each input has, and what joins what.
SHAPES: dict[str, tuple[tuple[str, ...], tuple[Step, ...]]] = {
    "chain of three": (("a", "ab", "b"), (Step(0, "a"), Step(1, "b"))),
    "star of four": (("abc", "a", "b", "c"), (Step(0, "a"), Step(0, "b"), Step(0, "c"))),
    "one attribute of three": (("a", "a", "a"), (Step(0, "a"), Step(1, "a"))),
    "snowflake of six": (
        ("ab", "ac", "bd", "c", "d", "d"),
        (Step(0, "a"), Step(0, "b"), Step(1, "c"), Step(2, "d"), Step(4, "d")),
    ),
    "left, then semi": (("ab", "a", "b"), (Step(0, "a", "left"), Step(0, "b", "semi"))),
    "anti, then left": (("ab", "a", "b"), (Step(0, "a", "anti"), Step(0, "b", "left"))),
    "left by what may be missing": (("a", "ab", "b"), (Step(0, "a", "left"), Step(1, "b", "left"))),
    "full, then inner": (("ab", "a", "b"), (Step(0, "a", "full"), Step(0, "b"))),
    "right, then full": (("ab", "a", "b"), (Step(0, "a", "right"), Step(0, "b", "full"))),
    "a range in the middle": (("a", "ab", "b", "b"), (Step(0, "a", apart=1), Step(1, "b"), Step(2, "b", "left"))),
}


def plan_subject(shape: str, algorithm: str, **changes: object) -> Subject:
    """`changes` are of the algorithm."""
    columns, steps = SHAPES[shape]
    names = tuple(f"i{which}" for which in range(len(columns)))
    joins = []
    for which, step in enumerate(steps, start=1):
        earlier = ColumnOf(names[step.to], step.key)
        if step.apart is None:
            joins.append(JoinWith(names[which], ((earlier, step.key),), kind_of(step.how)))
        else:
            joins.append(JoinWith(names[which], (), kind_of(step.how), Apart(earlier, step.key, (0, step.apart))))
    schemas = tuple(
        pa.schema([*((key, pa.int64()) for key in has), (f"row_{which}", pa.int64())])
        for which, has in enumerate(columns)
    )

    def draw_rows(dice: Dice, which: int, n_rows: int, first_number: int) -> pa.RecordBatch:
        def keys() -> pa.Array:
            drawn = ((key, dice.randrange(SPREAD)) for key in dice.keys(n_rows))
            return pa.array([None if key is None else key * SPREAD + more for key, more in drawn], pa.int64())

        numbers = pa.array(range(first_number, first_number + n_rows), pa.int64())
        return pa.record_batch([*(keys() for _ in columns[which]), numbers], schema=schemas[which])

    plan = JoinsPlan(names, tuple(joins), replace(plan_algorithm(algorithm), **changes))  # type: ignore[arg-type]
    return Subject(
        name=f"a plan of joins by {algorithm}: {shape}",
        plan=plan,
        schemas=schemas,
        draw_rows=draw_rows,
        answer=lambda tables: answer(columns, steps, tables),
        certain=lambda tables, ended: certain(columns, steps, tables, ended),
        least_rows_in_memory=40,
    )


def answer(columns: Sequence[str], steps: Sequence[Step], tables: Sequence[pa.Table]) -> Counter[Row]:
    """One input after the other, as dictionaries of their columns; what is missing has none."""
    found = [{0: row} for row in tables[0].to_pylist()]
    for which, step in enumerate(steps, start=1):
        found = _joined(found, which, step, tables[which].to_pylist())
    return Counter(_as_result(columns, steps, row) for row in found)


def _joined(found: list[dict[int, dict]], which: int, step: Step, rows: list[dict]) -> list[dict[int, dict]]:  # type: ignore[type-arg]
    results = []
    by_key: dict[int, list[dict]] = {}  # type: ignore[type-arg]
    for row in rows:
        for less in range((step.apart or 0) + 1):
            if row[step.key] is not None:
                by_key.setdefault(row[step.key] - less, []).append(row)
    matched = set()
    for left in found:
        key = left[step.to][step.key] if step.to in left else None
        matches = by_key.get(key, []) if key is not None else []
        matched |= {id(row) for row in matches}
        match step.how:
            case "semi":
                results += [left] if matches else []
            case "anti":
                results += [] if matches else [left]
            case _:
                results += [left | {which: row} for row in matches]
                if not matches and step.how in ("left", "full"):
                    results.append(left)
    if step.how in ("right", "full"):
        results += [{which: row} for row in rows if id(row) not in matched]
    return results


def _as_result(columns: Sequence[str], steps: Sequence[Step], row: dict[int, dict]) -> Row:  # type: ignore[type-arg]
    """Values in the order of the columns that come out: a key by one name once, from the inputs that are there."""
    values: list[object] = []
    first: dict[tuple[int, str], list[int]] = {}  # a column that comes out, and the inputs of which it may be
    home: dict[tuple[int, str], tuple[int, str]] = {(0, key): (0, key) for key in columns[0]}
    for key in columns[0]:
        first[0, key] = [0]
    for which, step in enumerate(steps, start=1):
        for key in columns[which]:
            if key == step.key and step.apart is None and step.how not in ("semi", "anti"):
                at = home[which, key] = home[step.to, key]
                first[at] = {"right": [which], "full": [*first[at], which]}.get(step.how, first[at])
            else:
                home[which, key] = (which, key)
                first[which, key] = [which]
    given = [0, *(which for which, step in enumerate(steps, start=1) if step.how not in ("semi", "anti"))]
    for which in given:
        for key in columns[which]:
            if (which, key) in first:
                there = (row[one][key] for one in first[which, key] if one in row)
                values.append(next((value for value in there if value is not None), None))
        values.append(row[which][f"row_{which}"] if which in row else None)
    return tuple(values)


def certain(
    columns: Sequence[str], steps: Sequence[Step], tables: Sequence[pa.Table], ended: Sequence[bool]
) -> Counter[Row]:
    """Rows without a match come once nothing more can match them: when what they look for has ended."""
    found = [{0: row} for row in tables[0].to_pylist()]
    is_over = ended[0]
    for which, step in enumerate(steps, start=1):
        rows = tables[which].to_pylist()
        everything = _joined(found, which, step, rows)
        if not ended[which] and step.how in ("left", "full", "anti"):
            matching = _joined(found, which, replace(step, how="semi"), rows)
            alone = [id(left) for left in found if not any(left is one for one in matching)]
            everything = [row for row in everything if not any(row is left and id(left) in alone for left in found)]
        if not is_over and step.how in ("right", "full"):
            everything = [row for row in everything if list(row) != [which]]
        found, is_over = everything, is_over and ended[which]
    return Counter(_as_result(columns, steps, row) for row in found)
