"""Views of a join that never ran, for tests of policies."""

from collections.abc import Iterable, Sequence
from typing import Any

import hypothesis.strategies as st
import numpy as np

from sooner.policies.view import SILENT, DeviceCosts, Evict, EvictUpTo, JoinView, RegionsView, Together
from sooner.sides import SIDES

ROW_BYTES = 28

Table = Sequence[Sequence[int]]


def view_of(resident_rows: Table, arrived_rows: Table | None = None, **others: Any) -> JoinView:
    """A join whose rows all weigh ROW_BYTES. What is not given is nothing."""
    resident = np.array(resident_rows, np.int64)
    shape = resident.shape
    fields: dict[str, Any] = {
        "tick": 1,
        "ended": (False, False),
        "around": SILENT,
        "arrived_rows": np.array(resident_rows if arrived_rows is None else arrived_rows, np.int64),
        "resident_rows": resident,
        "resident_bytes": resident * ROW_BYTES,
        "spilled_rows": np.zeros(shape, np.int64),
        "spilled_bytes": np.zeros(shape, np.int64),
        "spilled_runs": np.zeros(shape, np.int64),
        "recent_rows": np.ones(len(SIDES)),
        "unmet_with_disk": np.zeros(shape),
        "unmet_on_disk": np.zeros(shape[1]),
        "selectivity": np.ones(shape[1]),
        "last_merge": np.zeros(shape[1], np.int64),
        "whole_rows": np.zeros(shape[1], np.int64),
        "device": DeviceCosts(),
        "memory_bytes": 100 * ROW_BYTES,
        "expected_rows": None,
    }
    given = {name: np.array(value) if isinstance(value, list) else value for name, value in others.items()}
    return JoinView(**(fields | given))


def in_thirds(resident_rows: Table, joins: Sequence[Table]) -> RegionsView:
    """Of each partition a third of the rows is lower, and a third upper, or a little less."""
    resident = np.array(resident_rows, np.int64)
    third = resident // 3
    return RegionsView(np.stack((third, resident - 2 * third, third), axis=-1), np.array(joins, np.int64))


def random_views(partitions: int = 4, most_rows: int = 9) -> st.SearchStrategy[JoinView]:
    def table(most: int) -> st.SearchStrategy[list[list[int]]]:
        side = st.lists(st.integers(0, most), min_size=partitions, max_size=partitions)
        return st.lists(side, min_size=len(SIDES), max_size=len(SIDES))

    def build(resident: Table, gone: Table, recent: list[int], ended: tuple[bool, bool], tick: int) -> JoinView:
        arrived = (np.array(resident) + np.array(gone)).tolist()
        regions = in_thirds(resident, joins=(np.array(gone)[..., None] * [1, 3, 2] % 7).tolist())
        return view_of(resident, arrived, recent_rows=np.array(recent, float), ended=ended, tick=tick, regions=regions)

    return st.builds(
        build,
        table(most_rows),
        table(20),
        st.lists(st.integers(0, 50), min_size=2, max_size=2),
        st.tuples(st.booleans(), st.booleans()),
        st.integers(0, 1000),
    )


def rows_taken(view: JoinView, groups: Iterable[Together], needed_rows: int) -> np.ndarray[Any, Any]:
    """[side, partition]: how many rows leave when evictions are taken in order until enough has left."""
    taken = np.zeros(view.resident_rows.shape, np.int64)
    for group in groups:
        if taken.sum() >= needed_rows:
            break
        for eviction in group:
            rows = int(view.resident_rows[eviction.input, eviction.partition])
            if isinstance(eviction, EvictUpTo):
                rows = min(rows, -(-eviction.at_most_bytes // ROW_BYTES))
            taken[eviction.input, eviction.partition] += rows
    return taken


def unexplained(together: Together) -> list[Evict]:
    """The same evictions, without the reasons."""
    return [eviction._replace(why="") for eviction in together]
