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


def test_an_account_counts_what_is_taken_and_what_ever_was() -> None:
    account = Budget(100).account("one")
    account.reserve(60)
    assert (account.used_bytes, account.free_bytes, account.peak_bytes) == (60, 40, 60)
    account.release(50)
    account.reserve(20)
    assert (account.used_bytes, account.free_bytes, account.peak_bytes) == (30, 70, 60)


def test_the_last_byte_can_be_had_and_none_beyond_it() -> None:
    account = Budget(100).account("one")
    assert account.try_reserve(100)
    assert not account.try_reserve(1)
    assert account.used_bytes == account.peak_bytes == 100


def test_a_refusal_takes_nothing_and_says_how_much_there_is() -> None:
    account = Budget(2048).account("one")
    account.reserve(1024)
    with refused(BudgetTooSmall, "1.5 KB more", "1.0 KB of 2.0 KB", "`memory`"):
        account.reserve(1536)
    assert (account.used_bytes, account.peak_bytes) == (1024, 1024)


def test_what_becomes_lighter_gives_bytes_back() -> None:
    account = Budget(100).account("one")
    account.reserve(80)
    assert account.try_reserve(-30)
    assert (account.used_bytes, account.peak_bytes) == (50, 80)


def test_nobody_can_give_back_more_than_was_taken() -> None:
    account = Budget(100).account("one")
    account.reserve(10)
    with pytest.raises(AssertionError):
        account.release(11)


def test_several_threads_cannot_take_more_than_there_is() -> None:
    account, taken = Budget(1000).account("one"), [0] * 4

    def take(which: int) -> None:
        while account.try_reserve(1):
            taken[which] += 1

    threads = [threading.Thread(target=take, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(taken) == account.used_bytes == 1000


def test_one_limit_holds_for_all_accounts_together() -> None:
    budget = Budget(100)
    one, other = budget.account("one", 50), budget.account("other", 50)
    one.reserve(70)
    assert other.free_bytes == 30, "an owner may have more than its share while it is there"
    assert other.try_reserve(30)
    assert not one.try_reserve(1)
    assert [(account.used_bytes, account.share_bytes) for account in (one, other)] == [(70, 50), (30, 50)]
    one.release(60)
    assert (budget.used_bytes, budget.peak_bytes, one.peak_bytes, other.peak_bytes) == (40, 100, 70, 30)


def test_an_account_without_a_share_counts_on_all_that_is_free_when_it_is_opened() -> None:
    budget = Budget(100)
    budget.account("rows that wait").take(30)
    assert budget.account("the operator").share_bytes == 70


def test_with_its_owner_goes_all_that_it_had() -> None:
    budget = Budget(100)
    one, other = budget.account("one"), budget.account("other")
    one.reserve(60)
    other.reserve(10)
    one.close()
    one.close()
    assert (budget.used_bytes, [*budget.accounts]) == (10, ["other"])
    budget.account("one").reserve(90)


def test_an_owner_has_one_account() -> None:
    budget = Budget(100)
    budget.account("one")
    with pytest.raises(ValueError, match="'one' has an account already"):
        budget.account("one")


def test_nobody_gives_back_what_another_has_taken() -> None:
    budget = Budget(100)
    one, other = budget.account("one"), budget.account("other")
    one.reserve(60)
    with pytest.raises(AssertionError):
        other.release(1)


def test_scratch_is_counted_beside_the_limit() -> None:
    budget = Budget(100)
    one, other = budget.account("one"), budget.account("other")
    other.borrow(5)
    with one.borrowed(400):
        assert (one.scratch_bytes, budget.scratch_bytes, budget.used_bytes) == (400, 405, 0)
    assert (one.scratch_bytes, one.peak_scratch_bytes, budget.scratch_bytes) == (0, 400, 5)
