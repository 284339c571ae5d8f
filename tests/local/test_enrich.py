"""`sooner.enrich` in process: DuckDB's rows, whatever the memory, while the stream goes on."""

import threading
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import sooner
from queries import Gated, Rows, gated, join_rows, multiset, refused, soon, wait_for, wait_until
from sooner.asked.enrichments import EnrichAlgorithm, EnrichHow
from sooner.errors import BudgetTooSmall, InvalidJoin, SourceFailed

HOWS: list[EnrichHow] = ["inner", "left", "semi", "anti"]
ALGORITHMS: list[EnrichAlgorithm] = ["probe", "ssbj", "meshjoin"]
MASTER_ROWS, STREAM_ROWS = 20_000, 6_000
SMALL = "1MB"  # less than half of the master
PLENTY = "64MB"
SQL = {
    "inner": "select l.*, r.b, r.note from l join r on {}",
    "left": "select l.*, r.b, r.note from l left join r on {}",
    "semi": "select l.* from l semi join r on {}",
    "anti": "select l.* from l anti join r on {}",
}


def keys(n_rows: int, seed: int, skew: float = 1.0) -> list[int | None]:
    """Low ones come more often, the larger the skew is; a few are null, and in a stream some are in no master."""
    dice = np.random.default_rng(seed)
    drawn = (1.2 * MASTER_ROWS * dice.random(n_rows) ** skew).astype(np.int64).tolist()
    return [None if chance < 0.02 else key for key, chance in zip(drawn, dice.random(n_rows), strict=True)]


def with_key(kind: str, some: list[int | None], *, is_master: bool) -> dict[str, pa.Array]:
    """Such keys as columns of a master or of a stream."""
    match kind:
        case "integers of two sizes":
            return {"k": pa.array(some, pa.int64() if is_master else pa.int32())}
        case "text":
            texts = [None if key is None else f"key {key}" * (key % 3) + str(key) for key in some]
            return {"k": pa.array(texts, pa.large_string() if is_master else pa.string())}
    parts = [(None, None) if key is None else (key % 100, None if key % 50 == 7 else f"{key // 100}") for key in some]
    number, text = (list(column) for column in zip(*parts, strict=True))
    return {"k": pa.array(number, pa.int16()), "text": pa.array(text)}


def master_of(kind: str = "integers of two sizes", n_rows: int = MASTER_ROWS) -> pa.Table:
    """Most keys have one row, some several, some none."""
    notes = [f"note {n}" * 8 for n in range(n_rows)]
    return pa.table(with_key(kind, keys(n_rows, 1), is_master=True) | {"b": range(n_rows), "note": notes})


def stream_of(kind: str = "integers of two sizes", n_rows: int = STREAM_ROWS) -> pa.Table:
    return pa.table(with_key(kind, keys(n_rows, 2, skew=3.0), is_master=False) | {"a": range(n_rows)})


def expected(stream: pa.Table, master: pa.Table, how: str) -> Rows:
    shared = [name for name in stream.schema.names if name in master.schema.names]
    with duckdb.connect() as database:
        database.register("l", stream)
        database.register("r", master)
        return multiset(
            database.sql(SQL[how].format(" and ".join(f"l.{name} = r.{name}" for name in shared))).to_arrow_table()
        )


def found(query: sooner.Query, stream: pa.Table) -> Rows:
    table = soon(query.to_table)
    return multiset(
        table.select([*stream.schema.names, *(name for name in ("b", "note") if name in table.schema.names)])
    )


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", ["integers of two sizes", "text", "several columns"])
@pytest.mark.parametrize("memory", [SMALL, PLENTY])
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_each_stream_row_gets_duckdbs_answer(
    algorithm: EnrichAlgorithm, how: EnrichHow, memory: str, kind: str, tmp_path: Path
) -> None:
    stream, master = stream_of(kind), master_of(kind)
    most_spilled = 0

    def look() -> None:
        nonlocal most_spilled
        most_spilled = query.progress.spilled_rows

    on = [name for name in stream.schema.names if name in master.schema.names]
    slowly = Gated([*stream.to_batches(max_chunksize=500), look], stream.schema)
    query = sooner.enrich(slowly, master, on=on, how=how, algorithm=algorithm, memory=memory, spill_dir=tmp_path)
    assert found(query, stream) == expected(stream, master, how)
    assert query.progress.arrived_rows == (stream.num_rows, master.num_rows)
    assert query.progress.phase == "done"
    if memory == SMALL:
        assert query.progress.peak_bytes <= 2**20
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("how", HOWS)
def test_a_master_without_rows_and_a_stream_without_rows(how: EnrichHow) -> None:
    stream, master = stream_of(n_rows=100), master_of(n_rows=100)
    for one, other in ((stream, master.slice(0, 0)), (stream.slice(0, 0), master)):
        query = sooner.enrich(one, other, on="k", how=how)
        names = [*stream.schema.names, *(["b", "note"] if how in ("inner", "left") else [])]
        assert query.schema.names == names
        assert found(query, stream) == expected(one, other, how)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_rows_without_a_key_come_out_of_a_left_and_an_anti_enrichment(algorithm: EnrichAlgorithm) -> None:
    stream = pa.table({"k": pa.array([None, None, 1], pa.int64()), "a": [1, 2, 3]})
    master = master_of().set_column(0, "k", pa.nulls(MASTER_ROWS, pa.int64()))
    for how, rows in (("inner", 0), ("left", 3), ("semi", 0), ("anti", 3)):
        query = sooner.enrich(stream, master, on="k", how=how, algorithm=algorithm, memory=SMALL)  # type: ignore[arg-type]
        assert soon(query.to_table).num_rows == rows


@pytest.mark.parametrize("form", ["path", "folder", "dataset", "reader"])
def test_a_master_in_another_form(form: str, tmp_path: Path) -> None:
    stream, master = stream_of(n_rows=500), master_of()
    (tmp_path / "master").mkdir()
    for half in range(2):
        pq.write_table(master.slice(half * MASTER_ROWS // 2, MASTER_ROWS // 2), tmp_path / "master" / f"{half}.parquet")
    pq.write_table(master, tmp_path / "master.parquet")
    forms: dict[str, Callable[[], object]] = {
        "path": lambda: tmp_path / "master.parquet",
        "folder": lambda: tmp_path / "master",
        "dataset": lambda: ds.dataset(tmp_path / "master"),
        "reader": lambda: master.to_reader(max_chunksize=1_000),
    }
    query = sooner.enrich(stream, forms[form](), on="k", memory=SMALL)
    assert found(query, stream) == expected(stream, master, "inner")


# Columns


def test_keys_of_two_names_and_columns_that_both_have() -> None:
    stream = pa.table({"article": [1, 2, 9], "price": [10, 20, 30]})
    master = pa.table({"id": [1, 1, 2], "price": [11, 12, 13], "title": ["nut", "screw", "bolt"]})
    names = {"stream_on": "article", "master_on": "id"}
    table = soon(sooner.enrich(stream, master, **names, how="left").to_table).sort_by("price_master")  # type: ignore[arg-type]
    assert table.to_pydict() == {
        "article": [1, 1, 2, 9],
        "price": [10, 10, 20, 30],
        "id": [1, 1, 2, None],
        "price_master": [11, 12, 13, None],
        "title": ["nut", "screw", "bolt", None],
    }
    query = sooner.enrich(stream, master, **names, suffixes=("_asked", "_listed"))  # type: ignore[arg-type]
    assert query.schema.names == ["article", "price_asked", "id", "price_listed", "title"]


@pytest.mark.parametrize("memory", [SMALL, PLENTY])
def test_only_the_columns_that_are_asked_for_are_added_and_kept(memory: str) -> None:
    stream, master = stream_of(), master_of()
    query = sooner.enrich(stream, master, on="k", columns="b", memory=memory)
    table = soon(query.to_table)
    assert table.schema.names == ["k", "a", "b"]
    whole = soon(sooner.enrich(stream, master, on="k").to_table)
    assert multiset(table) == multiset(whole.select(["k", "a", "b"]))
    assert query.progress.peak_bytes < MASTER_ROWS * 40, "the notes alone have more"


def test_a_semi_enrichment_keeps_the_keys_alone() -> None:
    query = sooner.enrich(stream_of(), master_of(), on="k", how="semi", memory=PLENTY)
    soon(query.to_table)
    assert query.progress.peak_bytes < MASTER_ROWS * 30


# What it says before it begins


@pytest.mark.parametrize(("memory", "told"), [(SMALL, "too much for about 682"), (PLENTY, "fits about 42")])
def test_it_explains_itself_before_data_is_read(memory: str, told: str) -> None:
    query = sooner.enrich(Untouched(), master_of(), on="k", how="left", memory=memory)
    first, master, *others = query.explain().splitlines()
    assert first == "enriched by probe, how='left'"
    assert master.startswith("master: 20,000 rows of about 60 bytes, 1.1 MB, ")
    assert told in master
    assert [line.partition(":")[0] for line in others] == (["look-up", "wait"] if memory == SMALL else [])


def test_what_is_explained_to_fit_does_and_what_is_not_does_not() -> None:
    """Around the size at which it changes, of rows whose width is known."""
    seen = set()
    for rows in range(20_000, 35_000, 2_000):
        master = pa.table({"k": range(rows), "b": range(rows)})
        query = sooner.enrich(pa.table({"k": [1]}), master, on="k", memory=SMALL)
        fits = "fits" in query.explain()
        soon(query.to_table)
        assert (query.progress.manner == "all of it in memory") == fits
        seen.add(fits)
    assert seen == {True, False}


def test_of_a_reader_nobody_knows_the_size() -> None:
    told = sooner.enrich(Untouched(), master_of().to_reader(), on="k", algorithm="ssbj", memory=SMALL).explain()
    assert "if there are more, on disk" in told
    assert "one cycle of the scan" in told
    assert "no limit" in sooner.enrich(Untouched(), master_of().to_reader(), on="k", memory=None).explain()


# While the stream goes on


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_rows_are_answered_while_the_stream_goes_on(algorithm: EnrichAlgorithm) -> None:
    stream, master, answered = stream_of(), master_of(), threading.Event()
    coming = gated(stream, wait_for(answered))
    query = sooner.enrich(coming, master, on="k", how="left", algorithm=algorithm, memory=SMALL)
    rows = Rows()

    def read() -> None:
        for batch in query:
            rows.update(multiset([batch]))
            if len({number for _, number, *_ in rows}) == stream.num_rows // 2:
                answered.set()

    soon(read)
    assert rows == expected(stream, master, "left")


def test_stream_rows_wait_at_their_source_until_the_master_is_there() -> None:
    stream, master, gate = stream_of(n_rows=100_000), master_of(), threading.Event()
    coming = gated(stream, rows_at_once=1_000)

    def look() -> None:
        wait_until(query, lambda progress: progress.arrived_rows[1] == master.num_rows // 2)
        assert query.progress.arrived_rows[0] == 0
        assert coming.given_rows < stream.num_rows // 2, "it is told to wait"
        gate.set()

    query = sooner.enrich(coming, gated(master, look), on="k", memory=SMALL)
    assert soon(query.to_table).num_rows == expected(stream, master, "inner").total()
    assert gate.is_set()


# What goes wrong


class Untouched:
    """A source that must not be read."""

    name, schema = "untouched", pa.schema([("k", pa.int64()), ("a", pa.int64())])

    def batches(self) -> object:
        raise AssertionError("data was read before the arguments were found good")


@pytest.mark.parametrize(
    ("options", "mentions"),
    [
        ({"how": "right"}, ["how='right'", "sooner.join", "'inner', 'left', 'semi', 'anti'"]),
        ({"how": "full"}, ["how='full'", "sooner.join"]),
        ({"how": "lefft"}, ["how='lefft'", "did you mean", "'left'"]),
        ({"how": None}, ["how=None", "'inner'"]),
        ({"algorithm": "prob"}, ["algorithm='prob'", "'auto', 'probe', 'ssbj', 'meshjoin'"]),
        ({"algorithm": "rpj"}, ["algorithm='rpj'", "'probe'"]),
        ({"algorithm": ["probe"]}, ["algorithm=['probe']"]),
        ({"switching_factor": 0}, ["switching_factor=0", "above 0"]),
        ({"switching_factor": float("nan")}, ["switching_factor=nan", "above 0"]),
        ({"switching_factor": True}, ["switching_factor=True"]),
        ({"switching_factor": "2"}, ["switching_factor='2'"]),
        ({"suffixes": ("_a",)}, ["suffixes=('_a',)", "two texts"]),
        ({"suffixes": ("", ""), "columns": "a"}, ["'a'", "suffixes"]),
        ({"how": "semi", "suffixes": ("_a", "_b")}, ["suffixes=('_a', '_b')", "never", "how='semi'"]),
        ({"how": "anti", "columns": "a"}, ["columns='a'", "never", "how='anti'"]),
        ({"columns": "z"}, ["master", "'z'", "k, a"]),
        ({"columns": 5}, ["columns=5", "name of a column"]),
        ({"on": None}, ["on=", "stream_on=", "master_on="]),
        ({"stream_on": "k"}, ["on=", "stream_on="]),
        ({"on": None, "stream_on": "k"}, ["stream_on=", "master_on="]),
        ({"on": "z"}, ["master", "'z'", "k, a"]),
        ({"on": None, "stream_on": "kk", "master_on": "k"}, ["stream", "'kk'", "did you mean 'k'"]),
        ({"on": None, "stream_on": ["k", "a"], "master_on": "k"}, ["2 key columns on the stream", "1 on the master"]),
        ({"memory": "a lot"}, ["memory='a lot'", "'256MB'"]),
        ({"spill_dir": 3}, ["spill_dir=3", "path of a directory"]),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused_before_data_is_read(options: dict[str, object], mentions: list[str]) -> None:
    with refused(InvalidJoin, *mentions):
        sooner.enrich(Untouched(), Untouched(), **{"on": "k", **options})  # type: ignore[arg-type]


def test_keys_that_cannot_be_compared_are_refused_with_both_types() -> None:
    with refused(InvalidJoin, "'k'", "int64 on the stream", "string on the master", "cast"):
        sooner.enrich(Untouched(), pa.table({"k": ["a"]}), on="k")


@pytest.mark.parametrize(("name", "columns"), [("k", None), ("b", None), ("b", ["b"])])
def test_a_master_with_two_columns_of_one_name_is_refused(name: str, columns: list[str] | None) -> None:
    twice = pa.table([[1], [2], [3]], names=["k", "b", name])
    with refused(InvalidJoin, "master", f"2 columns named {name!r}", "rename"):
        sooner.enrich(Untouched(), twice, on="k", columns=columns)


@pytest.mark.parametrize("which", ["stream", "master"])
def test_what_has_no_rows_is_refused_with_what_would_do(which: str) -> None:
    with refused(InvalidJoin, which, "int", "Arrow table"):
        sooner.enrich(**{"stream": Untouched(), "master": Untouched(), which: 5}, on="k")  # type: ignore[arg-type]


def test_one_reader_for_both_is_refused() -> None:
    reader = stream_of(n_rows=10).to_reader()
    with refused(InvalidJoin, "stream", "master", "only once"):
        sooner.enrich(reader, reader, on="k")


def test_memory_that_cannot_hold_a_batch_is_refused() -> None:
    with refused(BudgetTooSmall, "memory='1KB'", "64.0 KB"):
        sooner.enrich(Untouched(), Untouched(), on="k", memory="1KB")


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_row_of_the_master_larger_than_the_memory_is_refused(algorithm: EnrichAlgorithm, tmp_path: Path) -> None:
    master = pa.table({"k": [1, 2], "text": ["x" * 300_000, "small"]})
    query = sooner.enrich(stream_of(n_rows=10), master, on="k", algorithm=algorithm, memory="128KB", spill_dir=tmp_path)
    with refused(BudgetTooSmall, "raise `memory`"):
        soon(query.to_table)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("which", ["stream", "master"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_source_that_fails_midway_is_named_and_no_files_are_left(
    algorithm: EnrichAlgorithm, which: str, tmp_path: Path
) -> None:
    def fail() -> None:
        wait_until(query, lambda progress: progress.spilled_rows > MASTER_ROWS // 5)
        raise OSError("the cable is cut")

    tables = {"stream": stream_of(), "master": master_of()}
    sources: dict[str, object] = {**tables, which: gated(tables[which], fail, name="articles")}
    query = sooner.enrich(**sources, on="k", algorithm=algorithm, memory=SMALL, spill_dir=tmp_path)  # type: ignore[arg-type]
    half = (STREAM_ROWS if which == "stream" else MASTER_ROWS) // 2
    with refused(SourceFailed, "'articles'", f"{half:,} rows", "the cable is cut"):
        soon(query.to_table)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("which", ["stream", "master"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_query_that_is_stopped_leaves_no_files(algorithm: EnrichAlgorithm, which: str, tmp_path: Path) -> None:
    stopped = threading.Event()

    def stop() -> None:
        wait_until(query, lambda progress: progress.spilled_rows > MASTER_ROWS // 5)
        assert list(tmp_path.glob("*/*"))
        query.stop()
        stopped.set()

    tables = {"stream": stream_of(), "master": master_of()}
    sources: dict[str, object] = {**tables, which: gated(tables[which], stop)}
    query = sooner.enrich(**sources, on="k", algorithm=algorithm, memory=SMALL, spill_dir=tmp_path)  # type: ignore[arg-type]
    rows = join_rows(query)
    assert stopped.is_set()
    assert rows <= expected(*tables.values(), "inner")
    assert list(tmp_path.iterdir()) == []
