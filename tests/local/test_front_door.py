"""Every kind of input in every query: DuckDB's answer."""

import asyncio
import dataclasses
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as arrow_dataset
import pytest

import sooner
from files import write_file
from queries import soon

N = 40
ORDERS = pa.table(
    {"k": [n % 7 for n in range(N)], "v": [n / 2 for n in range(N)], "s": [f"row, {n}" for n in range(N)]}
)
NAMES = pa.table({"k": [0, 1, 2, 3, 3, 9], "name": ["a", "b", "c", "d", "e", "f"]})
MARKS = pa.table({"k": [0, 2, 3, 4], "mark": [1, 2, 3, 4]})


@dataclasses.dataclass
class Order:
    k: int
    v: float
    s: str


class Own:
    name, schema = "own", ORDERS.schema

    def batches(self) -> Iterator[pa.RecordBatch]:
        yield from ORDERS.to_batches(max_chunksize=9)


async def later(items: Iterable[Any]) -> AsyncIterator[Any]:
    for item in items:
        await asyncio.sleep(0)
        yield item


def in_pieces(folder: Path, ending: str) -> Path:
    (folder / "rows").mkdir()
    for number in range(3):
        write_file(ORDERS.slice(number * 15, 15), folder / "rows" / f"{number}{ending}")
    return folder / "rows"


def in_hive(folder: Path, ending: str) -> Path:
    for key in range(7):
        (folder / "rows" / f"k={key}").mkdir(parents=True)
        of_key = ORDERS.filter(pa.compute.equal(ORDERS["k"], key)).drop(["k"])
        write_file(of_key, folder / "rows" / f"k={key}" / f"rows{ending}")
    return folder / "rows"


Given = Callable[[Path], Any]


def a_file(ending: str) -> Given:
    return lambda folder: str(write_file(ORDERS, folder / f"rows{ending}"))


BATCHES = ORDERS.to_batches(max_chunksize=11)
GIVEN: dict[str, Given] = {
    ending[1:]: a_file(ending)
    for ending in [".parquet", ".csv", ".tsv", ".jsonl", ".json", ".arrow", ".feather", ".csv.gz", ".ipc.lz4"]
} | {
    "file of no ending": lambda folder: write_file(ORDERS, folder / "rows", as_ending=".csv.zst"),
    "file address": lambda folder: write_file(ORDERS, folder / "rows.csv").as_uri(),
    "pattern": lambda folder: f"{in_pieces(folder, '.parquet')}/*.parquet",
    "directory of CSV": lambda folder: in_pieces(folder, ".csv"),
    "list of JSON": lambda folder: sorted(in_pieces(folder, ".jsonl.gz").iterdir()),
    "hive of Parquet": lambda folder: in_hive(folder, ".parquet"),
    "hive of Arrow": lambda folder: in_hive(folder, ".arrow"),
    "table": lambda _: ORDERS,
    "reader": lambda _: ORDERS.to_reader(),
    "dataset": lambda folder: arrow_dataset.dataset(in_pieces(folder, ".parquet")),
    "frame of Polars": lambda _: pl.from_arrow(ORDERS),
    "lazy frame": lambda _: pl.from_arrow(ORDERS).lazy(),
    "frame of pandas": lambda _: ORDERS.to_pandas(),
    "chunks of pandas": lambda folder: pd.read_csv(a_file(".csv")(folder), chunksize=9),
    "relation of DuckDB": lambda _: duckdb.connect().from_arrow(ORDERS),
    "generator of dicts": lambda _: (row for row in ORDERS.to_pylist()),
    "generator of dataclasses": lambda _: (Order(**row) for row in ORDERS.to_pylist()),
    "generator of batches": lambda _: iter(BATCHES),
    "async generator of dicts": lambda _: later(ORDERS.to_pylist()),
    "async generator of batches": lambda _: later(BATCHES),
    "list of dicts": lambda _: ORDERS.to_pylist(),
    "list of dataclasses": lambda _: [Order(**row) for row in ORDERS.to_pylist()],
    "list of batches": lambda _: BATCHES,
    "source of one's own": lambda _: Own(),
    "query": lambda _: sooner.join(ORDERS, pa.table({"k": range(7)}), on="k"),
}  # fmt: skip

SUMS = "SELECT name, SUM(v) AS total, COUNT(*) AS n FROM o JOIN c ON o.k = c.k GROUP BY name"
QUERIES: dict[str, tuple[str, Callable[[Any], pa.Table]]] = {
    "join": (
        "SELECT k, v, s, name FROM o JOIN c USING (k)",
        lambda given: sooner.join(given, NAMES, on="k").to_table(),
    ),
    "join, on the right": (
        "SELECT k, name, v, s FROM o RIGHT JOIN c USING (k)",
        lambda given: sooner.join(NAMES, given, on="k", how="left").to_table(),
    ),
    "multijoin": (
        "SELECT k, v, s, name, mark FROM o JOIN c USING (k) JOIN m USING (k)",
        lambda given: sooner.multijoin({"o": given, "c": NAMES, "m": MARKS}, on="k").to_table(),
    ),
    "enrich": (
        "SELECT k, v, s, name FROM o LEFT JOIN c USING (k)",
        lambda given: sooner.enrich(given, NAMES, on="k", how="left").to_table(),
    ),
    "estimate": (
        SUMS,
        lambda given: sooner.estimate(
            given, NAMES, on="k", by="name", aggregates={"total": ("sum", "v"), "n": "count"}, sampling="rows"
        ).to_table(),
    ),
    "sql": (SUMS, lambda given: sooner.sql(SUMS, {"o": given, "c": NAMES}, sampling="rows").to_table()),
    "sql of figures": (
        "SELECT name, MAX(v) AS most FROM o JOIN c ON o.k = c.k GROUP BY name",
        lambda given: sooner.sql(
            "SELECT name, MAX(v) AS most FROM o JOIN c ON o.k = c.k GROUP BY name", {"o": given, "c": NAMES}
        ).to_table(),
    ),
}  # fmt: skip


def rows_of(table: pa.Table, names: list[str]) -> Counter[tuple[Any, ...]]:
    return Counter(zip(*(table.column(name).to_pylist() for name in names), strict=True))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("kind", GIVEN)
def test_every_kind_of_input_gives_the_answer_of_duckdb(kind: str, query: str, tmp_path: Path) -> None:
    statement, ask = QUERIES[query]
    with duckdb.connect() as database:
        for name, table in (("o", ORDERS), ("c", NAMES), ("m", MARKS)):
            database.register(name, table)
        expected = pa.table(database.sql(statement))
    found = soon(lambda: ask(GIVEN[kind](tmp_path)))
    assert rows_of(found, expected.column_names) == rows_of(expected, expected.column_names)
