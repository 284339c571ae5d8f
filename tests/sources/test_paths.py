"""Directories, patterns, lists and addresses: which files they stand for, or what is said where that is none."""

import datetime as dt
import functools
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as arrow_parquet
import pytest

from files import WRITERS, write_file
from sooner.errors import InvalidCall, MissingLibrary
from sooner.sources import Source, checked, csv, open_source, parquet
from sooner.sources.at_rest import resting_rows
from sooner.sources.blocks import blocks_of
from sooner.sources.chosen_columns import only_columns

FIRST, SECOND = pa.table({"k": [1, 2], "s": ["a", "b"]}), pa.table({"k": [3], "s": ["c"]})
BOTH = FIRST.to_pylist() + SECOND.to_pylist()


def rows_of(thing: object) -> list[dict[str, object]]:
    source = checked(open_source(thing, "left"))
    return pa.Table.from_batches(source.batches(), source.schema).to_pylist()


def refusal_of(thing: object) -> str:
    with pytest.raises(InvalidCall) as refused:
        open_source(thing, "left")
    return str(refused.value)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rows").mkdir()
    return tmp_path / "rows"


def two_files(folder: Path, ending: str) -> Path:
    write_file(FIRST, folder / f"a{ending}")
    write_file(SECOND, folder / f"b{ending}")
    return folder


@pytest.mark.parametrize("ending", [*WRITERS, ".csv.gz"])
def test_a_directory_a_pattern_and_a_list_of_any_format(ending: str, folder: Path) -> None:
    two_files(folder, ending)
    (folder / "_SUCCESS").touch()
    (folder / f".a{ending}.crc").write_bytes(b"x")
    (folder / "_temporary").mkdir()
    write_file(FIRST, folder / "_temporary" / f"c{ending}")
    things = [folder, str(folder), f"{folder}/", folder / f"*{ending}", f"{folder}/?{ending}", f"{folder}/[ab]*"]
    things += [[folder / f"a{ending}", folder / f"b{ending}"], (folder / "a*", folder / "b*"), f"{folder.parent}/**/*"]
    for thing in things:
        assert rows_of(thing) == BOTH, thing


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl"])
def test_a_part_of_text_without_rows_may_be_an_empty_file(ending: str, folder: Path) -> None:
    """Spark writes such for partitions that have none. A binary file of no bytes has lost what was in it."""
    two_files(folder, ending)
    (folder / f"0{ending}").touch()
    (folder / "z").touch()
    assert rows_of(folder) == rows_of(folder / "*") == BOTH
    (folder / "lost.parquet").touch()
    with pytest.raises(InvalidCall, match=r"lost\.parquet cannot be read as Parquet"):
        rows_of(folder / "*.parquet")


def test_a_home_and_a_file_address(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder))
    write_file(FIRST, folder / "a b.csv")
    assert rows_of("~/a b.csv") == rows_of(Path("~/a b.csv")) == FIRST.to_pylist()
    assert rows_of((folder / "a b.csv").as_uri()) == FIRST.to_pylist()
    assert rows_of(f"file://{folder}/*.csv") == FIRST.to_pylist()


def test_a_relative_pattern(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(two_files(folder, ".csv"))
    assert rows_of("*.csv") == rows_of("./*.csv") == rows_of(".") == rows_of("../rows/*.csv") == BOTH


def test_a_name_with_the_signs_of_a_pattern_is_a_name_if_it_is_there(folder: Path) -> None:
    write_file(FIRST, folder / "a[1].csv")
    assert rows_of(folder / "a[1].csv") == FIRST.to_pylist()


# Hive


@pytest.mark.parametrize("ending", WRITERS)
def test_what_folders_say_are_columns(ending: str, folder: Path) -> None:
    for day, part, table in (("2024-01-01", "x%2Fy", FIRST), ("2024-01-02", "__HIVE_DEFAULT_PARTITION__", SECOND)):
        place = folder / f"day={day}" / f"part={part}"
        place.mkdir(parents=True)
        write_file(table, place / f"rows{ending}")
    expected = [
        {"k": 1, "s": "a", "day": dt.date(2024, 1, 1), "part": "x/y"},
        {"k": 2, "s": "b", "day": dt.date(2024, 1, 1), "part": "x/y"},
        {"k": 3, "s": "c", "day": dt.date(2024, 1, 2), "part": None},
    ]
    assert rows_of(folder) == rows_of(f"{folder}/*/*/rows*") == rows_of(f"{folder}/day=*") == expected
    source = open_source(folder, "left")
    found = checked(only_columns(source, ["day"]))
    assert [row["day"] for batch in found.batches() for row in batch.to_pylist()] == [row["day"] for row in expected]


def test_what_folders_say_are_whole_numbers_dates_or_texts(folder: Path) -> None:
    for values in (("1", "2024-01-01", "1"), ("-20", "2024-02-30", "9" * 30), ("007", "2024-01-03", "2")):
        place = folder.joinpath(*map("{}={}".format, ("n", "d", "big"), values))
        place.mkdir(parents=True)
        write_file(FIRST, place / "rows.csv")
    schema = open_source(folder, "left").schema
    assert schema.types == [pa.int64(), pa.string(), pa.int64(), pa.string(), pa.string()]
    assert {row["n"] for row in rows_of(folder)} == {1, -20, 7}


def test_partitioned_parquet_knows_its_rows_and_its_blocks(folder: Path) -> None:
    arrow_parquet.write_to_dataset(pa.table({"k": range(100), "day": [n // 50 for n in range(100)]}), folder, ["day"])
    source = open_source(folder, "left")
    assert resting_rows(source) == 100
    blocks = blocks_of(source, ["k"])
    assert blocks is not None
    assert blocks.n_rows == (50, 50)
    assert [blocks.keys(number) for number in (0, 1)] == [(0, 49), (50, 99)]
    assert blocks.read(1).to_pylist()[0] == {"k": 50, "day": 1}


def test_folders_that_say_different_things_are_refused(folder: Path) -> None:
    for place in ("day=1", "month=1"):
        (folder / place).mkdir()
        write_file(FIRST, folder / place / "rows.csv")
    assert "month=1/rows.csv say month, those of" in refusal_of(folder)


# One schema


def test_numbers_widen(folder: Path) -> None:
    write_file(pa.table({"k": pa.array([1], pa.int32()), "v": pa.array([None], pa.null())}), folder / "a.parquet")
    write_file(pa.table({"v": ["x"], "k": pa.array([2.5])}), folder / "b.parquet")
    assert open_source(folder, "left").schema == pa.schema([("k", pa.float64()), ("v", pa.string())])
    assert rows_of(folder) == [{"k": 1.0, "v": None}, {"k": 2.5, "v": "x"}]
    blocks = blocks_of(open_source(folder, "left"))
    assert blocks is not None
    assert blocks.read(0, 1).to_pylist() == rows_of(folder)


def test_numbers_of_text_widen(folder: Path) -> None:
    (folder / "a.csv").write_text("k,v\n1,2\n")
    (folder / "b.csv").write_text("v,k\n2.5,2\n")
    assert rows_of(folder) == [{"k": 1, "v": 2.0}, {"k": 2, "v": 2.5}]


def test_json_has_nulls_for_what_a_file_does_not_name(folder: Path) -> None:
    (folder / "a.jsonl").write_text('{"k": 1}\n')
    (folder / "b.jsonl").write_text('{"k": 2.5, "s": "x"}\n')
    assert rows_of(folder) == [{"k": 1.0, "s": None}, {"k": 2.5, "s": "x"}]


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".arrow"])
def test_the_file_and_the_column_that_differ_are_named(ending: str, folder: Path) -> None:
    two_files(folder, ending)
    write_file(pa.table({"k": [1]}), folder / f"c{ending}")
    assert f"c{ending} has no column 's', which {folder}/a{ending} has" in refusal_of(folder)
    write_file(pa.table({"k": [1], "s": ["x"], "t": [1]}), folder / f"c{ending}")
    assert f"a{ending} has no column 't', which {folder}/c{ending} has" in refusal_of(folder)
    write_file(pa.table({"k": ["x"], "s": ["x"]}), folder / f"c{ending}")
    assert f"column 'k' is string in {folder}/c{ending} and int64 in {folder}/a{ending}" in refusal_of(folder)


# Refusals


def test_mixed_formats_are_refused(folder: Path) -> None:
    write_file(FIRST, folder / "a.csv")
    write_file(FIRST, folder / "b.parquet")
    assert f"{folder}/a.csv is csv and {folder}/b.parquet is parquet; all files of an input have one" in refusal_of(
        folder
    )


@pytest.mark.parametrize("path", ["", "  ", Path("a\0b")])
def test_no_path_is_refused(path: object) -> None:
    assert refusal_of(path).startswith("left")


def test_a_missing_file_is_named_with_one_that_is_nearly_called_so(folder: Path) -> None:
    two_files(folder, ".csv")
    (folder / "orders.parquet").touch()
    assert (
        refusal_of(folder / "orders.parqet")
        == f"left: there is no file {folder}/orders.parqet; there is orders.parquet"
    )
    assert refusal_of(folder / "xyz") == f"left: there is no file {folder}/xyz"
    assert f"there is no directory {folder}/no either" in refusal_of(folder / "no" / "rows.csv")
    assert refusal_of(folder / "*.json") == f"left: no file matches {folder}/*.json"
    assert refusal_of("~nobody-of-that-name/x.csv").startswith("left: ~nobody-of-that-name/x.csv cannot be followed")


def test_an_address_that_pathlib_changed_is_refused_with_the_cure() -> None:
    assert "s3 address that has lost a slash; give it as text, 's3://bucket/rows'" in refusal_of(
        Path("s3://bucket/rows")
    )


def test_a_delta_table_is_refused_with_the_cure(folder: Path) -> None:
    (folder / "_delta_log").mkdir()
    assert "is a Delta table" in refusal_of(folder)


# Elsewhere


@pytest.fixture
def server(folder: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("ending", [".csv", ".jsonl.gz", ".arrow", ".json"])
def test_files_of_the_web(ending: str, folder: Path, server: str) -> None:
    pytest.importorskip("aiohttp")
    two_files(folder, ending)
    assert rows_of(f"{server}/a{ending}") == rows_of(f"{server}/a{ending}?x=1") == FIRST.to_pylist()
    assert rows_of([f"{server}/a{ending}", f"{server}/b{ending}"]) == BOTH
    assert refusal_of(f"{server}/c{ending}").startswith(f"left: there is no file {server}/c{ending}")


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow.zst", ".parquet.gz"])
def test_files_of_a_file_system_of_fsspec(ending: str, folder: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    two_files(folder, ending)
    memory = fsspec.filesystem("memory")
    memory.put(str(folder), f"/{folder.name}", recursive=True)
    for thing in (
        "memory://rows",
        f"memory://rows/*{ending}",
        [f"memory://rows/a{ending}", f"memory://rows/b{ending}"],
    ):
        assert rows_of(thing) == BOTH
    source = parquet("memory://rows") if ending == ".parquet" else csv("memory://rows") if ending == ".csv" else None
    assert source is None or isinstance(source, Source)
    assert refusal_of(f"memory://rows/c{ending}").startswith(
        f"left: there is no file memory://rows/c{ending}; there is "
    )
    memory.rm("/rows", recursive=True)


def test_an_address_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "fsspec.core", None)
    for address in ("https://x/rows.csv", "ftp://x/rows.csv"):
        with pytest.raises(MissingLibrary, match=rf"left: {address} needs fsspec; run: pip install '\.\[remote\]'"):
            open_source(address, "left")


def test_an_address_of_an_unknown_kind_is_refused() -> None:
    pytest.importorskip("fsspec")
    assert "left: whatever://x/rows.csv cannot be reached: Protocol not known: whatever" in refusal_of(
        "whatever://x/rows.csv"
    )
