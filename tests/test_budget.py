"""Bytes: how they are written, and how they are counted."""

import threading

import pytest

from queries import refused
from sooner.budget import UNLIMITED_BYTES, Budget, format_bytes, parse_bytes
from sooner.errors import BudgetTooSmall, InvalidJoin


@pytest.mark.parametrize(
    ("memory", "n_bytes"),
    [
        (1, 1),
        (123_456, 123_456),
        ("100", 100),
        ("100b", 100),
        ("1k", 1024),
        ("1KB", 1024),
        ("1 KiB", 1024),
        ("256MB", 256 * 2**20),
        ("256 mb", 256 * 2**20),
        ("1g", 2**30),
        ("1.5 GiB", 3 * 2**29),
        (" 2t ", 2**41),
        ("0.5k", 512),
        (None, UNLIMITED_BYTES),
    ],
)
def test_a_size_may_be_written_in_many_ways(memory: int | str | None, n_bytes: int) -> None:
    assert parse_bytes(memory) == n_bytes


@pytest.mark.parametrize(
    "memory", ["", "MB", "1x", "1 m b", "-1k", "1e6", "1,000", "one", "1kk", 2.5, True, b"1k", ["1k"]]
)
def test_what_is_not_a_size_is_refused_with_an_example(memory: object) -> None:
    with refused(InvalidJoin, f"memory={memory!r}", "'256MB'"):
        parse_bytes(memory)  # type: ignore[arg-type]


@pytest.mark.parametrize("memory", [0, -1, "0", "0.0GB", "0.0001b"])
def test_nothing_is_not_enough(memory: int | str) -> None:
    with refused(InvalidJoin, f"memory={memory!r}", "more than nothing"):
        parse_bytes(memory)


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KB"), (1536, "1.5 KB"), (2**20, "1.0 MB"), (5 * 2**40, "5120.0 GB")],
)
def test_sizes_are_told_in_the_unit_that_fits(n_bytes: int, text: str) -> None:
    assert format_bytes(n_bytes) == text


def test_a_budget_counts_what_is_taken_and_what_ever_was() -> None:
    budget = Budget(100)
    budget.reserve(60)
    assert (budget.used_bytes, budget.free_bytes, budget.peak_bytes) == (60, 40, 60)
    budget.release(50)
    budget.reserve(20)
    assert (budget.used_bytes, budget.free_bytes, budget.peak_bytes) == (30, 70, 60)


def test_the_last_byte_can_be_had_and_none_beyond_it() -> None:
    budget = Budget(100)
    assert budget.try_reserve(100)
    assert not budget.try_reserve(1)
    assert budget.used_bytes == budget.peak_bytes == 100


def test_a_refusal_takes_nothing_and_says_how_much_there_is() -> None:
    budget = Budget(2048)
    budget.reserve(1024)
    with refused(BudgetTooSmall, "1.5 KB more", "1.0 KB of 2.0 KB", "`memory`"):
        budget.reserve(1536)
    assert (budget.used_bytes, budget.peak_bytes) == (1024, 1024)


def test_what_becomes_lighter_gives_bytes_back() -> None:
    budget = Budget(100)
    budget.reserve(80)
    assert budget.try_reserve(-30)
    assert (budget.used_bytes, budget.peak_bytes) == (50, 80)


def test_nobody_can_give_back_more_than_was_taken() -> None:
    budget = Budget(100)
    budget.reserve(10)
    with pytest.raises(AssertionError):
        budget.release(11)


def test_several_threads_cannot_take_more_than_there_is() -> None:
    budget, taken = Budget(1000), [0] * 4

    def take(which: int) -> None:
        while budget.try_reserve(1):
            taken[which] += 1

    threads = [threading.Thread(target=take, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(taken) == budget.used_bytes == 1000
