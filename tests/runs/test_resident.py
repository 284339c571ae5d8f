"""Resident runs: few of them, and their bytes counted exactly."""

import weakref

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from run_building import content, contents, run_of
from sooner.budget import Budget
from sooner.runs.resident import FANOUT, ResidentRuns
from sooner.runs.run import Run

MUCH = 2**40


def text_run(codes: list[int], texts: list[str | None]) -> Run:
    return run_of(codes, pa.record_batch([pa.array(texts, pa.string())], ["text"]))


texts = st.lists(st.one_of(st.none(), st.text(max_size=3)), min_size=1, max_size=20)


@given(pieces=st.lists(texts, max_size=20), limit_bytes=st.integers(0, 6000))
@settings(max_examples=100)
def test_bytes_and_rows_are_counted_exactly_within_any_budget(pieces: list[list[str | None]], limit_bytes: int) -> None:
    """Merging strings with and without nulls makes runs heavier or lighter; the account is asked before."""
    account, resident, added = Budget(limit_bytes).account("runs"), ResidentRuns(), []
    for piece in pieces:
        run = text_run(list(range(len(piece))), piece)
        if not account.try_reserve(run.n_bytes):
            continue
        added.append(run)
        resident.add(run)
        resident.merge_tiers(account.try_reserve, MUCH)
        assert resident.n_bytes == sum(run.n_bytes for run in resident) == account.used_bytes
        assert resident.n_rows == sum(len(run) for run in resident) == sum(map(len, added))
        assert sorted(contents(resident)) == sorted(contents(added))
    assert account.peak_bytes <= limit_bytes


def test_of_runs_with_few_rows_there_is_one() -> None:
    resident, added = ResidentRuns(), []
    for code in range(100):
        added.append(run_of([code] * 3))
        resident.add(added[-1])
        resident.merge_tiers(lambda _: True, MUCH, few_rows=20)
        assert sum(len(run) < 20 for run in resident) <= 1
        assert len(resident) <= 1 + 2 * (FANOUT - 1)
    assert sorted(contents(resident)) == sorted(contents(added))


@pytest.mark.parametrize("rows_at_once", [1, 3, 64])
def test_the_number_of_runs_grows_with_the_logarithm_of_the_rows(rows_at_once: int) -> None:
    resident = ResidentRuns()
    for added in range(1, 1000):
        resident.add(run_of([added] * rows_at_once))
        resident.merge_tiers(lambda _: True, MUCH)
        tiers = 1 + (added.bit_length() + 1) // (FANOUT.bit_length() - 1)
        assert len(resident) <= tiers * (FANOUT - 1)


def test_a_merge_that_the_account_refuses_is_not_done() -> None:
    resident, asked = ResidentRuns(), []

    def refuse(n_bytes: int) -> bool:
        asked.append(n_bytes)
        return False

    for _ in range(FANOUT):
        resident.add(run_of([1]))
        resident.merge_tiers(refuse, MUCH)
    assert asked
    assert len(resident) == FANOUT
    assert resident.n_rows == FANOUT


def test_runs_too_large_for_the_scratch_memory_are_not_merged() -> None:
    resident, run = ResidentRuns(), run_of(range(100))
    for _ in range(2 * FANOUT):
        resident.add(run_of(range(100)))
        resident.merge_tiers(lambda _: True, merge_up_to_bytes=FANOUT * run.n_bytes - 1)
    assert len(resident) == 2 * FANOUT


def test_reduce_holds_what_is_kept_of_each_run() -> None:
    resident, first, second = ResidentRuns(), run_of([1, 2, 3]), run_of([7])
    for run in (first, second):
        resident.add(run)
        resident.merge_tiers(lambda _: True, MUCH)
    resident.reduce(lambda run: run.between(2, 7))
    kept = first.slice(1, 3)
    assert [content(run) for run in resident] == [content(kept)]
    assert (resident.n_rows, resident.n_bytes) == (2, kept.n_bytes)
    resident.clear()
    assert (len(resident), resident.n_rows, resident.n_bytes) == (0, 0, 0)


def test_reduce_lets_go_of_each_run_before_it_looks_at_the_next() -> None:
    resident = ResidentRuns()
    for code in (1, 2):
        resident.add(run_of([code]))
        resident.merge_tiers(lambda _: True, MUCH)
    seen: list[weakref.ref[Run]] = []

    def kept_of(run: Run) -> Run:
        assert all(earlier() is None for earlier in seen)
        seen.append(weakref.ref(run))
        return run.slice(0, 0)

    resident.reduce(kept_of)
    assert len(seen) == 2
