"""Run files: what was written comes back, or a clear error does, never something else."""

import json
import random
import subprocess
import sys
import textwrap
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from run_building import concatenated, content, contents, files_in, load, run_of, spill
from sooner.errors import SpillFailed, StateCorrupted
from sooner.runs.run import Run
from sooner.runs.store import SpilledRun, remove_run, run_from_plain

MOMENT = datetime(2024, 2, 29, 12, 30, 15, 123456)
SOME_OF_EACH_TYPE = {
    "integers": pa.array([1, -(2**63), 2**63 - 1]),
    "floats": pa.array([0.5, float("inf"), -0.0]),
    "half floats": pa.array([0.5, 1.0, 2.0], pa.float16()),
    "booleans": pa.array([True, None, False]),
    "strings": pa.array(["", None, "Übermut \N{SNOWMAN}"]),
    "large strings": pa.array(["long " * 100, "", None], pa.large_string()),
    "bytes": pa.array([b"\0\xff", None, b""]),
    "fixed bytes": pa.array([b"abcd", None, b"efgh"], pa.binary(4)),
    "decimals": pa.array([Decimal("1.25"), None, Decimal("-99999.99")], pa.decimal128(7, 2)),
    "large decimals": pa.array([Decimal(10) ** 60, None, Decimal(1)], pa.decimal256(70, 2)),
    "dates": pa.array([date(1, 1, 1), None, date(9999, 12, 31)]),
    "timestamps": pa.array([MOMENT, None, MOMENT + timedelta(days=1)], pa.timestamp("us")),
    "instants": pa.array([MOMENT.replace(tzinfo=UTC), None, None], pa.timestamp("ns", "Europe/Vienna")),
    "durations": pa.array([timedelta(seconds=3), None, timedelta(0)]),
    "only nulls": pa.nulls(3),
    "lists": pa.array([[1, 2], None, []]),
    "lists of one length": pa.array([["a", "b"], None, ["c", None]], pa.list_(pa.string(), 2)),
    "unions": pa.UnionArray.from_sparse(
        pa.array([0, 1, 0], pa.int8()), [pa.array([1, None, 3]), pa.array(["a", "b", "c"])]
    ),
    "lists of strings": pa.array([["a", None], [], None]),
    "structs": pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": None}]),
    "maps": pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int64())),
}


@pytest.mark.parametrize("kind", SOME_OF_EACH_TYPE)
def test_rows_of_every_type_come_back_as_they_were(kind: str, tmp_path: Path) -> None:
    rows = pa.record_batch([SOME_OF_EACH_TYPE[kind], pa.array([1, 2, 3])], ["column", "row"])
    files = files_in(tmp_path, rows.schema)
    run = run_of([5, 6, 7], rows, arrived=3, departed=9, met_disk=4)
    [spilled] = spill(files, run)
    back = load(files, spilled)
    assert concatenated(back).equals(pa.Table.from_batches([rows]))
    assert contents(back) == contents([run])


def test_a_column_may_have_the_name_of_a_stamp(tmp_path: Path) -> None:
    rows = pa.record_batch([pa.array([1.5]), pa.array(["x"])], ["code", "arrived"])
    [spilled] = spill(files := files_in(tmp_path, rows.schema), run_of([9], rows))
    assert concatenated(load(files, spilled)).to_pylist() == [{"code": 1.5, "arrived": "x"}]


def test_a_run_file_is_an_arrow_stream_that_any_tool_opens(tmp_path: Path) -> None:
    [spilled] = spill(files_in(tmp_path), run_of(range(50)))
    with pa.ipc.open_stream(tmp_path / spilled.file) as stream:
        assert stream.read_all().column("row").to_pylist() == list(range(50))


def test_which_rows_have_a_match_is_kept_beside_when_they_came(tmp_path: Path) -> None:
    run = run_of([1, 2, 3, 3], arrived=np.array([4, 1, 2, 7], np.int32)).followed()
    assert run.matched is not None
    run.matched[[0, 3]] = True
    files = files_in(tmp_path)
    [spilled] = spill(files, run)
    [found] = load(files, spilled)
    assert found.matched is not None
    assert found.matched.tolist() == [True, False, False, True]
    assert content(found) == content(run)


def test_stamps_that_all_rows_share_are_kept_once(tmp_path: Path) -> None:
    files = files_in(tmp_path)
    runs = [run_of(range(50), arrived=np.arange(50, dtype=np.int32), departed=60, met_disk=met) for met in (7, 40)]
    with files.writer(shares_stamps=True) as writer:
        segments = []
        for run in runs:
            writer.append(files.encode(run, shares_stamps=True))
            segments.append(writer.end_segment((60, int(run.met_disk))))
    saved = [json.loads(json.dumps(segment.to_plain())) for segment in segments]
    for run, segment in zip(runs, map(files.from_plain, saved), strict=True):
        back = load(files, segment)
        assert contents(back) == contents([run])
        assert {(part.departed, part.met_disk) for part in back} == {(60, run.met_disk)}
    with pa.ipc.open_stream(tmp_path / segments[0].file) as stream:
        assert stream.schema.names == ["code", "arrived", "row"]
        assert stream.read_all().column("row").to_pylist() == list(range(50)) * 2
    [whole] = spill(files, runs[0])
    assert segments[0].blocks.n_bytes.sum() < whole.blocks.n_bytes.sum()


codes = st.one_of(st.integers(0, 9), st.sampled_from([2**63, 2**64 - 1]))


@given(some=st.lists(codes, min_size=1, max_size=60), low=codes, high=st.one_of(codes, st.just(2**64)))
@settings(max_examples=60)
def test_reading_a_range_of_codes_is_a_filter(
    tmp_path_factory: pytest.TempPathFactory, some: list[int], low: int, high: int
) -> None:
    files, run = files_in(tmp_path_factory.mktemp("runs")), run_of(sorted(some))
    [spilled] = spill(files, run)
    assert contents(load(files, spilled, low, high)) == [row for row in contents([run]) if low <= row[0] < high]
    assert sum(block.n_rows for block in spilled.blocks) == len(run) == spilled.n_rows


@pytest.mark.parametrize("n_rows", [4, 100, 1000])
def test_a_spilled_run_survives_as_plain_data(tmp_path: Path, n_rows: int) -> None:
    [spilled] = spill(files_in(tmp_path), run_of(range(n_rows)))
    plain = json.loads(json.dumps(spilled.to_plain()))
    assert files_in(tmp_path).from_plain(plain) == spilled


def test_a_run_in_several_segments_survives_as_plain_data_and_goes_as_a_whole(tmp_path: Path) -> None:
    [low], [high] = (spill(files_in(tmp_path), run_of(some)) for some in (range(100), [300]))
    written = SpilledRun(7, 2, (low, high))
    files = files_in(tmp_path)
    again = run_from_plain(files, json.loads(json.dumps(written.to_plain())))
    assert again == written
    assert (again.n_rows, again.n_bytes) == (101, low.n_bytes + high.n_bytes)
    remove_run(files, again)
    assert list(tmp_path.iterdir()) == []


def test_what_a_state_keeps_of_a_run_does_not_grow_with_its_blocks(tmp_path: Path) -> None:
    small, large = spill(files_in(tmp_path), run_of(range(100)), run_of(range(10_000)))
    assert len(large.blocks) > 50 * len(small.blocks) / 2
    assert len(json.dumps(large.to_plain())) < len(json.dumps(small.to_plain())) + 20


def test_a_damaged_index_is_found_before_a_row_is_used(tmp_path: Path) -> None:
    [spilled] = spill(files_in(tmp_path), run_of(range(1000)))
    assert spilled.index.place is not None
    file = tmp_path / spilled.file
    content = bytearray(file.read_bytes())
    content[spilled.index.place.offset + 9] ^= 1
    file.write_bytes(content)
    again = files_in(tmp_path).from_plain(spilled.to_plain())
    with pytest.raises(StateCorrupted, match=f"{spilled.file} is damaged: its index"):
        _ = again.blocks


def test_a_file_with_several_runs_goes_with_the_last_of_them(tmp_path: Path) -> None:
    files, runs = files_in(tmp_path), [run_of([1, 2]), run_of([1, 3]), run_of([7])]
    written = spill(files, *runs)
    assert len({spilled.file for spilled in written}) == 1
    for spilled, run in zip(written, runs, strict=True):
        assert contents(load(files, spilled)) == contents([run])
    files.remove(written[1])
    assert contents(load(files, written[2])) == contents([runs[2]])
    files.remove(written[0])
    assert list(tmp_path.iterdir()) != []
    files.remove(written[2])
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_another_process_wrote_can_be_adopted(tmp_path: Path) -> None:
    [spilled] = spill(files_in(tmp_path), run_of([1, 2]))
    files = files_in(tmp_path)
    files.adopt(spilled)
    assert contents(load(files, spilled)) == contents([run_of([1, 2])])
    files.remove(spilled)
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_finished_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), files_in(tmp_path).writer():
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


# Damage


def damaged(path: Path, offset: int) -> None:
    content = bytearray(path.read_bytes())
    content[offset] ^= 0x10
    path.write_bytes(content)


def test_a_flipped_bit_anywhere_in_a_block_is_found(tmp_path: Path) -> None:
    files = files_in(tmp_path)
    [spilled] = spill(files, run_of(range(60)))
    path, intact = tmp_path / spilled.file, (tmp_path / spilled.file).read_bytes()
    assert len(spilled.blocks) >= 3
    for block in spilled.blocks:
        for offset in (0, block.n_bytes // 2, block.n_bytes - 1):
            damaged(path, block.offset + offset)
            with pytest.raises(StateCorrupted, match=str(path)):
                load(files, spilled, block.first_code, block.last_code + 1)
            path.write_bytes(intact)
    assert contents(load(files, spilled)) == contents([run_of(range(60))])


def test_damage_elsewhere_does_not_matter_to_the_codes_that_are_read(tmp_path: Path) -> None:
    files = files_in(tmp_path)
    [spilled] = spill(files, run_of(range(60)))
    first, last = spilled.blocks[0], spilled.blocks[-1]
    damaged(tmp_path / spilled.file, last.offset)
    assert len(contents(load(files, spilled, 0, first.last_code))) == first.last_code


@pytest.mark.parametrize("kept", [0.0, 0.5, 0.9])
def test_a_file_that_was_cut_short_is_found(kept: float, tmp_path: Path) -> None:
    files = files_in(tmp_path)
    [spilled] = spill(files, run_of(range(60)))
    path = tmp_path / spilled.file
    path.write_bytes(path.read_bytes()[: int(kept * path.stat().st_size)])
    with pytest.raises(StateCorrupted, match=str(path)):
        load(files, spilled)


def test_a_file_that_was_swapped_for_another_good_one_is_found(tmp_path: Path) -> None:
    files = files_in(tmp_path)
    [one], [other] = spill(files, run_of([1, 2, 3])), spill(files, run_of([4, 5, 6]))
    (tmp_path / other.file).replace(tmp_path / one.file)
    with pytest.raises(StateCorrupted, match=one.file):
        load(files, one)


def test_a_file_that_is_gone_is_reported_with_its_name(tmp_path: Path) -> None:
    files = files_in(tmp_path)
    [spilled] = spill(files, run_of([1, 2]))
    (tmp_path / spilled.file).unlink()
    with pytest.raises(StateCorrupted, match=f"{spilled.file} is gone"):
        load(files, spilled)


# A disk that does not want any more


def test_a_directory_that_is_none_is_reported_with_its_name(tmp_path: Path) -> None:
    not_a_directory = tmp_path / "file"
    not_a_directory.write_text("")
    with pytest.raises(SpillFailed, match=str(not_a_directory)):
        spill(files_in(not_a_directory), run_of([1]))


def test_a_full_disk_is_reported_and_leaves_no_partial_file(tmp_path: Path) -> None:
    """From the first byte (the schema), the first block, and a block in the middle on, the file cannot grow."""
    limits = (0, 100, 1000, 20_000)
    program = f"""
        import resource
        from run_building import files_in, run_of, spill
        from sooner.errors import SpillFailed

        files, run = files_in({str(tmp_path)!r}, block_bytes=4096), run_of(range(10_000))
        _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
        for limit_bytes in {limits}:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, most))
            try:
                spill(files, run)
            except SpillFailed as error:
                print(error)
        """
    tests = Path(__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, cwd=tests, check=True
    )
    reports = done.stdout.splitlines()
    assert len(reports) == len(limits)
    for report in reports:
        assert str(tmp_path) in report
        assert "spill_dir" in report
    assert list(tmp_path.iterdir()) == []


# Blocks


@pytest.mark.parametrize("seed", range(20))
def test_blocks_do_not_depend_on_the_order_of_rows_with_equal_codes(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    rows = [(min(dice.randrange(12), 8), "x" * dice.choice((0, 3, 40, 150, 900)), n % 30) for n in range(100)]
    schema = pa.schema([("text", pa.string()), ("number", pa.int64())])
    files = files_in(tmp_path, schema)
    cuts, contents = [], []
    for _ in range(4):
        dice.shuffle(rows)
        rows.sort(key=lambda row: row[0])
        codes, *columns = zip(*rows, strict=True)
        stamps = np.array([len(text) + number for _, text, number in rows], np.int32)
        blocks = files.encode(run_of(codes, pa.record_batch(columns, schema=schema), arrived=stamps))
        cuts.append([(block.n_rows, block.n_bytes, block.first_code, block.last_code) for block in blocks])
        contents.append([Counter(content(files.decode(block.content))) for block in blocks])
    assert cuts[1:] == cuts[:-1], f"seed {seed}"
    assert contents[1:] == contents[:-1], f"seed {seed}: other rows are in a block"
    assert all(n_bytes <= files.block_bytes or n_rows == 1 for n_rows, n_bytes, _, _ in cuts[0])


def test_blocks_of_many_layouts_come_back_as_they_were(tmp_path: Path) -> None:
    """Nulls and numbers of rows change where codes and stamps lie, and blocks come in turn."""
    dice = np.random.default_rng(1)
    schema = pa.schema([("number", pa.int64()), ("text", pa.string()), ("flag", pa.bool_())])
    files = files_in(tmp_path, schema, block_bytes=300)
    runs = [by_chance(schema, int(rows), dice) for rows in dice.integers(1, 60, 40)]
    written = [(segment, run) for run in runs for segment in spill(files, run)]
    for at in dice.permutation(len(written) * 3):
        segment, run = written[at % len(written)]
        assert contents(load(files, segment)) == content(run)
    blocks = [(segment, block) for segment, _ in written for block in segment.blocks]
    assert len({block.n_rows for _, block in blocks}) > 5
    for segment, run in written:
        rows = content(run)
        for block in list(segment.blocks)[::-1]:
            [found] = files.read(segment, [block])
            first = sum(before.n_rows for before in segment.blocks if before.offset < block.offset)
            assert content(found) == rows[first : first + block.n_rows]


def by_chance(schema: pa.Schema, rows: int, dice: np.random.Generator) -> Run:
    """Rows of which some columns have nulls and some have not, with texts of any length."""

    def column(values: list[object], type_: pa.DataType) -> pa.Array:
        share = dice.choice([0.0, 0.3, 1.0])
        return pa.array([None if dice.random() < share else value for value in values], type_)

    values = [[*range(rows)], ["x" * int(size) for size in dice.integers(0, 9, rows)], [*(dice.random(rows) < 0.5)]]
    columns = [column(some, field.type) for some, field in zip(values, schema, strict=True)]
    stamps = [dice.integers(1, 99, rows).astype(np.int32) for _ in range(3)]
    batch = pa.RecordBatch.from_arrays(columns, schema=schema)
    return run_of(np.sort(dice.choice(2**40, rows, replace=False)), batch, *stamps)


def test_blocks_of_one_row_have_one_layout_whatever_is_in_them(tmp_path: Path) -> None:
    files = files_in(tmp_path, block_bytes=1)
    runs = [run_of([code], arrived=code, departed=code + 1, met_disk=code + 2) for code in range(1, 200)]
    written = spill(files, *runs)
    for segment, run in zip(written, runs, strict=True):
        assert contents(load(files, segment)) == content(run)
    assert len({block.n_bytes for segment in written for block in segment.blocks}) == 1


def test_a_block_has_its_own_rows_and_nothing_of_those_beside_them(tmp_path: Path) -> None:
    """Arrow by itself pads buffers with what lies behind a slice, where there is something."""
    schema = pa.schema([("number", pa.int64()), ("text", pa.string()), ("flag", pa.bool_())])
    files, whole = files_in(tmp_path, schema, block_bytes=300), by_chance(schema, 60, np.random.default_rng(1))
    blocks = files.encode(whole)
    ends = np.cumsum([0, *(block.n_rows for block in blocks)]).tolist()
    for block, begin, end in zip(blocks, ends, ends[1:], strict=False):
        [alone] = files.encode(whole.take(np.arange(begin, end)))
        assert alone.content == block.content


def test_a_block_of_rows_in_memory_has_another_layout_than_one_of_rows_on_disk(tmp_path: Path) -> None:
    """Those that share stamps have a column of them, others three: in one file of each kind, read in turn."""
    files = files_in(tmp_path)
    run = run_of(range(40), arrived=7, departed=8, met_disk=3)
    [alike] = spill(files, run)
    with files.writer(shares_stamps=True) as writer:
        writer.append(files.encode(run, shares_stamps=True))
        shared = writer.end_segment(shared=(8, 3))
    for segment in (alike, shared, alike, shared):
        assert contents(load(files, segment)) == content(run)
