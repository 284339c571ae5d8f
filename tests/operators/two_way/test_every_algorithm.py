"""Every algorithm, on random schedules: the same pairs as DuckDB, each once, and again the same; with several workers.

`tests/operators/test_conformance.py` holds them to the contract of an operator. Here is what goes beyond it, and that
the schedules of the suite reach what they are there to test.
"""

import functools
from collections import Counter
from dataclasses import dataclass, field, replace

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from joins import VARIANTS
from schedules import PATIENT, ROW_BYTES, joined_by_duckdb
from sooner.named_algorithms import ALGORITHMS
from sooner.operators.events import Entered, Event, Flushed, Looped, Merged, Scanned
from sooner.policies.view import SILENT
from sooner.sides import LEFT, RIGHT
from sooner.testing import KINDS, Arrive, End, Row, Schedule, Subject, Trial, Work, draw_schedule, two_way_subject
from sooner.testing.invariants import check_invariants
from sooner.testing.schedules import WHOLE_TASK
from sooner.testing.two_way import numbered_rows

# Variants of others go through the conformance suite.
SPILLING = {a.name: a for a in (*ALGORITHMS.values(), *PATIENT) if a.name not in {"symmetric_hash", *VARIANTS}}
SUBJECTS = {name: two_way_subject(algorithm) for name, algorithm in SPILLING.items()}
WIDE_SEEDS, DENSE_SEEDS = range(4), range(8)
exactly = settings(max_examples=15)

Keys = list[int | None]
Step = tuple[Keys, Keys] | int  # keys that arrive on each side, or a silence that is long enough for so many tasks


@dataclass(frozen=True)
class Drawn:
    """A schedule that hypothesis can make smaller; it is cut after so many calls."""

    steps: list[Step]
    budget_rows: int
    cut_after: int | None

    def schedule(self) -> Schedule:
        steps: list[Arrive | Work | End] = []
        given_rows = [0, 0]
        for step in self.steps:
            if isinstance(step, int):
                steps.append(Work(SILENT, step))
            else:
                steps.append(Arrive(tuple(map(numbered_rows, step, given_rows))))
                given_rows = [n + len(keys) for n, keys in zip(given_rows, step, strict=True)]
        budget_bytes = self.budget_rows * (ROW_BYTES + 1)
        return Schedule((*steps, End(LEFT), End(RIGHT)), budget_bytes, budget_bytes)


def drawn_schedules() -> st.SearchStrategy[Drawn]:
    # Squaring small integers skews the keys: some have many duplicates, some none.
    keys = st.one_of(st.integers(0, 3), st.integers(0, 7).map(lambda k: k * k), st.none())
    side = st.lists(keys, min_size=2, max_size=9)
    step = st.one_of(st.tuples(side, side), st.integers(1, 4))
    cut_after = st.one_of(st.none(), st.integers(0, 13))
    return st.builds(Drawn, st.lists(step, min_size=6, max_size=14), st.integers(18, 36), cut_after)


@dataclass
class Outcome:
    """What came out of a trial, in this order, what it reported, and DuckDB's answer."""

    results: list[Row] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    expected: Counter[Row] = field(default_factory=Counter)


def run(subject: Subject, schedule: Schedule, cut_after: int | None = None) -> Outcome:
    """A trial to its end, with the promises held that the suite has no part in."""
    outcome = Outcome()
    with Trial(subject, schedule, listener=outcome.events.append) as trial:
        for number, rows in enumerate(trial.run()):
            outcome.results += rows
            if number == cut_after:
                trial.cut()
            check_invariants(trial.operator)
        assert trial.operator.progress().covered_fraction == 1
        assert trial.operator.account.used_bytes == 0
        assert not trial.files()
        outcome.expected = joined_by_duckdb(trial.tables())
    return outcome


def whole_tasks(subject: Subject, seed: int, kind: str) -> Schedule:
    """A schedule of the suite, with the few choices made for it that would hide what is looked for here."""
    drawn = draw_schedule(subject, seed, KINDS[kind])
    return replace(drawn, quantum_bytes=WHOLE_TASK, crowd=None, partitions=3, flush_fraction=0.1)


@functools.cache
def wide_run(name: str, seed: int) -> Outcome:
    return run(SUBJECTS[name], whole_tasks(SUBJECTS[name], seed, "wide"))


@functools.cache
def dense_run(name: str, seed: int) -> Outcome:
    return run(SUBJECTS[name], whole_tasks(SUBJECTS[name], seed, "dense"), cut_after=(None, 3, 9)[seed % 3])


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", SPILLING)
@given(drawn=drawn_schedules())
@settings(max_examples=10)
def test_every_pair_comes_once_and_nothing_else_and_again_in_the_same_trace(name: str, drawn: Drawn) -> None:
    first, second = (run(SUBJECTS[name], drawn.schedule(), drawn.cut_after) for _ in range(2))
    assert Counter(first.results) == first.expected
    assert first.events == second.events
    assert first.results == second.results


@pytest.mark.long
@pytest.mark.parametrize("name", SPILLING)
@given(drawn=drawn_schedules())
@settings(max_examples=100)
def test_every_pair_comes_once_and_nothing_else_for_long(name: str, drawn: Drawn) -> None:
    outcome = run(SUBJECTS[name], drawn.schedule(), drawn.cut_after)
    assert Counter(outcome.results) == outcome.expected


@pytest.mark.one_in(8)
@pytest.mark.parametrize("seed", WIDE_SEEDS)
@pytest.mark.parametrize("name", SPILLING)
def test_every_pair_comes_once_also_from_larger_batches(name: str, seed: int) -> None:
    outcome = wide_run(name, seed)
    assert Counter(outcome.results) == outcome.expected


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", SPILLING)
def test_every_pair_comes_once_when_much_happens_at_once(name: str) -> None:
    for seed in DENSE_SEEDS:
        outcome = dense_run(name, seed)
        assert Counter(outcome.results) == outcome.expected, f"seed {seed}"


@given(drawn=drawn_schedules())
@exactly
def test_a_symmetric_hash_join_gives_every_pair_when_memory_is_enough(drawn: Drawn) -> None:
    subject = two_way_subject(ALGORITHMS["symmetric_hash"], spills=False)
    outcome = run(subject, replace(drawn, budget_rows=10_000).schedule(), drawn.cut_after)
    assert Counter(outcome.results) == outcome.expected
    assert not any(isinstance(event, Flushed) for event in outcome.events)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["xjoin", "hmj", "rpj", "rpj with a fan-in of 2"])
@given(drawn=drawn_schedules())
@exactly
def test_keys_whose_codes_collide_do_not_match(name: str, drawn: Drawn) -> None:
    outcome = run(two_way_subject(SPILLING[name], colliding=True), drawn.schedule(), drawn.cut_after)
    assert Counter(outcome.results) == outcome.expected


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ["xjoin", "hmj", "rpj"])
def test_several_workers_give_the_same_pairs_and_make_the_same_flushes_as_one(name: str) -> None:
    for seed in WIDE_SEEDS:
        alone = wide_run(name, seed)
        crew = run(SUBJECTS[name], replace(whole_tasks(SUBJECTS[name], seed, "wide"), workers=3))
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


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", SPILLING)
def test_the_wide_schedules_reach_every_kind_of_work(name: str) -> None:
    traces = [wide_run(name, seed).events for seed in WIDE_SEEDS]

    def how_many(kind: type[Event]) -> int:
        return sum(isinstance(event, kind) for trace in traces for event in trace)

    assert how_many(Flushed) >= (40 if name == "diner" else 50)  # which has one partition
    assert sum(isinstance(event, Entered) and event.phase == "clean-up" for trace in traces for event in trace) == len(
        WIDE_SEEDS
    )
    if name in ("xjoin", "rpj", "rpj_md", "rpj with a fan-in of 2"):
        assert how_many(Scanned) >= 5
    if name == "diner":
        assert how_many(Looped) >= 5
    if name.startswith("hmj") or name == "rpj_dd":
        assert any(longest_task(trace) >= 1 for trace in traces)
    if name.endswith("fan-in of 2"):
        # Of two sides with a few runs each, the third merge in a row is of runs that were merged before.
        assert any(longest_task(trace) >= 3 for trace in traces)


def test_the_dense_schedules_reach_every_kind_of_work() -> None:
    for name, kind in (("rpj", Scanned), ("hmj", Merged)):
        for seed in DENSE_SEEDS:
            trace = dense_run(name, seed).events
            assert sum(isinstance(event, Flushed) for event in trace) >= 5
            assert any(isinstance(event, kind) for event in until_clean_up(trace)), f"{name}, seed {seed}"
