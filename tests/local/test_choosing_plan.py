"""`algorithm="auto"` and `order="estimated"`: one operator or a plan, by samples of the inputs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sooner
from sooner.sources.opening import open_source
from sooner.sources.row_samples import sampled_rows

ON = ["a.x = b.x", "b.y = c.y"]
ROWS = 40_000


def table(seed: int, **values: int) -> pa.Table:
    """Columns of values below these, and one that tells rows apart."""
    rng = np.random.default_rng(seed)
    columns = {name: rng.integers(0, most, ROWS) for name, most in values.items()}
    return pa.table(columns | {f"id{seed}": np.arange(ROWS)})


@pytest.fixture
def in_vain() -> dict[str, pa.Table]:
    """A row of c finds 40 of b, and hardly one of those finds a row of a."""
    return {"a": table(1, x=200 * ROWS), "b": table(2, x=200 * ROWS, y=ROWS // 40), "c": table(3, y=ROWS // 40)}


@pytest.fixture
def by_keys() -> dict[str, pa.Table]:
    return {"a": table(1, x=ROWS), "b": table(2, x=ROWS, y=ROWS), "c": table(3, y=ROWS)}


def rows_of(query: sooner.Query) -> pa.Table:
    found = query.to_table()
    return found.sort_by([(name, "ascending") for name in found.column_names])


def test_a_plan_is_chosen_where_rows_would_find_many_others_in_vain(in_vain: dict[str, pa.Table]) -> None:
    query = sooner.multijoin(in_vain, on=ON)
    assert "joined by agf, one input after the other, beginning with " in query.explain()
    assert "a plan of joins, by a sample of the inputs: about " in query.explain()
    assert rows_of(query).equals(rows_of(sooner.multijoin(in_vain, on=ON, algorithm="miner")))


def test_one_operator_is_chosen_where_inputs_hang_together_by_keys(by_keys: dict[str, pa.Table]) -> None:
    query = sooner.multijoin(by_keys, on=ON)
    assert "joined by miner" in query.explain()
    assert "one operator, by a sample of the inputs: about " in query.explain()
    query.stop()


def test_what_is_chosen_follows_from_files_as_from_tables(in_vain: dict[str, pa.Table], tmp_path: Path) -> None:
    files = {name: tmp_path / f"{name}.parquet" for name in in_vain}
    for name, rows in in_vain.items():
        pq.write_table(rows, files[name], row_group_size=ROWS // 8)
    query = sooner.multijoin(files, on=ON)
    assert "a plan of joins, by a sample" in query.explain()
    query.stop()


def test_of_streams_nothing_is_known_and_nothing_is_read(in_vain: dict[str, pa.Table]) -> None:
    def never() -> Iterator[pa.RecordBatch]:
        raise AssertionError("nobody is to read before the query begins")
        yield

    stream = pa.RecordBatchReader.from_batches(in_vain["c"].schema, never())
    query = sooner.multijoin({**in_vain, "c": stream}, on=ON)
    assert "one operator, since it is not known how many rows match" in query.explain()
    query.stop()


def test_an_estimated_order_gives_the_same_results_and_columns(in_vain: dict[str, pa.Table]) -> None:
    backwards = dict(reversed(in_vain.items()))
    given = sooner.multijoin(backwards, on=ON, algorithm="agf")
    estimated = sooner.multijoin(backwards, on=ON, algorithm="agf", order="estimated")
    assert "order of joins, by a sample: b, a, c" in estimated.explain()
    assert "beginning with c" in given.explain()
    assert estimated.schema == given.schema
    found = rows_of(estimated)
    assert found.equals(rows_of(given))
    assert found.equals(rows_of(sooner.multijoin(backwards, on=ON, algorithm="miner")))


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"order": "best"}, "order='best' is not known"),
        ({"order": "estimated", "algorithm": "miner"}, "algorithm='miner' is one operator"),
        ({"order": "estimated", "how": {"c": "left"}}, "with how= the order of the inputs says what is meant"),
        ({"order": "estimated", "where": {"a": "x > 5"}}, "takes samples of tables and Parquet files"),
    ],
)
def test_an_order_that_cannot_be_is_refused(by_keys: dict[str, pa.Table], asked: Any, sentence: str) -> None:
    with pytest.raises(sooner.InvalidJoin, match=sentence):
        sooner.multijoin(by_keys, on=ON, **asked)


def test_samples_are_the_same_each_time_and_of_plain_columns(tmp_path: Path) -> None:
    rows = table(7, x=50)
    encoded = rows.set_column(0, "x", rows["x"].cast(pa.string()).dictionary_encode())
    pq.write_table(rows, tmp_path / "rows.parquet", row_group_size=100)
    for thing in (encoded, tmp_path / "rows.parquet"):
        source = open_source(thing, "rows")
        first, again, other = (sampled_rows(source, ["x", "id7"], 500, seed) for seed in (1, 1, 2))
        assert first is not None
        assert first.num_rows == 500
        assert len(set(first["id7"].to_pylist())) == 500
        assert first.schema.field("x").type == source.schema.field("x").type
        assert first.equals(again)
        assert not first.equals(other)


def test_an_empty_input_has_an_empty_sample(by_keys: dict[str, pa.Table]) -> None:
    assert sooner.multijoin({**by_keys, "c": by_keys["c"].slice(0, 0)}, on=ON).to_table().num_rows == 0
