"""The dashboard's page in a real browser: that it shows what happens, to anybody, and asks nobody else.

Pictures of it are written to a folder that `SOONER_PICTURES` names, to be looked at.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import sooner
from browser import Browser, needs_chromium, opened_browser
from dashboards import HOSTILE, Page, reading, slow_join, table
from patience import until
from sooner.operators.events import Arrived, Entered, Flushed, Reached
from sooner.sources import Fixed, Pauses, paced
from sooner.trace import Entry, Lines, TraceHeader
from sooner.ui.dashboard.comparing import Comparison
from sooner.ui.dashboard.recorded import RecordedQuery
from sooner.ui.dashboard.rectangle import DISK_DISK
from sooner.ui.dashboard.server import Server

pytestmark = [needs_chromium, pytest.mark.long]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with opened_browser() as browser:
        yield browser


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    """It has nothing to complain of, and asks no other host."""
    chromium.hosts(), chromium.complaints()
    yield chromium
    assert chromium.complaints() == []
    assert chromium.hosts() <= {"127.0.0.1"}


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The same join by three algorithms."""
    folder = tmp_path_factory.mktemp("traces")
    files = [folder / f"{name}.jsonl" for name in ("xjoin", "rpj", "hmj")]
    for file in files:
        slow_join(rows=150_000, seconds=4, algorithm=file.stem, trace=file).to_table()
    return files


def keep(browser: Browser, name: str, tmp_path: Path) -> None:
    folder = Path(os.environ.get("SOONER_PICTURES", tmp_path))
    browser.picture(folder / f"{name}.png")
    assert (folder / f"{name}.png").stat().st_size > 10_000


def is_inside(browser: Browser, width: int) -> bool:
    """Nothing of the page is wider than its window."""
    return bool(browser.run("return document.documentElement.scrollWidth <= arguments[0]", width))


def test_a_join_is_seen_live(browser: Browser, tmp_path: Path) -> None:
    query = slow_join(rows=400_000, seconds=60, memory="2MB", trace=tmp_path / "trace.jsonl")
    browser.open(query.dashboard().url)
    reader, seen = reading(query), []
    for _ in range(4):
        before = browser.number("results")
        until(lambda before=before: browser.number("results") > before)  # type: ignore[misc]
        seen.append(browser.number("results"))
    assert seen == sorted({*seen})
    until(lambda: browser.run("return document.querySelectorAll('tbody tr').length") > 2)  # of what left memory
    keep(browser, "live", tmp_path)
    for side in ("left", "right"):
        browser.click(f"finish {side}")
    reader.join()
    browser.ends()
    until(lambda: browser.number("results") == query.progress.results)
    assert browser.tile("pairs that have met") == "100%"
    assert "The query is done." in browser.text("#status")
    kept = RecordedQuery(tmp_path / "trace.jsonl")
    assert kept.picture.results == query.progress.results
    keep(browser, "done", tmp_path)
    browser.prefer("dark")
    keep(browser, "dark", tmp_path)


def test_stop_stops(browser: Browser) -> None:
    query = slow_join(seconds=600)
    browser.open(query.dashboard().url)
    reader = reading(query)
    until(lambda: browser.number("results") > 0)
    browser.run("window.confirm = () => true")
    browser.click("stop")
    reader.join()
    browser.ends()
    assert browser.text("#status") == "The query ended before it was done."
    assert browser.run("return document.querySelector('#buttons button').disabled")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_a_trace_is_seen_again(browser: Browser, traces: list[Path], scheme: str, width: int, tmp_path: Path) -> None:
    kept = RecordedQuery(traces[0])
    page = Server(kept)
    browser.open(page.url, width, scheme=scheme)
    browser.ends()
    until(lambda: browser.number("results") == kept.picture.results)
    assert is_inside(browser, width)
    ground = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(244, 245, 247)", "dark": "rgb(16, 20, 27)"}[scheme]
    shown = [browser.number("results")]
    for share in (0.75, 0.5, 0.25):
        browser.slide(share)
        until(lambda: browser.number("results") < shown[-1])
        shown.append(browser.number("results"))
    assert shown == sorted({*shown}, reverse=True)
    assert browser.text("#moment") == browser.run("return document.getElementById('moment').value")
    keep(browser, f"trace-{scheme}-{width}", tmp_path)
    browser.slide(1.0)
    until(lambda: browser.number("results") == kept.picture.results)
    page.close()


def test_the_slider_and_buttons_are_for_the_keyboard_too(browser: Browser) -> None:
    from selenium.webdriver.common.keys import Keys

    query = slow_join(seconds=600)
    with query:
        browser.open(query.dashboard().url)
        reading(query)
        until(lambda: browser.number("results") > 0)
        reached = []
        for _ in range(4):
            browser.driver.switch_to.active_element.send_keys(Keys.TAB)
            reached.append(browser.run("const a = document.activeElement; return a.id || a.textContent"))
        assert reached == ["finish left", "finish right", "stop", "slider"]
        browser.driver.switch_to.active_element.send_keys(Keys.HOME)
        until(lambda: not browser.run("return document.getElementById('newest').hidden"))


def test_runs_are_compared(browser: Browser, traces: list[Path], tmp_path: Path) -> None:
    page = Server(Comparison.of_traces([RecordedQuery(file) for file in traces]))
    browser.open(page.url)
    until(lambda: browser.run("return document.querySelectorAll('tbody tr').length") == 3)
    for name in ("xjoin", "rpj", "hmj"):
        assert name in browser.text("tbody")
    keep(browser, "comparison", tmp_path)
    page.close()


def test_races_of_the_lab_are_compared_with_their_bound(browser: Browser, tmp_path: Path) -> None:
    page = Server(Comparison.of_report(Path(__file__).parents[2] / "docs" / "results" / "rpj-8a.json"))
    browser.open(page.url)
    until(lambda: browser.run("return document.querySelectorAll('tbody tr').length") == 8)
    assert "of the bound" in browser.text("thead")
    assert "disk work" not in browser.text("thead")
    assert "88%" in browser.text("tbody tr")
    assert is_inside(browser, 1400)
    keep(browser, "lab", tmp_path)
    page.close()


def test_names_are_only_text(browser: Browser, tmp_path: Path) -> None:
    lines = Lines(TraceHeader(HOSTILE, "q", 0.0, [f"algorithm='{HOSTILE}'"], [HOSTILE, "b"], [4, 4], 100))
    entries = [Arrived(1, (4, 4), 16), Flushed(2, 0, 0, 4, 100, 1), Reached(3, 9, ((0,), (100,))), Entered(4, "done")]
    told = [lines.of(Entry(float(second), event)) for second, event in enumerate(entries, 1)]
    (tmp_path / "trace.jsonl").write_text("".join([lines.first, *told]))
    page = Server(RecordedQuery(tmp_path / "trace.jsonl"))
    browser.open(page.url)
    browser.ends()
    assert HOSTILE in browser.text("h1")
    until(lambda: HOSTILE in browser.text("tbody"))
    assert browser.text("#panels").count(HOSTILE) >= 3
    assert browser.run("return document.querySelectorAll('img').length") == 0
    page.close()


def test_an_estimate_a_look_up_and_a_plan(browser: Browser, tmp_path: Path) -> None:
    left, right = table("a", 1, 60_000), table("b", 2, 60_000)
    many = table("a", 1, 1_000_000)
    groups = pa.table({"k": range(60_000), "name": [f"group {n % 3}" for n in range(60_000)]})
    on = ["a.k = b.k", "b.k = c.k"]
    queries = {
        "estimate": sooner.estimate(many, groups, on="k", by="name", aggregates={"sum": ("sum", "a_more")}),
        "enrich": sooner.enrich(left, groups, on="k", memory="1MB"),
        "plan": sooner.multijoin({"a": left, "b": right, "c": groups}, on=on, algorithm="agf"),
        "many": sooner.multijoin({"a": left, "b": right, "c": groups}, on=on, algorithm="miner"),
    }
    says = {"estimate": "Estimates", "enrich": "Look-ups", "plan": "Joins of the plan", "many": "Pairs of inputs"}
    for name, query in queries.items():
        browser.open(query.dashboard().url)
        reading(query).join()
        browser.ends()
        until(lambda name=name: says[name] in browser.panels())  # type: ignore[misc]
        keep(browser, name, tmp_path)


def test_why_rows_left_memory_and_that_many_inputs_met_on_disk(browser: Browser, tmp_path: Path) -> None:
    """In the silences of three inputs that are larger than the memory."""
    pattern = Pauses(Fixed(0.00002), every_rows=8_000, seconds=1.0)
    inputs = {name: paced(table(name, seed, 24_000), pattern, seed=seed) for seed, name in enumerate("abc")}
    query = sooner.multijoin(inputs, on=["a.k = b.k", "b.k = c.k"], memory="1MB", algorithm="miner")
    shares: list[list[float]] = []
    page = query.dashboard()
    browser.open(page.url)
    thread, told = reading(query), Page(page.url)
    while not (state := told.news())["over"]:
        shares = [one["shares"] for one in state["state"]["rectangles"]]
        if shares and all(of_pair[DISK_DISK] for of_pair in shares):
            break
    assert all(of_pair[DISK_DISK] for of_pair in shares)
    until(lambda: "because" in browser.text("#panels"))
    keep(browser, "many on disk", tmp_path)
    assert browser.run(
        "return [...document.querySelectorAll('td')].some(one => / values, with /.test(one.textContent))"
    )
    query.stop()
    thread.join()
    told.last()
    browser.ends()
