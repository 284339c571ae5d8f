"""The twin that counts rows that wait is the real join: event for event, view for view, whatever happens to both."""

from dataclasses import fields, replace

import numpy as np
import pytest

from sooner.budget import Budget
from sooner.errors import InvalidCall
from sooner.lab.kept_runs import KeptRuns
from sooner.lab.races.pr_join import FullWidth, PrJoinRace
from sooner.lab.simulator import simulate, simulate_subject
from sooner.lab.subject import ROW_BYTES, SCHEMA, RealOperator
from sooner.lab.traces import Pushed, Trace
from sooner.lab.waiting_join import WaitingJoin, waiting
from sooner.named_algorithms import ALGORITHMS, Algorithm, algorithm
from sooner.operators.events import Event, Reached
from sooner.operators.inputs import Storage
from sooner.operators.operator import Means
from sooner.operators.two_way.making import two_way_join
from sooner.operators.two_way.plan import INPUTS
from sooner.policies.flush.all import All
from sooner.policies.flush.rate_optimal import RateOptimal
from sooner.policies.flush.smallest import Smallest
from sooner.policies.react.growth import Growth
from sooner.policies.view import BUSY, SILENT, DeviceCosts
from twins import draw, run_both

MEMORY_ROWS = 200
WAITING = {
    "pr_join": ALGORITHMS["pr_join"],
    "pr_join that stops": algorithm("pr_join", react=Growth(0.5), flushes="what is needed"),
    "pr_join in equal ranges": algorithm("pr_join", partitions="of equal ranges", react=Growth(2.0, "never")),
    "pr_join, both sides leave": algorithm("pr_join", flush=Smallest("both sides")),
    "ripple": ALGORITHMS["ripple"],
    "ripple of full width": Algorithm("wide", All(), FullWidth(60 * ROW_BYTES), waits="once memory was full"),
    "hash_ripple": ALGORITHMS["hash_ripple"],
    "hash_ripple that joins": algorithm("hash_ripple", react=Growth()),
    "grace": ALGORITHMS["grace"],
}


class Twins:
    """A real join and its twin, which must agree at every step."""

    def __init__(self, trace: Trace, algorithm: Algorithm, memory_rows: int = MEMORY_ROWS) -> None:
        self.events: list[list[Event]] = [[], []]
        accounts = [Budget(memory_rows * ROW_BYTES).account("join") for _ in self.events]
        real, counted = (
            Means(account, device=DeviceCosts(), listener=events.append, expected_rows=len(trace))
            for account, events in zip(accounts, self.events, strict=True)
        )
        inputs = Storage(trace.partitions, lambda _: KeptRuns()).inputs(trace.order(), INPUTS, (SCHEMA, SCHEMA))
        self._join = two_way_join(tuple(inputs), trace.order(), algorithm, lambda bundle: sum(map(len, bundle)), real)
        self.real = RealOperator(self._join)
        self.counted = WaitingJoin(trace, algorithm, counted)
        self.trace = trace

    def work(self) -> None:
        for around in (BUSY, SILENT):
            assert self.real.has_work(around) == self.counted.has_work(around)
        self.real.work(SILENT)
        self.counted.work(SILENT)
        self.compare()

    def compare(self) -> None:
        real, counted = ([event for event in events if not isinstance(event, Reached)] for events in self.events)
        assert real == counted
        for events in self.events:
            events.clear()
        views = self._join.view(SILENT), self.counted.view(SILENT)
        for field in fields(views[0]):
            assert np.array_equal(*(getattr(view, field.name) for view in views)), field.name
        assert self.real.measures() == self.counted.measures()
        assert self.real.phase == self.counted.phase


@pytest.mark.parametrize("name", WAITING)
def test_they_agree_event_for_event(name: str) -> None:
    seed = list(WAITING).index(name) % 3
    run_both(Twins(draw(seed, rows=600), WAITING[name]), seed)


@pytest.mark.long
@pytest.mark.parametrize("name", WAITING)
def test_they_agree_event_for_event_for_long(name: str) -> None:
    for seed in range(8):
        run_both(Twins(draw(seed, rows=2000), WAITING[name]), seed)
        run_both(Twins(replace(draw(seed, rows=600), partitions=1), WAITING[name]), seed)


def test_they_agree_when_all_fits_into_memory_and_one_side_ends_before_the_other() -> None:
    trace = draw(4, rows=600)
    left_first = np.argsort(trace.of_input, kind="stable")
    trace = replace(trace, of_input=trace.of_input[left_first], keys=trace.keys[left_first])
    run_both(Twins(trace, ALGORITHMS["pr_join"]), seed=4)
    run_both(Twins(trace, ALGORITHMS["hash_ripple"]), seed=4)


def test_they_agree_when_keys_are_skewed_and_partitions_are_evened_out() -> None:
    skewed = (np.random.default_rng(5).zipf(1.4, 600) % 137).astype(np.int32)
    twins = Twins(replace(draw(5, rows=600), keys=skewed, domain=137), ALGORITHMS["pr_join"])
    before = twins.counted.partition_of_key
    run_both(twins, seed=5)
    assert (twins.counted.partition_of_key != before).any()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["pr_join", "ripple", "hash_ripple", "grace"])
def test_whole_simulations_agree(name: str) -> None:
    race = PrJoinRace(name, partitions=8)  # type: ignore[arg-type]
    algorithm, keys = race._algorithm(10_000), race._keys(10_000, np.random.default_rng(1))
    nothing = Pushed(np.empty(0), np.empty(0, np.int32), silence_seconds=1.0)
    trace, laboratory = Trace.of_inputs([nothing] * 2, len(keys[0]), 8), race._laboratory(keys, 10_000)
    real = simulate(trace, algorithm, laboratory, rows="real")
    counted = simulate_subject(trace, waiting(algorithm), laboratory)
    for column in real.columns:
        assert np.array_equal(real.columns[column], counted.columns[column]), column
    assert real.events == counted.events
    assert real.phases == counted.phases
    assert real.events["Merged"] >= 8


def test_what_cannot_be_counted_is_refused() -> None:
    trace, means = draw(0, rows=600), Means(Budget(MEMORY_ROWS * ROW_BYTES).account("join"))
    with pytest.raises(InvalidCall, match="no row waits"):
        WaitingJoin(trace, ALGORITHMS["rpj"], means)
    merging = Twins(trace, WAITING["pr_join"]).counted
    merging._algorithm = algorithm("pr_join", flush=RateOptimal())
    with pytest.raises(InvalidCall, match="simulate real rows"):
        for begin in range(0, 500, 50):
            merging.arrive([trace.keys[begin : begin + 25], trace.keys[begin + 25 : begin + 50]], 1.0)
