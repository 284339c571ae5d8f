"""Estimates over joins of three and more tables: one of them is a sample, and the others are read first."""

import math
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sooner
from queries import refused
from sooner.errors import BudgetTooSmall, InvalidJoin
from sooner.estimation.estimate import Estimate
from sooner.estimation.preparation import TAG
from sooner.estimation.reckoning import NOTHING
from sooner.sources import Fixed, paced
from sooner.testing.coverage import Hits
from sql_chain import TABLES, duckdb_rows

CHAIN = 'FROM lines l JOIN orders o ON l."order" = o.id JOIN customers c ON o.customer = c.id'
QUERIES = {
    "every function": f"""SELECT n.name, COUNT(*) AS n, COUNT(flag) AS flags, SUM(price) AS total, AVG(price) AS a,
        VARIANCE(discount) AS v, STDDEV(price) AS sd {CHAIN} JOIN nations n ON c.nation = n.nation GROUP BY n.name""",
    "of all rows": f"SELECT COUNT(*) AS n, SUM(price * (1 - discount)) AS s {CHAIN}",
    "of nothing": f"SELECT COUNT(*) AS n, SUM(price) AS s, COUNT(*) * 2 + 1 AS m {CHAIN} WHERE price < 0",
    "of nothing in groups": f"SELECT flag, COUNT(*) AS n {CHAIN} WHERE price < 0 GROUP BY flag",
    "arithmetic": f"SELECT flag, 100.00 * SUM(price) / COUNT(*) AS a, -COUNT(*) AS m {CHAIN} GROUP BY 1",
    "filters": f"SELECT status, SUM(price) FILTER (WHERE flag = 'A') AS a, COUNT(l.id) AS c {CHAIN} GROUP BY status",
    "expressions as groups": f"SELECT EXTRACT(year FROM day) AS y, UPPER(flag), COUNT(*) AS n {CHAIN} GROUP BY y, 2",
    "conditions": f"""SELECT flag, COUNT(*) AS n {CHAIN} WHERE price > c.id * 30 AND day < DATE '1996-01-01'
        AND l.discount < 0.9 GROUP BY flag""",
    "TPC-H 5": """SELECT n.name, SUM(price * (1 - discount)) AS revenue
        FROM customers c, orders o, lines l, suppliers s, nations n, regions r
        WHERE c.id = o.customer AND l."order" = o.id AND l.supplier = s.id AND c.nation = s.nation
        AND s.nation = n.nation AND n.region = r.region AND r.name = 'Asia' GROUP BY n.name""",
}


def estimates(query: str, tables: Any = TABLES, **options: Any) -> sooner.Estimates:
    found = sooner.sql(query, tables, **options)
    assert isinstance(found, sooner.Estimates)
    return found


def same(mine: Any, other: Any) -> bool:
    return math.isclose(mine, other, rel_tol=1e-9) if isinstance(other, float) else bool(mine == other)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("memory", ["1GB", 300_000])
@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_they_end_as_duckdb_has_them(query: str, memory: Any) -> None:
    last = estimates(query, memory=memory).final()
    assert last.exact
    found = sorted(((*key, *(one.value for one in of.values())) for key, of in last.values.items()), key=repr)
    expected = sorted(duckdb_rows(query), key=repr)
    assert len(found) == len(expected)
    for row, other in zip(found, expected, strict=True):
        assert all(map(same, row, other)), (row, other)


# How often intervals hold

LINES, ORDERS, CUSTOMERS, NATIONS = 20_000, 2_000, 200, 8
COVERED = {
    "one match each": """SELECT nation, COUNT(*) AS n, SUM(price * weight) AS s, AVG(price) AS a, STDDEV(price) AS sd,
        SUM(price) / SUM(pieces) AS r FROM lines JOIN orders USING ("order") JOIN customers USING (customer)
        WHERE pieces > 5 GROUP BY nation""",
    "many matches": """SELECT nation, COUNT(*) AS n, SUM(price * rate) AS s, AVG(price) AS a,
        SUM(price) / SUM(pieces) AS r FROM lines JOIN orders USING ("order") JOIN customers USING (customer)
        JOIN rates USING (status) WHERE price * rate < 40 GROUP BY nation""",
}


def world() -> dict[str, pa.Table]:
    """Lines in the order of their orders: those of a block have much in common."""
    dice = np.random.default_rng(7)
    lines = {
        "order": np.sort(dice.integers(0, ORDERS + 100, LINES)),
        "price": dice.gamma(2, 10, LINES),
        "pieces": dice.integers(1, 50, LINES),
    }
    orders = {
        "order": np.arange(ORDERS),
        "customer": dice.integers(0, CUSTOMERS + 10, ORDERS),
        "status": dice.integers(0, 4, ORDERS),
        "weight": dice.gamma(1, 1, ORDERS),
    }
    customers = {"customer": np.arange(CUSTOMERS), "nation": dice.integers(0, NATIONS, CUSTOMERS)}
    rates = {"status": [0, 1, 1, 2, 2, 2], "rate": [1.0, 0.5, 2.0, 0.1, 0.2, 0.3]}
    return {
        name: pa.table(columns)
        for name, columns in {"lines": lines, "orders": orders, "customers": customers, "rates": rates}.items()
    }


def in_turn(asked: Any) -> Iterator[Estimate]:
    """After each piece of the sample, with no clock that says when there is an estimate."""
    operator, sources = asked._operator, asked._sources
    [sampled] = [which for which, source in enumerate(sources) if TAG in source.schema.names]
    for which in sorted(range(len(sources)), key=lambda which: which == sampled):
        batches: list[pa.RecordBatch] = []
        for batch in sources[which].batches():
            batches.append(batch)
            if which == sampled and batch.num_rows and batch.column(TAG)[-1].as_py() < 0:
                list(operator.arrive([batches if at == which else [] for at in range(len(sources))], 0.0))
                yield asked._estimate(operator.folds, 0.0, exact=False)
                batches = []
        list(operator.arrive([batches if at == which else [] for at in range(len(sources))], 0.0))
        operator.end(which)
    asked.stop()


def require_held(query: str, seeds: range, low: float, high: float) -> None:
    tables = world()
    truth = estimates(query, tables).final()
    hits: dict[tuple[int, str], Hits] = defaultdict(Hits)
    for seed in seeds:
        for moment, one in enumerate(in_turn(estimates(query, tables, seed=seed))):
            for key, group in truth.values.items():
                for name, value in group.items():
                    hits[moment, name].note(one.values.get(key, {}).get(name, NOTHING), value)
    moments = max(moment for moment, _ in hits)
    told = {where: some for where, some in hits.items() if where[0] < moments}  # by then all has come
    assert moments >= 3
    assert {where: some.none for where, some in told.items() if some.none} == {}
    assert {where: some.share for where, some in told.items() if not low <= some.share <= high} == {}


def test_intervals_hold_as_often_as_they_say() -> None:
    # Groups of one seed share its blocks, so 320 intervals tell about as much as 150.
    require_held(COVERED["one match each"], range(40), 0.91, 0.99)


@pytest.mark.long
@pytest.mark.parametrize("query", COVERED.values(), ids=COVERED)
def test_intervals_hold_as_often_as_they_say_over_many_seeds(query: str) -> None:
    require_held(query, range(300), 0.925, 0.975)


def test_the_seed_decides_what_is_read() -> None:
    query, tables = COVERED["one match each"], world()
    first, again, other = ([one.values for one in in_turn(estimates(query, tables, seed=seed))] for seed in (3, 3, 4))
    assert first == again
    assert first[0] != other[0]
    assert first[-1].keys() == other[-1].keys()


# What is a sample, and what is not


def test_it_is_explained() -> None:
    found = estimates(f"SELECT COUNT(*) AS n {CHAIN}").explain()
    assert "joined by miner, where l.order = o.id and o.customer = c.id" in found
    assert "sampled: l, whose blocks come in random order when all others are in memory" in found
    assert "figures are those so far" in found


def test_it_stops_when_it_is_sure_enough() -> None:
    last = estimates(COVERED["one match each"], world(), until="60%").final()
    assert not last.exact
    assert 0 < last.relative_error <= 0.6  # type: ignore[operator]
    assert last.share_read is not None and last.share_read < 1


def test_rows_wait_for_all_other_tables() -> None:
    """And there is an interval once these are there, of the same rows as without a pause."""
    tables = world()
    query = COVERED["one match each"]
    slow: Any = {**tables, "customers": paced(tables["customers"], Fixed(0.001))}
    found = [*estimates(query, slow, total_rows={"customers": CUSTOMERS})]
    assert all(one.values.keys() <= found[-1].values.keys() for one in found)
    assert found[-1].values == estimates(query, tables).final().values


def test_without_room_for_the_others_figures_are_those_so_far() -> None:
    dice = np.random.default_rng(2)
    tables = {
        "a": pa.table({"k": dice.integers(0, 30_000, 60_000), "x": dice.random(60_000)}),
        "b": pa.table({"k": np.arange(30_000), "j": dice.integers(0, 9_000, 30_000)}),
        "c": pa.table({"j": np.arange(9_000), "g": dice.integers(0, 3, 9_000)}),
    }
    query = "SELECT g, COUNT(*) AS n, AVG(x) AS a, SUM(x) / COUNT(*) AS r FROM a JOIN b USING (k) JOIN c USING (j) "
    *early, last = estimates(query + "GROUP BY g", tables, memory=1_000_000)
    exact = estimates(query + "GROUP BY g", tables).final()
    assert last.values.keys() == exact.values.keys()
    assert all(last["n"][key] == exact["n"][key] for key in (0, 1, 2))
    told = [value for one in early for group in one.values.values() for value in group.values()]
    assert told
    assert all(value.low is None and value.high is None for value in told)
    counts = [sum(group["n"].value for group in one.values.values()) for one in (*early, last)]  # type: ignore[misc]
    assert counts == sorted(counts)


def test_what_has_no_size_is_no_sample() -> None:
    tables = world()
    stream: Any = {**tables, "lines": tables["lines"].to_reader()}
    figures = sooner.sql(COVERED["one match each"], stream)
    assert isinstance(figures, sooner.LiveGroups)
    assert "no intervals: for these the sizes of all tables must be known (total_rows=)" in figures.explain()
    stream["lines"] = tables["lines"].to_reader()
    with refused(InvalidJoin, "until='1%' is for estimates"):
        sooner.sql(COVERED["one match each"], stream, until="1%")
    stream["lines"] = tables["lines"].to_reader()
    found = estimates(COVERED["one match each"], stream, total_rows={"lines": LINES}, sampling="rows")
    assert "sampled: lines, whose rows come" in found.explain()
    assert found.final().exact


def test_a_plan_of_joins_gives_figures_so_far() -> None:
    found = sooner.sql(f"SELECT flag, COUNT(*) AS n {CHAIN} GROUP BY 1", TABLES, algorithm="agf")
    assert isinstance(found, sooner.LiveGroups)


def test_the_sampled_table_can_be_named() -> None:
    """Then no size has to be known. Without that of the sample only averages and ratios have intervals."""
    query, tables = COVERED["one match each"], world()
    expected = estimates(query, tables).final()
    found = estimates(query, tables, sampling={"orders": "blocks"})
    assert "sampled: orders, whose blocks come" in found.explain()
    assert found.final()["n"] == expected["n"]
    stream: Any = {**tables, "orders": tables["orders"].to_reader()}
    assert estimates(query, stream, sampling={"lines": "blocks"}).final()["n"] == expected["n"]
    stream = {**tables, "lines": tables["lines"].to_reader(max_chunksize=500)}
    *early, _ = in_turn(estimates(query, stream, sampling={"lines": "blocks"}))
    for name, has_interval in {"n": False, "s": False, "a": True, "r": True}.items():
        assert all((one.low is not None) == has_interval for one in early[-1][name].values())
    with refused(InvalidJoin, "sampling= names 'line'", "there are lines, orders, customers"):
        sooner.sql(query, tables, sampling={"line": "rows"})
    with refused(InvalidJoin, "must name the one table that is sampled"):
        sooner.sql(query, tables, sampling={"lines": "rows", "orders": "rows"})
    with refused(InvalidJoin, "sampling='some' must be 'rows' or 'blocks'"):
        sooner.sql(query, tables, sampling={"lines": "some"})  # type: ignore[dict-item]
    with refused(InvalidJoin, "of two tables both are sampled"):
        two = 'SELECT COUNT(*) FROM lines JOIN orders USING ("order")'
        sooner.sql(two, tables, sampling={"lines": "rows"})


# Many groups


def test_very_many_groups_have_no_intervals_and_an_exact_end() -> None:
    n_rows, n_groups = 60_000, 40_000
    dice = np.random.default_rng(5)
    tables = {
        "a": pa.table(
            {"k": dice.integers(0, 7, n_rows), "g": dice.integers(0, n_groups, n_rows), "x": np.arange(n_rows)}
        ),
        "b": pa.table({"k": np.arange(7)}),
        "c": pa.table({"k": np.arange(7)}),
    }
    query = "SELECT g, COUNT(*) AS n, SUM(x) AS s FROM a JOIN b USING (k) JOIN c USING (k) GROUP BY g"
    last = estimates(query, tables, memory="16MB").final()
    expected = tables["a"].group_by("g").aggregate([("x", "count"), ("x", "sum")]).to_pydict()
    assert {key: (of["n"].value, of["s"].value) for (key,), of in last.values.items()} == {
        key: (n, s) for key, n, s in zip(expected["g"], expected["x_count"], expected["x_sum"], strict=True)
    }
    with refused(BudgetTooSmall, "groups so far", "memory='", "group by less"):
        estimates(query, tables, memory="1MB").final()
