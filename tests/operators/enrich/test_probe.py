"""Probe: what it reads, what it need not read, and what it keeps."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from enriching import made
from lookups import BLOCK_BYTES, HOWS, MASTER_ROWS, ROWS_IN_BLOCK, WHOLE, Lookup, go_through_a_stream, master_keys
from queries import refused
from run_building import run_of
from sooner.errors import BudgetTooSmall
from sooner.kernels.array_types import Codes
from sooner.operators.enrich import master
from sooner.operators.enrich.cache import WINDOW
from sooner.operators.enrich.plan import EnrichPlan
from sooner.operators.enrich.probing import _Found
from sooner.operators.enrich.versions import Versioning
from sooner.policies.view import SILENT
from sooner.runs.block_index import BlockIndex
from sooner.testing.two_way import numbered_rows

ABSENT = 10**6


@pytest.mark.one_in(6)
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("colliding", [False, True])
@pytest.mark.parametrize("how", HOWS)
def test_each_stream_row_gets_the_answer_of_a_nested_loop(how: str, colliding: bool, seed: int, tmp_path: Path) -> None:
    go_through_a_stream(tmp_path, "probe", how, colliding, seed)


@pytest.mark.parametrize("how", HOWS)
def test_a_row_is_answered_in_the_call_in_which_it_comes(how: str, tmp_path: Path) -> None:
    lookup = compacted(tmp_path, how)
    for begin in range(0, 1_200, 50):  # the last of them are absent
        lookup.ask(range(begin, begin + 50))
        assert lookup.found == lookup.answer()
        assert lookup.waiting_rows == 0
    lookup.end()


def compacted(folder: Path, how: str = "inner", rows: int = MASTER_ROWS) -> Lookup:
    """A master on disk as a single run."""
    lookup = Lookup(folder, "probe", how).has_master(master_keys(rows))
    lookup.settle()
    [_] = lookup.master.spilled
    assert lookup.master.read_bytes == 0, "to become one run is not to be asked for"
    return lookup


def largest_block_bytes(lookup: Lookup) -> int:
    return max(int(segment.blocks.n_bytes.max()) for run in lookup.master.spilled for segment in run.segments)


def all_blocks_bytes(lookup: Lookup) -> int:
    return sum(int(segment.blocks.n_bytes.sum()) for run in lookup.master.spilled for segment in run.segments)


@pytest.mark.parametrize("keys", [1, 3, 10])
def test_a_few_keys_read_a_block_each(keys: int, tmp_path: Path) -> None:
    lookup = compacted(tmp_path)
    lookup.ask(range(keys))
    assert 0 < lookup.master.read_bytes <= keys * largest_block_bytes(lookup)
    lookup.end()


def test_a_block_is_read_once_for_all_rows_of_a_batch(tmp_path: Path) -> None:
    lookup = compacted(tmp_path)
    lookup.ask([*range(1_000)] * 3)
    assert lookup.master.read_bytes <= all_blocks_bytes(lookup)
    lookup.end()


def test_keys_that_were_asked_for_are_answered_without_reading(tmp_path: Path) -> None:
    """Also those that no master row has."""
    lookup = compacted(tmp_path, "left")
    asked = [1, 2, 3, ABSENT, ABSENT + 1]
    lookup.ask(asked)
    before = lookup.master.read_bytes
    for _ in range(5):
        assert len(lookup.ask(asked)) == len(asked)
    assert lookup.master.read_bytes == before
    lookup.end()


def test_keys_that_are_hot_stay_while_thousands_pass_by(tmp_path: Path) -> None:
    lookup = compacted(tmp_path, rows=4_000)
    hot, dice = [*range(20)], np.random.default_rng(1)
    for _ in range(60):
        lookup.ask([*hot, *hot, *dice.integers(20, 4_000, 30)])
        assert lookup.operator.account.used_bytes <= lookup.operator.account.budget.limit_bytes
    before = lookup.master.read_bytes
    assert len(lookup.ask(hot)) == len(hot)
    assert lookup.master.read_bytes == before
    lookup.end()


def test_keys_that_are_hot_no_more_give_way_to_others(tmp_path: Path) -> None:
    lookup = compacted(tmp_path)
    for hot in ([*range(begin, begin + 40)] for begin in range(0, 1_000, 50)):
        for _ in range(20):
            lookup.ask(hot * 2)
        before = lookup.master.read_bytes
        lookup.ask(hot)
        assert lookup.master.read_bytes == before, hot
    lookup.end()


def test_hot_keys_of_batches_larger_than_the_memory_are_in_the_cache(tmp_path: Path) -> None:
    lookup = compacted(tmp_path, rows=4_000)
    hot, dice = [*range(20)], np.random.default_rng(1)
    for _ in range(30):
        lookup.ask([*hot * 3, *dice.integers(20, 4_000, 600)])
    before = lookup.master.read_bytes
    lookup.ask(hot)
    assert lookup.master.read_bytes == before
    lookup.end()


def test_a_hot_set_that_fills_much_of_the_memory_gives_way_to_another(tmp_path: Path) -> None:
    """Not all of it fits at once; each time some go, and some come."""
    lookup = compacted(tmp_path)
    for hot in ([*range(begin, begin + 120)] for begin in range(0, 1_000, 200)):
        for _ in range(40):
            lookup.ask(hot * 2)
        before = lookup.master.read_bytes
        lookup.ask(hot)
        assert lookup.master.read_bytes == before, hot
    lookup.end()


def test_keys_that_nobody_asks_for_any_more_are_not_counted_for_ever(tmp_path: Path) -> None:
    """Neither those in the cache nor those that no master row has: with each window they count half."""
    lookup = compacted(tmp_path, "left")
    lookup.ask([1] * 8 + [ABSENT] * 8)
    seen = []
    for _ in range(5 * WINDOW):
        lookup.ask([2])
        seen.append(int(lookup.cache.asked(codes_of(lookup, [1, ABSENT])).sum()))
    assert seen[::WINDOW] == [16, 8, 4, 2, 0]
    before = lookup.master.read_bytes
    lookup.ask([ABSENT])
    assert lookup.master.read_bytes > before, "that there are none takes room, too"
    lookup.end()


def codes_of(lookup: Lookup, keys: list[int]) -> Codes:
    codes, _ = lookup.operator.inputs[0].code(numbered_rows(keys, 0))
    return np.sort(codes)


def test_of_a_code_all_rows_are_kept_for_the_cache_or_none() -> None:
    """Those of one run may be lighter than those of the next, and worth it by themselves."""
    codes = np.array([5, 6], np.uint64)
    found = _Found(codes, np.array([3, 9]), most_bytes=10_000)
    found.look_at(run_of([5, 6]), least_asked=1)
    found.look_at(run_of([5, 6, 6]), least_asked=5)
    assert [run.codes.tolist() for run in found.kept] == [[6], [6, 6]]


def test_of_codes_that_are_asked_for_alike_as_many_are_kept_for_the_cache_as_fit() -> None:
    run = run_of(range(100))
    found = _Found(run.codes, np.full(100, 2), most_bytes=run.n_bytes // 2)
    found.look_at(run, least_asked=0)
    [kept] = found.kept
    assert 30 < len(kept) < 50


def test_keys_that_are_asked_for_again_amid_a_pass_are_in_the_cache_once(tmp_path: Path) -> None:
    """By the next pass, to which those rows belong, the first one has read what they ask for."""
    lookup = Lookup(tmp_path, "probe", memory_rows=800, gathers=True).has_master(master_keys(4_000))
    lookup.settle()
    lookup.ask(range(100))
    lookup.work(2_000)
    lookup.ask(range(100))
    assert lookup.waiting_rows > 100
    lookup.settle(2_000)
    assert lookup.cache.n_rows == 100
    assert len(lookup.ask(range(100))) == 100
    lookup.end()


def test_a_smaller_memory_is_kept_to_at_once(tmp_path: Path) -> None:
    lookup = compacted(tmp_path)
    lookup.ask(range(200))
    assert lookup.cache.n_bytes > 100 * 28
    lookup.cut(memory_rows=100)
    assert lookup.operator.account.free_bytes >= 0
    lookup.ask(range(200))
    lookup.end()


def test_a_master_that_is_being_taken_in_fits_a_smaller_memory_at_once(tmp_path: Path) -> None:
    """A part of it is on disk by then."""
    lookup = Lookup(tmp_path, "probe")
    keys = master_keys()
    lookup.takes(keys[:550])
    assert lookup.master.spilled
    assert lookup.operator.account.used_bytes > 200 * 28
    lookup.cut(memory_rows=200)
    assert lookup.operator.account.free_bytes >= 0
    lookup.has_master(keys[550:])
    lookup.ask(keys[500:600])
    lookup.end()


# The run on disk


def test_segments_are_of_limited_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    segment_bytes, quantum_bytes = 4_000, 1_000
    monkeypatch.setattr(master, "SEGMENT_BYTES", segment_bytes)
    lookup = Lookup(tmp_path, "probe").has_master(master_keys())
    lookup.settle(quantum_bytes)
    [run] = lookup.master.spilled
    assert len(run.segments) > 5
    assert max(segment.n_bytes for segment in run.segments) <= segment_bytes + quantum_bytes
    lookup.ask(range(-100, 1_100))
    lookup.end()


def test_only_segments_that_are_touched_have_their_index_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(master, "SEGMENT_BYTES", 4_000)
    lookup = Lookup(tmp_path, "probe").has_master(master_keys())
    lookup.settle(1_000)
    read: list[BlockIndex] = []
    content = BlockIndex._content

    def noted(index: BlockIndex) -> bytes:
        read.append(index)
        return content(index)

    monkeypatch.setattr(BlockIndex, "_content", noted)
    lookup.ask([5])
    assert len(read) == 1
    lookup.ask([ABSENT])
    assert len(read) == 2
    lookup.ask([5, ABSENT])
    assert len(read) == 2, "all of it is known"
    lookup.end()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("how", ["inner", "anti"])
def test_a_code_with_many_rows_is_found_whole_however_compaction_is_cut(how: str, seed: int, tmp_path: Path) -> None:
    """A segment may end among its rows: a state is saved there, and work goes on in quanta of another size."""
    dice = np.random.default_rng(seed)
    lookup = Lookup(tmp_path, "probe", how).has_master(dice.integers(0, 5, 600), rows_at_once=40)
    assert len(lookup.master.spilled) > 1
    while lookup.has_work:
        lookup.work(int(dice.choice([500, 700, 3_000])))
        lookup.cut()
    [run] = lookup.master.spilled
    assert len(run.segments) > 20
    lookup.ask(range(6))
    lookup.end()


def test_rows_are_answered_while_runs_become_one(tmp_path: Path) -> None:
    lookup = Lookup(tmp_path, "probe").has_master(master_keys())
    seen = set()
    while lookup.has_work:
        lookup.work(2_000)
        lookup.ask(range(len(seen), 1_000, 50))
        assert lookup.found == lookup.answer()
        seen.add(len(lookup.master.spilled))
    assert 1 in seen
    assert len(seen) > 1
    lookup.end()


def test_many_runs_become_fewer_while_the_master_comes(tmp_path: Path) -> None:
    """Each is read at once when they become one, a block of each."""
    lookup = Lookup(tmp_path, "probe", memory_rows=12).has_master(master_keys(), rows_at_once=10)
    assert len(lookup.master.spilled) <= 2 * master.FAN_IN
    lookup.settle()
    for key in range(0, 1_000, 5):
        lookup.ask([key])
    lookup.end()


def test_rows_of_a_code_with_many_that_are_gone_stay_gone_when_runs_become_one() -> None:
    """They are gone in one run and there in another, and not all rows of the code fit into a quantum."""
    schemas = [pa.schema([("k", pa.int64()), (name, pa.int64())]) for name in ("row", "id")]
    schemas[1] = schemas[1].append(pa.field("version", pa.int64()))
    schemas.append(schemas[1].append(pa.field("deleted", pa.bool_())))
    versioning = Versioning(("id",), "version", "deleted")
    plan = EnrichPlan(("k",), ("k",), ("", "_master"), versioning=versioning)
    with made(plan, schemas, memory_bytes=20_000) as operator:

        def arrive(which: int, ids: range, *more: object) -> int:
            columns = [[1] * len(ids), ids, *([value] * len(ids) for value in more)]
            arrays = [pa.array(values, field.type) for values, field in zip(columns, schemas[which], strict=True)]
            batch = pa.RecordBatch.from_arrays(arrays, schema=schemas[which])
            given = [[batch] if one == which else [] for one in range(3)]
            return sum(result.num_rows for result in operator.arrive(given, 0.0))

        for begin in range(0, 400, 100):
            arrive(1, range(begin, begin + 100), 1)
        operator.end(1)
        assert arrive(0, range(1)) == 400
        for begin in range(0, 400, 50):
            arrive(2, range(begin, begin + 50), 2, True)
        while operator.has_work(SILENT):
            list(operator.work(1_000, SILENT))
        assert arrive(0, range(1)) == 0
        operator.end(0)
        while operator.phase != "done":
            list(operator.work(1_000, SILENT))


# Memory that is too small


def test_a_part_of_the_master_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    lookup = Lookup(tmp_path, "probe", memory_rows=20)
    with refused(BudgetTooSmall, "840 bytes of the master arrived at once", "560", "raise `memory`"):
        lookup.has_master(range(30))
    lookup.operator.close()


def test_a_probe_needs_no_memory_for_the_stream(tmp_path: Path) -> None:
    lookup = Lookup(tmp_path, "probe", memory_rows=ROWS_IN_BLOCK).has_master(range(100), rows_at_once=ROWS_IN_BLOCK)
    lookup.ask([*range(120)] * 5)
    assert lookup.work(WHOLE) == []
    lookup.end()


def test_a_key_with_more_rows_than_memory_is_read_a_slab_at_a_time(tmp_path: Path) -> None:
    lookup = Lookup(tmp_path, "probe").has_master([7] * (3 * MASTER_ROWS), rows_at_once=100)
    lookup.settle()
    longest = max(run.n_bytes for run in lookup.operator._master.rows_with(codes_of(lookup, [7])))
    assert longest <= max(lookup.operator._bench.slab_bytes, BLOCK_BYTES)
    assert len(lookup.ask([7, 7])) == 6 * MASTER_ROWS
    lookup.end()
