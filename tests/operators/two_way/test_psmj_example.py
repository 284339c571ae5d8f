"""PSMJ by RPJ's figure 2: two sides of a partition, three concurrent flushes each, two runs merged at a time.

The figure is lost; ids and values are those that the text of section 2.2 names. The text speaks of "(1, 10)" in the end
where it found (1, 12) before: 12 is meant. Rows 8, 9, 16 and 17, of the third runs, are ours.
"""

from pathlib import Path

import pytest

from joins import arrive, end, new_join, react, rows
from schedules import RowPairs
from sooner.named_algorithms import Algorithm
from sooner.operators.events import Event, Flushed, Merged
from sooner.operators.two_way.join import TwoWayJoin
from sooner.policies.flush.all import All
from sooner.policies.react.merge import Merge
from sooner.policies.view import SILENT

VALUES = {1: 1, 2: 3, 5: 8, 6: 5, 8: 4, 9: 7}, {10: 3, 11: 5, 12: 1, 13: 4, 14: 9, 16: 3, 17: 7}
RUNS = [([1, 2], [10, 11]), ([5, 6], [12, 13, 14]), ([8, 9], [16, 17])]
NO_PARTNER = 1000


@pytest.fixture
def events() -> list[Event]:
    return []


@pytest.fixture
def join(tmp_path: Path, events: list[Event]) -> TwoWayJoin[RowPairs]:
    psmj = Algorithm("psmj", All(), Merge(fan_in=2))
    return new_join(tmp_path, psmj, budget_rows=5, flush_fraction=1.0, listener=events.append)


def flush_three_times(join: TwoWayJoin[RowPairs]) -> list[RowPairs]:
    """The three pairs of runs, one after the other; memory holds one pair."""
    found = [
        arrive(join, rows([VALUES[0][n] for n in left], left), rows([VALUES[1][n] for n in right], right))
        for left, right in RUNS
    ]
    return [*found, arrive(join, rows([NO_PARTNER] * 5), None)]


def test_rows_of_concurrent_runs_meet_in_memory(join: TwoWayJoin[RowPairs], events: list[Event]) -> None:
    assert flush_three_times(join) == [[(2, 10)], [], [(9, 17)], []]
    assert [(e.side, e.n_rows) for e in events if isinstance(e, Flushed)] == [
        (0, 2),
        (1, 2),
        (0, 2),
        (1, 3),
        (0, 2),
        (1, 2),
    ]


def test_the_first_merge_finds_what_two_runs_a_side_have_not_met(join: TwoWayJoin[RowPairs]) -> None:
    flush_three_times(join)
    assert join.has_work(SILENT)
    assert sorted(react(join)) == [(1, 12), (6, 11)], "and not (2, 10), which met in memory"


def test_two_passes_sort_three_runs_and_find_the_rest(join: TwoWayJoin[RowPairs], events: list[Event]) -> None:
    flush_three_times(join)
    merges = []
    while join.has_work(SILENT):
        merges.append(sorted(react(join)))
    assert merges[0] == [(1, 12), (6, 11)]
    assert sorted(pair for found in merges[1:] for pair in found) == [(2, 16), (8, 13)]
    assert sum(isinstance(event, Merged) and event.written_bytes > 0 for event in events) == 2
    assert join.view().spilled_runs.tolist() == [[1], [1]]
    assert end(join) == [], "nothing is left for the clean-up"


def test_a_merge_tells_what_it_read_and_not_what_else_there_is(join: TwoWayJoin[RowPairs], events: list[Event]) -> None:
    flush_three_times(join)
    first_two = [run for side in join.inputs for run in side.partitions[0].spilled[:2]]
    react(join)
    [merged] = [event for event in events if isinstance(event, Merged)]
    assert merged.n_runs == 4
    assert merged.n_bytes == sum(run.n_bytes for run in first_two)
