"""An estimate of all groups and aggregates, read off at one moment; and what a user may say of its certainty."""

from collections.abc import Mapping, Sequence
from typing import Any

from sooner.errors import InvalidJoin
from sooner.estimation.estimate import NO_GROUP, Estimate
from sooner.estimation.formulas import Formula, exactly
from sooner.estimation.groups import Key
from sooner.estimation.reckoning import Reckoning, Value
from sooner.estimation.workings import Measure, Workings

Sizes = Sequence[int | None]


def estimate_of(
    workings: Workings,
    keys: tuple[Sequence[Key], Sequence[Key]],
    reckoning: Reckoning | None,
    rows: Sequence[int],
    sizes: Sizes,
    seconds: float,
    *,
    exact: bool,
    gathered: Mapping[str, Sequence[Any]] = {},
) -> Estimate:
    """All that can be read off now, if anything. `keys` are the groups of both sides, `rows` have come of so many.

    `gathered` is what no sums tell, of all groups of the left.
    """
    names = (*(result.name for result in workings.results), *gathered)
    values = {}
    if reckoning is not None:
        found = [reckoning.values(result) for result in workings.results]
        for (left, right), *of_group in zip(reckoning.groups, *found, strict=True):
            told = [_known(some[left], exact=exact) for some in gathered.values()]
            values[_key(workings, keys[0][left], keys[1][right])] = dict(zip(names, (*of_group, *told), strict=True))
    if not workings.by and not values:
        nothing = [_of_nothing(workings, one, exact=exact) for one in workings.results]
        told = [_known(some[0], exact=exact) for some in gathered.values()]
        values = {NO_GROUP: dict(zip(names, (*nothing, *told), strict=True))}
    ordered = dict(sorted(values.items(), key=lambda entry: list(map(_in_order, entry[0]))))
    share = None if None in sizes else sum(rows) / max(sum(size or 0 for size in sizes), 1)
    return Estimate(names, workings.by, ordered, sum(rows), 1.0 if exact else share, seconds, exact)


def _in_order(part: object) -> tuple[bool, str, bool, object]:
    """Null comes last, and NaN after all numbers."""
    return part is None, str(type(part)), part != part, part


def sizes_by_now(known: Sizes, rows: Sequence[int], ended: Sequence[bool]) -> list[int | None]:
    """How many rows the inputs have, after so many of them: all, if they have ended."""
    return [
        count if is_all else None if size is None else max(size, count)
        for size, count, is_all in zip(known, rows, ended, strict=True)
    ]


def _key(workings: Workings, left: Key, right: Key) -> Key:
    """The values of a group, in the order in which its columns were named."""
    sides = iter(left), iter(right)
    return tuple(column.value(next(sides[column.side or 0])) for column in workings.by)


def _of_nothing(workings: Workings, result: Measure | Formula, *, exact: bool) -> Value:
    """The value over no pairs, as in SQL: a count is 0, and everything else is null."""
    if isinstance(result, Formula):
        value = exactly(result.node, {one.name: 0 if one.function == "count" else None for one in workings.measures})
    else:
        value = 0 if result.function == "count" else None
    return _known(value, exact=exact)


def _known(value: Any, *, exact: bool) -> Value:
    return Value(value, value, value) if exact else Value(value, None, None)


def usable_sizes(given: object, known: Sizes) -> list[int | None]:
    """What the user says of them, or else what they know themselves."""
    if given is None:
        return list(known)
    if (
        not isinstance(given, list | tuple)
        or len(given) != len(known)
        or not all(one is None or (isinstance(one, int) and one >= 0) for one in given)
    ):
        raise InvalidJoin(
            f"total_rows={given!r} must be how many rows the left and the right have, such as (1000, 50)."
        )
    return [size if size is not None else mine for size, mine in zip(given, known, strict=True)]


def usable_confidence(confidence: object) -> float:
    if not isinstance(confidence, float) or not 0 < confidence < 1:
        raise InvalidJoin(f"confidence={confidence!r} must lie between 0 and 1, such as 0.95.")
    return confidence
