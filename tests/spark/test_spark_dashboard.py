"""The dashboard of a query on Spark, and of its state: what partitions say after each batch."""

import os
import threading
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import sooner.spark as ss
from browser import needs_chromium, opened_browser
from dashboards import Page, ask
from patience import until
from sooner.sources import Fixed
from sooner.ui.dashboard.on_spark import StateOnSpark
from sooner.ui.dashboard.server import Server
from sooner.ui.dashboard.subject import DONE, STOPPED
from spark_joins import JoinCase, skewed

LEFT, RIGHT = skewed(3000, 1500, 1, "a"), skewed(2500, 1500, 2, "b")


def started(spark: SparkSession, folder: Path, rows_a_second: int) -> tuple[ss.Query, str]:
    """A query over replays of two files, and its state."""
    case = JoinCase(spark, folder, LEFT, RIGHT, ways=("packed", "packed"))
    case.streams()
    sides = (ss.sources.replay(spark, str(folder / name), Fixed(1 / rows_a_second)) for name in ("left", "right"))
    state = str(folder / "state")
    joined = ss.join(*sides, on="k", memory="256KB", partitions=2, state=state)
    writer = joined.writeStream.format("noop").option("checkpointLocation", str(folder / "log"))
    return ss.start(writer), state


def test_a_query_on_spark_has_one_and_so_has_its_state(spark: SparkSession, tmp_path: Path) -> None:
    query, state = started(spark, tmp_path, 2_000)
    url = ss.dashboard(query).url
    page = Page(url)
    assert page.about["inputs"] == ["left", "right"]
    told = page.last()
    query.awaitTermination()
    assert query.progress is not None
    total = query.progress.total
    assert told["over"] == DONE
    assert told["state"]["rectangles"] == []  # it is not told which rows have met
    assert min(told["state"]["last_arrival"]) > 0
    assert told["state"]["results"] == total.results > 0
    assert told["state"]["rows"] == list(total.arrived_rows)
    assert [one["results"] for one in told["state"]["partitions"]] == [one.results for one in query.progress.partitions]
    server = Server(StateOnSpark(state))
    assert Page(server.url).news()["state"]["results"] == total.results
    assert f"sooner_results_total {total.results}" in ask(server.url, "metrics")[1].decode()
    server.close()
    until(lambda: not any("sooner-dashboard" in thread.name for thread in threading.enumerate()))


def test_stop_on_the_page_stops_it(spark: SparkSession, tmp_path: Path) -> None:
    query, _ = started(spark, tmp_path, 20)
    url = query.dashboard().url
    page = Page(url)
    until(lambda: page.news()["state"]["rows"])
    assert ask(url, "stop", "POST", Origin=url.rsplit("/", 2)[0])[0] == 200
    assert page.last()["over"] == STOPPED
    query.awaitTermination()


@needs_chromium
@pytest.mark.long
def test_it_is_seen_live_in_a_browser(spark: SparkSession, tmp_path: Path) -> None:
    query, state = started(spark, tmp_path, 20)
    with opened_browser() as browser:
        browser.open(query.dashboard().url)
        seen = []
        for _ in range(3):
            before = browser.number("results")
            until(lambda before=before: browser.number("results") > before)  # type: ignore[misc]
            seen.append(browser.number("results"))
        browser.picture(Path(os.environ.get("SOONER_PICTURES", tmp_path)) / "spark.png")
        assert "Partitions on Spark" in browser.panels()
        for side in ("left", "right"):
            browser.click(f"finish {side}")
        browser.ends()
        assert query.progress is not None
        total = query.progress.total
        until(lambda: browser.number("results") == total.results)
        assert total.results > seen[0]
        server = Server(StateOnSpark(state))
        browser.open(server.url)
        until(lambda: browser.number("results") == total.results)
        assert "Partitions on Spark" in browser.panels()
        assert not {"The rectangle of all pairs", "Results over time", "Rows a second"} & {*browser.panels()}
        assert browser.tile("phase") == "done"
        assert browser.tile("time") == ""
        browser.picture(Path(os.environ.get("SOONER_PICTURES", tmp_path)) / "state.png")
        server.close()
        assert browser.complaints() == []
        assert browser.hosts() == {"127.0.0.1"}
