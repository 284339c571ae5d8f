"""`sooner.sql` against DuckDB: aggregates when they are exact, and rows of every kind of join."""

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sooner
from sql_tables import ORDERS, PEOPLE, TABLES, duckdb_rows

JOINED = "FROM orders AS o JOIN customers AS c ON o.customer = c.id"


def estimates(query: str, **options: Any) -> sooner.Estimates:
    found = sooner.sql(query, TABLES, **options)
    assert isinstance(found, sooner.Estimates)
    return found


def rows(query: str) -> sooner.Query:
    found = sooner.sql(query, TABLES)
    assert isinstance(found, sooner.Query)
    return found


AGGREGATES = {
    "count": f"SELECT COUNT(*) {JOINED}",
    "every function": f"SELECT COUNT(flag), SUM(price), AVG(price), VARIANCE(discount), STDDEV(price) {JOINED}",
    "groups of both sides": f"SELECT region, flag, SUM(price * (1 - discount)) AS revenue {JOINED} GROUP BY 1, 2",
    "where on both sides": f"SELECT SUM(price) {JOINED} WHERE price > 100 AND region <> 'EU' AND flag = 'a'",
    "where of a pair": f"SELECT SUM(price) {JOINED} WHERE price > c.id * 50",
    "one column as two groups": f"SELECT region AS r, region AS again, COUNT(*) {JOINED} GROUP BY 1, 2",
    "an expression as group": f"SELECT UPPER(flag) AS f, COUNT(*) {JOINED} GROUP BY f",
    "decimals as groups": f"SELECT price, COUNT(*) {JOINED} WHERE price < 30 GROUP BY price",
    "group that is not shown": f"SELECT region, SUM(price) AS s {JOINED} GROUP BY region",
    "using": "SELECT name, COUNT(*) FROM orders JOIN customers USING (customer) WHERE customer > 20 GROUP BY name",
    "keys in the other order": "SELECT COUNT(*) FROM orders AS o JOIN customers AS c ON c.id = o.customer",
    "comma": "SELECT SUM(price) FROM orders o, customers c WHERE o.customer = c.customer AND flag IS NULL",
    "TPC-H 14": f"""SELECT 100.00 * SUM(CASE WHEN name LIKE '%1' THEN price * (1 - discount) ELSE 0 END)
                    / SUM(price * (1 - discount)) AS promo {JOINED}""",
    "exact arithmetic": f"SELECT 2 * SUM(price) - COUNT(*) + 0.5, -COUNT(*) {JOINED}",
    "filter": f"SELECT SUM(price) FILTER (WHERE flag = 'a') / COUNT(*) FILTER (WHERE flag = 'b') {JOINED}",
    "of nothing": f"SELECT SUM(price), COUNT(*), COUNT(*) * 2 + 1, SUM(price) / COUNT(*) {JOINED} WHERE price < 0",
    "any case of letters": "SELECT Region, sum(PRICE) from ORDERS o Join Customers C on O.Customer = c.ID group by 1",
}


@pytest.mark.parametrize("query", AGGREGATES.values(), ids=AGGREGATES)
def test_aggregates_end_as_duckdb_has_them(query: str) -> None:
    last = estimates(query).final()
    assert last.exact
    ours = sorted((key + tuple(value.value for value in group.values()) for key, group in last.values.items()), key=str)
    theirs = sorted(duckdb_rows(query), key=str)
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        for value, expected in zip(mine, other, strict=True):
            assert value == (pytest.approx(expected, rel=1e-9) if isinstance(expected, float) else expected)


def test_names_are_aliases_or_the_text() -> None:
    last = estimates(f"SELECT c.region AS r, SUM(price) AS revenue, AVG(discount) {JOINED} GROUP BY c.region").final()
    assert last.names == ("revenue", "AVG(discount)")
    assert [one.name for one in last.by] == ["r"]
    assert last.to_table().schema.names[:2] == ["r", "revenue"]


def test_what_is_divided_by_zero_is_null_as_in_expressions() -> None:
    assert estimates(f"SELECT SUM(price) / (COUNT(*) - COUNT(*)) AS x {JOINED}").final()["x"].value is None


def test_one_aggregate_may_be_shown_by_several_names() -> None:
    last = estimates(f"SELECT COUNT(*) AS n, COUNT(*) AS m, COUNT(*) / 2 AS half {JOINED}").final()
    assert last["n"] == last["m"]
    assert last["half"].value == last["n"].value / 2


def test_it_stops_when_it_is_sure_enough_or_the_time_is_over() -> None:
    query = f"SELECT SUM(price) / COUNT(*) AS mean, AVG(price) AS average {JOINED}"
    many = sooner.sql(query, {"orders": pa.concat_tables([ORDERS] * 50), "customers": PEOPLE}, until="50%", seed=3)
    assert isinstance(many, sooner.Estimates)
    last = many.final()
    assert last["mean"].value == pytest.approx(last["average"].value)
    assert last["mean"].low == pytest.approx(last["average"].low)
    assert last["mean"].high == pytest.approx(last["average"].high)


SELECTS = {
    "columns": f"SELECT o.id, c.name AS who {JOINED}",
    "expressions": f"SELECT o.id, price * 2 AS twice, discount + 1 AS more, 'x' AS x {JOINED}",
    "of one table": f"SELECT c.*, price {JOINED}",
    "where": f"SELECT o.id {JOINED} WHERE price > 5000 AND region = 'EU' AND price > c.id * 70",
    "left": "SELECT o.id, c.customer, name FROM orders o LEFT JOIN customers c ON o.customer = c.customer",
    "left, the other way round": "SELECT o.id, name FROM orders o LEFT JOIN customers c ON c.customer = o.customer",
    "left where": "SELECT o.id, name FROM orders o LEFT JOIN customers c USING (customer) WHERE name IS NULL",
    "right": "SELECT o.id, customer FROM orders o RIGHT OUTER JOIN customers c USING (customer) WHERE customer > 9",
    "full": "SELECT customer, o.id, c.id AS c FROM orders o FULL JOIN customers c USING (customer) WHERE customer > 9",
    "semi": "SELECT o.id, price FROM orders o SEMI JOIN customers c ON o.customer = c.id WHERE price > 10",
    "anti": "SELECT o.id, price FROM orders o ANTI JOIN customers c ON o.customer = c.id",
    "with itself": "SELECT a.id, b.id AS other FROM orders a JOIN orders b ON a.id = b.customer AND a.flag = b.flag",
}


@pytest.mark.parametrize("query", SELECTS.values(), ids=SELECTS)
def test_rows_are_those_of_duckdb(query: str) -> None:
    found = rows(query)
    table = found.to_table()
    assert table.schema == found.schema
    assert Counter(tuple(row.values()) for row in table.to_pylist()) == Counter(duckdb_rows(query))


@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "semi", "anti"])
def test_all_columns_are_those_of_a_join(how: Any) -> None:
    found = rows(f"SELECT * FROM orders {how} JOIN customers USING (customer)").to_table()
    expected = sooner.join(ORDERS, PEOPLE, on="customer", how=how).to_table()
    assert found.schema.names == expected.schema.names
    assert Counter(map(repr, found.to_pylist())) == Counter(map(repr, expected.to_pylist()))


def test_the_first_rows_come_early() -> None:
    query = rows(f"SELECT name, price {JOINED}")
    assert query.schema.names == ["name", "price"]
    assert query.head(3).num_rows == 3


def test_of_streams_ratios_have_intervals_and_sums_have_none() -> None:
    """Of a stream it is not known how much is to come: a sum is one so far, and a ratio of sums tells of the whole."""
    order = np.random.default_rng(1).permutation(len(ORDERS))
    shuffled = pa.Table.from_batches(ORDERS.take(order).to_batches(max_chunksize=200))
    query = f"SELECT SUM(price) AS s, SUM(price) / COUNT(*) AS mean, SUM(price) + 1 AS more {JOINED}"
    tables = {"orders": shuffled.to_reader(), "customers": PEOPLE}
    found = sooner.sql(query, tables, sampling="rows", memory="300KB")
    assert isinstance(found, sooner.Estimates)
    *early, last = found
    assert last.exact
    seen = [one for one in early if one.share_read is None and one["mean"].low is not None]
    assert all(one["s"].low is None and one["more"].low is None for one in seen)
    assert all(one["more"].value == one["s"].value + 1 for one in early if one["s"].value is not None)
