"""SSBJ: which keys are answered from the cache, from when on, and how long (sec. 3.1)."""

from pathlib import Path

import pytest

from lookups import HOWS, Lookup, go_through_a_stream, master_keys
from queries import refused
from sooner.errors import BudgetTooSmall

HOT, COLD, ABSENT = 7, 500, 10**6
EVICTION_CYCLE = 10


@pytest.mark.one_in(6)
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("colliding", [False, True])
@pytest.mark.parametrize("how", HOWS)
def test_each_stream_row_gets_the_answer_of_a_nested_loop(how: str, colliding: bool, seed: int, tmp_path: Path) -> None:
    go_through_a_stream(tmp_path, "ssbj", how, colliding, seed)


def begun(folder: Path, how: str = "inner", memory_rows: int = 300, switching_factor: float = 1.0) -> Lookup:
    keys = master_keys()
    return Lookup(folder, "ssbj", how, memory_rows, switching_factor=switching_factor).has_master(keys)


def cycle(lookup: Lookup, number: int, keys: list[int]) -> int:
    """One cycle of the scan, with a key that nobody asked for before; how many rows are answered as they come."""
    answered = len(lookup.ask([*keys, COLD + number]))
    lookup.settle(2_000)
    return answered


def test_hot_keys_are_answered_at_once_after_three_cycles(tmp_path: Path) -> None:
    lookup = begun(tmp_path)
    answered = [cycle(lookup, number, [HOT] * 20) for number in range(1, 6)]
    assert answered == [0, 0, 0, 20, 20], "counted, gathered, in the cache when the third begins"
    worked = lookup.operator.worked_bytes
    assert len(lookup.ask([HOT] * 5)) == 5
    assert lookup.waiting_rows == 0
    assert not lookup.has_work
    assert lookup.operator.worked_bytes == worked
    lookup.end()


def test_a_key_with_as_many_stream_rows_as_master_rows_stays_where_it_is(tmp_path: Path) -> None:
    """Rows of both weigh the same here: n = m is no gain, n > m is (theorem 2)."""
    lookup = Lookup(tmp_path, "ssbj").has_master([*master_keys(), HOT, HOT, COLD, COLD, COLD])
    for number in range(1, 5):
        cycle(lookup, number, [HOT] * 4 + [COLD] * 4)
    assert lookup.cache.n_rows == 3, "the first key has three master rows, the second four"
    assert len(lookup.ask([HOT, COLD])) == 3
    lookup.end()


@pytest.mark.parametrize(("factor", "moved"), [(1.0, 9), (3.0, 7), (5.0, 5), (20.0, 0)])
def test_with_a_switching_factor_above_1_fewer_keys_move(factor: float, moved: int, tmp_path: Path) -> None:
    """Keys that are asked for once to ten times a cycle."""
    lookup = begun(tmp_path, switching_factor=factor)
    asked = [key for key in range(1, 11) for _ in range(key)]
    for number in range(1, 4):
        cycle(lookup, number, asked)
    assert lookup.cache.n_rows == moved
    lookup.end()


def test_idle_keys_leave_with_the_tenth_cycle_and_used_ones_stay(tmp_path: Path) -> None:
    lookup = begun(tmp_path)
    idle, used = [1] * 5, [2] * 5
    for number in range(1, 4):
        cycle(lookup, number, idle + used)
    for number in range(4, EVICTION_CYCLE):
        assert cycle(lookup, number, used) == 5
        assert lookup.cache.n_rows == 2
    cycle(lookup, EVICTION_CYCLE, used)
    assert lookup.cache.n_rows == 1
    assert len(lookup.ask([2])) == 1
    assert len(lookup.ask([1])) == 0
    lookup.end()


def test_a_key_that_is_used_too_rarely_leaves(tmp_path: Path) -> None:
    """Once in ten cycles is less than the one row of the master by a cycle (line 46)."""
    lookup = begun(tmp_path)
    for number in range(1, EVICTION_CYCLE):
        assert cycle(lookup, number, [1] * 5 if number < 4 else [1] if number == 5 else []) == int(number == 5)
    assert lookup.cache.n_rows == 1
    cycle(lookup, EVICTION_CYCLE, [])
    assert lookup.cache.n_rows == 0
    lookup.end()


@pytest.mark.parametrize("how", ["left", "anti"])
def test_a_key_that_no_master_row_has_is_an_entry_without_rows(how: str, tmp_path: Path) -> None:
    """It is known when it was counted, a cycle sooner than others are in the cache."""
    lookup = begun(tmp_path, how)
    answered = [cycle(lookup, number, [ABSENT] * 3) for number in range(1, 5)]
    assert answered == [0, 0, 3, 3]
    assert lookup.cache.n_rows < 5, "cold ones at most"
    assert len(lookup.ask([ABSENT, ABSENT + 1])) == 1
    lookup.end()


def test_an_entry_without_rows_leaves_when_nobody_asks_for_it(tmp_path: Path) -> None:
    lookup = begun(tmp_path, "left")
    for number in range(1, 2 * EVICTION_CYCLE + 1):
        cycle(lookup, number, [ABSENT, ABSENT, ABSENT + 1] if number < 4 else [ABSENT + 1])
    assert len(lookup.ask([ABSENT + 1])) == 1
    assert len(lookup.ask([ABSENT])) == 0
    lookup.end()


def test_hot_keys_stay_in_the_cache_when_it_goes_on_from_a_snapshot(tmp_path: Path) -> None:
    """Saved after each call, also while keys are counted and their rows gathered."""
    lookup = begun(tmp_path)
    answered = []
    for number in range(1, 6):
        answered.append(len(lookup.ask([HOT] * 20 + [COLD + number])))
        while lookup.has_work:
            lookup.work(5_000)
            lookup.cut()
    assert answered == [0, 0, 0, 20, 20]
    lookup.end()


def test_the_cache_gives_way_to_rows_that_wait(tmp_path: Path) -> None:
    lookup = begun(tmp_path, memory_rows=200)
    for number in range(1, 4):
        cycle(lookup, number, [*range(40)] * 2)
    assert lookup.cache.n_rows > 20
    lookup.ask(range(100, 290))
    assert lookup.cache.n_rows == 0
    assert lookup.operator.account.free_bytes >= 0
    lookup.end()


def test_a_batch_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    lookup = begun(tmp_path, memory_rows=150)
    with refused(BudgetTooSmall, "4.4 KB more do not fit", "of 4.1 KB", "raise `memory`"):
        lookup.ask(range(160))
    lookup.operator.close()
