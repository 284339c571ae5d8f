"""`sooner.spark.multijoin`: Spark's own rows, once each, whatever the grid is; kills are elsewhere."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import sooner.spark as ss
from multijoin_driver import ON, MultiCase
from sooner.errors import InvalidJoin
from sooner.spark.shuffle.shares import Shares, fewest_copies


@pytest.mark.parametrize("partitions", [2, pytest.param(6, marks=pytest.mark.long)])
def test_a_snowflake_is_sparks_own_answer(partitions: int, spark: SparkSession, tmp_path: Path) -> None:
    case = MultiCase(spark, tmp_path, arguments={"partitions": partitions, "memory": f"{partitions * 64}KB"})
    query = case.run()
    assert case.written() == case.expected()
    assert query.progress is not None
    assert query.progress.total.phase == "done"
    assert max(progress.total.spilled_rows for progress in case.progress) > 0
    assert any(progress.total.results for progress in case.progress[:-1]), "some come early"


def test_a_grid_of_several_dimensions_copies_what_it_must(spark: SparkSession, tmp_path: Path) -> None:
    """By rows= the grid is cut along two attributes: customers and nations are copied, and each result comes once."""
    rows = {"sales": 1000, "customers": 900, "articles": 900, "nations": 1}
    case = MultiCase(spark, tmp_path, 2, {"partitions": 4, "rows": rows, "copies": 4.0, "memory": "16MB"})
    told = ss.explain(case.joined()).splitlines()[1]
    assert told == (
        "  joined by miner, in a grid of 2 x 2 x 1 cells; each row is sent: sales once, customers 2 times, "
        "articles 2 times, nations 4 times"
    )
    case.run()
    assert case.written() == case.expected()


@pytest.mark.long  # one that is killed goes on in test_killed_driver.py
def test_a_query_that_is_stopped_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    """With the algorithm that it began with, unless it is told."""
    case = MultiCase(spark, tmp_path, batches=8, arguments={"algorithm": "mjoin"})
    case.run_until(lambda progress: progress.total.results > 0)
    case.arguments["algorithm"] = "auto"
    case.run()
    assert case.written() == case.expected()


def test_what_would_copy_too_much_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    alike = dict.fromkeys(("sales", "customers", "articles", "nations"), 100)
    case = MultiCase(spark, tmp_path, arguments={"partitions": 64, "rows": alike, "memory": "64MB"})
    with pytest.raises(InvalidJoin, match="times as many rows would be sent"):
        case.joined()
    with pytest.raises(InvalidJoin, match="rows= names 'shops'"):
        ss.multijoin(case.inputs(), on=ON, rows={"shops": 3}, state=tmp_path / "state")
    with pytest.raises(InvalidJoin, match="sales is a str"):
        ss.multijoin({**case.inputs(), "sales": "a.parquet"}, on=ON, state=tmp_path / "state")  # type: ignore[dict-item]


def test_a_range_is_refused_with_what_to_do_instead(tmp_path: Path) -> None:
    with pytest.raises(InvalidJoin, match=r"join two at a time by sooner\.spark\.join"):
        ss.multijoin({}, ON, within={("sales.sale", "articles.article"): 5}, state=tmp_path)


def test_shares_are_those_with_the_fewest_copies() -> None:
    star = [(0, 1, 2), (0,), (1,), (2,)]
    assert fewest_copies(8, star, [1e6, 1e5, 10, 10]) == Shares((8, 1, 1))
    assert fewest_copies(8, star, [1e6, 10, 10, 1e5]) == Shares((1, 1, 8))
    assert fewest_copies(16, star, [1, 1e5, 1e5, 1]) == Shares((4, 4, 1))
    assert fewest_copies(6, [(0,), (0,), (0,)], [1, 1, 1]) == Shares((6,))
    assert Shares((2, 3)).copies((0,)) == 3
    assert Shares((2, 3)).copies((0, 1)) == 1
