"""A master that changes, and rows that were valid then: against DuckDB and a plain oracle."""

import datetime as dt
import itertools
from collections.abc import Iterator
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import sooner
from enriching import made
from sooner.how import kind_of
from sooner.operators.enrich.as_of import AsOf
from sooner.operators.enrich.plan import EnrichPlan
from sooner.operators.enrich.versions import Versioning
from sooner.policies.view import SILENT
from sooner.progress import Progress

HOWS = ("inner", "left", "semi", "anti")


@pytest.mark.parametrize("memory", ["64KB", "64MB"])
@pytest.mark.parametrize("key_type", [pa.int64(), pa.string()])
@pytest.mark.parametrize("how", HOWS)
def test_rows_meet_what_was_valid_then_as_duckdb_has_it(how: str, key_type: pa.DataType, memory: str) -> None:
    dice = np.random.default_rng(7)
    keys, begins = dice.integers(0, 300, 9_000), dice.permutation(9_000)
    prices = pa.table({"k": pa.array(keys).cast(key_type), "since": begins, "price": dice.integers(0, 99, 9_000)})
    sales = pa.table(
        {"k": pa.array(dice.integers(0, 350, 5_000)).cast(key_type), "at": dice.integers(-50, 9_500, 5_000)}
    ).append_column("row", pa.array(range(5_000)))
    query = sooner.enrich(sales, prices, on="k", how=how, as_of="at", valid_from="since", memory=memory)  # type: ignore[arg-type]
    joined = "SELECT s.k, s.at, s.row{} FROM sales s {} prices p ON s.k = p.k AND s.at >= p.since"
    expected = {
        "inner": joined.format(", p.since, p.price", "ASOF JOIN"),
        "left": joined.format(", p.since, p.price", "ASOF LEFT JOIN"),
        "semi": joined.format("", "ASOF JOIN"),
        "anti": joined.format("", "ASOF LEFT JOIN") + " WHERE p.k IS NULL",
    }[how]
    assert rows_of(query.to_table()) == rows_of(duckdb.sql(expected).to_arrow_table())


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("memory_rows", [400, 100_000])
def test_the_newest_version_counts_from_the_call_in_which_it_comes(memory_rows: int, how: str, seed: int) -> None:
    """Changes come in any order, some of them twice, and some rows are gone and come again."""
    dice = np.random.default_rng(seed)
    world = World(how, memory_rows)
    world.begin(range(200))
    for version in itertools.count(2):
        changed = dice.integers(0, 260, 20)
        world.call(changed, version + dice.integers(-1, 2, 20), dice.random(20) < 0.3, dice.integers(0, 280, 60))
        if version % 3 == 0:
            world.work(dice.integers(1, 30))
        if version == 40:
            break
    world.end()


class World:
    """An enrichment call by call, beside a dictionary that is as simple as can be."""

    def __init__(self, how: str, memory_rows: int) -> None:
        versioning = Versioning(("k",), "version", "deleted")
        plan = EnrichPlan(("k",), ("k",), ("", "_m"), "probe", kind_of(how), versioning=versioning)
        self._how = how
        master = pa.schema([("k", pa.int64()), ("value", pa.int64()), ("version", pa.int64())])
        stream = pa.schema([("k", pa.int64()), ("row", pa.int64())])
        changes = pa.schema([*master, ("deleted", pa.bool_())])
        self._schemas = (stream, master, changes)
        self._made = made(plan, self._schemas, memory_rows * 60)
        self._operator = self._made.__enter__()
        self._truth: dict[int, tuple[int, bool, int]] = {}  # by key: version, whether it is there, value
        self._row = itertools.count()

    def begin(self, keys: range) -> None:
        for first in keys[::50]:
            rows = self._batch(1, [(key, 100 + key, 1) for key in keys[first : first + 50]])
            assert not list(self._operator.arrive([[], [rows], []], 0.0))
        self._operator.end(1)
        self._truth = {key: (1, True, 100 + key) for key in keys}

    def call(self, keys: Any, versions: Any, gone: Any, asked: Any) -> None:
        changes = [(int(k), int(100 * v + k), int(v), bool(g)) for k, v, g in zip(keys, versions, gone, strict=True)]
        for key, value, version, is_gone in changes:
            self._truth[key] = max(self._truth.get(key, (-1, False, 0)), (version, not is_gone, value))
        rows = [(int(key), next(self._row)) for key in asked]
        given = [[self._batch(0, rows)], [], [self._batch(2, changes)]]
        found = [row for batch in self._operator.arrive(given, 0.0) for row in rows_of(batch)]
        expected = [row for key, row_number in rows for row in self._answer(key, row_number)]
        assert sorted(found, key=str) == sorted(expected, key=str)

    def work(self, calls: int) -> None:
        for _ in range(calls):
            if not self._operator.has_work(SILENT):
                return
            assert not list(self._operator.work(2_000, SILENT))

    @property
    def progress(self) -> Progress:
        return self._operator.progress()

    @property
    def runs_on_disk(self) -> list[int]:
        """Of the master, by their numbers, which rise."""
        return [run.number for run in self._operator.inputs[1].partitions[0].spilled]

    @property
    def newest_version(self) -> int | float | None:
        return self.progress.newest_version

    def end(self) -> None:
        self._operator.end(0)
        while self._operator.phase != "done":
            assert not list(self._operator.work(2_000, SILENT))
        assert not self._operator.account.used_bytes
        self._made.__exit__(None, None, None)

    def _answer(self, key: int, row: int) -> Iterator[tuple[Any, ...]]:
        version, is_there, value = self._truth.get(key, (0, False, 0))
        match self._how:
            case "semi" | "anti":
                yield from [(key, row)] if is_there == (self._how == "semi") else []
            case _ if is_there:
                yield key, row, value, version
            case "left":
                yield key, row, None, None

    def _batch(self, which: int, rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
        schema = self._schemas[which]
        columns = [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), schema, strict=True)]
        return pa.RecordBatch.from_arrays(columns, schema=schema)


def rows_of(table: pa.Table | pa.RecordBatch) -> list[tuple[Any, ...]]:
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True), key=str)


def test_as_of_needs_two_columns() -> None:
    table = pa.table({"k": [1], "t": [1]})
    with pytest.raises(sooner.InvalidJoin, match="as_of='t' and valid_from=None go together"):
        sooner.enrich(table, table, on="k", as_of="t")
    with pytest.raises(sooner.InvalidJoin, match="give two times, dates or numbers"):
        sooner.enrich(table, pa.table({"k": [1], "since": ["monday"]}), on="k", as_of="t", valid_from="since")
    assert AsOf("t", "since").valid_from == "since"


def test_what_is_gone_stays_gone_when_an_older_version_comes_late() -> None:
    """Also when all runs have become one, the one with the word of it among them."""
    world = World("inner", 400)
    world.begin(range(200))
    world.call(np.arange(50), np.full(50, 5), np.full(50, True), np.arange(60))
    first = 0
    for version in range(6, 26):
        keys = np.arange(50 * version, 50 * version + 50)
        world.call(keys, np.full(50, version), np.full(50, False), np.arange(60))
        world.work(1_000)
        first = first or min(world.runs_on_disk, default=0)
    assert 0 < first < min(world.runs_on_disk), "the first run has become another"
    world.call(np.arange(50), np.full(50, 4), np.full(50, False), np.arange(60))
    world.call(np.arange(50), np.full(50, 6), np.full(50, False), np.arange(60))
    world.end()


MOMENT = dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("versions", "newest"),
    [
        (pa.array([3, None, -7]), 3),
        (pa.array([-3, -7, None]), -3),
        (pa.array([2**64 - 1, 0, 1], pa.uint64()), 2**64 - 1),
        (pa.array([0.5, float("nan"), None]), 0.5),
        (pa.array([float("nan"), None, None]), None),
        (pa.array([1, 2, None], pa.float16()), 2.0),
        (pa.array([MOMENT, None, MOMENT - dt.timedelta(1)], pa.timestamp("us", "UTC")), MOMENT.timestamp() * 10**6),
        (pa.array([MOMENT, None, None], pa.timestamp("s", "Europe/Vienna")), MOMENT.timestamp()),
        (pa.array([dt.date(1970, 1, 3), dt.date(1969, 1, 1), None]), 2),
        (pa.array([dt.timedelta(seconds=2), None, dt.timedelta(seconds=1)], pa.duration("ms")), 2_000),
        (pa.nulls(3, pa.int64()), None),
        (pa.nulls(3, pa.timestamp("us")), None),
    ],
    ids=str,
)
def test_the_newest_version_of_the_changes_is_told_in_its_own_units(versions: pa.Array, newest: float | None) -> None:
    rows = pa.record_batch([versions], ["version"])
    versioning = Versioning(("k",), "version")
    assert versioning.newest_of([]) is None
    for batches in ([rows], [rows.slice(0, 0), rows], [rows.slice(1), rows.slice(0, 1)]):
        assert versioning.newest_of(batches) == newest


@pytest.mark.parametrize("memory_rows", [400, 100_000])
def test_progress_tells_the_newest_version_that_was_taken_up(memory_rows: int) -> None:
    """Not that of the master, and none that comes late."""
    world = World("inner", memory_rows)
    world.begin(range(200))
    assert world.newest_version is None
    for version, newest in ((5, 5), (9, 9), (7, 9)):
        world.call(np.arange(3), np.full(3, version), np.full(3, version == 9), np.arange(10))
        assert world.newest_version == newest
    assert "changes up to version 9" in str(world.progress)
    world.end()


@pytest.mark.parametrize("type_", [pa.string(), pa.decimal128(9, 2), pa.bool_(), pa.list_(pa.int64()), pa.null()])
def test_versions_without_an_order_are_refused_before_data_is_read(type_: pa.DataType) -> None:
    table = pa.table({"k": pa.array([], pa.int64()), "version": pa.array([], type_)})
    with pytest.raises(sooner.InvalidJoin, match=r"version='version' is .*; give a column of numbers, dates or times"):
        sooner.enrich(table, table, on="k", changes=table, version="version")
