"""An estimate of all groups and aggregates, read off at one moment; and what a user may say of its certainty."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sooner.errors import InvalidJoin
from sooner.estimation.estimate import Estimate
from sooner.estimation.formulas import Formula, exactly
from sooner.estimation.grouped_values import GroupedValues
from sooner.estimation.groups import Groups
from sooner.estimation.reckoning import Foremost, Reckoning, Value
from sooner.estimation.workings import Measure, Workings
from sooner.kernels.array_types import Positions
from sooner.kernels.arrays import to_arrow, to_numpy
from sooner.sides import LEFT

Sizes = Sequence[int | None]


def estimate_of(
    workings: Workings,
    groups: Sequence[Groups],
    reckoning: Reckoning | None,
    rows: Sequence[int],
    sizes: Sizes,
    seconds: float,
    *,
    exact: bool,
    gathered: Mapping[str, Sequence[Any]] = {},
    foremost: Foremost | None = None,
) -> Estimate:
    """All that can be read off now, if anything. `groups` are those of both sides, `rows` have come of so many.

    `gathered` is what no sums tell, of all groups of the left. Others than the `foremost` groups may be left out.
    """
    by: list[pa.Array] = [pa.nulls(0, one.type_of_values) for one in workings.by]
    columns: dict[str, Sequence[Value]] = {name: [] for name in (*(one.name for one in workings.results), *gathered)}
    if reckoning is not None and len(reckoning.places):
        reckoning = reckoning if foremost is None else reckoning.of_foremost(foremost)
        by = _by(workings, groups, reckoning.numbers)
        columns = {result.name: reckoning.values(result) for result in workings.results}
        lefts = reckoning.numbers[:, LEFT].tolist()
        columns |= {name: [_known(some[at], exact=exact) for at in lefts] for name, some in gathered.items()}
    elif not workings.by:
        columns = {one.name: [_of_nothing(workings, one, exact=exact)] for one in workings.results}
        columns |= {name: [_known(some[0], exact=exact)] for name, some in gathered.items()}
    values = _in_order(by, columns) if by else GroupedValues(by, columns)
    share = None if None in sizes else sum(rows) / max(sum(size or 0 for size in sizes), 1)
    return Estimate(tuple(columns), workings.by, values, sum(rows), 1.0 if exact else share, seconds, exact)


def _by(workings: Workings, groups: Sequence[Groups], places: Positions) -> list[pa.Array]:
    """What the groups at these places have in common, in the order in which columns were named."""
    columns = [iter(of_side.values.columns) for of_side in groups]
    found = []
    for one in workings.by:
        side = one.side or LEFT
        picked = next(columns[side]).take(to_arrow(places[:, side]))
        found.append(one.known(picked.combine_chunks()))
    return found


def _in_order(by: Sequence[pa.Array], columns: Mapping[str, Sequence[Value]]) -> GroupedValues:
    """Null comes last, and NaN after all numbers."""
    import pyarrow.compute as pc

    sorted_by = {str(at): one for at, one in enumerate(by) if not pa.types.is_interval(one.type)}  # which is a constant
    order = np.arange(len(by[0]))
    if sorted_by:
        order = to_numpy(pc.sort_indices(pa.table(sorted_by), [(name, "ascending") for name in sorted_by]))
    in_order = {name: [values[at] for at in order.tolist()] for name, values in columns.items()}
    return GroupedValues([one.take(to_arrow(order)) for one in by], in_order)


def sizes_by_now(known: Sizes, rows: Sequence[int], ended: Sequence[bool]) -> list[int | None]:
    """How many rows the inputs have, after so many of them: all, if they have ended."""
    return [
        count if is_all else None if size is None else max(size, count)
        for size, count, is_all in zip(known, rows, ended, strict=True)
    ]


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
