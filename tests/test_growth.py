"""How the work for new rows grows with what is there already. Counted, not timed."""

from pathlib import Path

import pytest

from joins import arrive, new_join, react, rows
from run_building import run_of
from sooner.kernels.matching import EQUAL
from sooner.operators.pairs import pairs_of
from sooner.policies.view import SILENT
from sooner.runs.resident import FANOUT, ResidentRuns

MORE_TIERS = 2  # ten times the rows is less than FANOUT ** 2 = 16 times: at most two tiers more


def most_runs(n_batches: int, rows_at_once: int = 10) -> int:
    """The most runs that a probe ever sees while so many batches come in."""
    resident, most = ResidentRuns(), 0
    for batch in range(n_batches):
        resident.add(run_of([batch] * rows_at_once))
        resident.merge_tiers(lambda _: True, merge_up_to_bytes=2**40)
        most = max(most, len(resident))
    return most


@pytest.mark.parametrize("n_batches", [10, 30, 100])
def test_ten_times_the_rows_add_a_few_runs_to_probe(n_batches: int) -> None:
    assert most_runs(10 * n_batches) <= most_runs(n_batches) + MORE_TIERS * (FANOUT - 1)


def test_each_row_is_merged_a_logarithmic_number_of_times() -> None:
    resident, moved, n_batches = ResidentRuns(), 0, 1000
    for batch in range(n_batches):
        known = [*resident, run_of([batch])]
        resident.add(known[-1])
        resident.merge_tiers(lambda _: True, merge_up_to_bytes=2**40)
        moved += sum(len(run) for run in resident if not any(run is other for other in known))
    assert n_batches < moved <= 5 * n_batches  # log4(1000) is 5


def test_a_probe_looks_at_the_matches_and_not_at_all_pairs() -> None:
    small, large = run_of([500]), run_of(range(100_000))
    [pairs] = list(pairs_of(small, large, EQUAL))
    assert len(pairs) == 1


def test_the_ledger_of_a_long_stream_does_not_grow_with_the_merges_behind_it(tmp_path: Path) -> None:
    """Runs that were merged are forgotten, so that a day of flushes does not leave a day of cells."""
    sizes = []
    for n_flushes in (10, 60):
        join = new_join(tmp_path, "hmj_all", budget_rows=20)
        for _ in range(n_flushes):
            arrive(join, rows(list(range(8))), rows(list(range(8))))
            while join.has_work(SILENT):
                react(join)
        sizes.append(sum(len(cells) for cells in join.snapshot()["cells"]))
    assert sizes[1] <= sizes[0] + 2
