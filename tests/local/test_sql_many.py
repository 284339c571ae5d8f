"""`sooner.sql` over three and more tables, against DuckDB."""

import math
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sooner
from queries import refused
from sooner.errors import BudgetTooSmall, SoonerError
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


def values_of(table: Any) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in table.to_pylist())


@pytest.mark.parametrize("memory", ["1GB", 300_000])
@pytest.mark.parametrize("query", ROWS.values(), ids=ROWS)
def test_rows_are_those_of_duckdb(query: str, memory: Any) -> None:
    found = sooner.sql(query, TABLES, memory=memory)
    assert isinstance(found, sooner.Query)
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
    found = sooner.sql(query, TABLES, **options)
    assert isinstance(found, sooner.LiveGroups)
    return found


def same(mine: Any, other: Any) -> bool:
    if isinstance(other, float) and isinstance(mine, float):
        return math.isclose(mine, other, rel_tol=1e-9)
    return bool(mine == other)


def require_same(mine: list[tuple[Any, ...]], others: list[tuple[Any, ...]]) -> None:
    assert len(mine) == len(others)
    for row, other in zip(mine, others, strict=True):
        assert all(map(same, row, other)), (row, other)


@pytest.mark.parametrize("memory", ["1GB", 300_000])
@pytest.mark.parametrize("query", GROUPS.values(), ids=GROUPS)
def test_figures_end_as_duckdb_has_them(query: str, memory: Any) -> None:
    found = live(query, memory=memory)
    table = found.to_table()
    assert table.schema == found.schema
    require_same(sorted(zip(*table.to_pydict().values(), strict=True), key=repr), sorted(duckdb_rows(query), key=repr))


@pytest.mark.parametrize("query", ORDERED.values(), ids=ORDERED)
def test_the_order_is_that_of_duckdb(query: str) -> None:
    require_same(list(zip(*live(query).to_table().to_pydict().values(), strict=True)), duckdb_rows(query))


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
        sooner.sql(query, {"a": many, "b": few, "c": few}, memory="1MB").final()  # type: ignore[union-attr]


def test_what_was_stopped_has_no_exact_figures() -> None:
    found = live(f"SELECT COUNT(*) AS n {CHAIN}")
    found.stop()
    with refused(SoonerError, "stopped before its figures were exact"):
        found.final()


def test_sums_beyond_64_bits_are_exact() -> None:
    wide = pa.table({"k": [1, 1, 1], "x": pa.array([2**62, 2**62, 2**62])})
    one = pa.table({"k": [1]})
    found: Any = sooner.sql(
        "SELECT SUM(x) AS s FROM a JOIN b USING (k) JOIN c USING (k)", {"a": wide, "b": one, "c": one}
    )
    assert found.final()["s"] == [3 * 2**62]
