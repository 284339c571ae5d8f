"""Every algorithm, on random schedules: the same pairs as DuckDB, each once, within the budget, and again the same."""

from collections import Counter

import pytest
from hypothesis import given, settings

from schedules import Driver, Schedule, colliding, oracle, schedules
from sooner.algorithms import ALGORITHMS

SPILLING = [name for name in ALGORITHMS if name != "symmetric_hash"]
exactly = settings(max_examples=60, deadline=None, derandomize=True)


@pytest.mark.parametrize("name", SPILLING)
@given(schedule=schedules())
@exactly
def test_every_pair_comes_once_and_nothing_else(name: str, schedule: Schedule) -> None:
    driver = Driver(ALGORITHMS[name], schedule).run()
    expected = oracle(schedule)
    assert Counter(driver.results) == expected
    assert not driver.left_behind


@pytest.mark.parametrize("name", ["xjoin", "hmj", "rpj"])
@given(schedule=schedules())
@exactly
def test_keys_whose_codes_collide_do_not_match(name: str, schedule: Schedule) -> None:
    assert Counter(Driver(ALGORITHMS[name], schedule, recode=colliding).run().results) == oracle(schedule)


@pytest.mark.parametrize("name", SPILLING)
@given(schedule=schedules())
@settings(max_examples=10, deadline=None, derandomize=True)
def test_the_same_schedule_gives_the_same_trace(name: str, schedule: Schedule) -> None:
    first, second = (Driver(ALGORITHMS[name], schedule).run() for _ in range(2))
    assert first.events == second.events
    assert first.results == second.results
