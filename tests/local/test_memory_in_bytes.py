"""Memory is a budget in bytes, for everything: results, what is read, what is merged, what is kept of files."""

import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.dataset as arrow_dataset
import pyarrow.parquet as arrow_parquet
import pytest

import sooner
from queries import join_rows, multiset, numbered, soon, wait_until
from sooner.local.returned_memory import ReturnedMemory, _process_bytes
from sooner.local.running import CROWD
from sooner.sources import Source, open_source

MOST_RESULT_BYTES = 8 * 2**20
MOST_READ_BYTES = 4 * 2**20
WIDE = 10_000
NEWER_PYTHONS_MB = 8  # a join of two rows takes 13 MB more with Python 3.13 than with 3.11
ALLOWANCE_MB = 220  # as in benchmarks/memory.py: Python, Arrow, pages of 10 MB that Parquet's writer makes of such rows


def wide_table(rows: int, name: str = "text", seed: int = 0) -> pa.Table:
    """Rows of 10 KB that are all different."""
    rng = np.random.default_rng(seed)
    return pa.table({"k": rng.integers(0, rows, rows), name: [rng.bytes(WIDE // 2).hex() for _ in range(rows)]})


def repeated_table(rows: int) -> pa.Table:
    """Rows of 10 KB that are all alike: a file keeps the text once."""
    return pa.table({"k": np.arange(rows), "text": pa.array(["x" * WIDE]).take(pa.array(np.zeros(rows, np.int64)))})


# A1: results


@pytest.mark.parametrize("text_bytes", [60_000, 9 * 2**20])
def test_a_result_batch_has_few_bytes_however_wide_its_rows_are(text_bytes: int) -> None:
    n_matches = 2 * 2**27 // text_bytes
    left = pa.table({"k": [7], "text": ["y" * text_bytes]})
    right = pa.table({"k": np.full(n_matches, 7), "n": np.arange(n_matches)})
    sizes = [(batch.num_rows, batch.nbytes) for batch in sooner.join(left, right, on="k", memory="64MB")]
    assert sum(rows for rows, _ in sizes) == n_matches
    assert all(n_bytes <= MOST_RESULT_BYTES or rows == 1 for rows, n_bytes in sizes)


def test_wide_keys_are_compared_in_few_bytes_too() -> None:
    """A key of 1 MB that meets itself 4,000 times: 8 GB if it were gathered as one."""
    key = "k" * 2**20
    left, right = pa.table({"k": [key, "other"]}), pa.table({"k": [key] * 4, "n": range(4)})
    many = pa.table({"k": pa.array([key] * 200), "m": range(200)})
    assert sooner.join(left, right, on="k", memory="64MB").to_table().num_rows == 4
    assert sum(batch.num_rows for batch in sooner.join(many, right, on="k", memory="1GB")) == 800


# A2: what is read


def parquet_of(table: pa.Table, folder: Path) -> Source:
    arrow_parquet.write_table(table, folder / "one.parquet", row_group_size=table.num_rows)
    return open_source(folder / "one.parquet", "left")


def parquet_directory_of(table: pa.Table, folder: Path) -> Source:
    arrow_dataset.write_dataset(table, folder / "many", format="parquet")
    return open_source(folder / "many", "left")


def dataset_of(table: pa.Table, folder: Path) -> Source:
    arrow_dataset.write_dataset(table, folder / "many", format="parquet")
    return open_source(arrow_dataset.dataset(folder / "many"), "left")


def csv_of(table: pa.Table, folder: Path) -> Source:
    arrow_csv.write_csv(table, folder / "one.csv")
    return open_source(folder / "one.csv", "left")


def dictionary_of(table: pa.Table, folder: Path) -> Source:  # noqa: ARG001 - the contract
    return open_source(table.set_column(1, "text", table["text"].dictionary_encode()), "left")


@pytest.mark.parametrize("opened", [parquet_of, parquet_directory_of, dataset_of, csv_of, dictionary_of])
@pytest.mark.parametrize("make", [wide_table, repeated_table])
def test_wide_rows_are_read_by_bytes(
    opened: Callable[[pa.Table, Path], Source], make: Callable[[int], pa.Table], tmp_path: Path
) -> None:
    table = make(2000)
    source = opened(table, tmp_path)
    batches = list(source.batches())
    assert max(batch.nbytes for batch in batches) <= MOST_READ_BYTES
    assert pa.Table.from_batches(batches).sort_by("k")["text"].equals(table.sort_by("k")["text"])


def test_a_partitioned_directory_keeps_the_columns_of_its_folders(tmp_path: Path) -> None:
    table = pa.table({"k": [1, 2, 3], "year": [2024, 2024, 2025], "text": ["a", None, "c"]})
    arrow_parquet.write_to_dataset(table, tmp_path / "parts", partition_cols=["year"])
    found = pa.Table.from_batches(open_source(tmp_path / "parts", "left").batches())
    assert sorted(found.select(["k", "year", "text"]).to_pylist(), key=lambda row: row["k"]) == table.to_pylist()


def test_files_of_a_dataset_that_lack_a_column_have_nulls_there(tmp_path: Path) -> None:
    arrow_parquet.write_table(pa.table({"k": [1], "n": pa.array([5], pa.int32())}), tmp_path / "a.parquet")
    arrow_parquet.write_table(pa.table({"k": [2]}), tmp_path / "b.parquet")
    dataset = arrow_dataset.dataset([str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet")])
    found = pa.Table.from_batches(open_source(dataset, "left").batches())
    assert found.to_pydict() == {"k": [1, 2], "n": [5, None]}


def test_a_filtered_dataset_stays_filtered(tmp_path: Path) -> None:
    arrow_dataset.write_dataset(numbered(100), tmp_path / "many", format="parquet")
    filtered = arrow_dataset.dataset(tmp_path / "many").filter(arrow_dataset.field("row") < 10)
    assert sum(batch.num_rows for batch in open_source(filtered, "left").batches()) == 10


# A3: more than fits an array of texts


class HotText:
    """Rows of one key with a text of 60 KB each, made as they are read."""

    schema = pa.schema([("k", pa.int64()), ("text", pa.string())])
    name = "hot"

    def __init__(self, rows: int) -> None:
        self._rows = rows

    def batches(self) -> Iterator[pa.RecordBatch]:
        batch = pa.record_batch([pa.array([7] * 50), pa.array(["z" * 60_000] * 50)], schema=self.schema)
        for _ in range(self._rows // 50):
            yield batch


@pytest.mark.long
@pytest.mark.parametrize("memory", ["128MB", "6GB"])
@pytest.mark.parametrize("algorithm", ["hmj", "xjoin", "pr_join", "hash_ripple"])
def test_one_key_may_have_more_than_2_gb_of_text(algorithm: str, memory: str) -> None:
    left = pa.table({"k": [7, 8], "n": [1, 2]})
    query = sooner.join(HotText(45_000), left, on="k", memory=memory, algorithm=algorithm)
    assert sum(batch.num_rows for batch in query) == 45_000


@pytest.mark.long
def test_keys_and_groups_of_an_estimate_may_have_more_than_2_gb_of_text() -> None:
    """Rows of one key, with texts that are grouped by, are made one run after the other in memory."""

    class Texts(HotText):
        def batches(self) -> Iterator[pa.RecordBatch]:
            for number in range(self._rows // 50):
                texts = [str(number % 10) + "z" * 60_000] * 50
                yield pa.record_batch([pa.array([7] * 50), pa.array(texts)], schema=self.schema)

    right = pa.table({"text": [str(digit) + "z" * 60_000 for digit in range(10)], "n": range(10)})
    with pytest.warns(UserWarning, match="random"):
        estimates = sooner.estimate(
            Texts(45_000), right, on="text", aggregates={"n": "count", "s": ("sum", "n")}, by="text", memory="6GB"
        )
        found = estimates.final()
    assert [(one["n"].value, one["s"].value) for one in found.values.values()] == [(4500, 4500 * n) for n in range(10)]


# A4, A5: runs on disk


@pytest.mark.one_in(3)
@pytest.mark.parametrize("algorithm", ["rpj", "hmj", "xjoin"])
def test_runs_on_disk_stay_few_in_process_too(algorithm: str) -> None:
    left, right = numbered(150_000, 50_000, 1, "a"), numbered(150_000, 50_000, 2, "b")
    query = sooner.join(left, right, on="k", memory="64KB", algorithm=algorithm)
    most_runs = 0
    for _ in query:
        most_runs = max(most_runs, int(query._operator.statistics.spilled_runs.max()))
    assert 1 < most_runs <= 2 * CROWD  # and those of a flush


def rows_and_peak_mb(program: str) -> tuple[int, int]:
    """How many rows a query in a process of its own gives, and the peak that the system counts for the process."""
    measured = """
        rows = sum(batch.num_rows for batch in query)
        peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
        print(rows, int(peak.split()[1]) // 1024)
        """
    command = [sys.executable, "-c", textwrap.dedent(program) + textwrap.dedent(measured)]
    rows, peak_mb = map(int, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    return rows, peak_mb


LONG = pytest.mark.long


@pytest.mark.parametrize(
    "algorithm", ["rpj", *(pytest.param(name, marks=LONG) for name in ("hash_ripple", "dbo", "grace", "sms"))]
)
def test_the_process_stays_within_the_budget_and_an_allowance(algorithm: str, tmp_path: Path) -> None:
    """The peak of the process itself, for rows of which a batch by number would be the whole table."""
    for side in ("left", "right"):
        table = wide_table(10_000, side, seed=len(side))
        arrow_parquet.write_table(table, tmp_path / f"{side}.parquet")
    program = f"""
        import sooner

        files = [{str(tmp_path)!r} + f"/{{side}}.parquet" for side in ("left", "right")]
        query = sooner.join(*files, "k", memory="8MB", algorithm={algorithm!r})
        """
    rows, peak_mb = rows_and_peak_mb(program)
    assert rows > 5000
    assert peak_mb <= 8 + ALLOWANCE_MB


@pytest.mark.parametrize(
    "algorithm", ["pr_join", *(pytest.param(name, marks=LONG) for name in ("hmj", "rpj", "xjoin"))]
)
def test_rows_of_megabytes_take_little_more_than_rows_of_kilobytes(algorithm: str) -> None:
    """Each pair of them is a batch of 10 MB, and what is free between arrays of 5 MB goes back to the system."""
    program = f"""
        import pyarrow as pa
        import sooner

        class Rows:
            def __init__(self, name):
                self.schema, self.name = pa.schema([("k", pa.int64()), (name, pa.string())]), name

            def batches(self):
                for key in range(60):
                    yield pa.record_batch([[key * 7 % 60], [str(key % 10) * 5_000_000]], schema=self.schema)

        query = sooner.join(Rows("a"), Rows("b"), on="k", memory="24MB", algorithm={algorithm!r})
        """
    rows, peak_mb = rows_and_peak_mb(program)
    assert rows == 60
    assert peak_mb <= 24 + ALLOWANCE_MB - 4 + (0 if sys.version_info < (3, 12) else NEWER_PYTHONS_MB)


def test_what_the_allocator_keeps_between_arrays_goes_back_to_the_system() -> None:
    returned = ReturnedMemory(memory_bytes=0)
    arrays = [np.ones(100_000, np.uint8) for _ in range(3000)]
    arrays = arrays[::10]
    before = _process_bytes()
    returned.look()
    assert before - _process_bytes() > len(arrays) * 500_000


# B4: stopping


def test_a_stop_is_seen_in_a_clean_up_without_results() -> None:
    n_rows = 400_000
    left, right = pa.table({"k": np.arange(n_rows) * 2}), pa.table({"k": np.arange(n_rows) * 2 + 1})
    query = sooner.join(left, right, on="k", memory="256KB")
    reader = threading.Thread(target=lambda: list(query), daemon=True)
    reader.start()
    for _ in range(10):  # soon, by the clock of a busy machine
        if query.progress.phase != "clean-up":
            wait_until(query, lambda progress: progress.phase in ("clean-up", "done"))
    assert query.progress.phase == "clean-up"
    query.stop()
    soon(lambda: reader.join())
    assert query.progress.phase == "clean-up", "it has gone on to its end"


# D3: types of any length


def test_extension_types_of_any_length_can_be_spilled() -> None:
    rows = 4000
    left = numbered(rows, name="a").append_column("json", pa.array(['{"n": [1, 2]}'] * rows, pa.json_(pa.string())))
    tensor = pa.ExtensionArray.from_storage(
        pa.fixed_shape_tensor(pa.int32(), [2]), pa.array([[n, n] for n in range(rows)], pa.list_(pa.int32(), 2))
    )
    right = numbered(rows, name="b", seed=1).append_column("tensor", tensor)
    query = sooner.join(left, right, on="k", memory="64KB")
    found = soon(query.to_table)
    assert query.schema.field("json").type == pa.json_(pa.string())
    assert multiset(found.select(["k", "a", "b"])) == join_rows(
        sooner.join(left.select(["k", "a"]), right.select(["k", "b"]), on="k")
    )
