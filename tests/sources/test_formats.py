"""Every format, packed in every way, by its name or by its content: the same rows."""

import io
import json
from pathlib import Path

import pyarrow as pa
import pytest

from files import COMPRESSIONS, WRITERS, write_file
from sooner.errors import InvalidCall, SourceFailed
from sooner.sources import Source, checked, csv, open_source, parquet
from sooner.sources import json as json_source
from sooner.sources.at_rest import resting_rows
from sooner.sources.blocks import blocks_of
from sooner.sources.chosen_columns import only_columns
from sooner.sources.json_items import ItemsAsLines

TABLE = pa.table({"k": range(20_000), "v": [n / 8 for n in range(20_000)], "s": [f"row, {n}" for n in range(20_000)]})
ENDINGS = [f"{format_}{packed}" for format_ in WRITERS for packed in COMPRESSIONS]


def table_of(source: Source) -> pa.Table:
    return pa.Table.from_batches(checked(source).batches(), source.schema)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_is_read_by_its_name(ending: str, tmp_path: Path) -> None:
    source = open_source(write_file(TABLE, tmp_path / f"rows{ending}"), "left")
    assert table_of(source).equals(TABLE)
    assert table_of(source).equals(TABLE), "a second time"
    assert table_of(only_columns(source, ["s", "k"])).equals(TABLE.select(["s", "k"]))


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_is_read_by_its_content(ending: str, tmp_path: Path) -> None:
    file = write_file(TABLE, tmp_path / "rows", as_ending=ending)
    assert table_of(open_source(file, "left")).equals(TABLE)


def test_a_name_may_say_how_a_file_is_packed_and_its_content_the_rest(tmp_path: Path) -> None:
    file = write_file(TABLE, tmp_path / "rows.gz", as_ending=".csv.gz")
    assert table_of(open_source(file, "left")).equals(TABLE)


@pytest.mark.parametrize("ending", [".parquet", ".parquet.gz"])
def test_parquet_knows_its_rows_and_its_blocks(ending: str, tmp_path: Path) -> None:
    source = open_source(write_file(TABLE, tmp_path / f"rows{ending}"), "left")
    assert resting_rows(source) == 20_000
    blocks = blocks_of(source, ["k"])
    assert blocks is not None
    assert blocks.n_rows == (7_000, 7_000, 6_000)
    assert blocks.keys(1) == (7_000, 13_999)


def test_what_was_unpacked_is_gone_with_its_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    source = open_source(write_file(TABLE, tmp_path / "rows.parquet.zst"), "left")
    assert len(list(tmp_path.iterdir())) == 2
    del source
    assert [file.name for file in tmp_path.iterdir()] == ["rows.parquet.zst"]


def test_an_arrow_stream_in_a_file_is_read(tmp_path: Path) -> None:
    with pa.OSFile(str(tmp_path / "rows.arrow"), "wb") as sink, pa.ipc.new_stream(sink, TABLE.schema) as writer:
        writer.write_table(TABLE)
    assert table_of(open_source(tmp_path / "rows.arrow", "left")).equals(TABLE)


@pytest.mark.parametrize("text", ["k;v\n1;0,5\n", "k|v\n1|0,5\n", "k\tv\n1\t0,5\n", '"k;,,,";v\n1;0,5\n'])
def test_the_delimiter_is_the_one_of_the_first_line(text: str, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(text)
    (tmp_path / "rows").write_text(text)
    for name in ("rows.csv", "rows"):
        assert table_of(open_source(tmp_path / name, "left")).to_pylist()[0]["v"] == "0,5"


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    for name, text in (("rows.csv", "k,v\n1,2\n"), ("lines", '{"k": 1, "v": 2}'), ("array", '[{"k": 1, "v": 2}]')):
        (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + text.encode())
        assert table_of(open_source(tmp_path / name, "left")).to_pylist() == [{"k": 1, "v": 2}]


# JSON


@pytest.mark.parametrize(
    "text",
    [
        '{"k": 1, "s": "a\\nb"}\n{"k": 2, "s": null}\n',
        '{"k": 1, "s": "a\\nb"}\n{"k": 2}',
        '{\n "k": 1,\n "s": "a\\nb"\n}\n{\n"k": 2\n}\n',
        '[{"k": 1, "s": "a\\nb"}, {"k": 2}]',
        ' \n[\n {"k": 1,\r\n "s": "a\\nb"}\n,\n{"k": 2}\n]\n',
    ],
    ids=["lines", "missing fields", "over several lines", "array", "array over several lines"],
)
def test_json_objects_are_rows_however_they_are_laid_out(text: str, tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_bytes(text.encode())
    expected = [{"k": 1, "s": "a\nb"}, {"k": 2, "s": None}]
    assert table_of(open_source(tmp_path / "rows.json", "left")).to_pylist() == expected
    assert table_of(json_source(tmp_path / "rows.json", columns=["s"])).to_pylist() == [
        {"s": row["s"]} for row in expected
    ]


@pytest.mark.parametrize(
    ("text", "culprit"),
    [
        ("[1, 2]", "the array holds 1, which is no object"),
        ('[{"k": 1} {"k": 2}]', "there should be a ','"),
        ('[{"k": 1}, ', "Expecting value"),
        ('[{"k": 1}', "there should be a ','"),
        ('[{"k": 1}] 5', "something follows the array"),
        ('{"k": 1}\n{"k"', "cannot be read as JSON"),
    ],
)
def test_json_that_is_none_is_refused(text: str, culprit: str, tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text(text)
    with pytest.raises(InvalidCall, match=rf"left: .*rows\.json cannot be read as JSON: .*{culprit}|{culprit}"):
        open_source(tmp_path / "rows.json", "left")


def test_a_field_that_comes_late_fails_the_source_instead_of_being_dropped(tmp_path: Path) -> None:
    lines = [json.dumps({"k": n, "s": "x" * 20}) for n in range(50_000)]
    (tmp_path / "rows.jsonl").write_text("\n".join([*lines, '{"k": 1, "late": 2}']))
    with pytest.raises(SourceFailed, match=r"source 'left' failed after [1-9].* rows: .*unexpected field"):
        table_of(open_source(tmp_path / "rows.jsonl", "left"))


def test_an_array_is_streamed() -> None:
    """Of many megabytes of text only some have been read when the first rows are there."""

    class Watched(io.BytesIO):
        n_bytes = 0

        def read1(self, size: int | None = -1) -> bytes:
            found = super().read1(size)
            self.n_bytes += len(found)
            return found

        read = read1

    file = Watched(b"[" + b",".join(b'{"k": %d, "s": "\\u00e4"}' % n for n in range(200_000)) + b"]")
    lines = ItemsAsLines(pa.PythonFile(file, "r"), "rows.json")
    first = lines.read(10_000)
    assert len(first) == 10_000
    assert file.n_bytes < 600_000
    everything = first + lines.read()
    assert [json.loads(line)["k"] for line in everything.splitlines()] == list(range(200_000))


def test_a_large_object_in_an_array_is_found(tmp_path: Path) -> None:
    rows = [{"k": 1, "s": "x" * 900_000}, {"k": 2, "s": "y"}]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    assert table_of(open_source(tmp_path / "rows.json", "left")).to_pylist() == rows


# What is none of these


@pytest.mark.parametrize("content", [b"\x00\x01\x02\x03" * 100, b"some words\nand more\n"])
def test_what_is_of_no_known_format_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "rows").write_bytes(content)
    with pytest.raises(InvalidCall, match=r"left: .*rows has no ending, and by its first bytes it is none of Parquet"):
        open_source(tmp_path / "rows", "left")


def test_a_file_that_is_not_packed_as_it_says_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.csv.gz").write_text("k,v\n1,2\n")
    with pytest.raises(InvalidCall, match=r"left: .*rows\.csv\.gz cannot be read as CSV"):
        open_source(tmp_path / "rows.csv.gz", "left")


def test_a_format_may_be_said_where_the_name_says_another(tmp_path: Path) -> None:
    write_file(TABLE, tmp_path / "a.txt", as_ending=".parquet")
    write_file(TABLE, tmp_path / "b.txt", as_ending=".csv.gz")
    (tmp_path / "c.txt").write_text('{"k": 1}')
    assert table_of(parquet(tmp_path / "a.txt")).equals(TABLE)
    assert table_of(csv(tmp_path / "b.txt")).equals(TABLE)
    assert table_of(json_source(tmp_path / "c.txt")).to_pylist() == [{"k": 1}]
