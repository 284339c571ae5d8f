"""A query in process tells what goes a slower way than usual, and the log does once."""

from pathlib import Path

import pytest

import sooner
import sooner.fallbacks
from queries import numbered
from sooner.local import returned_memory


@pytest.mark.parametrize("missing", ["_PAGES", "_TRIM"])
def test_memory_that_does_not_go_back_is_told(
    missing: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sooner.fallbacks, "_REPORTED", set())
    monkeypatch.setattr(returned_memory, missing, Path("/no/statm") if missing == "_PAGES" else "no_trim")
    tables = numbered(100, name="a"), numbered(100, name="b")
    queries = [sooner.join(*tables, on="k"), sooner.estimate(*tables, on="k", aggregates={"n": "count"})]
    for query in queries:
        list(query)
        [told] = query.progress.fallbacks
        assert told.startswith("Memory that was freed may stay with the process: ")
        assert str(query.progress).endswith(f"; {told}")
    assert caplog.messages == [told]


def test_a_query_has_nothing_to_tell_where_all_is_as_it_should_be() -> None:
    query = sooner.join(numbered(100, name="a"), numbered(100, name="b"), on="k")
    query.to_table()
    assert query.progress.fallbacks == ()
