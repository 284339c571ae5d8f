"""The twin that counts rows is the real join: event for event, view for view, whatever happens to both."""

from dataclasses import fields, replace

import numpy as np
import pytest

from small_worlds import competitor
from sooner.budget import Budget
from sooner.lab.counted_join import CountedJoin
from sooner.lab.counted_state import CountedState
from sooner.lab.races.rpj import COMPETITORS, PANELS, PARTITIONS, RpjRace
from sooner.lab.simulator import simulate
from sooner.lab.subject import ROW_BYTES, SCHEMA, RealOperator, real
from sooner.lab.traces import Trace
from sooner.named_algorithms import ALGORITHMS, Algorithm
from sooner.operators.events import Event, Looped, Merged, Scanned
from sooner.operators.inputs import Storage
from sooner.operators.operator import Means
from sooner.operators.two_way.join import TwoWayJoin
from sooner.operators.two_way.making import two_way_join
from sooner.operators.two_way.plan import INPUTS
from sooner.policies.react.nested_loop import ReactiveNestedLoop
from sooner.policies.view import SILENT, DeviceCosts, EvictUpTo
from twins import draw, run_both

WAITING = {algorithm.name for algorithm in ALGORITHMS.values() if algorithm.waits != "never"}
NAMES = sorted({*COMPETITORS, *ALGORITHMS, "clairvoyant"} - {"symmetric_hash"} - WAITING)
MEMORY_ROWS = 200


class HighestFirst:
    """Evicts a part of a partition, from its highest code down: no named policy does."""

    def choose(self, view, needed_bytes):
        largest = np.unravel_index(int(view.resident_bytes.argmax()), view.resident_bytes.shape)
        yield [EvictUpTo(int(largest[0]), int(largest[1]), at_most_bytes=needed_bytes // 3, codes_from="highest")]


class Twins:
    """A real join and its twin, which must agree at every step."""

    unseen = ()  # what may differ

    def __init__(self, trace: Trace, make_algorithm, memory_rows: int = MEMORY_ROWS) -> None:
        self.events: list[list[Event]] = [[], []]
        costs = DeviceCosts(100 * ROW_BYTES, 0.010, 0.00002)
        accounts = [Budget(memory_rows * ROW_BYTES).account("join") for _ in self.events]
        told = zip(accounts, self.events, strict=True)
        means = [Means(account, device=costs, listener=one.append) for account, one in told]

        def two_way(storage: Storage, means: Means) -> TwoWayJoin[int]:
            inputs = storage.inputs(trace.order(), INPUTS, (SCHEMA, SCHEMA))
            return two_way_join(
                tuple(inputs), trace.order(), make_algorithm(), lambda bundle: sum(map(len, bundle)), means
            )

        subject = real(two_way)(trace, means[0])
        assert isinstance(subject, RealOperator)
        self.real = subject
        self.counted = CountedJoin(CountedState(trace.domain, trace.partitions, ROW_BYTES, make_algorithm(), means[1]))
        self.trace = trace

    def work(self) -> None:
        assert self.real.has_work(SILENT) == self.counted.has_work(SILENT)
        rehearsed = self.counted.rehearse(SILENT) if self.counted.phase != "clean-up" else None
        self.real.work(SILENT)
        self.counted.work(SILENT)
        tasks = [event for event in self.events[1] if isinstance(event, Scanned | Merged | Looped)]
        self.compare()
        if rehearsed is not None:
            [done] = tasks
            for size in ("partition", "n_runs", "n_bytes"):
                assert getattr(rehearsed, size) == getattr(done, size)

    def compare(self) -> None:
        assert self.events[0] == self.events[1]
        views = [self.real._operator.view(SILENT), self.counted.view(SILENT)]
        for field in fields(views[0]):
            if field.name not in self.unseen:
                assert np.array_equal(*(getattr(view, field.name) for view in views)), field.name
        seen = [self.real._operator._state.seen_regions(), self.counted._state.memory.seen_regions()]
        assert (seen[0] is None) == (seen[1] is None)
        for field in fields(seen[0]) if seen[0] is not None else ():
            assert np.array_equal(*(getattr(regions, field.name) for regions in seen)), field.name
        for name, measured in self.real.measures().items():
            assert name in self.unseen or measured == self.counted.measures()[name]
        for events in self.events:
            events.clear()


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", NAMES)
def test_they_agree_event_for_event(name: str) -> None:
    """Each with one of two kinds of arrivals; all of them with all kinds are in the long set."""
    require_agreement(name, seed=NAMES.index(name) % 2)


def require_agreement(name: str, seed: int) -> None:
    trace = draw(seed)
    run_both(Twins(trace, lambda: competitor(name, trace, "unreliable")), seed)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_they_agree_event_for_event_for_long(name: str) -> None:
    for seed in range(8):
        require_agreement(name, seed)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(4))
def test_they_agree_about_regions_in_the_order_of_values(seed: int) -> None:
    """DINER as its paper has it, in one partition, flushing and joining a few rows at a time, more and more skewed."""
    loop = ReactiveNestedLoop(max_new_arrivals=10, max_outer_bytes=40 * ROW_BYTES)
    diner = replace(ALGORITHMS["diner"], react=loop, flushes=15 * ROW_BYTES)
    run_both(Twins(in_one_partition(seed), lambda: diner), seed)


def test_they_agree_when_rows_of_a_key_leave_by_age_between_scans_and_merges() -> None:
    by_age = replace(COMPETITORS["rpj"], splits="codes by age", flushes=15 * ROW_BYTES)
    run_both(Twins(in_one_partition(seed=3), lambda: by_age), seed=3)


def in_one_partition(seed: int) -> Trace:
    keys = np.random.default_rng(seed).zipf(1.3 + 0.4 * seed, 2000) % 60
    return replace(draw(seed), keys=keys.astype(np.int32), domain=60, partitions=1)


def test_they_agree_when_a_part_of_a_partition_leaves_from_its_highest_code() -> None:
    react = ALGORITHMS["rpj"].react
    run_both(Twins(draw(3), lambda: Algorithm("highest first", HighestFirst(), react)), seed=3)


def test_they_agree_when_some_partitions_have_a_key_less_than_others() -> None:
    trace = draw(5)
    keys = np.random.default_rng(5).integers(0, 137, len(trace)).astype(np.int32)
    run_both(Twins(replace(trace, keys=keys, domain=137), lambda: ALGORITHMS["hmj"]), seed=5)


def test_they_agree_when_one_side_has_ended_long_before_the_other() -> None:
    trace = draw(4)
    left_first = np.argsort(trace.of_input, kind="stable")
    trace = replace(trace, of_input=trace.of_input[left_first], keys=trace.keys[left_first])
    run_both(Twins(trace, lambda: ALGORITHMS["rpj"]), seed=4)
    all_in_memory = Twins(trace, lambda: ALGORITHMS["rpj"], memory_rows=10 * len(trace))
    all_in_memory.unseen = ("selectivity", "memory_bytes")  # the real one has the ended side once more, with an index
    run_both(all_in_memory, seed=4)


def test_whole_simulations_agree() -> None:
    race = RpjRace(PANELS[0], "unreliable", "rpj")
    trace = PANELS[0].arrivals("unreliable").draw(800, PARTITIONS * 5, 50, seed=1)
    histories = [simulate(trace, COMPETITORS["rpj"], race.laboratory(250), rows) for rows in ("real", "counted")]
    for column in histories[0].columns:
        assert np.array_equal(*(history.columns[column] for history in histories)), column
    assert histories[0].events == histories[1].events
    assert histories[0].phases == histories[1].phases
