"""What `sooner.sql` refuses before any row is read: one sentence that names the part."""

from typing import Any

import pyarrow as pa
import pytest

import sooner
from queries import refused
from sooner.errors import InvalidJoin
from sql_tables import TABLES

JOINED = "FROM orders AS o JOIN customers AS c ON o.customer = c.id"
THREE = f"{JOINED} JOIN customers AS d ON d.id = c.customer"

REFUSED = [
    (f"WITH customers AS (SELECT 1) SELECT COUNT(*) {JOINED}", ["no FROM"]),
    (f"WITH RECURSIVE c AS (SELECT 1) SELECT COUNT(*) {JOINED}", ["WITH RECURSIVE"]),
    (f"WITH customers (a) AS (SELECT id FROM orders) SELECT COUNT(*) {JOINED}", ["WITH", "AS with a SELECT"]),
    (f"SELECT DISTINCT ON (name) price {JOINED}", ["DISTINCT ON", "SELECT DISTINCT alone"]),
    (f"SELECT DISTINCT name {JOINED} ORDER BY price", ["ORDER BY has price", "add it to SELECT"]),
    (
        f"SELECT DISTINCT name, COUNT(*) {JOINED} GROUP BY name, price ORDER BY SUM(price)",
        ["ORDER BY", "add it to SELECT"],
    ),
    (f"SELECT name {JOINED} ORDER BY 2", ["ORDER BY has 2", "1 items"]),
    (f"SELECT * {JOINED} ORDER BY ALL", ["ORDER BY has ALL", "name the columns"]),
    (f"SELECT name {JOINED} ORDER BY nix", ["has nix", "no such column"]),
    (f"SELECT name {JOINED} LIMIT 10%", ["LIMIT 10", "whole number"]),
    (f"SELECT name {JOINED} EXCEPT SELECT name {JOINED}", ["EXCEPT", "UNION and UNION ALL"]),
    (f"SELECT name {JOINED} UNION SELECT name {JOINED} ORDER BY price", ["UNION has price", "sort by names"]),
    (f"SELECT COUNT(DISTINCT name, price) {JOINED}", ["COUNT(DISTINCT", "one expression"]),
    (f"SELECT STDDEV(DISTINCT price) {JOINED}", ["STDDEV(DISTINCT price)", "DISTINCT is for"]),
    (f"SELECT name {JOINED} HAVING price > 1", ["HAVING", "WHERE"]),
    (f"SELECT name, COUNT(*) {JOINED} GROUP BY name HAVING price > 1", ["HAVING has price", "add it to GROUP BY"]),
    (f"SELECT name, COUNT(*) {JOINED} GROUP BY name HAVING COUNT(*)", ["HAVING", "not a condition"]),
    (f"SELECT name, COUNT(*) {JOINED} GROUP BY name ORDER BY price", ["ORDER BY has price", "add it to GROUP BY"]),
    (f"SELECT name, COUNT(*) {JOINED} GROUP BY name ORDER BY 3", ["ORDER BY has 3", "2 items"]),
    (f"SELECT name, COUNT(*) {JOINED} GROUP BY name LIMIT 1 + 1", ["LIMIT", "whole number"]),
    (f"SELECT MAX(flag) + 1 {JOINED}", ["MAX(flag)"]),
    (f"SELECT SUM(price) OVER (PARTITION BY name) {JOINED}", ["OVER", "window"]),
    (f"SELECT COUNT(*) {JOINED} WHERE price > (SELECT AVG(price) FROM orders)", ["(SELECT AVG(price)", "subquery"]),
    (f"SELECT COUNT(*) {JOINED} WHERE price > 3 OR o.id IN (SELECT id FROM customers)", ["subquery"]),
    (f"SELECT COUNT(*) {JOINED} WHERE o.id + 1 IN (SELECT id FROM customers)", ["(o.id + 1)", "no column", "WITH"]),
    (f"SELECT COUNT(*) {JOINED} WHERE o.id IN (SELECT * FROM customers)", ["more than one column"]),
    (
        f"SELECT COUNT(*) {JOINED} WHERE EXISTS (SELECT 1 FROM orders x WHERE x.id > o.id)",
        ["ON of SEMI JOIN", "x alone"],
    ),
    (f"SELECT COUNT(*) {JOINED} WHERE EXISTS (SELECT 1 FROM orders x)", ["which columns of c and x must be equal"]),
    (f"SELECT x.id {JOINED} WHERE EXISTS (SELECT 1 FROM orders x WHERE x.id = o.id)", ["x.id", "nothing of x"]),
    (
        f"SELECT o.id {JOINED} WHERE EXISTS (SELECT 1 FROM orders x JOIN orders y USING (id) WHERE x.id = o.id)",
        ["EXISTS", "more than one table", "WITH"],
    ),
    (
        f"SELECT COUNT(*) {JOINED} WHERE o.id NOT IN (SELECT x.id FROM orders x WHERE x.customer = c.id)",
        ["NOT IN", "c.id", "NOT EXISTS"],
    ),
    (f"SELECT name {JOINED} UNION ALL SELECT name, price {JOINED}", ["UNION ALL", "1 columns and one of 2"]),
    (f"SELECT name {JOINED} UNION ALL SELECT price {JOINED}", ["UNION ALL", "name", "price", "CAST"]),
    ("SELECT COUNT(*) FROM (SELECT * FROM orders) JOIN customers c ON o.id = c.id", ["no name of a table"]),
    (f"SELECT o.id {JOINED} JOIN customers d ON d.id > c.id", ["which columns of c and d must be equal", "ON c.k"]),
    (f"SELECT name {JOINED} JOIN customers d ON d.id = c.id", ["SELECT has name", "both tables", "c.name or d.name"]),
    (f"SELECT o.id {JOINED} JOIN customers c ON c.id = o.id", ["two tables named c"]),
    (f"SELECT o.id {JOINED} JOIN customers d ON d.id = c.name", ["name", "string", "int64"]),
    (
        "SELECT o.id FROM orders o JOIN (customers c JOIN customers d ON c.id = d.id) ON o.id = c.id",
        ["no name of a table"],
    ),
    ("SELECT 1", ["no FROM"]),
    ("SELECT COUNT(*) FROM orders o ASOF JOIN customers c ON o.id = c.id", ["ASOF", "no kind of join"]),
    ("SELECT COUNT(*) FROM orders NATURAL JOIN customers", ["NATURAL", "no kind of join"]),
    ("SELECT COUNT(*) FROM orders o JOIN customers c ON o.id > c.id", ["which columns of o and c", "ON o.k = c.k"]),
    ("SELECT COUNT(*) FROM orders o JOIN customers c ON o.id = c.id OR o.id = 3", ["which columns of o and c"]),
    ("SELECT o.id FROM orders o LEFT JOIN customers c ON o.id = c.id AND o.id > 3", ["ON of LEFT JOIN", "c alone"]),
    ("SELECT o.id FROM orders o FULL JOIN customers c ON o.id = c.id AND c.id > 3", ["ON of FULL JOIN"]),
    ("SELECT o.id FROM orders o LEFT JOIN customers c ON o.id = c.id AND o.id = c.customer", ["compared already"]),
    ("SELECT COUNT(*) FROM orders o JOIN customers c ON o.id = o.customer", ["which columns of o and c"]),
    ("SELECT COUNT(*) FROM orders o, customers c WHERE price > 3", ["which columns of o and c", "ON o.k = c.k"]),
    ("SELECT name FROM orders o LEFT JOIN customers c", ["which columns of o and c"]),
    ("SELECT COUNT(*) FROM orders JOIN orders ON orders.id = orders.id", ["two tables named orders", "AS"]),
    ("SELECT COUNT(*) FROM orders TABLESAMPLE 10% JOIN customers USING (customer)", ["FROM has", "its name and AS"]),
    ("SELECT COUNT(*) FROM read_csv('x') r JOIN customers c ON r.id = c.id", ["csv of x", "no file"]),
    (f"SELECT name, COUNT(*) {JOINED}", ["SELECT has name", "neither grouped by nor aggregated"]),
    (f"SELECT *, COUNT(*) {JOINED}", ["* beside aggregates"]),
    (f"SELECT COUNT(*) {JOINED} GROUP BY 2", ["GROUP BY has 2", "1 items"]),
    (f"SELECT COUNT(*) {JOINED} GROUP BY 1", ["GROUP BY has 1", "COUNT(*)"]),
    (f"SELECT COUNT(*) {JOINED} GROUP BY ROLLUP (name)", ["ROLLUP"]),
    (f"SELECT COUNT(*) {JOINED} GROUP BY SUM(price)", ["GROUP BY has SUM(price)"]),
    (f"SELECT COUNT(*) {JOINED} WHERE SUM(price) > 3", ["WHERE has SUM(price) > 3", "single rows"]),
    (f"SELECT MEDIAN(price) {JOINED}", ["MEDIAN(price)", "COUNT, SUM, AVG, MIN, MAX, VARIANCE, STDDEV"]),
    (f"SELECT MAX(*) {JOINED}", ["MAX(*)", "name one"]),
    (f"SELECT SOUNDEX(SUM(price)) {JOINED}", ["SOUNDEX(SUM(price))", "not known here"]),
    (f"SELECT SUM(price) * price {JOINED}", ["SELECT has price", "neither grouped by nor aggregated"]),
    (f"SELECT SUM(name) {JOINED}", ["SUM(name)", "give a number"]),
    (f"SELECT SUM(prise) {JOINED}", ["prise", "did you mean price?"]),
    (f"SELECT SUM(o.name) {JOINED}", ["o.name", "orders has no such column"]),
    (f"SELECT SUM(x.price) {JOINED}", ["no table x", "o and c"]),
    (f"SELECT x.* {JOINED}", ["no table x"]),
    (f"SELECT COUNT(*) {JOINED} WHERE id > 3", ["WHERE has id", "in both tables", "o.id or c.id"]),
    (f"SELECT COUNT(*) {JOINED} WHERE price", ["WHERE", "not a condition"]),
    ("SELECT COUNT(*) FROM order o JOIN customers c ON o.id = c.id", ["FROM has order", "did you mean orders?"]),
    (
        "SELECT COUNT(*) FROM orders o JOIN customers c USING (flag)",
        ["USING has c.flag", "customers has no such column"],
    ),
    (f"SELECT o.id, c.id {JOINED}", ["two columns named id", "AS"]),
    (f"SELECT SUM(price) AS x, AVG(price) AS x {JOINED}", ["two columns named x"]),
    ("SELECT c.name FROM orders o SEMI JOIN customers c ON o.id = c.id", ["c.name", "SEMI JOIN"]),
    ("SELECT COUNT(*) FROM orders o JOIN customers c ON o.flag = c.id", ["flag", "string", "int64"]),
    (f"SELECT COUNT(* {JOINED}", ["not SQL"]),
    ("SELECT 1; SELECT 2", ["2 statements"]),
    ("DROP TABLE orders", ["no SELECT"]),
    ("", ["''", "give a text"]),
]


@pytest.mark.parametrize(("query", "mentions"), REFUSED, ids=[query[:70] for query, _ in REFUSED])
def test_what_cannot_be_answered_is_refused_by_its_part(query: str, mentions: list[str]) -> None:
    with refused(InvalidJoin, *mentions):
        sooner.sql(query, TABLES)


@pytest.mark.parametrize(
    ("query", "options", "mentions"),
    [
        (f"SELECT name {JOINED}", {"until": 0.1}, ["until=0.1", "the query has none"]),
        (f"SELECT name {JOINED}", {"seconds": 1}, ["seconds=1", "the query has none"]),
        (f"SELECT COUNT(*) {JOINED}", {"total_rows": {"o": 3}}, ["total_rows=", "orders or customers"]),
        (f"SELECT COUNT(*) {JOINED}", {"confidence": 2.0}, ["confidence=2.0"]),
        (f"SELECT COUNT(*) {JOINED}", {"algorithm": "rpj"}, ["rpj"]),
        (f"SELECT MAX(price) {JOINED}", {"until": "1%"}, ["until='1%'", "estimates"]),
        (f"SELECT o.id {THREE}", {"algorithm": "grace"}, ["grace", "many inputs", "miner"]),
        (f"SELECT o.id {THREE}", {"partitions": 2}, ["partitions=2", "plans of joins"]),
    ],
)
def test_options_that_do_not_fit_are_refused(query: str, options: dict[str, Any], mentions: list[str]) -> None:
    with refused(InvalidJoin, *mentions):
        sooner.sql(query, TABLES, **options)


def test_tables_must_be_named() -> None:
    with refused(InvalidJoin, "tables=", "names in FROM"):
        sooner.sql(f"SELECT COUNT(*) {JOINED}", [pa.table({"k": [1]})])  # type: ignore[arg-type]
