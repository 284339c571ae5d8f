"""Estimates from a sample of one table: alone, left-joined, beside extremes, and with an end such as ORDER BY."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sooner
from queries import refused
from sooner.errors import InvalidJoin

ROWS = 24_000
SEEDS = range(12)


def world(seed: int = 0) -> dict[str, Any]:
    """Rows of `big` are in random order; half of them match one of `dim`, some of which are missing in `few`."""
    dice = np.random.default_rng(seed)
    big = {"k": dice.integers(0, 200, ROWS), "x": dice.random(ROWS), "g": dice.integers(0, 3, ROWS)}
    return {
        "big": pa.table({**big, "word": [f"w{at % 7}" for at in range(ROWS)]}),
        "dim": pa.table({"k": np.arange(100), "name": [f"name {at % 2}" for at in range(100)]}),
        "few": pa.table({"g": [0, 1], "w": ["p", "q"]}),
    }


def estimates(query: str, seed: int = 0, **options: Any) -> sooner.Estimates:
    found = sooner.sql(query, world(seed), sampling={"big": "rows"}, **options)
    assert isinstance(found, sooner.Estimates)
    return found


def with_intervals(found: sooner.Estimates, name: str) -> tuple[sooner.Estimate | None, sooner.Estimate]:
    """The first estimate before the exact one with an interval of that in all groups, and the exact one."""
    *early, last = found
    for one in early:
        values = [*one[name].values()] if one.by else [one[name]]
        if values and all(value.low is not None for value in values):
            return one, last
    return None, last


COVERED = {
    "one table": ("SELECT g, COUNT(*) AS n, SUM(x) AS s FROM big WHERE x > 0.2 GROUP BY g", "s"),
    "without groups": ("SELECT SUM(x) AS s FROM big WHERE k < 50", "s"),
    "left": ("SELECT name, COUNT(*) AS n, SUM(x) AS s FROM big LEFT JOIN dim USING (k) GROUP BY name", "n"),
    "left, of three": (
        "SELECT w, COUNT(dim.k) AS n FROM big LEFT JOIN dim ON big.k = dim.k LEFT JOIN few ON big.g = few.g GROUP BY w",
        "n",
    ),
    "right": ("SELECT name, COUNT(*) AS n FROM dim RIGHT JOIN big USING (k) GROUP BY name", "n"),
    "anti": ("SELECT g, COUNT(*) AS n FROM big ANTI JOIN dim USING (k) GROUP BY g", "n"),
    "beside extremes": ("SELECT name, MAX(x) AS m, SUM(x) AS s FROM big JOIN dim USING (k) GROUP BY name", "s"),
    "rounded": ("SELECT g, ROUND(SUM(x), 1) AS r FROM big GROUP BY g ORDER BY r", "r"),
}


@pytest.mark.parametrize("name", COVERED)
def test_intervals_hold(name: str) -> None:
    query, of = COVERED[name]
    held = total = 0
    for seed in SEEDS:
        early, last = with_intervals(estimates(query, seed, memory="64MB"), of)
        assert last.exact
        if early is None:
            continue
        pairs = [(early[of][key], last[of][key]) for key in last[of]] if last.by else [(early[of], last[of])]
        for one, truth in pairs:
            total += 1
            held += one.low <= truth.value <= one.high
    assert total >= 6
    assert held >= 0.8 * total, (held, total)


def test_groups_are_chosen_and_ordered_by_estimates() -> None:
    query = "SELECT g, COUNT(*) AS n, SUM(x) AS s FROM big WHERE g < 2 OR x < 0.1 GROUP BY g HAVING COUNT(*) > 5000"
    *early, last = estimates(f"{query} ORDER BY s DESC LIMIT 1")
    assert [len(one.values) for one in (*early, last)][-1] == 1
    both = estimates(f"{query} ORDER BY s DESC").final()
    values = [value.value for value in both["s"].values()]
    assert values == sorted(values, reverse=True)
    assert len(values) == 2
    assert both.table.column_names == ["g", "n", "s"]
    assert both.table["n"].type == pa.int64()
    assert last.table.num_rows == 1


def test_extremes_are_those_so_far_and_do_not_keep_an_estimate_from_being_good_enough() -> None:
    *_, last = estimates("SELECT g, AVG(x) AS a, MAX(x) AS m, MIN(word) AS w FROM big GROUP BY g", until="10%")
    assert not last.exact
    assert all(value.low is None for value in last["m"].values())
    assert all(value.low is not None for value in last["a"].values())
    assert "so far" in str(last)
    assert "w0 so far" in last._repr_html_() or "w1 so far" in last._repr_html_()
    assert last.table["w"].type == pa.string()


def test_distinct_values_are_counted_so_far() -> None:
    *early, last = estimates("SELECT COUNT(*) AS n, COUNT(DISTINCT k) AS d, SUM(DISTINCT g) AS s FROM big")
    counts = [one["d"].value for one in (*early, last)]
    assert counts == sorted(counts)
    assert (last["d"].value, last["s"].value, last["n"].value) == (200, 3, ROWS)
    assert last["d"].low == 200


def test_where_others_do_not_fit_the_memory_there_are_figures_so_far() -> None:
    tables = world()
    tables["dim"] = pa.table({"k": np.arange(100_000) % 150, "name": [f"a long name {at}" for at in range(100_000)]})
    query = "SELECT COUNT(*) AS n, COUNT(name) AS m FROM big LEFT JOIN dim USING (k)"
    found: Any = sooner.sql(query, tables, memory="1MB", sampling={"big": "rows"})
    *early, last = found
    assert all(one["n"].low is None for one in early)
    assert last["n"].value == sooner.sql(query, tables).final()["n"].value  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT COUNT(DISTINCT g) AS d FROM big",
        "SELECT MAX(x) AS m FROM big",
        "SELECT DISTINCT COUNT(*) AS n FROM big GROUP BY g",
        "SELECT g + COUNT(*) AS n FROM big GROUP BY g",
        "SELECT COUNT(*) AS n FROM big FULL JOIN dim USING (k)",
        "SELECT COUNT(*) AS n FROM big WHERE k NOT IN (SELECT k FROM dim)",
    ],
)
def test_what_samples_do_not_tell_is_figures_so_far(query: str) -> None:
    assert isinstance(sooner.sql(query, world()), sooner.LiveGroups)


def test_only_tables_of_which_a_sample_tells_can_be_named() -> None:
    with refused(InvalidJoin, "sampling= names 'dim'", "there are big"):
        sooner.sql("SELECT COUNT(*) FROM big LEFT JOIN dim USING (k)", world(), sampling={"dim": "rows"})
    with refused(InvalidJoin, "algorithm='rpj' is for joins", "reads one table"):
        sooner.sql("SELECT COUNT(*) FROM big", world(), algorithm="rpj")
