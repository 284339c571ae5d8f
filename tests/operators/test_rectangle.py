"""The join of growing rectangles: what waits, what meets when, and partitions of one size."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs
import pytest

from sooner.budget import Budget
from sooner.named_algorithms import ALGORITHMS, Algorithm
from sooner.operators.events import Arrived, Event, Merged
from sooner.operators.inputs import Storage
from sooner.operators.operator import Means
from sooner.operators.two_way.evening_out import even_bounds
from sooner.operators.two_way.plan import INPUTS, TwoWayPlan
from sooner.policies.flush.largest import Largest
from sooner.policies.react.growth import Growth
from sooner.policies.react.never import Never
from sooner.policies.view import SILENT
from sooner.runs.formats.files import RunFiles
from sooner.sides import LEFT, RIGHT, SIDES, opposite
from sooner.testing.invariants import check_invariants
from sooner.testing.two_way import SCHEMA, numbered_rows

ROWS_AT_A_TIME = 100
MEMORY_ROWS = 1000
ROW_BYTES = 16 + 12
PARTITIONS = 4
EVERYTHING = 10**9
Pair = tuple[int, int]


class Watched:
    """A join of numbered rows with random keys, fed without a pause, and what it found."""

    def __init__(self, algorithm: Algorithm, folder: Path, expected_rows: int | None = None) -> None:
        plan, schemas = TwoWayPlan(("key",), ("key",), ("_left", "_right"), algorithm), (SCHEMA, SCHEMA)
        storage = Storage(PARTITIONS, lambda schema: RunFiles(pafs.LocalFileSystem(), str(folder), schema, 400))
        account = Budget(MEMORY_ROWS * ROW_BYTES).account("join")
        means = Means(account, listener=self._listen, expected_rows=expected_rows)
        self.join = plan.make(INPUTS, schemas, storage, means)
        self.found: Counter[Pair] = Counter()
        self.keys = [np.empty(0, np.int64) for _ in SIDES]
        self.ticks = [np.empty(0, np.int64) for _ in SIDES]  # at which each row came
        self._by_key: list[dict[int, list[int]]] = [defaultdict(list) for _ in SIDES]
        self._pairs: list[Pair] = []  # all there are
        self.joined: list[Merged] = []
        self._dice = np.random.default_rng(5)

    def arrive(self, sides: Sequence[int] = SIDES, skew: float = 1.0) -> None:
        batches: list[list[pa.RecordBatch]] = [[], []]
        for side in sides:
            keys = (1000 * self._dice.random(ROWS_AT_A_TIME) ** skew).astype(np.int64)
            first = len(self.keys[side])
            batches[side] = [numbered_rows(keys.tolist(), first)]
            self.keys[side] = np.append(self.keys[side], keys)
            for row, key in enumerate(keys.tolist(), first):
                self._pairs += [(row, b) if side == LEFT else (b, row) for b in self._by_key[opposite(side)][key]]
                self._by_key[side][key].append(row)
        self._read(self.join.arrive(batches, 0.0))

    def arrive_until_rows_wait(self, **how: float) -> int:
        """Gives how many rows of each side have met by then."""
        while not self.join.statistics.spilled_rows.any():
            met = len(self.keys[LEFT])
            self.arrive(**how)
        return met

    def end(self) -> None:
        for side in SIDES:
            self.join.end(side)
        while self.join.phase != "done":
            self._read(self.join.work(2**40, SILENT))
        assert self.found == Counter(self.pairs_of_first(EVERYTHING, EVERYTHING))

    def pairs_of_first(self, lefts: int, rights: int) -> set[Pair]:
        return {(a, b) for a, b in self._pairs if a < lefts and b < rights}

    def pairs_until(self, ticks: Sequence[int]) -> set[Pair]:
        """Of rows that came up to a tick, which each partition has its own."""
        at_left, at_right = np.array(self._pairs).reshape(-1, 2).T
        came = np.maximum(self.ticks[LEFT][at_left], self.ticks[RIGHT][at_right])
        meant = came <= np.array(ticks)[self.partition_of(LEFT)[at_left]]
        return set(zip(at_left[meant].tolist(), at_right[meant].tolist(), strict=True))

    def partition_of(self, side: int) -> np.ndarray:
        mine = self.join.inputs[side]
        codes, _ = mine.code(pa.record_batch({"key": self.keys[side], "row": self.keys[side]}))
        return np.searchsorted(mine.bounds, codes, side="right")

    def _read(self, results: Iterator[pa.RecordBatch]) -> None:
        for batch in results:
            rows = batch.to_pydict()
            self.found.update(zip(rows["row_left"], rows["row_right"], strict=True))
        check_invariants(self.join)

    def _listen(self, event: Event) -> None:
        if isinstance(event, Arrived):
            for side in SIDES:
                self.ticks[side] = np.append(self.ticks[side], np.full(event.rows[side], event.tick))
        if isinstance(event, Merged):
            self.joined.append(event)


@pytest.fixture
def watch(tmp_path: Path) -> Callable[..., Watched]:
    return lambda algorithm, **more: Watched(algorithm, tmp_path, **more)


Watch = Callable[..., Watched]
PR_JOIN = ALGORITHMS["pr_join"]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["pr_join", "ripple"])
def test_all_that_fits_the_memory_meets_at_once_and_then_rows_wait(watch: Watch, name: str) -> None:
    watched = watch(replace(ALGORITHMS[name], react=Never()))
    met = watched.arrive_until_rows_wait()
    assert met >= 400
    for _ in range(5):
        assert set(watched.found) == watched.pairs_of_first(met, met)
        watched.arrive()
    watched.end()


def test_of_grace_nothing_is_seen_before_the_end(watch: Watch) -> None:
    watched = watch(ALGORITHMS["grace"])
    for _ in range(20):
        watched.arrive()
    assert not watched.found
    watched.end()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["pr_join", "ripple"])
def test_what_has_met_of_a_partition_is_a_rectangle_of_the_rows_that_came_first(watch: Watch, name: str) -> None:
    """All rows up to a moment, which each partition has its own: the claim to statistics (PR-Join sec. 4.3)."""
    watched = watch(ALGORITHMS[name])
    watched.arrive_until_rows_wait()
    for _ in range(40):
        watched.arrive()
        assert set(watched.found) == watched.pairs_until([tick for tick, _ in watched.join._state.ledger.horizons])
    assert len(watched.joined) > PARTITIONS
    watched.end()


def test_left_rows_of_a_hash_ripple_join_meet_the_right_rows_that_came_first(watch: Watch) -> None:
    watched = watch(ALGORITHMS["hash_ripple"])
    first = watched.arrive_until_rows_wait()
    for _ in range(20):
        watched.arrive()
        assert set(watched.found) == watched.pairs_of_first(EVERYTHING, first)
    watched.end()


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("inputs", "ratio"), [("come together", 4 / 3), ("are read in turn", 2)])
def test_runs_of_dbo_meet_more_than_those_of_sms(tmp_path: Path, inputs: str, ratio: float) -> None:
    early = {}
    for name in ("sms", "dbo"):
        (tmp_path / name).mkdir()
        watched = Watched(ALGORITHMS[name], tmp_path / name)
        for number in range(80):
            watched.arrive(SIDES if inputs == "come together" else (number // 5 % 2,))
        early[name] = watched.found.total()
        watched.end()
    assert early["dbo"] / early["sms"] == pytest.approx(ratio, rel=0.15)


GROWING = {
    "pr_join": PR_JOIN,
    "a two-way join that grows": Algorithm("growing", Largest(), Growth()),
    "one that grows faster": Algorithm("growing", Largest(), Growth(gamma=0.3)),
}


def late_pairs(watched: Watched, gamma: float) -> int:
    """Pairs that are not out although their partition has grown by the rule since both were there; the first time it is
    staggered, by gamma once more at most.
    """
    of_partition = np.concatenate([watched.partition_of(side) for side in SIDES])
    ticks = np.concatenate(watched.ticks)
    long_ago = []
    for p in range(PARTITIONS):
        mine = np.sort(ticks[of_partition == p])
        long_ago.append(int(mine[int(len(mine) / (1 + gamma) ** 2)]) - 1)
    return len(watched.pairs_until(long_ago) - set(watched.found))


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", GROWING)
def test_a_stream_that_is_never_silent_still_gets_its_spilled_pairs(watch: Watch, name: str) -> None:
    watched, gamma = watch(GROWING[name]), GROWING[name].react.gamma
    for _ in range(60):
        watched.arrive()
        assert late_pairs(watched, gamma) == 0
    assert watched.join.statistics.spilled_rows.sum() > 8 * MEMORY_ROWS
    watched.end()


def test_without_the_rule_pairs_would_be_late(watch: Watch) -> None:
    watched = watch(replace(GROWING["a two-way join that grows"], react=Never()))
    for _ in range(60):
        watched.arrive()
    assert late_pairs(watched, 1.0) > 1000


def test_near_the_end_nothing_is_joined_for_nothing(watch: Watch) -> None:
    """The stop constraint, where it is known how many rows will come."""
    calls = 60
    watched = watch(PR_JOIN, expected_rows=calls * ROWS_AT_A_TIME * 2)
    for number in range(calls):
        watched.arrive()
        if number == calls // 2:
            by_half = len(watched.joined)
    assert len(watched.joined) == by_half > PARTITIONS
    watched.end()


def largest_share(watched: Watched) -> float:
    """Of the largest partition, in all rows."""
    arrived = watched.join.statistics.arrived_rows.sum(axis=0)
    return float(arrived.max() / arrived.sum())


def test_partitions_are_cut_anew_when_memory_is_half_full(tmp_path: Path) -> None:
    """Keys are so skewed that a third of all rows have the most frequent one of 1,000."""
    shares = {}
    for partitions in ("of equal ranges", "from the first rows"):
        (tmp_path / partitions).mkdir()
        watched = Watched(replace(PR_JOIN, partitions=partitions), tmp_path / partitions)
        for _ in range(10):
            watched.arrive(skew=3.0)
        shares[partitions] = largest_share(watched)
        watched.end()
    hottest = np.bincount(watched.keys[LEFT]).max() / len(watched.keys[LEFT])
    assert shares["from the first rows"] < max(1.2 / PARTITIONS, 1.2 * hottest) < shares["of equal ranges"]


def test_a_code_with_more_than_its_share_is_a_partition_of_its_own() -> None:
    codes = np.repeat(np.arange(10, 20, dtype=np.uint64), [1, 1, 1, 100, 1, 1, 1, 1, 1, 1])
    assert even_bounds(codes, 3).tolist() == [13, 14]
    assert even_bounds(np.arange(8, dtype=np.uint64), 4).tolist() == [2, 4, 6]
    assert even_bounds(np.full(5, 7, np.uint64), 3).tolist() == [0, 0]
    assert even_bounds(np.array([3, 9], np.uint64), 16).tolist() == [0] * 14 + [9]  # few rows that fill the memory
