"""Blocks: each row is in one of them, any thread reads any of them, and their keys lead to those that match."""

import datetime as dt
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.dataset as arrow_dataset
import pyarrow.parquet as arrow_parquet
import pytest

from sooner.errors import SourceFailed
from sooner.sources import Fixed, Source, checked, csv, open_source, paced, parquet
from sooner.sources.blocks import Blocks, blocks_of, partners, shuffled_order
from sooner.sources.chosen_columns import only_columns
from sooner.sources.key_ranges import overlapping

N_ROWS = 10_000
Write = Callable[..., Path]


@pytest.fixture
def example() -> pa.Table:
    return pa.table(
        {
            "k": pa.array(range(N_ROWS), pa.int32()),
            "text": pa.array([f"row {n % 7}" for n in range(N_ROWS)], pa.string_view()),
            "f": pa.array(n / 4 for n in range(N_ROWS)),
        }
    )


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(table: pa.Table, name: str = "rows.parquet", rows: int = 900) -> Path:
        arrow_parquet.write_table(table, tmp_path / name, row_group_size=rows)
        return tmp_path / name

    return written


def known(source: Source, *keys: str) -> Blocks:
    blocks = blocks_of(source, keys)
    assert blocks is not None
    return blocks


def all_of(blocks: Blocks, source: Source) -> pa.Table:
    with ThreadPoolExecutor(4) as threads:
        batches = list(threads.map(blocks.read, range(len(blocks.n_rows))))
    assert tuple(batch.num_rows for batch in batches) == blocks.n_rows
    return pa.Table.from_batches(batches, source.schema)


def test_row_groups_are_the_blocks_of_a_file(example: pa.Table, write: Write) -> None:
    source = open_source(write(example), "left")
    blocks = known(source, "k")
    assert blocks.n_rows == (900,) * 11 + (100,)
    assert all_of(blocks, source).equals(example.cast(source.schema))
    assert [blocks.keys(number) for number in (0, 11)] == [(0, 899), (9_900, 9_999)]


def test_columns_that_were_not_chosen_are_not_read(example: pa.Table, write: Write) -> None:
    for thing in (write(example), example, arrow_dataset.dataset(write(example))):
        source = only_columns(checked(open_source(thing, "left")), ["f", "k"])
        blocks = known(source, "k")
        assert blocks.read(1).schema == source.schema
        assert all_of(blocks, source).equals(example.select(["f", "k"]))
        assert blocks.keys(0) is not None


def test_the_files_of_a_dataset_are_one_list_of_blocks(example: pa.Table, write: Write, tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"part={number}").mkdir()
        write(example.slice(number * 2_000, 2_000), f"part={number}/rows.parquet")
    source = parquet(tmp_path, columns=["part", "k", "text"])
    blocks = known(source, "k")
    assert blocks.n_rows == (900, 900, 200) * 3
    found = all_of(blocks, source)
    assert found["k"].to_pylist() == list(range(6_000))
    assert found["part"].to_pylist() == [n // 2_000 for n in range(6_000)]
    assert blocks.keys(3) == (2_000, 2_899)
    assert known(source, "part").keys(0) is None


@pytest.mark.parametrize("n_rows", [0, 1, 255, 600, 300_000])
def test_tables_in_memory_are_cut_evenly(n_rows: int) -> None:
    parts = [pa.table({"k": range(begin, min(begin + 999, n_rows))}) for begin in range(0, max(n_rows, 1), 999)]
    source = open_source(pa.concat_tables(part.cast(pa.schema({"k": pa.int64()})) for part in parts), "left")
    blocks = known(source, "k")
    assert len(blocks.n_rows) == max(1, min(1_024, n_rows // 256))
    assert max(blocks.n_rows) - min(blocks.n_rows) <= 1
    assert all_of(blocks, source)["k"].to_pylist() == list(range(n_rows))
    assert blocks.keys(0) == ((0, blocks.n_rows[0] - 1) if n_rows else None)


def test_what_can_only_be_read_from_its_beginning_has_no_blocks(example: pa.Table, tmp_path: Path) -> None:
    rows = example.select(["k"])
    arrow_csv.write_csv(rows, tmp_path / "rows.csv")
    sources = [
        csv(tmp_path / "rows.csv"),
        paced(rows, Fixed(0.1)),
        open_source(rows.to_reader(), "left"),
        open_source(arrow_dataset.dataset(rows), "left"),
        open_source(arrow_dataset.dataset(rows).scanner(), "left"),
    ]
    assert [blocks_of(source) for source in sources] == [None] * len(sources)


DAY = dt.date(1970, 1, 3)
SECOND = 10**9


@pytest.mark.parametrize("in_memory", [False, True])
@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (pa.array([5, None, -3], pa.int8()), (-3, 5)),
        (pa.array([5, 2**63 + 1], pa.uint64()), (5, 2**63 + 1)),
        (pa.array([5, 2**31 + 1], pa.uint32()), (5, 2**31 + 1)),
        (pa.array([DAY, None], pa.date32()), (2, 2)),
        (pa.array([1, 2], pa.timestamp("s")), (SECOND, 2 * SECOND)),
        (pa.array([-1, 2], pa.timestamp("us", "UTC")), (-1_000, 2_000)),
        (pa.array([1, 2], pa.timestamp("ns")), (1, 2)),
        (pa.array([None, None], pa.int64()), None),
        (pa.array(["a", "b"]), None),
        (pa.array([1.0, float("nan")]), None),
        (pa.array([True, False]), None),
        (pa.array([1, 2], pa.duration("us")), None),
    ],
)
def test_keys_are_known_where_they_compare(
    keys: pa.Array, expected: tuple[int, int] | None, in_memory: bool, write: Write
) -> None:
    table = pa.table({"k": keys})
    assert known(open_source(table if in_memory else write(table), "left"), "k").keys(0) == expected


def test_keys_are_not_known_without_statistics_nor_for_several_columns(example: pa.Table, tmp_path: Path) -> None:
    arrow_parquet.write_table(example, tmp_path / "none.parquet", write_statistics=False)
    assert known(parquet(tmp_path / "none.parquet"), "k").keys(0) is None
    assert known(open_source(example, "left"), "k", "f").keys(0) is None
    assert known(open_source(example, "left")).keys(0) is None


def test_a_field_in_a_struct_is_not_taken_for_the_key(write: Write) -> None:
    table = pa.table({"s": [{"k": 1}], "k": pa.array([7]), "s.k": [9]})
    source = parquet(write(table))
    assert known(source, "k").keys(0) == (7, 7)
    assert known(source, "s.k").keys(0) is None
    assert known(source, "s").keys(0) is None


def test_partners_are_those_whose_keys_overlap(write: Write) -> None:
    left = open_source(write(pa.table({"k": pa.array(range(100, 2_000), pa.uint16())}), rows=500), "left")
    keys = pa.array([*range(1_000), *[None] * 500, *range(9_000, 9_500)], pa.int64())
    right = open_source(write(pa.table({"k": keys}), "right.parquet", rows=500), "right")
    assert partners(known(left, "k"), known(right, "k")) == [(0, 1), (1,), (), ()]
    assert partners(known(right, "k"), known(left, "k")) == [(0,), (0, 1), (), ()]
    assert partners(known(left, "k"), known(right)) is None


def test_kinds_that_do_not_compare_have_no_partners() -> None:
    types = [pa.int64(), pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC")]
    blocks = [known(open_source(pa.table({"k": pa.array([1, 2], kind)}), "left"), "k") for kind in types]
    for left in blocks:
        assert [partners(left, right) == [(0,)] for right in blocks] == [left is right for right in blocks]
    seconds = known(open_source(pa.table({"k": pa.array([1, 2], pa.timestamp("s"))}), "left"), "k")
    assert partners(seconds, blocks[2]) == [()]


@pytest.mark.parametrize("width", [3, 40, 1_000])
def test_partners_are_found_as_by_looking_at_all_pairs(width: int) -> None:
    rng = np.random.default_rng(width)
    lows = rng.integers(0, 1_000, (2, 120))
    sides = [[(int(low), int(low + rng.integers(0, width))) for low in side] for side in lows]
    sides[0][5] = sides[1][7] = ()
    expected = [tuple(n for n, b in enumerate(sides[1]) if a and b and b[0] <= a[1] and a[0] <= b[1]) for a in sides[0]]
    assert overlapping(*sides) == expected
    assert overlapping(sides[0], []) == [()] * 120


def test_the_order_is_random_and_repeatable() -> None:
    orders = [shuffled_order(100, seed) for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[2]) == list(range(100)) != orders[2]
    assert shuffled_order(0, 3) == []


def test_a_file_that_was_changed_is_not_read_by_its_old_footer(example: pa.Table, write: Write) -> None:
    blocks = known(open_source(write(example), "left"))
    other = write(example.slice(5), "other.parquet")
    other.replace(other.with_name("rows.parquet"))
    with pytest.raises(SourceFailed, match="changed after it was opened; open it again"):
        blocks.read(0)


def test_failures_name_the_source(example: pa.Table, write: Write) -> None:
    file = write(example)
    blocks = known(open_source(file, "left"))
    before = file.stat()
    content = bytearray(file.read_bytes())
    content[4:3_000] = b"x" * 2_996
    file.write_bytes(content)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(SourceFailed, match="source 'left' failed in block 0: "):
        blocks.read(0)
    file.unlink()
    with pytest.raises(SourceFailed, match="source 'left' failed in block 1: "):
        blocks.read(1)
