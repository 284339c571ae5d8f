"""SSBJ and MESHJOIN, counted: beside a simulation row by row, and by the paper's theorem 3 and its equations."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from sooner.errors import SoonerError
from sooner.lab.races import semi_stream_values
from sooner.lab.races.semi_stream import (
    COSTS,
    EMPTY_BYTES,
    NO_CACHE,
    REVERSED,
    CountedSemiStream,
    Cycle,
    Load,
    SemiStreamRace,
    chance_of,
    placement,
)
from sooner.lab.races.semi_stream_model import (
    Costs,
    Sizes,
    best_buffer_bytes,
    chunk_rows,
    least_bytes,
    loop_seconds,
    memory_at_rate,
    memory_bytes,
    most_stream_rows,
    rows_at_rate,
    service_rate,
)
from sooner.lab.races.semi_stream_values import JoinValues, join_values, zipf

SMALL = Sizes(master_rows=4000, buffer_rows=200, master_bytes=120, stream_bytes=20, pointer_bytes=4)
CYCLES, WARM = 90, 30


# Row by row


@dataclass
class Waiting:
    """A join value in H_S."""

    since: int  # the iteration in which its first row came
    rows: int = 0
    masters: int = 0  # s_count
    matched: bool = False


@dataclass
class PlainSsbj:
    """Algorithm 1 with every row, and no thought for speed."""

    master_keys: np.ndarray
    stream_keys: Iterator[int]
    memory: float
    empty_bytes: int | None
    has_cache: bool = True
    waiting: dict[int, Waiting] = field(default_factory=dict)
    queue: deque[list[int]] = field(default_factory=deque)
    hits: dict[int, int] = field(default_factory=dict)  # of the values in the cache
    marked: set[int] = field(default_factory=set)
    cycle: int = 0
    iteration: int = 0

    def __post_init__(self) -> None:
        values, counts = np.unique(self.master_keys, return_counts=True)
        self.masters = dict(zip(values.tolist(), counts.tolist(), strict=True))
        self.chunk_rows = self.room()

    def room(self) -> int:
        rows = [self.masters.get(key, 0) for key in self.hits]
        cache = 120 * sum(rows) + rows.count(0) * (self.empty_bytes or 0)
        return int((self.memory - SMALL.buffer_bytes - cache) / SMALL.waiting_bytes / SMALL.steps)

    def run_cycle(self) -> tuple[int, int, int]:
        """Stream rows that were read, those that the cache answered, and the values in it."""
        self.cycle += 1
        self.began, self.decided = self.iteration, set[int]()
        if self.cycle % 3 == 1:
            self.counted_from = self.iteration
        if self.cycle % 3 == 0:
            self.hits |= dict.fromkeys(self.marked, 0)
            self.marked = set()
            self.chunk_rows = self.room()
            for one in self.waiting.values():
                one.masters = 0
        answered = read = 0
        for partition in np.split(self.master_keys, int(SMALL.steps)):
            chunk, of_cache = self.read()
            answered, read = answered + of_cache, read + of_cache + len(chunk)
            for key in partition.tolist():
                if key in self.waiting:
                    self.meet(key, self.waiting[key])
            if len(self.queue) == SMALL.steps:
                self.leave(self.queue.popleft())
            self.iteration += 1
        cached = len(self.hits)
        if self.cycle % 10 == 0:
            stays = {key for key, hits in self.hits.items() if 120 * self.masters.get(key, 0) < hits / 10 * 20}
            self.hits = dict.fromkeys(stays, 0)
        return read, answered, cached

    def read(self) -> tuple[list[int], int]:
        chunk: list[int] = []
        answered = 0
        while len(chunk) < self.chunk_rows:
            key = next(self.stream_keys)
            if key in self.hits:
                self.hits[key] += 1
                answered += 1
            else:
                self.waiting.setdefault(key, Waiting(self.iteration)).rows += 1
                chunk.append(key)
        self.queue.append(chunk)
        return chunk, answered

    def meet(self, key: int, one: Waiting) -> None:
        one.matched = True
        if self.cycle % 3 == 1:
            one.masters += 1
        elif self.cycle % 3 == 2 and key not in self.decided and self.has_cache:
            self.decided.add(key)
            if one.since <= self.counted_from and one.rows * 20 > one.masters * 120:
                self.marked.add(key)

    def leave(self, chunk: list[int]) -> None:
        """Whoever waited for a cycle and met nothing has no master rows."""
        for key in chunk:
            one = self.waiting[key]
            if self.cycle % 3 == 2 and not one.matched and self.empty_bytes is not None and self.has_cache:
                self.marked.add(key)
            one.rows -= 1
            if not one.rows:
                del self.waiting[key]


def drawn(skew: float, seed: int) -> tuple[np.ndarray, np.ndarray, Iterator[int]]:
    """Master rows, the chances of all values, and stream rows."""
    rng = np.random.default_rng(seed)
    n = int(SMALL.master_rows)
    chances = np.arange(1, n + 1) ** -skew
    chances /= chances.sum()

    def stream() -> Iterator[int]:
        while True:
            yield from rng.choice(n, 100_000, p=chances).tolist()

    return rng.integers(0, n, n), chances, stream()


def in_groups(chances: np.ndarray, masters: np.ndarray, alone: int) -> JoinValues:
    """The same values, the rarest in groups of about equal chances."""
    rank = np.arange(len(chances))
    ranges = np.where(rank < alone, rank, alone + (np.log((rank + 1) / alone) / np.log(1.05)).astype(np.int64))
    _, group, sizes = np.unique(ranges * 1000 + masters, return_inverse=True, return_counts=True)
    means = np.bincount(group, chances) / sizes
    first = np.zeros(len(sizes), np.int64)
    first[group] = masters
    return JoinValues(means, first, sizes)


def settled(cycles: list[Any]) -> np.ndarray:
    return np.array(cycles, np.float64)[WARM:].mean(axis=0)


@pytest.mark.parametrize(
    ("skew", "share", "empty_bytes"), [(1.0, 0.2, EMPTY_BYTES), (1.0, 0.5, None), (0.5, 0.4, EMPTY_BYTES)]
)
def test_counted_and_row_by_row_have_the_same_rates_and_caches(
    skew: float, share: float, empty_bytes: int | None
) -> None:
    master_keys, chances, stream = drawn(skew, seed=1)
    memory = share * SMALL.master_rows * SMALL.master_bytes
    plain = PlainSsbj(master_keys, stream, memory, empty_bytes)
    found = settled([plain.run_cycle() for _ in range(CYCLES)])
    masters = np.bincount(master_keys, minlength=len(chances))
    for alone in (50, len(chances)):
        cycles = run(in_groups(chances, masters, alone), SMALL, Load(memory, None), empty_bytes)
        counted = settled([(one.stream_rows, one.answered_rows, one.cached_values) for one in cycles])
        assert counted == pytest.approx(found, rel=0.03)


def run(
    values: JoinValues, sizes: Sizes, load: Load, empty_bytes: int | None = EMPTY_BYTES, costs: Costs = COSTS
) -> list[Cycle]:
    rng = np.random.default_rng(7)
    join = CountedSemiStream(values, sizes, costs, load, placement(sizes, 1.0), rng, empty_bytes)
    return [join.run_cycle() for _ in range(CYCLES)]


def test_row_by_row_meshjoin_reads_what_memory_has_room_for() -> None:
    master_keys, _, stream = drawn(1.0, seed=2)
    plain = PlainSsbj(master_keys, stream, 96_000, None, has_cache=False)
    assert [plain.run_cycle() for _ in range(5)] == [(3000, 0, 0)] * 5  # 24 bytes each, beside the disk buffer
    values = JoinValues(np.array([1.0]), np.array([1]), np.array([1]))
    join = CountedSemiStream(values, SMALL, COSTS, Load(96_000, None), None, np.random.default_rng(0))
    assert [join.run_cycle().stream_rows for _ in range(5)] == [3000] * 5


# States


def one_value(masters: int, chance: float) -> JoinValues:
    """A value, and another with a master row for each stream row, which stays where it is."""
    return JoinValues(np.array([chance, 1 - chance]), np.array([masters, 10**6]), np.array([1, 1]))


def test_a_value_is_counted_then_switched_and_in_the_third_cycle_it_has_moved() -> None:
    """In the first cycle nothing waits yet whose master rows could be counted."""
    cycles = run(one_value(2, 0.5), SMALL, Load(96_000, None))
    assert [one.cached_values for one in cycles[:7]] == [0, 0, 0, 0, 0, 1, 1]
    assert cycles[4].answered_rows == 0 < cycles[5].answered_rows
    assert all(one.memory_bytes <= 96_000 for one in cycles)


def test_chunks_shrink_by_what_the_cache_takes() -> None:
    cycles = run(one_value(100, 0.5), SMALL, Load(96_000, None))
    missed = [one.stream_rows - one.answered_rows for one in cycles[:7]]
    assert missed == [3000] * 5 + [2500] * 2  # 100 master rows are 500 stream rows


def test_a_value_without_master_rows_moves_unless_to_the_letter() -> None:
    assert run(one_value(0, 0.5), SMALL, Load(96_000, None))[2].empty_values == 1
    assert run(one_value(0, 0.5), SMALL, Load(96_000, None), empty_bytes=None)[-1].cached_values == 0


def test_a_value_that_hardly_comes_leaves_after_the_tenth_cycle() -> None:
    """It moved by chance, and came no more."""
    values = JoinValues(np.array([5e-6, 0.9995]), np.array([0, 10**6]), np.array([100, 1]))
    counts = [one.cached_values for one in run(values, SMALL, Load(96_000, None))]
    assert any(after < before for before, after in pairwise(counts))
    assert all(counts[at] >= counts[at - 1] for at in range(1, 60) if at % 10)


def test_at_a_high_rate_ssbj_is_a_join_in_memory_theorem_3() -> None:
    """MESHJOIN needs more than all of R, and SSBJ has all of R in its cache and needs no more."""
    values = join_values("synthetic", 4000, 0.0, np.random.default_rng(0))
    master_rows = int((values.masters * values.values).sum())
    all_of_r = master_rows * SMALL.master_bytes
    disk_alone = replace(COSTS, look_up=0.0, output=0.0, switch=0.0, remove=0.0, read=0.0, append=0.0)
    load = Load(None, arrival_rate=2e6)
    meshjoin = CountedSemiStream(values, SMALL, disk_alone, load, None, np.random.default_rng(0))
    assert meshjoin.run_cycle().memory_bytes > all_of_r
    last = run(values, SMALL, load, 0, disk_alone)[-1]
    assert last.cached_rows == master_rows
    assert last.memory_bytes <= all_of_r + SMALL.buffer_bytes
    assert last.stream_rows == last.answered_rows
    slow = run(values, SMALL, Load(None, arrival_rate=1e4), 0, disk_alone)[-1]
    assert slow.cached_rows < master_rows


# Chances and values


@pytest.mark.parametrize("mutant", ["", REVERSED, NO_CACHE])
def test_the_chance_of_a_rule_is_the_share_of_the_draws_that_it_speaks_for(mutant: str) -> None:
    rule = placement(SMALL, 1.0, mutant).moves
    masters, rates = np.array([0, 1, 1, 2, 3]), np.array([0.3, 5.0, 7.0, 30.0, 1.0])
    draws = np.random.default_rng(0).poisson(rates, (20_000, 5))
    shares = np.array([rule(masters, row.astype(float)) for row in draws]).mean(axis=0)
    assert chance_of(rule, masters, rates) == pytest.approx(shares, abs=0.015)


@pytest.mark.parametrize("skew", [0.0, 0.5, 1.0])
def test_groups_of_a_zipf_distribution_have_the_chances_of_their_values(
    skew: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(semi_stream_values, "ONE_BY_ONE", 100)
    chances, sizes = zipf(50_000, skew)
    exact = np.arange(1, 50_001) ** -skew / (np.arange(1, 50_001) ** -skew).sum()
    assert sizes.sum() == 50_000
    assert np.allclose(np.repeat(chances, sizes), exact, rtol=0.01)
    assert (chances * sizes).sum() == pytest.approx(1)


def test_synthetic_master_rows_leave_a_third_of_the_values_without_one() -> None:
    values = join_values("synthetic", 10**6, 1.0, np.random.default_rng(0))
    assert (values.masters * values.values).sum() == pytest.approx(10**6, rel=0.01)
    assert values.values[values.masters == 0].sum() == pytest.approx(10**6 / np.e, rel=0.01)


def test_two_thirds_of_the_customers_have_orders_each_as_many() -> None:
    values = join_values("tpc-h", 150_000, 1.0, np.random.default_rng(0))
    assert values.values.sum() == 100_000
    assert np.ptp(values.chances) == pytest.approx(0, abs=1e-12)


def test_reports_of_the_weather_are_many_to_many_and_follow_from_the_seed() -> None:
    first, again, other = (join_values("weather", 10**6, 0.0, np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert first.masters.sum() == 10**6
    assert first.chances.sum() == pytest.approx(1)
    assert (first.masters == again.masters).all()
    assert (first.masters != other.masters).any()


# The model

MODEL = Sizes(1e8, 5e4, 120, 20, 4, fudge=1.5)


def test_equation_1_goes_both_ways() -> None:
    assert memory_bytes(MODEL, 100, 10) == 5e4 * 120 + 10 * 120 * 1.5 + 100 * 2000 * (4 + 30)
    assert chunk_rows(MODEL, memory_bytes(MODEL, 100, 10), 10) == pytest.approx(100)
    assert chunk_rows(MODEL, 0.0) == 0


def test_equations_2_and_3_have_what_is_done_in_an_iteration() -> None:
    costs = Costs(0.01, 1e-8, *[1e-7] * 6)
    assert loop_seconds(MODEL, costs, 10, 20) == pytest.approx(0.01 + 0.06 + 5e4 * 2e-7 + 10 * 3e-7 + 20 * 4e-7)
    assert service_rate(MODEL, costs, 10, 20) == pytest.approx(30 / loop_seconds(MODEL, costs, 10, 20))


@pytest.mark.parametrize("share", [0.0, 0.6])
def test_the_memory_of_a_rate_is_that_with_which_the_rate_is_reached(share: float) -> None:
    rows = rows_at_rate(MODEL, COSTS, 50_000, share)
    assert service_rate(MODEL, COSTS, share * rows, (1 - share) * rows) == pytest.approx(50_000)
    needed = memory_at_rate(MODEL, COSTS, 50_000, share, cached_rows=100)
    assert chunk_rows(MODEL, needed, 100) == pytest.approx((1 - share) * rows)
    assert rows_at_rate(MODEL, COSTS, 1e7) == float("inf")


def test_no_other_disk_buffer_is_better_by_the_model() -> None:
    def rate(buffer_bytes: float) -> float:
        sizes = replace(MODEL, buffer_rows=buffer_bytes / 120, fudge=1.0)
        return service_rate(sizes, free, 0, chunk_rows(sizes, 120e6))

    free = replace(COSTS, read=0.0, append=0.0, remove=0.0, output=0.0)
    best = best_buffer_bytes(free, 120, 120e6)
    assert rate(best) > max(rate(0.9 * best), rate(1.1 * best))


def test_the_least_memory_is_that_of_each_value_where_it_takes_less() -> None:
    masters, stream, values = np.array([1, 1, 0]), np.array([10.0, 2.0, 5.0]), np.array([3, 4, 100])
    sizes = replace(MODEL, fudge=1.0)
    assert least_bytes(sizes, masters, stream, values) == 3 * 120 + 4 * 2 * 24
    chances = stream / (stream * values).sum()
    found = most_stream_rows(sizes, masters, chances, values, 3 * 120 + 4 * 2 * 24, most=1e6)
    assert found == pytest.approx((stream * values).sum())


# Races


def test_a_race_follows_from_its_seed() -> None:
    race = SemiStreamRace("ssbj", memory_share=0.02)
    first, again, other = (race.run(1000, seed).columns["stream_rows"][-1] for seed in (0, 0, 1))
    assert first == again != other


def test_memory_is_what_was_given_and_only_that_when_warm() -> None:
    for race in (SemiStreamRace("ssbj"), SemiStreamRace("meshjoin")):
        memory = race.run(1000, 0).columns["memory_bytes"][30:]
        total = race.total_bytes(1000)
        assert total is not None
        assert 0.9 * total < memory.min() <= memory.max() <= total


def test_at_a_rate_that_memory_is_good_for_all_that_arrives_is_taken() -> None:
    history = SemiStreamRace("ssbj", 20_000_000, None, arrival_rate=51_242).run(100, 0)
    seconds, rows = history.columns["seconds"], history.columns["stream_rows"]
    assert np.diff(rows)[5:] / np.diff(seconds)[5:] == pytest.approx(51_242, rel=0.01)


@pytest.mark.parametrize("scale", [0, 5001])
def test_a_scale_that_leaves_too_few_rows_is_refused(scale: int) -> None:
    with pytest.raises(SoonerError, match=f"scale={scale}"):
        SemiStreamRace("ssbj").run(scale, 0)
