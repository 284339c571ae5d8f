"""In which order the rows of an answer are, where it has no groups."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sooner.errors import InvalidJoin
from sooner.expressions.constants import FALSE
from sooner.expressions.tree import Column, Node
from sooner.kernels.arrays import to_arrow
from sooner.queries.answers import place_in_select
from sooner.queries.rows import Outputs
from sooner.queries.statement import Ending


class Sorting(NamedTuple):
    """By a column of these rows, at its place."""

    at: int
    descending: bool
    nulls_first: bool

    def places(self, table: pa.Table) -> pa.Array:
        """Where the rows are, in this order."""
        return places_in_order(table.column(self.at), descending=self.descending, nulls_first=self.nulls_first)


def places_in_order(column: pa.Array | pa.ChunkedArray, *, descending: bool, nulls_first: bool) -> pa.Array:
    """Where values are that are sorted. NaN is larger than all numbers; equal ones stay as they are."""
    import pyarrow.compute as pc

    if pa.types.is_interval(column.type):  # which is a constant
        return to_arrow(np.arange(len(column)))
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    found = pc.array_sort_indices(column, order="descending" if descending else "ascending")
    flags = [pc.is_nan(column)] if pa.types.is_floating(column.type) else []
    ways = [descending, nulls_first]
    for flag, true_first in zip([*flags, column.is_null()], ways[-len(flags) - 1 :], strict=True):
        in_turn = pc.fill_null(flag, FALSE).take(found)
        found = found.take(pc.array_sort_indices(in_turn, order="descending" if true_first else "ascending"))
    return found


def sortings_of(ending: Ending, outputs: Outputs) -> tuple[tuple[Sorting, ...], Outputs]:
    """By which columns of these rows they are sorted, and what they must have beside what is shown for that."""
    names = [name for name, _ in outputs]
    found: list[Sorting] = []
    hidden: list[tuple[str, Node]] = []
    for one in ending.order:
        if isinstance(one.of, int):
            at = place_in_select(one.of, len(outputs))
        elif isinstance(one.of.node, Column) and one.of.node.table is None and one.of.node.name in names:
            at = names.index(one.of.node.name)  # as in SQL, names of the select list come first
        else:
            same = [at for at, (_, node) in enumerate(outputs) if node == one.of.node]
            if not same and ending.distinct:
                raise InvalidJoin(f"ORDER BY has {one.of.text}, which SELECT DISTINCT does not show; add it to SELECT.")
            at = same[0] if same else len(outputs) + len(hidden)
            hidden += [] if same else [(f"#order {len(hidden)}", one.of.node)]
        found.append(Sorting(at, one.descending, one.nulls_first))
    return tuple(found), [*outputs, *hidden]


def sortings_by_name(ending: Ending, names: Sequence[str]) -> tuple[Sorting, ...]:
    """The same of rows of which nothing but these columns is known, as those of a union."""
    found, more = sortings_of(replace(ending, distinct=False), [(name, Column(name)) for name in names])
    if len(more) > len(names):
        text = next(one.of.text for one in ending.order if not isinstance(one.of, int) and one.of.name not in names)
        raise InvalidJoin(f"ORDER BY of a UNION has {text}; sort by names or numbers of its columns.")
    return found
