"""Where the rows of both sides of a join meet: by their keys, and by bins of values that may be apart."""

from collections.abc import Sequence
from datetime import timedelta

import pyarrow as pa

from sooner.errors import InvalidJoin
from sooner.kernels.ranges import RangePlan
from sooner.operators.two_way.plan import INPUTS, TwoWayPlan
from sooner.sides import LEFT, RIGHT, SIDES
from sooner.spark.shuffle.grid import Grid, grids_of
from sooner.spark.shuffle.placing import Placement, placed_type


def placements(operator: TwoWayPlan, schemas: Sequence[pa.Schema], partitions: int) -> list[Placement]:
    """The placements of the left and of the right."""
    keys, near = operator.keys(schemas), operator.range(schemas)
    grids: Sequence[Grid | None] = (None, None)
    if near is not None:
        _require_an_end_or_keys(operator, near)
        grids = grids_of(near, placed_type(near.type), operator.copied)
    names = (keys.left, keys.right)
    unmatched = operator.kind.unmatched
    return [Placement(names[side], keys.types, partitions, grids[side], side in unmatched) for side in SIDES]


def _require_an_end_or_keys(operator: TwoWayPlan, near: RangePlan) -> None:
    if near.is_open and not operator.left_on:
        assert operator.near is not None
        raise InvalidJoin(
            f"within={operator.near.within!r} has no {'low' if near.low is None else 'high'} end, so a row could match "
            "rows in every partition; give both ends, or columns that must be equal as by=."
        )


def places_in_words(operator: TwoWayPlan, placed: Sequence[Placement]) -> list[str]:
    """What there is to explain of a range."""
    grid = placed[LEFT].grid
    if grid is None:
        return []
    if grid.width is not None:
        copied = INPUTS[LEFT if operator.copied == LEFT else RIGHT]
        return [f"range: bins of {_width(grid)}; a row of the {copied} goes to the partitions of up to 2 of them"]
    is_full = operator.copied is None
    why = "rows of a full join are in one partition only" if is_full else "all values are in one bin"
    if operator.left_on:
        return [f"range: rows are placed by their keys alone, since {why}"]
    cure = "by=, or how='inner' or 'left'," if is_full else "by="
    return [f"range: all rows go to one partition, since {why}; give {cure} to spread them"]


def _width(grid: Grid) -> str:
    if pa.types.is_integer(grid.type) or pa.types.is_floating(grid.type):
        return f"{grid.width:,}"
    assert grid.width is not None
    if grid.width > timedelta.max / timedelta(microseconds=1):
        return "all times"
    return str(timedelta(days=grid.width) if pa.types.is_date(grid.type) else timedelta(microseconds=grid.width))
