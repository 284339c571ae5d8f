"""The dashboard's server and what it tells: for whom, how much, how long, and whether that is what the trace says."""

import gc
import json
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa
import pytest

import sooner
from dashboards import HOSTILE, Page, ask, reading
from patience import until
from queries import gated, numbered, refused, wait_for, wait_until
from sooner.operators.events import Arrived, Flushed, Looped, Reached
from sooner.trace import Entry, TraceHeader
from sooner.ui.dashboard.picture import Picture
from sooner.ui.dashboard.recorded import RecordedQuery
from sooner.ui.dashboard.series import Known
from sooner.ui.dashboard.server import PAGE, SAFETY
from sooner.ui.dashboard.subject import DONE, STOPPED

LEFT, RIGHT = numbered(20_000, 4_000, seed=1, name="a"), numbered(20_000, 4_000, seed=2, name="b")


def held(**options: object) -> tuple[sooner.Query, Callable[[], None]]:
    """A query that has had half of its rows, and waits for a word."""
    go = threading.Event()
    left, right = gated(LEFT, wait_for(go)), gated(RIGHT, wait_for(go))
    return sooner.join(left, right, on="k", **{"memory": "400kB", **options}), go.set  # type: ignore[arg-type]


def ours() -> list[str]:
    return [thread.name for thread in threading.enumerate() if "dashboard" in thread.name or "_thread)" in thread.name]


def test_all_of_the_page_is_here_and_small() -> None:
    query, _ = held()
    with query:
        page = query.dashboard()
        parts = {name: ask(page.url, name) for name in PAGE}
        assert {status for status, _ in parts.values()} == {200}
        assert 60_000 < sum(len(content) for _, content in parts.values()) < 200_000
        assert all(
            b"//" not in content.replace(b"http://www.w3.org", b"")
            for name, (_, content) in parts.items()
            if name == ""
        )
        assert ask(page.url, "page.html")[0] == ask(page.url, "../pyproject.toml")[0] == 404
    assert page.url in page._repr_html_() or "closed" in page._repr_html_()


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        pytest.param("{token}x/", {}, id="another token"),
        pytest.param("", {}, id="no token"),
        pytest.param("{token}", {}, id="not behind the token"),
        pytest.param("{token}/", {"Host": "evil.example"}, id="another host"),
        pytest.param("{token}/news", {"Host": "evil.example:1"}, id="another host that would listen"),
        pytest.param("{token}/news", {"Origin": "http://evil.example"}, id="a page of another site"),
    ],
)
def test_who_has_no_right_to_it_is_refused(path: str, headers: dict[str, str]) -> None:
    query, _ = held()
    with query:
        place = urlsplit(query.dashboard().url)
        asked = path.format(token=place.path.strip("/"))
        assert ask(f"http://{place.netloc}/", asked, **headers)[0] == 403


@pytest.mark.parametrize("origin", [None, "null", "http://evil.example", "http://127.0.0.1:1"])
def test_nothing_is_done_for_another_site(origin: str | None) -> None:
    query, go = held()
    with query:
        url = query.dashboard().url
        headers = {} if origin is None else {"Origin": origin}
        assert ask(url, "stop", "POST", **headers)[0] == ask(url, "finish", "POST", "{}", **headers)[0] == 403
        go()
        assert sum(batch.num_rows for batch in query) == LEFT.join(RIGHT, "k", join_type="inner").num_rows


def test_answers_forbid_other_hosts_and_are_not_kept() -> None:
    query, _ = held()
    with query:
        url = query.dashboard().url
        place = urlsplit(url)
        with socket.create_connection((place.hostname, place.port)) as connection:
            connection.sendall(f"GET {place.path} HTTP/1.0\r\nHost: {place.netloc}\r\n\r\n".encode())
            head = connection.makefile("rb").read().split(b"\r\n\r\n")[0].decode()
        for name, value in SAFETY.items():
            assert f"{name}: {value}" in head
        assert "unsafe" not in head


def test_it_tells_what_the_trace_says() -> None:
    entries: list[Entry] = []
    query, go = held(trace=entries.append, algorithm="xjoin")
    page = Page(query.dashboard().url)
    assert page.about["algorithm"] == "xjoin"
    assert page.about["inputs"] == ["left", "right"]
    reader = reading(query)
    wait_until(query, lambda progress: progress.arrived_rows == (10_000, 10_000))
    page.news()
    half = page.news()["state"]
    assert half["rows"] == [10_000, 10_000]
    assert 0 < half["results"] < half["spilled_rows"] * 100
    go()
    reader.join()
    told = page.last()
    state, events = told["state"], [entry.event for entry in entries]
    reached = [event for event in events if isinstance(event, Reached)]
    assert told["over"] == DONE
    assert state["results"] == reached[-1].results == query.progress.results
    assert state["rows"] == [sum(e.rows[side] for e in events if isinstance(e, Arrived)) for side in (0, 1)]
    assert state["disk"]["written by flushes"] == sum(e.n_bytes for e in events if isinstance(e, Flushed))
    assert [one["rows"] for one in state["flushes"]] == [e.n_rows for e in events if isinstance(e, Flushed)][-10:]
    assert sum(state["rectangles"][0]["shares"]) == pytest.approx(1.0, abs=1e-6)
    results = [row[1] for row in page.rows]
    assert results == sorted(results)
    assert results[-1] == state["results"]
    assert len({*results}) > 3


def test_time_counts_from_when_the_first_row_was_asked_for(tmp_path: Path) -> None:
    """A query may be made long before; of a trace that was kept, from its first entry on."""
    query, go = held(trace=tmp_path / "trace.jsonl")
    page = Page(query.dashboard().url)
    page.news()
    time.sleep(0.5)
    reader = reading(query)
    go()
    reader.join()
    told = page.last()
    assert 0 < told["state"]["seconds"] <= query.traced_seconds - 0.5
    assert told["state"]["last_arrival"][0] <= told["state"]["seconds"]
    kept = RecordedQuery(tmp_path / "trace.jsonl")
    assert kept.picture.news(Known())["rows"][0][0] < 0.5
    assert kept.frames[-1]["seconds"] <= query.traced_seconds - 0.5


def test_stop_stops_and_the_page_says_so() -> None:
    query, _ = held()
    page = query.dashboard()
    shown, reader = Page(page.url), reading(query)
    assert ask(page.url, "stop", "POST", Origin=page.url.rsplit("/", 2)[0])[0] == 200
    reader.join()
    assert shown.last()["over"] == STOPPED
    until(lambda: not ours())
    assert "closed" in repr(page)


def test_an_input_is_finished() -> None:
    query, go = held(how="left")
    url = query.dashboard().url
    origin, shown, reader = url.rsplit("/", 2)[0], Page(url), reading(query)
    assert ask(url, "finish", "POST", json.dumps({"input": "nobody"}), Origin=origin) == (
        409,
        b"There is no input 'nobody'.",
    )
    assert ask(url, "finish", "POST", "left", Origin=origin)[0] == 400
    for side in ("left", "right"):
        assert ask(url, "finish", "POST", json.dumps({"input": side}), Origin=origin)[0] == 200
    reader.join()
    assert shown.last()["over"] == DONE
    assert max(query.progress.arrived_rows) <= 10_000
    go()


def test_a_browser_that_does_not_read_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sooner.ui.dashboard.server.NEWS_SECONDS", 0.0)
    monkeypatch.setattr("sooner.ui.dashboard.server._Handler.timeout", 0.2)
    query, go = held(algorithm="xjoin")
    page = query.dashboard()
    place = urlsplit(page.url)
    stalled = socket.create_connection((place.hostname, place.port))
    stalled.sendall(f"GET {place.path}news HTTP/1.0\r\nHost: {place.netloc}\r\n\r\n".encode())
    reader = reading(query)
    until(lambda: len(ours()) == 2)
    until(lambda: len(ours()) == 1)  # the server; the stalled was given up
    monkeypatch.undo()
    other = Page(page.url)
    go()
    reader.join()
    assert other.last()["over"] == DONE
    stalled.close()
    until(lambda: not ours())


@pytest.mark.parametrize("how", ["read", "stopped", "dropped", "closed", "never read"])
def test_no_thread_is_left(how: str) -> None:
    query, go = held()
    page = query.dashboard()
    Page(page.url).news()
    if how == "read":
        go()
        query.to_table()
    elif how == "stopped":
        next(iter(query))
        query.stop()
    elif how == "closed":
        page.close()
        go()
        query.to_table()
    elif how == "never read":
        query.stop()
    del query, page
    gc.collect()
    until(lambda: not ours())


def test_several_may_look_and_the_second_page_is_another() -> None:
    query, _ = held()
    with query:
        first, second = sooner.dashboard(query), query.dashboard()
        assert first.url != second.url
        assert Page(first.url).about == Page(second.url).about


def test_names_are_told_as_they_are() -> None:
    left, groups = pa.table({"k": [1, 1, 2]}), pa.table({"k": [1, 2], "name": [HOSTILE, None]})
    query = sooner.estimate(left, groups, on="k", by="name", aggregates={HOSTILE: "count"})
    page = Page(query.dashboard().url)
    query.final()
    figures = page.last()["state"]["estimate"]["figures"]
    assert sorted(figures) == sorted([[HOSTILE, HOSTILE, "2"], ["None", HOSTILE, "1"]])


def test_numbers_for_prometheus() -> None:
    query, go = held(algorithm="hmj")
    url, reader = query.dashboard().url, reading(query)
    wait_until(query, lambda progress: progress.arrived_rows == (10_000, 10_000))
    status, text = ask(url, "metrics")
    lines = text.decode().splitlines()
    assert status == 200
    assert 'sooner_rows_total{input="left"} 10000' in lines
    assert any(line.startswith("sooner_results_total ") for line in lines)
    assert all(line.startswith(("# HELP sooner_", "# TYPE sooner_", "sooner_")) for line in lines)
    go()
    reader.join()


def test_what_has_no_dashboard_is_refused() -> None:
    with refused(sooner.InvalidCall, "There is no dashboard of a Table"):
        sooner.dashboard(pa.table({}))


def test_every_kind_of_query_has_one() -> None:
    customers = pa.table({"k": range(4_000), "name": [f"c{n % 3}" for n in range(4_000)]})
    for query in (
        sooner.enrich(LEFT, customers, on="k"),
        sooner.multijoin({"a": LEFT, "b": RIGHT, "c": customers}, on=["a.k = b.k", "b.k = c.k"]),
        sooner.multijoin({"a": LEFT, "b": RIGHT, "c": customers}, on=["a.k = b.k", "b.k = c.k"], algorithm="agf"),
        sooner.estimate(LEFT, customers, on="k", by="name", aggregates={"sum": ("sum", "a")}),
        sooner.sql(
            "SELECT l.k, COUNT(*) AS n FROM l JOIN r ON l.k = r.k GROUP BY l.k HAVING COUNT(*) > 1",
            {"l": LEFT, "r": RIGHT},
        ),
    ):
        page = Page(query.dashboard().url)
        found = list(query)
        told = page.last()
        assert found
        assert told["over"] == DONE
        assert told["state"]["phase"] == "done"
        assert told["state"]["results"] > 0 or told["state"]["estimate"]["exact"]


def test_of_many_inputs_each_two_meet_in_memory_and_on_disk() -> None:
    picture = Picture(TraceHeader("a join of three", "1", 0.0, [], ["a", "b", "c"]))
    together, apart = Arrived(1, (50, 50, 0), 0), Arrived(2, (0, 0, 100), 0)
    leaving = [Flushed(1, which, 0, 50, 400, run=1) for which in (0, 1)]
    for event in (together, *leaving, apart, Flushed(2, 2, 0, 100, 800, run=1)):
        picture.note(Entry(1.0, event))
    before = [one["shares"] for one in picture.to_plain()["rectangles"]]
    assert before == [[1.0, 0.0, 0.0, 0.0], [0.0] * 4, [0.0] * 4]
    picture.note(Entry(2.0, Looped(3, 0, 2, 3, 1600, cells=(((1,), (1,)),) * 3)))
    after = [one["shares"] for one in picture.to_plain()["rectangles"]]
    assert after == [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 1.0, 0.0]]
