"""What a look-up is expected to cost: the model beside simulations, the operator and plain bounds."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from lookups import MASTER_ROWS, Lookup, master_keys
from sooner.budget import UNLIMITED_BYTES
from sooner.operators.enrich.expected import (
    ASKED_ROWS,
    Room,
    expected,
    pass_seconds,
    probe_seconds,
    rows_worth_a_pass,
    touched_blocks,
)
from sooner.operators.enrich.plan import EnrichPlan, MannerName
from sooner.operators.enrich.scanning import Queue
from sooner.operators.enrich.versions import Versioning
from sooner.policies.view import SOLID_STATE, DeviceCosts
from sooner.runs.expected_bytes import TEXT_BYTES, bytes_of_row
from sooner.runs.run import HELPER_BYTES

PAGE = SOLID_STATE.page_bytes
STREAM = pa.schema([("k", pa.int64()), ("a", pa.int32())])
MASTER = pa.schema([("k", pa.int64()), ("note", pa.string())])
ROOM = Room(memory_bytes=2**20, block_bytes=PAGE, alone=True)
FITTING = ROOM.memory_bytes // bytes_of_row(MASTER)


def explained(master_rows: int | None, room: Room = ROOM, algorithm: MannerName = "probe", **more: object) -> list[str]:
    plan = EnrichPlan(("k",), ("k",), ("", "_m"), algorithm, **more)  # type: ignore[arg-type]
    return expected(plan, (STREAM, MASTER), master_rows, room)


def test_a_row_has_the_widths_of_its_types_and_a_guess_for_others() -> None:
    fixed = pa.schema([("a", pa.int16()), ("b", pa.bool_()), ("c", pa.decimal128(5)), ("d", pa.timestamp("us"))])
    assert bytes_of_row(fixed) == HELPER_BYTES + 2 + 1 + 16 + 8
    encoded = pa.schema([("a", pa.dictionary(pa.int8(), pa.int64())), ("b", pa.dictionary(pa.int8(), pa.string()))])
    assert bytes_of_row(encoded) == HELPER_BYTES + 8 + TEXT_BYTES
    others = [pa.string(), pa.large_binary(), pa.list_(pa.int8()), pa.struct([("a", pa.int8())]), pa.string_view()]
    assert bytes_of_row(pa.schema([(str(type_), type_) for type_ in others])) == HELPER_BYTES + 5 * TEXT_BYTES


@pytest.mark.parametrize(("rows", "blocks"), [(0, 7), (1, 1), (5, 1), (1, 9), (10, 10), (500, 100), (100, 1_000)])
def test_blocks_are_touched_as_often_as_by_chance(rows: int, blocks: int) -> None:
    dice = np.random.default_rng(rows + blocks)
    seen = [len(np.unique(dice.integers(0, blocks, rows))) for _ in range(2_000)]
    assert touched_blocks(rows, blocks) == pytest.approx(np.mean(seen), rel=0.02)


def test_in_a_table_without_end_each_row_touches_a_block_of_its_own() -> None:
    assert touched_blocks(100_000, 2**46) == pytest.approx(100_000)


def test_blocks_are_touched_as_the_operator_reads_them(tmp_path: Path) -> None:
    """Keys are hashed: those that come one after the other are in blocks anywhere."""
    lookup = Lookup(tmp_path, "probe").has_master(master_keys())
    lookup.settle()
    [run] = lookup.master.spilled
    sizes = [int(size) for segment in run.segments for size in segment.blocks.n_bytes]
    for begin, rows in ((0, 20), (100, 100), (300, 300)):
        before = lookup.master.read_bytes
        lookup.ask(range(begin, begin + rows))
        read = (lookup.master.read_bytes - before) / np.mean(sizes)
        assert read == pytest.approx(touched_blocks(rows, len(sizes)), rel=0.15)
    lookup.end()
    assert MASTER_ROWS > 600


def simulated_seconds(rows: int, blocks: int, pages: int, device: DeviceCosts, dice: np.random.Generator) -> float:
    """Of one batch, gap by gap: read over or jumped over, whichever is cheaper."""
    touched = np.unique(dice.integers(0, blocks, rows))
    gaps = np.diff(touched) - 1
    over, jump = gaps * pages * device.sequential_seconds, device.random_seconds - device.sequential_seconds
    return float(len(touched) * pages * device.sequential_seconds + np.minimum(over, jump).sum() + jump)


@pytest.mark.parametrize("device", [SOLID_STATE, DeviceCosts(random_seconds=10e-3, sequential_seconds=1e-3)])
@pytest.mark.parametrize("pages", [1, 4, 16])
@pytest.mark.parametrize("rows", [10, 300, 1_500, 20_000])
def test_a_probe_takes_as_long_as_its_gaps_tell(rows: int, pages: int, device: DeviceCosts) -> None:
    blocks, dice = 2_000, np.random.default_rng(1)
    seen = np.mean([simulated_seconds(rows, blocks, pages, device, dice) for _ in range(50)])
    told = probe_seconds(rows, blocks * pages * device.page_bytes, pages * device.page_bytes, device)
    assert told == pytest.approx(seen, rel=0.03)


@pytest.mark.parametrize("block_bytes", [PAGE // 4, PAGE, 16 * PAGE])
def test_a_probe_takes_a_seek_at_least_and_a_pass_at_most(block_bytes: int) -> None:
    n_bytes = 3_000 * PAGE
    seconds = [probe_seconds(rows, n_bytes, block_bytes) for rows in (1, 10, 100, 1_000, 10_000, 10**6)]
    assert seconds == sorted(seconds)
    assert seconds[0] == pytest.approx(SOLID_STATE.random_seconds + (block_bytes - PAGE) / PAGE * 30e-6, rel=0.3)
    assert seconds[0] >= 0.99 * SOLID_STATE.random_seconds
    assert seconds[-1] == pytest.approx(pass_seconds(n_bytes), rel=0.01)


def test_from_some_number_on_a_pass_is_as_cheap() -> None:
    n_bytes = 10_000 * PAGE
    many = rows_worth_a_pass(n_bytes, PAGE)
    assert probe_seconds(many - 1, n_bytes, PAGE) < 0.9 * pass_seconds(n_bytes) <= probe_seconds(many, n_bytes, PAGE)
    assert rows_worth_a_pass(PAGE // 2, PAGE) == 1, "there is one block"


def test_what_fits_the_memory_stays_there_and_what_does_not_is_on_disk() -> None:
    first, fits = explained(FITTING)
    assert first == "enriched by probe, how='inner'"
    assert fits.startswith(f"master: {FITTING:,} rows of about 52 bytes, 1024.0 KB, fits about 1.0 MB of memory")
    assert fits.endswith("each row is answered as it comes")
    assert "too much for about 1.0 MB of memory; on disk in sorted blocks of 64.0 KB" in explained(FITTING + 1)[1]
    assert explained(10**12, Room(UNLIMITED_BYTES * 2 // 3, PAGE, alone=True))[1].startswith("master: stays in memory")
    assert "fits" in explained(0)[1]


@pytest.mark.parametrize("algorithm", ["ssbj", "meshjoin"])
@pytest.mark.parametrize(("queue", "more"), [("block", ""), ("spill", ", and others on disk")])
def test_in_a_scan_a_row_waits_for_a_cycle(algorithm: MannerName, queue: Queue, more: str) -> None:
    *_, wait = explained(10**9, algorithm=algorithm, queue=queue)
    assert wait == f"wait: one cycle of the scan, about 23.8 s; about 33,000 rows of the stream wait at a time{more}"


def test_a_probe_tells_its_time_and_for_how_long_rows_wait() -> None:
    *_, look_up, wait = explained(10**9)
    assert look_up.startswith("look-up: about 8.")
    assert look_up.endswith(f"{ASKED_ROWS:,} rows that memory does not know; from about 560,000 on nearly all is read")
    gathered = "while others come behind, until about 33,000 rows are gathered"
    assert wait == f"wait: {gathered}, and then one pass at most, about 23.8 s"
    of_batch = "wait: a row is answered in the batch in which it comes"
    assert explained(10**9, Room(2**20, PAGE, alone=False))[-1] == of_batch
    changes = pa.schema([*MASTER, ("version", pa.int64())])
    plan = EnrichPlan(("k",), ("k",), ("", "_m"), versioning=Versioning(("k",), "version"))
    assert expected(plan, (STREAM, MASTER, changes), 10**9, ROOM)[-1] == of_batch, "it may have changed by then"


@pytest.mark.parametrize("algorithm", ["probe", "ssbj"])
def test_of_a_master_of_unknown_size_it_is_told_what_each_gb_takes(algorithm: MannerName) -> None:
    _, master, *others = explained(None, algorithm=algorithm)
    assert "rows of about 52 bytes, of which about 1.0 MB of memory has about 20,000; if there are more" in master
    assert "about 491.6 ms for each GB of the master" in others[-1]
    if algorithm == "probe":
        assert others[0].startswith("look-up: about 10.0 s of a solid-state disk at most for 100,000 rows")
