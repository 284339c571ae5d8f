"""Every algorithm, on random schedules: the same pairs as DuckDB, each once, within the budget, and again the same.

That every prefix of the results is part of the answer needs no test of its own: pairs are only ever added, and in the
end they are exactly DuckDB's.
"""

import functools
from collections import Counter

import pytest
from hypothesis import given, settings

from schedules import Driver, Schedule, colliding, dense_schedule, oracle, schedules, wide_schedule
from sooner.named_algorithms import ALGORITHMS, Algorithm
from sooner.operators.events import Entered, Event, Flushed, Merged, Scanned
from sooner.policies.flush.balanced import Balanced
from sooner.policies.flush.random import Random
from sooner.policies.flush.rate_optimal import RateOptimal
from sooner.policies.react.best_rate import BestRate
from sooner.policies.react.merge import Merge

# Short schedules have few runs: only with a small fan-in do they need several passes.
PATIENT = [
    Algorithm("hmj with a fan-in of 2", Balanced(), Merge(fan_in=2)),
    Algorithm("rpj with a fan-in of 2", RateOptimal(tolerance=0), BestRate(fan_in=2)),
    Algorithm("random with a fan-in of 3", Random(), Merge(fan_in=3)),
]
SPILLING = {a.name: a for a in (*ALGORITHMS.values(), *PATIENT) if a.name != "symmetric_hash"}
WIDE_SEEDS = range(4)
exactly = settings(max_examples=15, deadline=None, derandomize=True)


@functools.cache
def wide_run(name: str, seed: int) -> Driver:
    return Driver(SPILLING[name], wide_schedule(seed)).run()


@pytest.mark.parametrize("name", SPILLING)
@given(schedule=schedules())
@exactly
def test_every_pair_comes_once_and_nothing_else(name: str, schedule: Schedule) -> None:
    driver = Driver(SPILLING[name], schedule).run()
    assert Counter(driver.results) == oracle(schedule)
    assert not driver.left_behind


@pytest.mark.parametrize("seed", WIDE_SEEDS)
@pytest.mark.parametrize("name", SPILLING)
def test_every_pair_comes_once_also_from_larger_batches(name: str, seed: int) -> None:
    driver = wide_run(name, seed)
    assert Counter(driver.results) == oracle(wide_schedule(seed))
    assert not driver.left_behind


@pytest.mark.parametrize("name", SPILLING)
def test_every_pair_comes_once_when_much_happens_at_once(name: str) -> None:
    for seed in range(8):
        driver = Driver(SPILLING[name], dense_schedule(seed)).run()
        assert Counter(driver.results) == oracle(dense_schedule(seed)), f"seed {seed}"
        assert not driver.left_behind


@given(schedule=schedules())
@exactly
def test_a_symmetric_hash_join_gives_every_pair_when_memory_is_enough(schedule: Schedule) -> None:
    enough = Schedule(schedule.steps, budget_rows=10_000, cut_after=schedule.cut_after)
    driver = Driver(ALGORITHMS["symmetric_hash"], enough).run()
    assert Counter(driver.results) == oracle(schedule)
    assert not any(isinstance(event, Flushed) for event in driver.events)


@pytest.mark.parametrize("name", ["xjoin", "hmj", "rpj", "rpj with a fan-in of 2"])
@given(schedule=schedules())
@exactly
def test_keys_whose_codes_collide_do_not_match(name: str, schedule: Schedule) -> None:
    assert Counter(Driver(SPILLING[name], schedule, recode=colliding).run().results) == oracle(schedule)


@pytest.mark.parametrize("name", SPILLING)
@given(schedule=schedules())
@settings(max_examples=8, deadline=None, derandomize=True)
def test_the_same_schedule_gives_the_same_trace(name: str, schedule: Schedule) -> None:
    first, second = (Driver(SPILLING[name], schedule).run() for _ in range(2))
    assert first.events == second.events
    assert first.results == second.results


@pytest.mark.parametrize("name", ["xjoin", "hmj", "rpj"])
def test_several_workers_give_the_same_pairs_and_make_the_same_flushes_as_one(name: str) -> None:
    for seed in WIDE_SEEDS:
        alone = wide_run(name, seed)
        crew = Driver(SPILLING[name], wide_schedule(seed), workers=3).run()
        assert Counter(crew.results) == Counter(alone.results)
        assert until_clean_up(crew.events) == until_clean_up(alone.events)


def until_clean_up(events: list[Event]) -> list[Event]:
    """The clean-up may differ: it takes as many partitions at a time as there are workers."""
    first = next(n for n, event in enumerate(events) if isinstance(event, Entered) and event.phase == "clean-up")
    return events[:first]


# The schedules must reach what they are there to test


def longest_task(events: list[Event]) -> int:
    """The most merges that wrote something, in one partition and without a flush in between."""
    longest = 0
    merges: Counter[int] = Counter()
    for event in events:
        if isinstance(event, Flushed):
            merges[event.partition] = 0
        elif isinstance(event, Merged) and event.written_bytes:
            merges[event.partition] += 1
            longest = max(longest, merges[event.partition])
    return longest


@pytest.mark.parametrize("name", SPILLING)
def test_the_wide_schedules_reach_every_kind_of_work(name: str) -> None:
    traces = [wide_run(name, seed).events for seed in WIDE_SEEDS]

    def how_many(kind: type[Event]) -> int:
        return sum(isinstance(event, kind) for trace in traces for event in trace)

    assert how_many(Flushed) >= 50
    assert sum(isinstance(event, Entered) and event.phase == "clean-up" for trace in traces for event in trace) == len(
        WIDE_SEEDS
    )
    if name in ("xjoin", "rpj", "rpj_md", "rpj with a fan-in of 2"):
        assert how_many(Scanned) >= 5
    if name.startswith("hmj") or name == "rpj_dd":
        assert any(longest_task(trace) >= 1 for trace in traces)
    if name.endswith("fan-in of 2"):
        # Of two sides with a few runs each, the third merge in a row is of runs that were merged before.
        assert any(longest_task(trace) >= 3 for trace in traces)


def test_the_dense_schedules_reach_every_kind_of_work() -> None:
    for name, kind in (("rpj", Scanned), ("hmj", Merged)):
        traces = [Driver(SPILLING[name], dense_schedule(seed)).run().events for seed in range(8)]
        for trace in traces:
            assert sum(isinstance(event, Flushed) for event in trace) >= 5
            assert any(isinstance(event, kind) for event in until_clean_up(trace))
