"""`sooner.multijoin` as a user meets it, beside DuckDB."""

import datetime as dt
import itertools
import re
import threading
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import sooner
from sooner.local.inbox import LAST_IN_TURNS, Ended, Inbox
from sooner.operators.events import Looped
from sooner.trace import Entry

PLENTY = "64MB"
SECOND = dt.timedelta(seconds=1)


def rows_of(table: pa.Table) -> Counter[tuple[Any, ...]]:
    names = sorted(table.column_names)
    return Counter(zip(*(table[name].to_pylist() for name in names), strict=True))


def asked_of_duckdb(query: str, **tables: pa.Table) -> pa.Table:
    with duckdb.connect() as database:
        for name, table in tables.items():
            database.register(name, table)
        return database.sql(query).to_arrow_table()


def shop(rows: int = 4_000, seed: int = 0) -> dict[str, pa.Table]:
    """Sales of articles by customers of nations; keys of texts among them, nulls, and one that is hot."""
    dice = np.random.default_rng(seed)
    customers = [None if at % 50 == 0 else f"customer {at * at % 300:05}" for at in dice.integers(0, 300, rows)]
    articles = np.where(dice.random(rows) < 0.2, 7, dice.integers(0, 200, rows))
    nations = dice.integers(0, 20, 300)
    return {
        "sales": pa.table({"sale": np.arange(rows), "customer": customers, "article": articles}),
        "customers": pa.table({"customer": [f"customer {at:05}" for at in range(300)], "nation": nations}),
        "articles": pa.table({"article": dice.permutation(180), "title": [f"title {at}" for at in range(180)]}),
        "nations": pa.table({"nation": np.arange(20), "name": [f"nation {at}" for at in range(20)]}),
    }


SNOWFLAKE = [
    "sales.customer = customers.customer",
    "sales.article = articles.article",
    "customers.nation = nations.nation",
]
SNOWFLAKE_IN_SQL = (
    "SELECT * FROM sales JOIN customers USING (customer) JOIN articles USING (article) JOIN nations USING (nation)"
)


@pytest.mark.parametrize("memory", [PLENTY, "200kB", "80kB"])
@pytest.mark.parametrize("seed", range(3))
def test_a_snowflake_is_what_duckdb_says(memory: str, seed: int) -> None:
    tables = shop(seed=seed)
    for order in itertools.islice(itertools.permutations(tables), seed, None, 9):
        query = sooner.multijoin({name: tables[name] for name in order}, on=SNOWFLAKE, memory=memory)
        assert rows_of(query.to_table()) == rows_of(asked_of_duckdb(SNOWFLAKE_IN_SQL, **tables))


@pytest.mark.parametrize("algorithm", ["miner", "mjoin"])
def test_conditions_on_inputs(algorithm: Any) -> None:
    tables = shop()
    where = {"sales": "sale % 3 = 1 AND article < 150", "nations": pc.field("nation") > 4}
    query = sooner.multijoin(tables, on=SNOWFLAKE, where=where, algorithm=algorithm, memory="100kB")
    expected = asked_of_duckdb(f"{SNOWFLAKE_IN_SQL} WHERE sale % 3 = 1 AND article < 150 AND nation > 4", **tables)
    assert expected.num_rows
    assert rows_of(query.to_table()) == rows_of(expected)


@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        ({"sale": "x > 1"}, "by their names"),
        ("sales.sale > 1", "by their names"),
        ({"sales": "price > 1"}, "price"),
        ({"sales": "sale + 1"}, "condition"),
    ],
)
def test_a_condition_that_cannot_be_is_refused_before_a_row_is_read(where: Any, sentence: str) -> None:
    with pytest.raises(sooner.InvalidCall, match=sentence):
        sooner.multijoin(shop(10), on=SNOWFLAKE, where=where)


@pytest.mark.parametrize("memory", [PLENTY, "100kB"])
@pytest.mark.parametrize("n_inputs", [2, 3, 5])
def test_one_attribute_of_many_inputs(n_inputs: int, memory: str) -> None:
    dice = np.random.default_rng(n_inputs)
    tables = {
        f"t{at}": pa.table({"key": dice.integers(0, 900, 1_200), f"row_{at}": np.arange(1_200)})
        for at in range(n_inputs)
    }
    others = " ".join(f"JOIN t{at} USING (key)" for at in range(1, n_inputs))
    expected = asked_of_duckdb(f"SELECT * FROM t0 {others}", **tables)
    assert rows_of(sooner.multijoin(tables, on="key", memory=memory).to_table()) == rows_of(expected)


def test_keys_of_several_columns_and_columns_of_one_name() -> None:
    left = pa.table({"day": [1, 1, 2], "shop": ["a", "b", "a"], "n": [1, 2, 3]})
    middle = pa.table({"day": [1, 2, 2], "store": ["a", "a", "b"], "n": [4, 5, 6], "who": [7, 8, 9]})
    right = pa.table({"who": [7, 8], "n": [10, 11]})
    query = sooner.multijoin(
        {"left": left, "middle": middle, "right": right},
        on=[("left.day", "middle.day"), "left.shop = middle.store", "middle.who == right.who"],
    )
    assert query.schema.names == ["day", "shop", "n_left", "store", "n_middle", "who", "n_right"]
    assert query.to_table().sort_by("day").to_pylist() == [
        {"day": 1, "shop": "a", "n_left": 1, "store": "a", "n_middle": 4, "who": 7, "n_right": 10},
        {"day": 2, "shop": "a", "n_left": 3, "store": "a", "n_middle": 5, "who": 8, "n_right": 11},
    ]


def test_an_input_may_come_twice_by_two_names() -> None:
    people = pa.table({"person": [1, 2, 3], "boss": [2, 3, 3]})
    query = sooner.multijoin({"p": people, "b": people, "bb": people}, on=["p.boss = b.person", "b.boss = bb.person"])
    found = query.to_table().sort_by("person_p")
    assert found["person_bb"].to_pylist() == [3, 3, 3]
    assert found["boss_p"].to_pylist() == [2, 3, 3]


def test_results_come_while_inputs_are_open() -> None:
    more = threading.Event()

    def orders() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"o": [1, 2], "c": [1, 2]})
        assert more.wait(30)
        yield pa.record_batch({"o": [3], "c": [1]})

    schema = pa.schema([("o", pa.int64()), ("c", pa.int64())])
    query = sooner.multijoin(
        {
            "orders": pa.RecordBatchReader.from_batches(schema, orders()),
            "customers": pa.table({"c": [1, 2], "n": [5, 6]}),
            "nations": pa.table({"n": [5, 6], "name": ["x", "y"]}),
        },
        on=["orders.c = customers.c", "customers.n = nations.n"],
    )
    batches = iter(query)
    early = sum(batch.num_rows for batch in itertools.takewhile(lambda _: not more.is_set(), _until(batches, 2)))
    assert early == 2
    more.set()
    assert sum(batch.num_rows for batch in batches) == 1


def _until(batches: Iterator[pa.RecordBatch], n_rows: int) -> Iterator[pa.RecordBatch]:
    while n_rows > 0:
        batch = next(batches)
        n_rows -= batch.num_rows
        yield batch


@pytest.mark.parametrize("empty", ["sales", "customers", "nations"])
@pytest.mark.parametrize("memory", [PLENTY, "80kB"])
def test_with_an_empty_input_there_is_nothing(empty: str, memory: str) -> None:
    tables = shop(1_000)
    tables[empty] = tables[empty].slice(0, 0)
    assert sooner.multijoin(tables, on=SNOWFLAKE, memory=memory).to_table().num_rows == 0


def rows_numbered(n_rows: int) -> pa.RecordBatch:
    return pa.record_batch({"row": np.arange(n_rows)})


def test_an_input_that_is_to_come_last_has_its_turn_now_and_then_until_all_others_have_ended() -> None:
    inbox = Inbox(2, piece_bytes=10**6, last=0)
    turns = []
    for _ in range(3 * LAST_IN_TURNS):
        if not inbox.waiting_rows[0]:
            inbox.put(0, rows_numbered(5), 40)
        inbox.put(1, rows_numbered(5), 40)
        taken = inbox.take(0)
        assert taken is not None
        assert len(taken[1].batches) == 1
        turns.append(len(taken[0].batches))
    assert turns[0] == 1  # for early results
    assert sum(turns) == 3
    assert inbox.waiting_rows == (5, 0)
    inbox.end(1, Ended())
    for batches in (0, 2, 1):  # the end of the other comes first
        taken = inbox.take(0)
        assert taken is not None
        assert [len(one.batches) for one in taken] == [batches, 0]
        inbox.put(0, rows_numbered(5), 40)


def test_of_an_input_that_is_to_come_last_a_batch_is_taken_at_a_time_until_all_others_are_in() -> None:
    inbox = Inbox(2, piece_bytes=10**6, last=0)

    def taken() -> list[list[int]]:
        waiting = inbox.take(0)
        assert waiting is not None
        return [[batch.num_rows for batch in one.batches] for one in waiting]

    for rows in (1, 2, 3, 4):
        inbox.put(0, rows_numbered(rows), 2**16)  # the first room is of four of these
    inbox.put(1, rows_numbered(5), 40)
    assert taken() == [[1], [5]]
    inbox.put(0, rows_numbered(6), 2**16)  # into the room of what was taken
    inbox.put(1, rows_numbered(5), 40)
    inbox.end(1, Ended())
    assert taken() == [[], [5]]  # its turn is over
    assert taken() == [[2, 3, 4, 6], []]
    inbox = Inbox(2, piece_bytes=10**6, last=0)
    for rows in (1, 2):
        inbox.put(0, rows_numbered(rows), 40)
    inbox.end(1, Ended())  # comes with the first batch: rows of the others are taken in by the same call
    assert taken() == [[1], []]
    assert taken() == [[2], []]


def test_room_in_the_inbox_grows_with_what_is_taken_of_the_same_input() -> None:
    """What is to come last waits in little room, and the processors are for the others, which come first."""
    inbox = Inbox(2, piece_bytes=2**20, last=0)
    for _ in range(4):
        inbox.put(1, rows_numbered(1), 2**16)
        inbox.take(0)
    assert [queue.room_bytes for queue in inbox._queues] == [2**18, 2**20]
    inbox.put(0, rows_numbered(1), 2**16)
    inbox.end(1, Ended())
    inbox.take(0)
    assert [queue.room_bytes for queue in inbox._queues] == [2**19, 2**20]


def test_a_table_that_is_larger_than_all_others_is_read_last() -> None:
    tables = shop(3_000)
    told = sooner.multijoin(tables, on=SNOWFLAKE).explain().splitlines()
    assert told[-1] == "read last: sales, which has most of all rows"
    assert "read last" not in sooner.multijoin(shop(100), on=SNOWFLAKE).explain()
    assert "read last" not in sooner.multijoin({**tables, "sales": tables["sales"].to_reader()}, on=SNOWFLAKE).explain()


def test_files_are_gone_in_the_end(tmp_path: Any) -> None:
    query = sooner.multijoin(shop(), on=SNOWFLAKE, memory="80kB", spill_dir=tmp_path)
    next(iter(query))
    query.stop()
    assert not list(tmp_path.iterdir())


def test_and_stands_between_two_equalities_as_in_sql() -> None:
    tables = {name: pa.table({"k": [1, 2], "l": [3, 4], name: [5, 6]}) for name in ("a", "b", "c")}
    equalities = ["a.k = b.k", "b.l = c.l"]
    together = sooner.multijoin(tables, on=" AND ".join(equalities)).to_table()
    assert rows_of(together) == rows_of(sooner.multijoin(tables, on=equalities).to_table())
    assert together.num_rows == 2


@pytest.mark.parametrize(
    ("inputs", "on", "sentence"),
    [
        ({"a": 1}, "k", "two at least"),
        ({"a": "k", "b.c": "k"}, "k", "cannot name an input"),
        ({"a": "k", "b": "k"}, [], "`on` is empty"),
        ({"a": "k", "b": "k"}, None, "`on` is empty"),
        ({"a": "k", "b": "k"}, 7, "on=7 does not say which columns are equal"),
        ({"a": "k", "b": "k"}, [7], "does not say which columns are equal"),
        ({"a": "k", "b": "k"}, ["a.k = k"], "does not say of which input"),
        ({"a": "k", "b": "k"}, ["a.k = z.k"], "names an input 'z', and there are 'a', 'b'"),
        ({"a": "k", "b": "k"}, ["a.k = a.l"], "columns of one input"),
        ({"a": "k", "b": "k"}, ["a.k = b.x"], "the b has no column 'x'"),
        ({"a": "k", "b": "k", "c": "k"}, ["a.k = b.k"], "Nothing connects 'a' with 'c'"),
        ({"a": "kl", "b": "kl", "c": "kl"}, ["a.k = b.k", "b.l = c.l", "c.k = a.l"], "circle .* algorithm='rpj'"),
        ({"a": "kl", "b": "k"}, ["a.k = b.k", "b.k = a.l"], "must be equal, since both"),
        ({"a": "k", "b": "t"}, ["a.k = b.t"], "cast one of them"),
        ({"a": "k", "b": "k", "c": "f"}, ["a.k = b.k", "b.k = c.f"], "cannot be compared in one type"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(inputs: dict[str, Any], on: Any, sentence: str) -> None:
    columns = {"k": pa.array([1]), "l": pa.array([1]), "t": pa.array(["x"]), "f": pa.array([1.5])}
    tables = {
        name: pa.table({one: columns[one] for one in has}) if isinstance(has, str) else has
        for name, has in inputs.items()
    }
    with pytest.raises(sooner.InvalidCall, match=sentence.replace("(", r"\(")):
        sooner.multijoin(tables, on=on)


# Values that may be apart


def visits(rows: int = 1_500, seed: int = 0) -> dict[str, pa.Table]:
    """Views and clicks, at times that may be null and are stored in different units."""
    dice = np.random.default_rng(seed)

    def times(unit: str) -> pa.Array:
        seconds = [
            None if at % 40 == 0 else dt.datetime(2024, 1, 1) + at * SECOND for at in dice.integers(0, 9_000, rows)
        ]
        return pa.array(seconds, pa.timestamp(unit))

    return {
        "users": pa.table({"user": np.arange(rows), "name": [f"user {at}" for at in range(rows)]}),
        "views": pa.table({"user": dice.integers(0, rows + 50, rows), "time": times("us"), "view": np.arange(rows)}),
        "clicks": pa.table({"time": times("ms"), "click": np.arange(rows)}),
    }


VISITS_IN_SQL = """
    SELECT user, name, views.time AS time_views, view, clicks.time AS time_clicks, click
    FROM users JOIN views USING (user)
    JOIN clicks ON clicks.time - views.time BETWEEN INTERVAL '{} seconds' AND INTERVAL '{} seconds'
"""


@pytest.mark.parametrize("memory", [PLENTY, "80kB"])
@pytest.mark.parametrize("algorithm", ["miner", "mjoin"])
def test_a_range_of_times_at_the_end_of_a_chain(algorithm: Any, memory: str) -> None:
    tables = visits()
    expected = rows_of(asked_of_duckdb(VISITS_IN_SQL.format(-2, 9), **tables))
    for within in (
        {("views.time", "clicks.time"): (-2 * SECOND, 9 * SECOND)},
        {("clicks.time", "views.time"): (-9 * SECOND, 2 * SECOND)},
    ):
        for order in (list(tables), list(reversed(tables))):
            inputs = {name: tables[name] for name in order}
            query = sooner.multijoin(
                inputs, "users.user = views.user", within=within, algorithm=algorithm, memory=memory
            )
            assert rows_of(query.to_table()) == expected
    assert expected


def test_columns_of_a_range_are_both_given_and_it_is_explained(tmp_path: Path) -> None:
    query = sooner.multijoin(
        visits(), "users.user = views.user", within={("views.time", "clicks.time"): SECOND}, trace=tmp_path / "trace"
    )
    assert query.schema.names == ["user", "name", "time_views", "view", "time_clicks", "click"]
    assert "users.user = views.user and clicks.time - views.time within 0:00:01" in query.explain()
    assert query.to_table().num_rows


@pytest.mark.parametrize("memory", [PLENTY, "80kB"])
@pytest.mark.parametrize("algorithm", ["miner", "mjoin"])
def test_a_range_beside_a_key_another_of_doubles_and_no_number_among_them(algorithm: Any, memory: str) -> None:
    dice, rows = np.random.default_rng(0), 1_500
    prices = [
        [None if at % 30 == 0 else Decimal(at) / 100 for at in dice.integers(0, 500, rows).tolist()] for _ in range(2)
    ]
    sizes = [np.where(dice.random(rows) < 0.1, np.nan, dice.random(rows) * 200) for _ in range(2)]
    symbols = [[f"symbol {at}" for at in dice.integers(0, 20, rows)] for _ in range(2)]
    tables = {
        "trades": pa.table({"symbol": symbols[0], "price": pa.array(prices[0], pa.decimal128(9, 2)), "size": sizes[0]}),
        "quotes": pa.table({"symbol": symbols[1], "price": pa.array(prices[1], pa.decimal128(12, 3))}),
        "lots": pa.table({"size": sizes[1], "lot": np.arange(rows)}),
    }
    query = sooner.multijoin(
        tables,
        "trades.symbol = quotes.symbol",
        within={("trades.price", "quotes.price"): Decimal("0.05"), ("lots.size", "trades.size"): (None, -199.5)},
        algorithm=algorithm,
        memory=memory,
    )
    expected = asked_of_duckdb(
        """
        SELECT trades.symbol, trades.price AS price_trades, trades.size AS size_trades, quotes.price AS price_quotes,
            lots.size AS size_lots, lot
        FROM trades JOIN quotes ON trades.symbol = quotes.symbol AND abs(trades.price - quotes.price) <= 0.05
        JOIN lots ON trades.size - lots.size <= -199.5 AND NOT isnan(lots.size) AND NOT isnan(trades.size)
        """,
        **tables,
    )
    assert expected.num_rows
    assert rows_of(query.to_table()) == rows_of(expected)


@pytest.mark.parametrize(
    ("one", "other", "width"),
    [
        (pa.int16(), pa.int64(), 2),
        (pa.int64(), pa.uint64(), 2),
        (pa.float32(), pa.int32(), 2.0),
        (pa.date32(), pa.date32(), dt.timedelta(days=2)),
        (pa.dictionary(pa.int32(), pa.int64()), pa.int64(), 2),
    ],
    ids=str,
)
def test_values_meet_in_one_type(one: pa.DataType, other: pa.DataType, width: Any) -> None:
    def values(numbers: list[int], type_: pa.DataType) -> pa.Array:
        if pa.types.is_dictionary(type_):
            return pa.array(numbers, type_.value_type).dictionary_encode()
        return pa.array(numbers, pa.int32() if pa.types.is_date(type_) else None).cast(type_)

    tables = {
        "a": pa.table({"x": values([1, 5, 90], one), "k": [1, 2, 3]}),
        "b": pa.table({"x": values([3, 8, 91, 4], other), "row": [1, 2, 3, 4]}),
        "c": pa.table({"k": [1, 2, 3]}),
    }
    found = sooner.multijoin(tables, "a.k = c.k", within={("a.x", "b.x"): width}).to_table()
    assert sorted(zip(found["k"].to_pylist(), found["row"].to_pylist(), strict=True)) == [
        (1, 1),
        (2, 1),
        (2, 4),
        (3, 3),
    ]


@pytest.mark.parametrize("pair", [("a.x", "b.x"), ("b.x", "a.x")])
@pytest.mark.parametrize("memory", [PLENTY, "80kB"])
def test_with_two_inputs_it_is_a_join_within(memory: str, pair: tuple[str, str]) -> None:
    dice = np.random.default_rng(0)
    a, b = (pa.table({"x": dice.integers(0, 20_000, 4_000), row: np.arange(4_000)}) for row in ("row_a", "row_b"))
    within = (1, 7) if pair[0] == "a.x" else (-7, -1)
    query = sooner.multijoin({"a": a, "b": b}, within={pair: within}, memory=memory)
    expected = sooner.join(a, b, on="x", within=(1, 7), suffixes=("_a", "_b"), memory=memory, algorithm="diner")
    assert query.schema == expected.schema
    assert rows_of(query.to_table()) == rows_of(expected.to_table())


@pytest.mark.parametrize(("low", "high"), [(-2, 9), (None, -8_500), (8_500, None)])
def test_a_range_in_a_silence(low: int | None, high: int | None) -> None:
    """What has left memory meets by the loop, while the inputs are open."""
    tables, looped = visits(), threading.Event()

    def views() -> Iterator[pa.RecordBatch]:
        *batches, last = tables["views"].to_batches(100)
        yield from batches
        assert looped.wait(30)
        yield last

    def note(entry: Entry) -> None:
        if isinstance(entry.event, Looped):
            looped.set()

    inputs = {**tables, "views": pa.RecordBatchReader.from_batches(tables["views"].schema, views())}
    query = sooner.multijoin(
        inputs,
        "users.user = views.user",
        within={("views.time", "clicks.time"): (low and low * SECOND, high and high * SECOND)},
        memory="80kB",
        trace=note,
    )
    expected = asked_of_duckdb(VISITS_IN_SQL.format(low or -9_999, high or 9_999), **tables)
    assert expected.num_rows
    assert rows_of(query.to_table()) == rows_of(expected)
    assert looped.is_set()


@pytest.mark.parametrize(
    ("on", "within", "sentence"),
    [
        ("a.k = b.k", 5, "does not say for which columns"),
        ("a.k = b.k", {"a.f": 5}, "has 'a.f', which is not a column of each of two inputs"),
        ("a.k = b.k", {("a.f", "c.f", "b.f"): 5}, "not a column of each of two inputs"),
        ("a.k = b.k", {("f", "c.f"): 5}, "does not say of which input"),
        ("a.k = b.k", {("a.f", "z.f"): 5}, "names an input 'z'"),
        ("a.k = b.k", {("a.f", "a.k"): 5}, "compares columns of one input"),
        ("a.k = b.k", {("a.f", "c.x"): 5}, "the c has no column 'x'"),
        ("a.k = b.k", {("a.f", "c.s"): 5}, "c.s - a.f within 5 cannot be: column 's' on the right is string"),
        ("a.k = b.k", {("a.f", "c.t"): 5}, "cast one of them"),
        ("a.k = b.k", {("a.k", "c.k"): -1}, "is no distance"),
        ("a.k = b.k", {("a.k", "c.k"): (2, 1)}, "has its low end above its high end"),
        ("a.k = b.k", {("a.k", "c.k"): "5"}, "is not an interval; write it as"),
        ("a.k = b.k", {("a.k", "c.k"): [5]}, "must be one number, or two"),
        ("a.k = b.k", {("a.t", "c.t"): 5}, "must be a datetime.timedelta"),
        ("a.k = b.k", {("a.k", "c.k"): 5, ("c.k", "a.k"): 5}, "a second range between 'c' and 'a'"),
        ("a.k = b.k", {("a.k", "c.k"): 5, ("b.k", "c.k"): 5}, "There is a circle"),
        ("k", {("a.f", "b.f"): 5}, "There is a circle among a.k = b.k = c.k; b.f - a.f within 5"),
        ((), {("a.k", "b.k"): 5}, "Nothing connects 'a' with 'c'; name columns of both in `on` or in `within`"),
        ((), {}, "`on` is empty"),
    ],
)
def test_a_range_that_cannot_be_is_refused_with_a_sentence(on: Any, within: Any, sentence: str) -> None:
    columns = {"k": [1], "f": [1.5], "s": ["x"], "t": pa.array([dt.datetime(2024, 1, 1)], pa.timestamp("us"))}
    tables = {name: pa.table(columns) for name in "abc"}
    with pytest.raises(sooner.InvalidJoin, match=re.escape(sentence)):
        sooner.multijoin(tables, on, within=within)


def test_memory_that_is_too_small_for_one_row_of_each_is_refused() -> None:
    wide = ["x" * 100_000] * 2  # in each: rows of the last to come would not be kept
    tables = {
        "sales": pa.table({"customer": [1, 2], "of_sale": wide}),
        "customers": pa.table({"customer": [1, 2], "nation": [1, 2], "of_customer": wide}),
        "nations": pa.table({"nation": [1, 2], "of_nation": wide}),
    }
    on = ["sales.customer = customers.customer", "customers.nation = nations.nation"]
    with pytest.raises(sooner.BudgetTooSmall, match=r"arrived at once, and .* are free for them; raise `memory`"):
        sooner.multijoin(tables, on=on, memory="64KB").to_table()
    assert sooner.multijoin(tables, on=on, memory="2MB").to_table().num_rows == 2


def test_an_algorithm_that_is_not_there_is_refused() -> None:
    tables = {"a": pa.table({"k": [1]}), "b": pa.table({"k": [1]})}
    with pytest.raises(sooner.InvalidJoin, match="not known"):
        sooner.multijoin(tables, on="k", algorithm="diner")  # type: ignore[arg-type]
    with pytest.raises(sooner.BudgetTooSmall, match="memory"):
        sooner.multijoin(tables, on="k", memory="1kB")
