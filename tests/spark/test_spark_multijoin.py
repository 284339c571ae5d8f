"""`sooner.spark.multijoin`: Spark's own rows, once each, whatever the grid is; kills are elsewhere."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import sooner.spark as ss
from multijoin_driver import ON, MultiCase, tables
from sooner.errors import BudgetTooSmall, InvalidJoin
from sooner.spark.shuffle.shares import Shares, fewest_copies
from spark_joins import rows_of


@pytest.mark.long  # in `make test` the same snowflake goes over a larger grid, see the next one
@pytest.mark.parametrize("partitions", [2, 6])
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
    case = MultiCase(spark, tmp_path, 2, {"partitions": 4, "rows": rows, "copies": 4.0, "memory": "256KB"})
    _, told, *paths = ss.explain(case.joined()).splitlines()
    assert all("packed by" in path for path in paths), paths
    assert told == (
        "  joined by miner, in a grid of 2 x 2 x 1 cells; each row is sent: sales once, customers 2 times, "
        "articles 2 times, nations 4 times"
    )
    query = case.run()
    assert case.written() == case.expected()
    assert query.progress is not None
    assert query.progress.total.phase == "done"
    assert max(progress.total.spilled_rows for progress in case.progress) > 0
    assert any(progress.total.results for progress in case.progress[:-1]), "some come early"


@pytest.mark.long  # in `make test` a plan of other joins, see the next one
def test_a_plan_of_joins_runs_inside_of_a_step(spark: SparkSession, tmp_path: Path) -> None:
    """And goes on after a stop. Its algorithm is part of the state."""
    case = MultiCase(spark, tmp_path, 4, {"algorithm": "agf"})
    told = ss.explain(case.joined())
    assert "joined by agf, in a grid of 2 x 1 x 1 cells" in told
    assert "inner join with articles, where sales.article = articles.article" in told
    case.run_until(lambda progress: progress.total.results > 0)
    case.run()
    assert max(progress.total.spilled_rows for progress in case.progress) > 0
    assert case.written() == case.expected()
    case.arguments = {"algorithm": "state_spill"}
    with pytest.raises(InvalidJoin, match="was made with another algorithm"):
        case.joined()


def test_a_plan_of_other_joins_runs_inside_of_a_step_where_no_row_that_is_asked_is_copied(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Sales have all attributes along which the grid is cut, so each is in one cell, those without a customer too."""
    how = {"customers": "left", "articles": "semi", "nations": "left"}
    case = MultiCase(spark, tmp_path, 3, {"how": how, "partitions": 2})
    told = ss.explain(case.joined())
    assert "joined by agf, in a grid of 2 x 1 x 1 cells" in told
    assert "semi join with articles" in told
    case.run_until(lambda progress: progress.total.arrived_rows[0] > 0)
    case.run()
    sales, customers, articles, nations = (spark.read.parquet(str(case.path(name))) for name in tables())
    joined = sales.join(customers, "customer", "left").join(articles, "article", "semi").join(nations, "nation", "left")
    assert case.written() == rows_of(joined.select(*sorted(joined.columns)))
    case.arguments = {"how": {"customers": "left"}, "partitions": 2}
    with pytest.raises(InvalidJoin, match="is of another kind of join"):
        case.joined()


OTHER_HOWS = {"customers": "left", "articles": "semi", "nations": "full"}


def test_rows_that_may_have_no_match_are_joined_two_at_a_time(spark: SparkSession, tmp_path: Path) -> None:
    """They must be in one place."""
    case = MultiCase(spark, tmp_path, 2, {"how": OTHER_HOWS, "memory": "16MB"})
    assert "join 2 of 3, of sales-customers with articles: rows that may have no match" in ss.explain(case.joined())
    case.arguments["algorithm"] = "agf"
    with pytest.raises(InvalidJoin, match="algorithm='agf' joins all inputs at once, which cannot be: rows"):
        case.joined()


@pytest.mark.long  # in `make test` other queries are joined two at a time, and others join as they are told
def test_inputs_join_on_spark_as_they_are_told(spark: SparkSession, tmp_path: Path) -> None:
    case = MultiCase(spark, tmp_path, 2, {"how": OTHER_HOWS, "memory": "16MB"})
    case.run()
    sales, customers, articles, nations = (spark.read.parquet(str(case.path(name))) for name in tables())
    joined = sales.join(customers, "customer", "left").join(articles, "article", "semi").join(nations, "nation", "full")
    assert case.written() == rows_of(joined.select(*sorted(joined.columns)))


@pytest.mark.long  # one that is killed goes on in test_killed_driver.py
def test_a_query_that_is_stopped_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    """With the algorithm that it began with, unless it is told."""
    case = MultiCase(spark, tmp_path, batches=8, arguments={"algorithm": "mjoin"})
    case.run_until(lambda progress: progress.total.results > 0)
    case.arguments["algorithm"] = "auto"
    case.run()
    assert case.written() == case.expected()


ALIKE = dict.fromkeys(("sales", "customers", "articles", "nations"), 100)


def test_what_a_grid_would_copy_too_often_is_joined_two_at_a_time(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """With the same columns; and it goes on so after a stop, whatever is known of the inputs by then."""
    case = MultiCase(spark, tmp_path, 4, {"partitions": 2, "rows": ALIKE, "copies": 1.0, "memory": "768KB"})
    told = ss.explain(case.joined())
    why = "a grid of 2 cells would send 1.5 times as many rows as there are, and copies=1 is the most"
    assert told.count(why) == 3
    assert f"join 2 of 3, of sales-customers with articles: {why}" in told
    assert f"sales, customers, articles, nations are joined two at a time: {why}." in caplog.messages
    case.run_until(lambda progress: progress.total.results > 0)
    case.arguments = {"memory": "768KB", "partitions": None}
    assert "as the state has it" in ss.explain(case.joined())
    query = case.run()
    assert case.written() == case.expected()
    first = query.progress_of(tmp_path / "state" / "join-1")
    assert first is not None
    assert first.total.phase == "done"
    case.arguments = {"memory": "768KB", "algorithm": "miner"}
    with pytest.raises(InvalidJoin, match="was made with another algorithm"):
        case.joined()
    sales, customers, *_ = case.inputs().values()
    with pytest.raises(InvalidJoin, match="is of many inputs that are joined two at a time"):
        ss.join(sales, customers, on="customer", state=tmp_path / "state")


def test_what_cannot_be_joined_on_spark_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    much: dict[str, Any] = {"partitions": 64, "rows": ALIKE, "memory": "64MB"}
    case = MultiCase(spark, tmp_path, arguments={**much, "algorithm": "mjoin"})
    with pytest.raises(InvalidJoin, match="algorithm='mjoin' joins all inputs at once"):
        case.joined()
    case.arguments = {**much, "memory": "4MB"}
    with pytest.raises(BudgetTooSmall, match="are too little for 3 joins with 64 partitions each"):
        case.joined()
    with pytest.raises(InvalidJoin, match="rows= names 'shops'"):
        ss.multijoin(case.inputs(), on=ON, rows={"shops": 3}, state=tmp_path / "state")
    with pytest.raises(InvalidJoin, match="sales is a str"):
        ss.multijoin({**case.inputs(), "sales": "a.parquet"}, on=ON, state=tmp_path / "state")  # type: ignore[dict-item]


@pytest.mark.long  # in `make test` equal keys are joined two at a time, and ranges in test_range_join.py
def test_inputs_with_a_range_are_joined_two_at_a_time(spark: SparkSession, tmp_path: Path) -> None:
    """Also where the range is given from the input that comes later: low <= articles.article - sales.sale <= high."""
    case = MultiCase(spark, tmp_path, arguments={"memory": "16MB"})
    names, on = ("sales", "articles", "nations"), ["nations.nation = articles.price"]
    inputs = {name: frame for name, frame in case.inputs().items() if name in names}
    within = {("articles.article", "sales.sale"): (-2, 3)}
    joined = ss.multijoin(inputs, on=on, within=within, memory="16MB", partitions=2, state=tmp_path / "state")
    assert "join 1 of 2, of sales with articles: values that may be apart" in ss.explain(joined)
    query = ss.start(ss.sinks.parquet(joined, str(tmp_path / "out")).option("checkpointLocation", str(tmp_path / "cp")))
    query.awaitTermination()
    sales, articles, nations = (spark.read.parquet(str(case.path(name))) for name in names)
    for name, rows in zip(names, (sales, articles, nations), strict=True):
        rows.createOrReplaceTempView(f"all_{name}")
    expected = spark.sql(
        "select s.sale, s.customer, s.article article_sales, a.article article_articles, a.price, n.* from all_sales s "
        "join all_articles a on s.sale between a.article - 2 and a.article + 3 join all_nations n on n.nation = a.price"
    )
    written = spark.read.parquet(str(tmp_path / "out"))
    assert rows_of(written) == rows_of(expected.select(*written.columns))
    assert written.count() > 100


def test_shares_are_those_with_the_fewest_copies() -> None:
    star = [(0, 1, 2), (0,), (1,), (2,)]
    assert fewest_copies(8, star, [1e6, 1e5, 10, 10]) == Shares((8, 1, 1))
    assert fewest_copies(8, star, [1e6, 10, 10, 1e5]) == Shares((1, 1, 8))
    assert fewest_copies(16, star, [1, 1e5, 1e5, 1]) == Shares((4, 4, 1))
    assert fewest_copies(6, [(0,), (0,), (0,)], [1, 1, 1]) == Shares((6,))
    assert fewest_copies(8, star, [10, 1e5, 10, 1e6], once=[1]) == Shares((8, 1, 1)), "the largest is copied"
    assert fewest_copies(8, star, [1, 1, 1, 1], once=[1, 2]) is None, "no attribute is in both"
    assert Shares((2, 3)).copies((0,)) == 3
    assert Shares((2, 3)).copies((0, 1)) == 1
