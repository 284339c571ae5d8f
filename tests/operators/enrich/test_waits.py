"""How long rows have waited, as progress tells it: from the call that took them in to the one that answered them."""

from pathlib import Path

import numpy as np
import pytest

from lookups import MASTER_ROWS, Lookup
from sooner.operators.enrich import waits
from sooner.operators.enrich.plan import MannerName
from sooner.operators.enrich.waits import Waits
from sooner.progress import WAIT_STEPS, Progress, step_of_wait

SHORTEST = 0.001  # what is answered at once counts as so long


def begun(folder: Path, algorithm: MannerName, how: str = "inner", *, gathers: bool = False) -> Lookup:
    lookup = Lookup(folder, algorithm, how, gathers=gathers).has_master(range(MASTER_ROWS))
    lookup.settle()
    return lookup


def waited(lookup: Lookup) -> Progress:
    return lookup.operator.progress()


def test_of_nobody_nothing_is_told(tmp_path: Path) -> None:
    lookup = begun(tmp_path, "probe")
    assert waited(lookup).waited_rows == ()
    assert waited(lookup).waited_seconds(0.5) is None
    lookup.end()


@pytest.mark.parametrize("how", ["inner", "anti"])
def test_who_is_probed_waits_for_nothing(how: str, tmp_path: Path) -> None:
    """Also who is answered by memory, and who has no key."""
    lookup = begun(tmp_path, "probe", how)
    for lookup.now in range(1, 9):
        lookup.ask([*range(20), *range(lookup.now, 2_000, 100), None])
    assert waited(lookup).waited_rows[0] == sum(waited(lookup).waited_rows) == waited(lookup).arrived_rows[0]
    assert waited(lookup).waited_seconds(1.0) == SHORTEST
    lookup.end()


@pytest.mark.parametrize("algorithm", ["meshjoin", "ssbj"])
def test_rows_of_a_scan_wait_until_all_of_the_master_has_passed_by(algorithm: MannerName, tmp_path: Path) -> None:
    lookup = begun(tmp_path, algorithm)
    lookup.ask(range(90))
    while lookup.has_work:
        lookup.now += 1
        lookup.work(2_000)
    took = lookup.now
    assert took > 5
    lookup.ask(range(10))
    lookup.settle()
    told = waited(lookup)
    assert sum(told.waited_rows) == 100
    assert told.waited_rows[0] == 10, "the clock stood still for them"
    assert told.waited_rows[step_of_wait(took)] == 90
    assert told.waited_seconds(0.1) == SHORTEST
    assert took <= (told.waited_seconds(0.11) or 0) <= 1.5 * took
    lookup.end()


def test_rows_that_are_gathered_wait_and_those_that_memory_knows_do_not(tmp_path: Path) -> None:
    lookup = begun(tmp_path, "probe", gathers=True)
    lookup.ask(range(50))
    lookup.now = 8.0
    lookup.settle()
    lookup.ask(range(25))
    told = waited(lookup)
    assert told.waited_rows[0] == 25
    assert told.waited_rows[step_of_wait(8.0)] == 50
    lookup.end()


@pytest.mark.parametrize("how", ["inner", "left"])
def test_rows_without_a_key_are_not_taken_for_those_who_wait(how: str, tmp_path: Path) -> None:
    lookup = begun(tmp_path, "meshjoin", how)
    lookup.ask(range(30))
    lookup.now = 5.0
    lookup.ask([None] * 30)
    assert waited(lookup).waited_rows[0] == sum(waited(lookup).waited_rows) == 30
    lookup.now = 10.0
    lookup.settle()
    assert waited(lookup).waited_rows[step_of_wait(10.0)] == 30
    lookup.end()


@pytest.mark.parametrize(("algorithm", "gathers"), [("meshjoin", False), ("ssbj", False), ("probe", True)])
def test_a_snapshot_knows_since_when_rows_wait(algorithm: MannerName, gathers: bool, tmp_path: Path) -> None:
    lookup = begun(tmp_path, algorithm, gathers=gathers)
    lookup.ask(range(20))
    lookup.now = 12.0
    lookup.cut()
    lookup.ask(range(100, 130))
    lookup.now = 20.0
    lookup.cut()
    lookup.settle()
    lookup.cut()
    told = waited(lookup).waited_rows
    assert (told[step_of_wait(20.0)], told[step_of_wait(8.0)], sum(told)) == (20, 30, 50)
    lookup.end()


def test_a_clock_that_goes_back_makes_no_wait_shorter_than_nothing(tmp_path: Path) -> None:
    """A state may go on elsewhere, whose clock begins anew."""
    lookup = begun(tmp_path, "meshjoin")
    lookup.now = 100.0
    lookup.ask(range(20))
    lookup.cut()
    lookup.now = 1.0
    lookup.settle()
    assert waited(lookup).waited_rows[0] == 20
    lookup.end()


@pytest.mark.parametrize("seed", range(10))
def test_each_row_is_counted_once_however_many_groups_there_are(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside a queue that knows each row by itself; neighbours may be counted as one, and waited longer then."""
    most = [4, 5, 1024][seed % 3]
    monkeypatch.setattr(waits, "MOST_GROUPS", most)
    dice, found, queue, answered, now = np.random.default_rng(seed), Waits(), list[float](), list[float](), 0.0
    for _ in range(600):
        now += float(dice.random())
        taken = int(dice.integers(0, 9))
        at_once = int(dice.integers(0, taken + 1))
        queue += [now] * (taken - at_once)
        leaving = int(dice.integers(0, len(queue) + 1)) if dice.random() < 0.1 else 0
        answered += [0.0] * at_once + [now - came for came in queue[:leaving]]
        queue = queue[leaving:]
        found.look(taken, at_once, len(queue), now)
        assert len(found._groups) <= most
        assert sum(rows for _, rows in found._groups) == len(queue)
        assert sum(found.rows) == len(answered)
    exact = np.bincount([step_of_wait(seconds) for seconds in answered], minlength=WAIT_STEPS)
    if most > 600:
        assert found.rows == tuple(exact)
    assert (np.cumsum(found.rows) <= np.cumsum(exact)).all(), "nobody is told to have waited less than he has"


def test_waits_as_plain_data_are_the_same() -> None:
    first, second = Waits(), Waits()
    first.look(10, 2, 8, 1.0)
    first.look(5, 0, 9, 4.0)
    second.load_plain(first.to_plain())
    for one in (first, second):
        one.look(0, 0, 0, 9.0)
    assert first.rows == second.rows
    assert sum(first.rows) == 15


def test_a_wait_is_in_the_step_that_is_long_enough() -> None:
    longest = [Progress.waited_seconds(told(step), 1.0) for step in range(WAIT_STEPS)]
    assert longest == sorted(longest)  # type: ignore[type-var]
    for seconds in (0.0, 0.001, 0.0011, 0.5, 1.0, 3.7, 1e4):
        at = step_of_wait(seconds)
        assert seconds <= (longest[at] or 0) * 1.000001
        assert at == 0 or seconds > (longest[at - 1] or 0) * 0.999999
    assert step_of_wait(1e30) == WAIT_STEPS - 1


def told(step: int) -> Progress:
    rows = tuple(int(at == step) for at in range(WAIT_STEPS))
    return Progress("done", (1, 1), (0, 0), 0, 0, (0, 0), 0, (0, 0), 0, 0.0, 0.0, waited_rows=rows)
