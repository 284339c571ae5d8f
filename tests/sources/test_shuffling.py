"""Shuffled files: the same rows, in an order that chance alone decides, within a bound of memory."""

import errno
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as arrow_parquet
import pytest

from sooner.errors import InvalidCall, SourceFailed, SpillFailed
from sooner.sources import open_source, parquet, shuffle
from sooner.sources.parquet_files import ParquetSource

N_ROWS = 60_000  # as numbers with 40 bytes each, 2.4 MB: ten loads of a megabyte of memory


def numbers(n_rows: int = N_ROWS) -> pa.Table:
    return pa.table({"n": pa.array(range(n_rows), pa.int64())})


def order_of(file: Path) -> npt.NDArray[np.int64]:
    order: npt.NDArray[np.int64] = arrow_parquet.read_table(file)["n"].to_numpy()
    return order


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "shuffled.parquet"


@pytest.fixture
def temporary_files(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    made: list[Any] = []
    make = tempfile.TemporaryFile
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **how: made.append(make(**how)) or made[-1])
    return made


def various(n_rows: int) -> pa.Table:
    return pa.table(
        {
            "n": pa.array(range(n_rows)),
            "text": [None if n % 5 == 0 else f"text {n}" * (n % 9) for n in range(n_rows)],
            "view": pa.array([f"view {n % 3}" for n in range(n_rows)], pa.string_view()),
            "word": pa.array([f"word {n % 4}" for n in range(n_rows)]).dictionary_encode(),
            "list": [[n] * (n % 3) for n in range(n_rows)],
            "struct": [{"a": n, "b": str(n)} for n in range(n_rows)],
            "flag": [n % 2 == 0 for n in range(n_rows)],
        }
    )


@pytest.mark.parametrize("memory", ["1MB", "64MB"])
def test_the_rows_are_the_same(memory: str, target: Path) -> None:
    table = various(20_000)
    assert shuffle(table, target, memory=memory) == 20_000
    written = arrow_parquet.read_table(target)
    assert written["n"] != table["n"]
    plain = table.cast(written.schema)
    assert written.sort_by("n").equals(plain)


@pytest.mark.parametrize("n_rows", [0, 1, 2])
def test_few_rows_and_none(n_rows: int, target: Path) -> None:
    assert shuffle(numbers(n_rows), target) == n_rows
    assert sorted(order_of(target).tolist()) == list(range(n_rows))
    assert open_source(target, "left").schema == numbers().schema


def test_what_fits_in_memory_needs_no_file(target: Path, temporary_files: list[Any]) -> None:
    shuffle(numbers(), target)
    assert temporary_files == []
    shuffle(numbers(), target, memory="1MB")
    assert len(temporary_files) == 1
    assert temporary_files[0].closed


def test_buckets_that_are_too_large_are_dealt_again(target: Path, temporary_files: list[Any]) -> None:
    """Of a stream nobody knows how many rows it has: they go to 64 buckets, of which each is then too large."""
    n_rows = 700_000
    assert shuffle(numbers(n_rows).to_reader(10_000), target, memory="1MB") == n_rows
    assert len(temporary_files) > 60
    assert all(file.closed for file in temporary_files)
    order = order_of(target)
    assert_random(order)
    assert np.array_equal(np.sort(order), np.arange(n_rows))


def test_the_same_seed_gives_the_same_file(target: Path) -> None:
    files = []
    for seed in (7, 7, 8):
        shuffle(numbers(), target, seed=seed, memory="1MB")
        files.append(target.read_bytes())
    assert files[0] == files[1] != files[2]


def assert_random(order: npt.NDArray[np.int64]) -> None:
    """No row tells where it was, nor its neighbour; and everywhere there are rows from everywhere."""
    places = np.arange(len(order))
    assert abs(np.corrcoef(places, order)[0, 1]) < 4 / np.sqrt(len(order))
    assert abs(np.corrcoef(order[:-1], order[1:])[0, 1]) < 4 / np.sqrt(len(order))
    cells = 20
    counts = np.histogram2d(places, order, bins=cells)[0]
    expected = len(order) / cells**2
    chi_square, freedom = ((counts - expected) ** 2 / expected).sum(), (cells - 1) ** 2
    assert abs(chi_square - freedom) < 4 * np.sqrt(2 * freedom)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("memory", ["1MB", "256MB"])
@pytest.mark.parametrize("seed", range(3))
def test_the_order_is_random(seed: int, memory: str, target: Path) -> None:
    shuffle(numbers(), target, seed=seed, memory=memory)
    assert_random(order_of(target))


def test_all_orders_are_equally_likely(target: Path) -> None:
    """Of four rows, each too heavy to be in memory with another one."""
    heavy = pa.table({"n": range(4), "text": ["x" * 300_000] * 4})
    counts: dict[tuple[int, ...], int] = {}
    n_runs = 240
    for seed in range(n_runs):
        shuffle(heavy, target, seed=seed, memory="1MB")
        order = tuple(order_of(target).tolist())
        counts[order] = counts.get(order, 0) + 1
    expected = n_runs / 24
    chi_square = sum((count - expected) ** 2 / expected for count in counts.values())
    assert len(counts) == 24
    assert chi_square < 23 + 4 * np.sqrt(2 * 23)


def test_row_groups_are_full_and_not_larger_than_a_part_of_memory(target: Path) -> None:
    table = pa.table({name: np.arange(300_000) for name in "abcd"})
    shuffle(table, target, memory="16MB")
    assert group_rows(target) == [32_768] * 9 + [5_088]
    shuffle(table, target)
    assert group_rows(target) == [122_880, 122_880, 54_240]
    assert arrow_parquet.read_metadata(target).row_group(0).column(0).compression == "SNAPPY"


def group_rows(file: Path) -> list[int]:
    footer = arrow_parquet.read_metadata(file)
    return [footer.row_group(number).num_rows for number in range(footer.num_row_groups)]


def test_memory_is_bounded(tmp_path: Path, target: Path) -> None:
    """Beside what it takes to read the same rows: 120 MB of them, with 16 MB."""
    rng = np.random.default_rng(0)
    rows = pa.table({name: rng.integers(0, 2**60, 1_500_000) for name in "abcdefghij"})
    arrow_parquet.write_table(rows, tmp_path / "rows.parquet", row_group_size=100_000)
    reading = peak_bytes("for _ in open_source(sys.argv[1], 'left').batches(): pass", tmp_path / "rows.parquet", target)
    shuffling = peak_bytes("shuffle(*sys.argv[1:], memory='16MB')", tmp_path / "rows.parquet", target)
    assert shuffling - reading < 2 * 16 * 2**20  # 12 of the 16 MB were measured; other machines have other allocators


def peak_bytes(statement: str, source: Path, target: Path) -> int:
    program = (
        "import sys; from sooner.sources import open_source, shuffle\n"
        f"{statement}\n"
        "print(open('/proc/self/status').read())"
    )
    shown = subprocess.run([sys.executable, "-c", program, source, target], capture_output=True, text=True, check=True)
    found = re.search(r"VmHWM:\s+(\d+) kB", shown.stdout)
    assert found
    return 1024 * int(found[1])


def test_the_file_says_that_it_is_shuffled_and_copies_of_it_do_not(tmp_path: Path, target: Path) -> None:
    shuffle(numbers(), target)
    assert arrow_parquet.read_metadata(target).metadata[b"sooner.order"] == b"random rows"
    source = parquet(target)
    assert isinstance(source, ParquetSource)
    assert source.rows_are_shuffled
    arrow_parquet.write_table(arrow_parquet.read_table(target).sort_by("n"), tmp_path / "sorted.parquet")
    in_order = parquet(tmp_path / "sorted.parquet")
    assert isinstance(in_order, ParquetSource)
    assert not in_order.rows_are_shuffled


def test_a_file_can_be_shuffled_in_its_place(target: Path) -> None:
    arrow_parquet.write_table(numbers(), target)
    shuffle(target, target, memory="1MB")
    assert_random(order_of(target))


class Failing:
    name = "failing"
    schema = numbers(0).schema

    def batches(self) -> Iterator[pa.RecordBatch]:
        yield from numbers().to_batches(10_000)
        raise ValueError("no more")


def test_a_failure_leaves_what_was_there(target: Path) -> None:
    target.write_text("before")
    with pytest.raises(SourceFailed, match="no more"):
        shuffle(Failing(), target, memory="1MB")
    assert [file.name for file in target.parent.iterdir()] == [target.name]
    assert target.read_text() == "before"


def test_a_full_disk_is_said_so_and_leaves_nothing(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(arrow_parquet.ParquetWriter, "write_table", full)
        with pytest.raises(SpillFailed, match="No space left on device; free space there"):
            shuffle(numbers(), target)
    with monkeypatch.context() as patch:
        patch.setattr(tempfile, "TemporaryFile", full)
        with pytest.raises(SpillFailed, match="No space left on device"):
            shuffle(numbers(), target, memory="1MB")
    assert list(target.parent.iterdir()) == []


def test_what_cannot_be_is_refused_before_rows_are_read(tmp_path: Path, target: Path) -> None:
    with pytest.raises(InvalidCall, match=r"ends in \.parquet"):
        shuffle(numbers(), tmp_path / "rows.csv")
    with pytest.raises(InvalidCall, match="is a directory"):
        (tmp_path / "folder.parquet").mkdir()
        shuffle(numbers(), tmp_path / "folder.parquet")
    with pytest.raises(InvalidCall, match="not there; make it first"):
        shuffle(numbers(), tmp_path / "nowhere" / "rows.parquet")
    with pytest.raises(InvalidCall, match="too little"):
        shuffle(numbers(), target, memory=1000)
    with pytest.raises(InvalidCall, match="seed=-1"):
        shuffle(numbers(), target, seed=-1)
    with pytest.raises(InvalidCall, match="no columns"):
        shuffle(pa.table({}), target)
    with pytest.raises(InvalidCall, match="there is no file"):
        shuffle(tmp_path / "none.parquet", target)
    assert not target.exists()
