"""The table of tolerances: the last entry of a name is in force, and what it replaced is not forgotten."""

import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from sooner.lab import tolerances
from sooner.lab.tolerances import LOG, Entry

HOUSE = Path(__file__).parents[2]
FILE = "src/sooner/lab/tolerances.py"
FIRST, OTHER = Entry("2026-01-01", "a tie", 0.005, "first"), Entry("2026-01-02", "similar", 2, "a factor")
SECOND, THIRD = Entry("2026-01-03", "a tie", 0.01, "second"), Entry("2026-01-04", "a tie", 0.02, "third")


def test_the_last_entry_of_a_name_is_in_force_and_each_change_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tolerances, "LOG", (FIRST, OTHER, SECOND, THIRD))
    assert tolerances.tolerances() == {"a tie": THIRD, "similar": OTHER}
    assert tolerances.changes() == [(FIRST, SECOND), (SECOND, THIRD)]


def test_entries_are_in_the_order_of_their_dates_and_have_reasons() -> None:
    assert [entry.date for entry in LOG] == sorted(entry.date for entry in LOG)
    assert all(entry.reason for entry in LOG)


def log_of(source: str) -> tuple[Entry, ...]:
    names: dict[str, Any] = {}
    exec(source, names)
    return tuple(Entry(*entry) for entry in names["LOG"])


def git(*arguments: str) -> str:
    return subprocess.run(("git", "-C", str(HOUSE), *arguments), capture_output=True, text=True, check=True).stdout


def logs_of_history() -> list[tuple[Entry, ...]]:
    """The log as each commit left it, the oldest first, and as it is now."""
    try:
        commits = git("log", "--reverse", "--format=%H", "--", FILE).split()
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("there is no history here")
    return [log_of(git("show", f"{commit}:{FILE}")) for commit in commits] + [log_of((HOUSE / FILE).read_text())]


def test_no_entry_was_ever_changed_or_taken_out() -> None:
    """A tolerance that changes when results are known leaves a line in the log, which is on the results page."""
    for before, after in pairwise(logs_of_history()):
        assert after[: len(before)] == before, "append an entry to the log instead, with the reason of the change"


def test_a_change_in_place_is_seen() -> None:
    source = (HOUSE / FILE).read_text()
    changed = source.replace("0.005", "0.05", 1)
    assert log_of(changed)[: len(LOG)] != log_of(source)
