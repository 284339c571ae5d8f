"""`sooner.sql` over three and more tables, against DuckDB."""

import math
import threading
from collections import Counter
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import sooner
from queries import refused
from sooner.errors import BudgetTooSmall, InvalidJoin, SoonerError
from sooner.sources import Fixed, paced
from sql_chain import TABLES, duckdb_rows

CHAIN = 'FROM lines l JOIN orders o ON l."order" = o.id JOIN customers c ON o.customer = c.id'
NATIONS = f"{CHAIN} JOIN nations n ON c.nation = n.nation"
Q5 = """FROM customers c, orders o, lines l, suppliers s, nations n, regions r
        WHERE c.id = o.customer AND l."order" = o.id AND l.supplier = s.id AND c.nation = s.nation
        AND s.nation = n.nation AND n.region = r.region"""

ROWS = {
    "three": f"SELECT l.id, o.id AS o, c.name {CHAIN}",
    "conditions of one table and of several": f"""SELECT l.id, price * 2 AS twice, UPPER(c.name) AS who {CHAIN}
        WHERE price > 5000 AND o.day > DATE '1995-06-01' AND l.price > c.id * 10 AND (status = 1 OR nation < 5)""",
    "conditions in ON": """SELECT l.id, c.id AS c FROM lines l JOIN orders o ON l."order" = o.id AND status > 0
        JOIN customers c ON o.customer = c.id AND c.nation < l.price AND flag = 'A'""",
    "four": f"SELECT l.id, n.name, n.nation {NATIONS} WHERE n.region = 2",
    "commas": f"SELECT l.id, r.name {Q5}",
    "tables in any order": """SELECT l.id, n.name FROM lines l, nations n, orders o, customers c
        WHERE n.nation = c.nation AND c.id = o.customer AND o.id = l."order" AND day < '1995-03-01'""",
    "a star": """SELECT l.id, s.nation AS s, o.day FROM lines l JOIN suppliers s ON s.id = l.supplier
        JOIN orders o ON o.id = l."order" """,
    "one attribute of three tables": """SELECT c.id AS c, s.id AS s, n.name FROM customers c
        JOIN suppliers s USING (nation) JOIN nations n USING (nation) WHERE nation > 3 AND c.id < 90""",
    "using": "SELECT nation, region, n.name, r.name AS r, s.id FROM suppliers s JOIN nations n USING (nation) "
    "JOIN regions r USING (region)",
    "with itself": """SELECT a.id, b.id AS b, c.id AS c FROM suppliers a JOIN suppliers b ON a.nation = b.nation
        JOIN customers c ON c.nation = b.nation WHERE a.id < b.id AND c.id < 50""",
    "a circle in ON": f"""SELECT l.id, s.id AS s {CHAIN}
        JOIN suppliers s ON s.id = l.supplier AND s.nation = c.nation""",
    "two columns of one table equal to one": """SELECT l.id, o.id AS o, s.id AS s FROM lines l
        JOIN orders o ON l."order" = o.id AND l.supplier = o.id JOIN suppliers s ON s.id = l.supplier""",
    "of one table": f"SELECT c.*, l.id AS line {CHAIN} WHERE price < 100",
    "mixed": """SELECT l.id, c.name FROM lines l, orders o JOIN customers c ON o.customer = c.id
        WHERE l."order" = o.id AND l.flag IS NULL""",
    "nothing": f"SELECT l.id {CHAIN} WHERE 1 = 2",
}

OTHERS = {
    "left": 'SELECT o.id, l.id AS l FROM orders o LEFT JOIN lines l ON o.id = l."order"',
    "left, where it is missing": """SELECT l.id, n.name FROM lines l LEFT JOIN suppliers s ON l.supplier = s.id
        LEFT JOIN nations n ON s.nation = n.nation WHERE n.name IS NULL""",
    "left, with a condition": """SELECT o.id, c.name, l.id AS l FROM orders o JOIN customers c ON o.customer = c.id
        LEFT JOIN lines l ON o.id = l."order" AND l.price > 9000 AND l.flag = 'A'""",
    "inner after left": """SELECT l.id, n.name FROM lines l LEFT JOIN suppliers s ON l.supplier = s.id
        JOIN nations n ON s.nation = n.nation WHERE l.price < 2000""",
    "commas and left": """SELECT l.id, c.id AS c, s.nation AS s FROM lines l, customers c, orders o
        LEFT JOIN suppliers s ON s.id = o.status WHERE o.id = l."order" AND c.id = o.customer AND s.id IS NULL""",
    "right": """SELECT l.id, s.id AS s, n.name FROM lines l JOIN suppliers s ON l.supplier = s.id AND l.price < 500
        RIGHT JOIN nations n ON n.nation = s.nation""",
    "full": """SELECT s.id, n.name, r.name AS r FROM suppliers s FULL JOIN nations n ON s.nation = n.nation
        FULL JOIN regions r ON r.region = n.region""",
    "using after left": """SELECT nation, region, s.id, r.name FROM suppliers s LEFT JOIN nations n USING (nation)
        LEFT JOIN regions r USING (region)""",
    "semi among three": """SELECT l.id, c.name FROM lines l JOIN orders o ON l."order" = o.id
        JOIN customers c ON o.customer = c.id SEMI JOIN suppliers s ON l.supplier = s.id AND s.nation = c.nation""",
    "exists": 'SELECT o.id, day FROM orders o WHERE EXISTS (SELECT 1 FROM lines WHERE "order" = o.id AND price > 9900)',
    "not exists": """SELECT id FROM orders o WHERE NOT EXISTS (SELECT * FROM lines l
        WHERE l."order" = o.id) AND status = 1""",
    "exists of the same name": """SELECT o.id FROM orders o WHERE EXISTS
        (SELECT 1 FROM orders o2 WHERE o2.customer = o.customer AND o2.status = 2) AND o.status = 1""",
    "exists and inside the same alias": """SELECT o.id FROM orders o JOIN customers c ON o.customer = c.id
        WHERE EXISTS (SELECT 1 FROM suppliers c WHERE c.id = o.status AND nation > 3)""",
    "exists on several": f"""SELECT l.id, c.name {CHAIN}
        WHERE EXISTS (SELECT 1 FROM suppliers s WHERE s.id = l.supplier AND s.nation = c.nation) AND price > 100""",
    "both": """SELECT o.id FROM orders o WHERE EXISTS (SELECT 1 FROM lines l WHERE l."order" = o.id AND flag = 'A')
        AND NOT EXISTS (SELECT 1 FROM lines l WHERE l."order" = o.id AND flag = 'N')""",
    "in": """SELECT id FROM orders WHERE customer IN (SELECT id FROM customers
        WHERE nation = 3) AND status IN (1, 2)""",
    "in of a join": """SELECT l.id FROM lines l WHERE supplier IN
        (SELECT s.id FROM suppliers s JOIN nations n ON s.nation = n.nation WHERE n.region = 1)""",
    "in of groups": """SELECT o.id, day FROM orders o JOIN customers c ON o.customer = c.id
        WHERE o.id IN (SELECT "order" FROM lines GROUP BY "order" HAVING SUM(price) > 25000)""",
    "in of what is inside": """SELECT id FROM suppliers s WHERE nation IN (SELECT nation FROM nations n
        WHERE n.region = s.id)""",
    "not in": "SELECT id, customer FROM orders WHERE customer NOT IN (SELECT id FROM customers WHERE nation < 6)",
    "not in, with a null": "SELECT id FROM customers WHERE nation NOT IN (SELECT nation FROM suppliers WHERE id < 20)",
    "not in, where a null is left out": """SELECT id FROM customers
        WHERE nation NOT IN (SELECT nation FROM suppliers WHERE id < 20 AND nation IS NOT NULL)""",
    "not in nothing": """SELECT id, customer FROM orders WHERE customer NOT IN (SELECT id FROM customers
        WHERE nation > 99)""",
    "not in with": 'SELECT l.id FROM lines l JOIN orders o ON l."order" = o.id WHERE NOT l.supplier IN (SELECT id FROM '
    "suppliers WHERE nation > 3)",
    "a subselect": """SELECT l.id, o.day FROM lines l JOIN (SELECT id AS o, day FROM orders WHERE status = 1) AS o
        ON l."order" = o.o""",
    "with": """WITH big AS (SELECT * FROM lines WHERE price > 5000), few AS (SELECT id AS f, price * 2 AS twice, "order"
        FROM big WHERE flag = 'A') SELECT f, twice, o.day FROM few JOIN orders o ON few."order" = o.id""",
    "with, twice": """WITH early AS (SELECT id, customer FROM orders WHERE day < DATE '1995-06-01')
        SELECT a.id, b.id AS other FROM early a JOIN early b ON a.customer = b.customer WHERE a.id < b.id""",
    "with joins": """WITH rich AS (SELECT c.id, n.name FROM customers c JOIN nations n ON c.nation = n.nation
        JOIN regions r ON n.region = r.region WHERE r.name <> 'Asia') SELECT o.id, rich.name FROM orders o
        LEFT JOIN rich ON o.customer = rich.id""",
    "with groups": """WITH totals AS (SELECT "order", SUM(price) AS total, COUNT(*) AS n FROM lines GROUP BY "order")
        SELECT o.id, total, n FROM orders o JOIN totals t ON o.id = t."order" WHERE total > 10000.25""",
    "with groups of a join": """WITH totals AS (SELECT customer, MAX(price) AS m FROM lines l JOIN orders o
        ON l."order" = o.id GROUP BY customer ORDER BY m DESC, customer LIMIT 20)
        SELECT name, m FROM totals JOIN customers c ON c.id = totals.customer""",
    "union": f"""SELECT l.id, c.name {CHAIN}
        UNION ALL SELECT s.id, n.name FROM suppliers s JOIN nations n USING (nation)""",
    "union of types": """SELECT c.id AS x, c.nation FROM customers c JOIN nations n USING (nation)
        UNION ALL SELECT s.id, s.nation FROM suppliers s JOIN nations n ON s.nation = n.nation
        UNION ALL SELECT id, nation FROM suppliers""",
    "with a union": """WITH everybody AS (SELECT id, nation FROM customers UNION ALL SELECT id, nation FROM suppliers)
        SELECT e.id, n.name FROM everybody e JOIN nations n ON e.nation = n.nation""",
}


def values_of(table: Any) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in table.to_pylist())


@pytest.mark.one_in(2)
@pytest.mark.parametrize("memory", ["1GB", 300_000])
@pytest.mark.parametrize("query", [*ROWS.values(), *OTHERS.values()], ids=[*ROWS, *OTHERS])
def test_rows_are_those_of_duckdb(query: str, memory: Any) -> None:
    found: Any = sooner.sql(query, TABLES, memory=memory)
    table = found.to_table()
    assert table.schema == found.schema
    assert values_of(table) == Counter(duckdb_rows(query))


def test_all_columns_are_those_of_a_multijoin() -> None:
    query = "SELECT * FROM suppliers JOIN nations USING (nation) JOIN regions USING (region)"
    inputs = {name: TABLES[name] for name in ("suppliers", "nations", "regions")}
    expected = sooner.multijoin(
        inputs, on=["suppliers.nation = nations.nation", "nations.region = regions.region"]
    ).to_table()
    found: Any = sooner.sql(query, TABLES)
    assert found.schema.names == ["id", "nation", "region", "name_nations", "name_regions"]
    assert values_of(found.to_table()) == values_of(expected)


def test_rows_come_while_tables_arrive() -> None:
    """The lines never end, and what they meet comes."""
    tables = {**TABLES, "lines": paced(TABLES["lines"], Fixed(0.002))}
    found: Any = sooner.sql(f"SELECT l.id, c.name {CHAIN}", tables)
    assert found.head(3).num_rows == 3


def test_what_it_does_is_explained() -> None:
    found: Any = sooner.sql(f"SELECT l.id {CHAIN}", TABLES)
    assert "joined by miner, where l.order = o.id and o.customer = c.id" in found.explain()
    assert "read last: l" in found.explain()


GROUPS = {
    "every function": f"""SELECT n.name, COUNT(*) AS n, COUNT(flag) AS flags, SUM(price) AS total, AVG(price) AS a,
        MIN(price) AS low, MAX(day) AS last, VARIANCE(discount) AS v, STDDEV(price) AS sd {NATIONS} GROUP BY n.name""",
    "of all rows": f"SELECT COUNT(*), SUM(price * (1 - discount)), MIN(flag), MAX(discount) {CHAIN}",
    "of nothing": f"SELECT COUNT(*) AS n, SUM(price), MIN(day), COUNT(*) * 2 + 1 {CHAIN} WHERE price < 0",
    "of nothing in groups": f"SELECT flag, COUNT(*) {CHAIN} WHERE price < 0 GROUP BY flag",
    "arithmetic": f"SELECT flag, 100.00 * SUM(price) / COUNT(*), MAX(price) - MIN(price), -COUNT(*) {CHAIN} GROUP BY 1",
    "filters": f"""SELECT status, SUM(price) FILTER (WHERE flag = 'A') AS a, MAX(price) FILTER (WHERE flag = 'N') AS b,
        COUNT(*) FILTER (WHERE flag IS NULL) AS c {CHAIN} GROUP BY status""",
    "expressions as groups": f"SELECT EXTRACT(year FROM day) AS y, UPPER(n.name), COUNT(*) {NATIONS} GROUP BY y, 2",
    "groups that are not shown": f"SELECT SUM(price) {CHAIN} GROUP BY status, flag",
    "in another order": f"SELECT SUM(price) AS s, flag AS f, COUNT(*), flag AS again {CHAIN} GROUP BY flag",
    "having": f"SELECT c.name, SUM(price) AS s {CHAIN} GROUP BY 1 HAVING COUNT(*) > 150 AND SUM(price) > 100000.50",
    "having a name": f"SELECT c.name AS who, COUNT(*) AS n {CHAIN} GROUP BY who HAVING n > 200 OR who LIKE '%3'",
    "having what is not shown": f"SELECT flag, status {CHAIN} GROUP BY 1, 2 HAVING MAX(price) < 9990",
    "groups without aggregates": f"SELECT flag, status {CHAIN} GROUP BY flag, status",
    "where on joined rows": f"SELECT flag, COUNT(*) {CHAIN} WHERE price > c.id * 30 GROUP BY flag",
    "TPC-H 5": f"SELECT n.name, SUM(price * (1 - discount)) AS revenue {Q5} AND r.name = 'Asia' GROUP BY n.name",
    "semi": """SELECT status, COUNT(*) FROM orders o WHERE EXISTS (SELECT 1 FROM lines l
        WHERE l."order" = o.id) GROUP BY 1""",
    "not in": """SELECT flag, SUM(price) FROM lines l JOIN orders o ON l."order" = o.id
        WHERE l.supplier NOT IN (SELECT id FROM suppliers WHERE nation > 3) GROUP BY 1""",
    "left": """SELECT n.name, COUNT(l.id), SUM(price) FROM nations n LEFT JOIN suppliers s ON n.nation = s.nation
        LEFT JOIN lines l ON l.supplier = s.id AND price > 9000 GROUP BY n.name""",
    "TPC-H 13": """WITH counts AS (SELECT c.id, COUNT(o.id) AS n FROM customers c LEFT JOIN orders o
        ON c.id = o.customer
        AND status <> 1 GROUP BY c.id) SELECT n, COUNT(*) FROM counts k JOIN customers c ON c.id = k.id GROUP BY n""",
    "two, outer": """SELECT c.name, COUNT(o.id), MIN(day), COUNT(*) FROM customers c
        LEFT JOIN orders o ON c.id = o.customer AND status > 0 GROUP BY c.name""",
    "two, extremes": 'SELECT flag, MIN(day), MAX(day) FROM lines l JOIN orders o ON l."order" = o.id GROUP BY 1',
    "two, semi": 'SELECT status, COUNT(*) FROM orders o SEMI JOIN lines l ON l."order" = o.id GROUP BY 1',
}
ORDERED = {
    "by the figures": f"SELECT c.name, SUM(price) AS s {CHAIN} GROUP BY 1 ORDER BY s DESC LIMIT 5",
    "by several": f"SELECT flag, status, COUNT(*) AS n {CHAIN} GROUP BY 1, 2 ORDER BY status DESC, 1 NULLS FIRST",
    "by what is not shown": f"SELECT flag {CHAIN} GROUP BY flag ORDER BY COUNT(*) / 2 DESC",
    "by a group that is not shown": f"SELECT COUNT(*) AS n {CHAIN} GROUP BY status, flag ORDER BY status, flag",
    "offset": f"SELECT c.name, MAX(price) AS m {CHAIN} GROUP BY 1 ORDER BY m, 1 LIMIT 4 OFFSET 3",
    "TPC-H 3": f"""SELECT l."order", SUM(price * (1 - discount)) AS revenue, o.day {CHAIN} WHERE day < DATE '1995-09-01'
        GROUP BY l."order", o.day ORDER BY revenue DESC, day LIMIT 10""",
    "two tables": 'SELECT flag, SUM(price) AS s FROM lines l JOIN orders o ON l."order" = o.id GROUP BY 1 ORDER BY 2',
}


def live(query: str, **options: Any) -> sooner.LiveGroups:
    """Of lines that come as a stream of unknown size: of what nobody has a sample, figures are those so far."""
    found = sooner.sql(query, {**TABLES, "lines": TABLES["lines"].to_reader()}, **options)
    assert isinstance(found, sooner.LiveGroups)
    return found


def answer(query: str, **options: Any) -> pa.Table:
    """Exact, whether it was estimated before or not."""
    found: Any = sooner.sql(query, TABLES, **options)
    return found.to_table()


def same(mine: Any, other: Any) -> bool:
    if isinstance(other, float) and isinstance(mine, float):
        return math.isclose(mine, other, rel_tol=1e-9)
    return bool(mine == other)


def require_same(mine: list[tuple[Any, ...]], others: list[tuple[Any, ...]]) -> None:
    assert len(mine) == len(others)
    for row, other in zip(mine, others, strict=True):
        assert all(map(same, row, other)), (row, other)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("memory", ["1GB", 300_000])
@pytest.mark.parametrize("query", GROUPS.values(), ids=GROUPS)
def test_figures_end_as_duckdb_has_them(query: str, memory: Any) -> None:
    table = answer(f"{query} LIMIT 1000", memory=memory)
    require_same(sorted(zip(*table.to_pydict().values(), strict=True), key=repr), sorted(duckdb_rows(query), key=repr))


@pytest.mark.parametrize("query", ORDERED.values(), ids=ORDERED)
def test_the_order_is_that_of_duckdb(query: str) -> None:
    require_same(list(zip(*answer(query).to_pydict().values(), strict=True)), duckdb_rows(query))


def test_figures_so_far_are_marked_as_such_and_grow() -> None:
    tables = {**TABLES, "lines": paced(TABLES["lines"].slice(0, 400), Fixed(0.001))}
    found: Any = sooner.sql(f"SELECT flag, COUNT(*) AS n {CHAIN} GROUP BY flag ORDER BY flag", tables)
    *early, last = found
    assert early
    assert not any(one.exact for one in early)
    assert last.exact
    counts = [sum(one["n"]) for one in (*early, last)]
    assert counts == sorted(counts)
    assert 0 < counts[0] < counts[-1] == last.rows
    assert "so far: " in str(early[0])
    assert "exact: 4 groups" in last._repr_html_()
    assert "done" in repr(found)


def test_the_exact_figures_are_an_arrow_stream_and_frames() -> None:
    query = f"SELECT flag, SUM(price) AS s {CHAIN} GROUP BY flag ORDER BY flag"
    expected = live(query).to_table()
    assert pa.table(live(query)).equals(expected)
    assert live(query).to_polars()["s"].to_list() == expected["s"].to_pylist()
    assert live(query).to_pandas()["s"].tolist() == expected["s"].to_pylist()
    assert pa.table(live(query).final()).equals(expected)


def test_groups_that_take_more_than_their_memory_are_refused() -> None:
    many = pa.table({"k": np.arange(60_000) % 7, "g": [f"group {at:060}" for at in range(60_000)]})
    few = pa.table({"k": np.arange(7)})
    query = "SELECT g, COUNT(*), SUM(a.k), MAX(g) FROM a JOIN b USING (k) JOIN c USING (k) GROUP BY g"
    with refused(BudgetTooSmall, "GROUP BY gives", "groups so far", "memory='", "group by less"):
        sooner.sql(query, {"a": many.to_reader(), "b": few, "c": few}, memory="1MB").final()  # type: ignore[union-attr]


def test_what_was_stopped_has_no_exact_figures() -> None:
    found = live(f"SELECT COUNT(*) AS n {CHAIN} LIMIT 1")
    found.stop()
    with refused(SoonerError, "stopped before its figures were exact"):
        found.final()


def test_what_was_stopped_while_it_was_read_has_no_exact_figures_either() -> None:
    found = live(f"SELECT COUNT(*) AS n {CHAIN} LIMIT 1")
    reader = iter(found)
    found.stop()
    assert not any(figures.exact for figures in reader)
    with refused(SoonerError, "stopped before its figures were exact"):
        found.final()


def test_sums_beyond_64_bits_are_exact() -> None:
    wide = pa.table({"k": [1, 1, 1], "x": pa.array([2**62, 2**62, 2**62])})
    one = pa.table({"k": [1]})
    for a in (wide, wide.to_reader()):
        found: Any = sooner.sql(
            "SELECT SUM(x) AS s FROM a JOIN b USING (k) JOIN c USING (k) LIMIT 1", {"a": a, "b": one, "c": one}
        )
        assert found.final().table["s"].to_pylist() == [3 * 2**62]


def test_extremes_of_nan_are_those_of_duckdb() -> None:
    """NaN is larger than all numbers."""
    nan = float("nan")
    values = pa.table({"k": [1] * 6, "g": [1, 1, 2, 3, 3, 4], "x": [nan, 1.0, nan, 2.0, -3.0, None]})
    one = pa.table({"k": [1]})
    query = "SELECT g, MIN(x) AS low, MAX(x) AS high FROM a JOIN b USING (k) JOIN c USING (k) GROUP BY g ORDER BY g"
    found: Any = sooner.sql(query, {"a": values, "b": one, "c": one})
    with duckdb.connect() as connection:
        for name, table in (("a", values), ("b", one), ("c", one)):
            connection.register(name, table)
        expected = connection.execute(query).fetchall()
    assert repr(list(zip(*found.to_table().to_pydict().values(), strict=True))) == repr(expected)


def test_a_query_inside_of_another_is_stopped_with_it() -> None:
    query = f"WITH o AS (SELECT l.id, c.id AS c {CHAIN}) SELECT o.id, name FROM o JOIN customers ON o.c = customers.id"
    before = {*threading.enumerate()}  # of other tests
    found: Any = sooner.sql(query, {**TABLES, "lines": paced(TABLES["lines"], Fixed(0.01))})
    assert found.head(2).num_rows == 2
    for one in {*threading.enumerate()} - before:
        if one.name.startswith("sooner-read"):
            one.join(5)
            assert not one.is_alive()


def test_a_stream_is_read_by_one_table_alone() -> None:
    query = """WITH early AS (SELECT id, customer FROM orders WHERE day < DATE '1995-06-01')
        SELECT a.id, b.id AS other FROM early a JOIN early b ON a.customer = b.customer"""
    with refused(InvalidJoin, "orders and orders are the same RecordBatchReader", "read it into a table"):
        sooner.sql(query, {"orders": TABLES["orders"].to_reader()})
