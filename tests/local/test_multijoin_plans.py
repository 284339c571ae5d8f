"""Plans of joins as a user meets them by `sooner.multijoin`, beside DuckDB."""

from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pytest
from test_multijoin import SNOWFLAKE, SNOWFLAKE_IN_SQL, asked_of_duckdb, rows_of, shop

import sooner
from sooner.asked.multijoins import KNOWN, MultiAlgorithmName
from sooner.sources.arrival_patterns import Fixed
from sooner.sources.pacing import paced

LITTLE = "500KB"


@pytest.mark.parametrize("algorithm", ["agf", "state_spill", "rpj", "hmj"])
def test_a_plan_gives_what_one_operator_gives(algorithm: MultiAlgorithmName) -> None:
    tables = shop()
    query = sooner.multijoin(tables, on=SNOWFLAKE, algorithm=algorithm, memory=LITTLE, partitions=3)
    assert query.progress.algorithm == algorithm
    found = query.to_table()
    expected = asked_of_duckdb(SNOWFLAKE_IN_SQL, **tables)
    assert rows_of(found) == rows_of(expected)
    assert found.schema.names == sooner.multijoin(tables, on=SNOWFLAKE).schema.names
    assert query.progress.phase == "done"


KINDS: list[tuple[dict[str, Any], str]] = [
    (
        {"customers": "left", "articles": "semi", "nations": "left"},
        "SELECT s.sale, s.customer, s.article, c.nation, n.name FROM sales s LEFT JOIN customers c USING (customer) "
        "SEMI JOIN articles a USING (article) LEFT JOIN nations n ON c.nation = n.nation",
    ),
    (
        {"customers": "anti", "articles": "left"},
        "SELECT s.sale, s.customer, s.article, a.title FROM sales s ANTI JOIN customers c USING (customer) "
        "LEFT JOIN articles a USING (article)",
    ),
    (
        {"customers": "full", "articles": "left", "nations": "full"},
        "SELECT s.sale, coalesce(s.customer, c.customer) customer, s.article, coalesce(c.nation, n.nation) nation, "
        "a.title, n.name FROM sales s FULL JOIN customers c ON s.customer = c.customer LEFT JOIN articles a ON "
        "s.article = a.article FULL JOIN nations n ON c.nation = n.nation",
    ),
    (
        {"customers": "right", "articles": "left"},
        "SELECT s.sale, c.customer, s.article, c.nation, a.title FROM sales s RIGHT JOIN customers c ON s.customer = "
        "c.customer LEFT JOIN articles a ON s.article = a.article",
    ),
]


@pytest.mark.parametrize(("how", "query"), KINDS)
def test_each_input_joins_as_it_is_told(how: dict[str, Any], query: str) -> None:
    tables = shop()
    tables["customers"] = tables["customers"].slice(100)
    given = {name: table for name, table in tables.items() if name != "nations" or "nations" in query}
    on = [one for one in SNOWFLAKE if "nations" in given or "nations" not in one]
    found = sooner.multijoin(given, on=on, how=how, memory=LITTLE).to_table()
    expected = asked_of_duckdb(query, **tables)
    assert sorted(found.schema.names) == sorted(expected.schema.names)
    assert rows_of(found) == rows_of(expected)
    assert found.num_rows > 0


def test_a_range_in_a_plan_and_several_equalities_of_one_join() -> None:
    """A circle is no tree, but a plan can have it: the last input is compared with both before it."""
    dice = np.random.default_rng(0)
    a, b, c = (pa.table({"x": dice.integers(0, 40, 300), "y": dice.integers(0, 40, 300)}) for _ in range(3))
    found = sooner.multijoin(
        {"a": a, "b": b, "c": c}, on=["a.x = b.x", "b.y = c.y"], within={("a.y", "c.x"): (0, 3)}, algorithm="agf"
    )
    assert "agf" in found.explain().splitlines()[0]
    expected = asked_of_duckdb(
        "SELECT a.x, a.y y_a, b.y y_b, c.x x_c FROM a JOIN b ON a.x = b.x JOIN c ON b.y = c.y AND c.x - a.y BETWEEN 0 "
        "AND 3",
        a=a, b=b, c=c,
    )  # fmt: skip
    table = found.to_table()
    assert sorted(sorted(row) for row in table.to_pydict().values()) == sorted(
        sorted(row) for row in expected.to_pydict().values()
    )
    assert table.num_rows == expected.num_rows > 100


def test_results_come_early_and_a_plan_can_be_stopped() -> None:
    tables = shop()
    slow = {name: paced(table, Fixed(1 / 4_000)) for name, table in tables.items()}
    with sooner.multijoin(slow, on=SNOWFLAKE, algorithm="agf", memory=LITTLE) as query:
        first = next(iter(query))
    assert first.num_rows
    assert query.progress.arrived_rows[0] < tables["sales"].num_rows


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"how": {"sales": "left"}}, "has 'sales', which comes first"),
    ({"how": "left"}, "does not say of which input"),
    ({"how": {"shops": "left"}}, "names an input 'shops'"),
    ({"how": {"nations": "lft"}}, "did you mean 'left'"),
    ({"how": {"nations": "left"}, "algorithm": "miner"}, "takes a plan of two-way joins"),
    ({"algorithm": "pr_join"}, "is not known for many inputs"),
    ({"partitions": 3}, "is one operator that has none"),
]


@pytest.mark.parametrize(("arguments", "why"), REFUSED)
def test_what_cannot_be_is_refused(arguments: dict[str, Any], why: str) -> None:
    with pytest.raises(sooner.InvalidJoin, match=why):
        sooner.multijoin(shop(10), on=SNOWFLAKE, **arguments)


def test_the_order_counts_where_joins_are_not_inner() -> None:
    tables = shop(50)
    turned = {name: tables[name] for name in ("sales", "nations", "customers", "articles")}
    with pytest.raises(sooner.InvalidJoin, match="name it after the input that it hangs on"):
        sooner.multijoin(turned, on=SNOWFLAKE, how={"articles": "left"})
    found = sooner.multijoin(turned, on=SNOWFLAKE, algorithm="rpj").to_table()
    assert rows_of(found) == rows_of(asked_of_duckdb(SNOWFLAKE_IN_SQL, **tables))
    with pytest.raises(sooner.InvalidJoin, match="a bushy plan"):
        sooner.multijoin(turned, on=["sales.customer = customers.customer", "nations.nation = articles.article"],
                         algorithm="agf")  # fmt: skip


def test_names_of_algorithms_are_spelled_out() -> None:
    assert set(get_args(MultiAlgorithmName)) == {*KNOWN}
