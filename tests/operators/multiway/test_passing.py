"""When an input is the last that is open: which of its rows are kept, and what is joined in the end."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from multijoins_made import MINER, QUANTUM, arrive, drawn, made, rows_of, schemas_of, worked
from multiway import answer, check_state, graph_of_shape
from sooner.errors import BudgetTooSmall
from sooner.operators.multiway.accesses import index_bytes
from sooner.operators.multiway.chain import chained_of
from sooner.operators.multiway.join import MultiJoin
from sooner.operators.multiway.nested_loop import START
from sooner.operators.multiway.plan import MultiPlan
from sooner.policies.multi_view import EvictInput
from sooner.policies.view import BUSY, SETTLING, SILENT

FACTS = ("a", "ab", "b")  # the first is the largest, and comes last
PLENTY = 10**7


def join_of(directory: Path, memory_bytes: int, shape: Sequence[str] = FACTS) -> MultiJoin:
    join = made(directory, MultiPlan(graph_of_shape(shape), MINER), schemas_of(shape), memory_bytes)
    assert isinstance(join, MultiJoin)
    return join


def in_order(rows: int, keys: int) -> list[pa.Table]:
    """Facts with keys that grow, a neighbour with each key once, and few rows beyond it."""
    facts, neighbours, others = schemas_of(FACTS)
    numbers = np.arange(rows)
    return [
        pa.table([numbers * keys // rows, numbers], schema=facts),
        pa.table([np.arange(keys), np.arange(keys) % 7, np.arange(keys)], schema=neighbours),
        pa.table([np.arange(7), np.arange(7)], schema=others),
    ]


def arrived(join: MultiJoin, which: int, table: pa.Table, piece_rows: int = 100) -> list[pa.RecordBatch]:
    found: list[pa.RecordBatch] = []
    for begin in range(0, len(table), piece_rows):
        rows: list[list[pa.RecordBatch]] = [[] for _ in join.inputs]
        rows[which] = table.slice(begin, piece_rows).to_batches()
        found += join.arrive(rows, 0.0)
    return found


def ended(join: MultiJoin, *inputs: int) -> list[pa.RecordBatch]:
    for which in inputs:
        join.end(which)
    return [*worked(join, BUSY)]


def resident_rows(join: MultiJoin) -> list[int]:
    return [one.partitions[0].resident.n_rows for one in join.inputs]


def spilled_rows(join: MultiJoin) -> list[int]:
    return [sum(run.n_rows for run in one.partitions[0].spilled) for one in join.inputs]


def test_rows_of_the_last_input_pass_if_all_others_are_in_memory(tmp_path: Path) -> None:
    tables = in_order(3_000, 600)
    join = join_of(tmp_path, 60_000)
    found = [*arrived(join, 1, tables[1]), *arrived(join, 2, tables[2])]
    ended(join, 1, 2)
    found += arrived(join, 0, tables[0])
    assert join.inputs[0].resident_bytes == 0
    assert spilled_rows(join) == [0, 0, 0]
    assert rows_of(found) == answer(tables)
    assert not ended(join, 0)
    join.close()


def test_rows_that_pass_one_after_the_other_are_not_copied(tmp_path: Path) -> None:
    """Unless they are few of those with which they came: those would stay in memory with them."""
    tables = in_order(1_000, 500)
    join = join_of(tmp_path, PLENTY)
    assert not [*arrived(join, 1, tables[1].slice(0, 300)), *arrived(join, 2, tables[2])]
    ended(join, 1, 2)
    for first, matches, is_copied in ((0, 400, False), (300, 300, False), (500, 100, True)):
        rows = tables[0].slice(first, 400).combine_chunks().to_batches()[0]
        [found] = join.arrive([[rows], [], []], 0.0)
        assert found.num_rows == matches
        numbers = [batch.column(batch.schema.get_field_index("row_0")).buffers()[1].address for batch in (rows, found)]
        assert (numbers[0] != numbers[1]) == is_copied
        assert rows_of([found]) == answer([tables[0].slice(first, matches), *tables[1:]])
    join.close()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("memory_bytes", [PLENTY, 60_000])
def test_rows_of_a_guided_input_pass_though_others_are_still_to_come(
    tmp_path: Path, memory_bytes: int, seed: int
) -> None:
    """What they can match comes in the same call, or came before. If that had to leave, some are kept."""
    tables = in_order(6_000, 2_000)
    plan = MultiPlan(graph_of_shape(FACTS), MINER, guided=0)
    join = made(tmp_path, plan, schemas_of(FACTS), memory_bytes)
    found = arrived(join, 2, tables[2])
    ended(join, 2)
    for block in np.random.default_rng(seed).permutation(20).tolist():
        facts, neighbours = (tables[at].slice(block * size, size).to_batches() for at, size in ((0, 300), (1, 100)))
        found += join.arrive([facts, neighbours, []], 0.0)
    there = spilled_rows(join)
    facts_kept = resident_rows(join)[0] + there[0]
    if memory_bytes == PLENTY:
        assert (there, facts_kept) == ([0, 0, 0], 0)
        assert rows_of(found) == answer(tables)
    else:
        assert there[1] > 0
        assert facts_kept < 3_000
    found += ended(join, 1, 0)
    assert rows_of(found) == answer(tables)
    join.close()


def test_of_the_last_input_those_rows_are_kept_that_may_match_what_is_on_disk(tmp_path: Path) -> None:
    """A part of the neighbour has left, by its keys: the facts of all other keys pass."""
    tables = in_order(6_000, 2_000)
    join = join_of(tmp_path, 90_000)
    found = [*arrived(join, 1, tables[1]), *arrived(join, 2, tables[2])]
    ended(join, 1, 2)
    there = spilled_rows(join)[1]
    assert 0 < there < 1_500
    found += arrived(join, 0, tables[0])
    facts = join.inputs[0].partitions[0].resident.n_rows + spilled_rows(join)[0]
    assert 3 * there <= facts < 6_000
    assert rows_of(found) != answer(tables)
    found += ended(join, 0)
    assert rows_of(found) == answer(tables)
    join.close()


@pytest.mark.parametrize("seed", range(3))
def test_a_row_whose_match_leaves_to_make_room_for_it_is_kept(tmp_path: Path, seed: int) -> None:
    """Nothing of the facts is in memory, so the neighbours leave when facts come: those must not pass them by."""
    facts, neighbours, others = drawn(FACTS, [1_500, 900, 20], 300, seed)
    matching = pa.array(np.random.default_rng(seed).choice(others["b"], len(neighbours)))
    tables = [facts, neighbours.set_column(1, neighbours.schema.field(1), matching), others]
    join = join_of(tmp_path, 36_000)
    found = [*arrived(join, 1, tables[1]), *arrived(join, 2, tables[2])]
    ended(join, 1, 2)
    before = spilled_rows(join)[1]
    found += arrived(join, 0, tables[0], 700)
    assert spilled_rows(join)[1] > before
    found += ended(join, 0)
    assert rows_of(found) == answer(tables)
    join.close()


@pytest.mark.parametrize("shape", [FACTS, ("X", "XY", "Y"), ("a", "ab", "bc", "c")], ids="+".join)
def test_rows_beside_an_input_that_has_ended_go_if_they_match_nothing_there(
    tmp_path: Path, shape: Sequence[str]
) -> None:
    """When they arrive, and those that are there by then; and what is beside these, where they have ended as well."""
    tables = drawn(shape, [2_000, *[1_000] * (len(shape) - 2), 30], 1_000)
    join = join_of(tmp_path, PLENTY, shape)
    last = len(shape) - 1
    found = [*arrived(join, last - 1, tables[last - 1].slice(0, 500)), *arrived(join, 0, tables[0].slice(0, 1_000))]
    assert resident_rows(join)[-2] == 500
    found += arrived(join, last, tables[last])
    ended(join, last)
    promising = resident_rows(join)[-2]
    assert promising < 100
    found += arrived(join, last - 1, tables[last - 1].slice(500))
    promising = resident_rows(join)[-2] - promising
    assert promising < 100
    assert resident_rows(join)[0] == 1_000
    for which in range(last - 2, 0, -1):
        found += arrived(join, which, tables[which])
    ended(join, *range(last - 1, 0, -1))
    assert resident_rows(join)[0] < 400
    found += arrived(join, 0, tables[0].slice(1_000))
    assert rows_of(found) == answer(tables)
    assert rows_of(found)
    assert not ended(join, 0)
    join.close()


def test_rows_stay_where_most_of_them_match_or_some_that_they_may_match_are_on_disk(tmp_path: Path) -> None:
    tables = drawn(FACTS, [500, 500, 1_000], 300)
    most = join_of(tmp_path / "most match", PLENTY)
    arrived(most, 2, tables[2])
    ended(most, 2)
    arrived(most, 1, tables[1])
    assert resident_rows(most)[1] == 500
    most.close()
    on_disk = join_of(tmp_path / "on disk", PLENTY)
    found = arrived(on_disk, 2, tables[2].slice(0, 30))
    on_disk._leaving.evict_all()
    ended(on_disk, 2)
    found += [*arrived(on_disk, 1, tables[1]), *arrived(on_disk, 0, tables[0])]
    assert resident_rows(on_disk)[:2] == [500, 500]
    found += ended(on_disk, 0, 1)
    assert rows_of(found) == answer([*tables[:2], tables[2].slice(0, 30)])
    on_disk.close()


def test_rows_that_have_met_all_that_left_after_them_are_not_written_in_the_end(tmp_path: Path) -> None:
    """A part of the neighbour has left, and facts that look for it; the rest of it never missed any."""
    tables = in_order(6_000, 2_000)
    join = join_of(tmp_path, 90_000)
    found = [*arrived(join, 1, tables[1]), *arrived(join, 2, tables[2])]
    ended(join, 1, 2)
    for begin in (3_000, 0):  # a run of facts has codes from the lowest to the highest, and few of them
        found += arrived(join, 0, tables[0].slice(begin, 3_000), 3_000)
    there = spilled_rows(join)[1]
    assert 0 < there < join.inputs[1].partitions[0].resident.n_rows
    join.end(0)
    while join._chain is None:
        found += join.work(2**14, BUSY)
    assert [one.resident_bytes > 0 for one in join.inputs] == [False, False, True]
    assert spilled_rows(join)[1] == there
    found += worked(join, BUSY)
    assert rows_of(found) == answer(tables)
    join.close()


def test_rows_that_came_after_their_match_had_left_are_joined_in_the_end(tmp_path: Path) -> None:
    tables = in_order(3_000, 600)
    join = join_of(tmp_path, 200_000)
    found = [*arrived(join, 0, tables[0]), *arrived(join, 1, tables[1].slice(0, 300))]
    join._leaving.evict_all()
    found += [*arrived(join, 1, tables[1].slice(300)), *arrived(join, 2, tables[2])]
    found += ended(join, 0, 1, 2)
    assert rows_of(found) == answer(tables)
    join.close()


def test_rows_are_lighter_when_nobody_can_ask_for_them_by_an_attribute(tmp_path: Path) -> None:
    """All that is beyond it has ended and is in memory; when it leaves, it will ask again."""
    tables = in_order(3_000, 300)
    join = join_of(tmp_path, PLENTY)
    arrived(join, 1, tables[1])
    arrived(join, 2, tables[2])
    arrived(join, 0, tables[0].slice(0, 100))
    used_bytes = join.account.used_bytes
    join.end(2)
    assert join._leaving.asked(1) == [0]
    assert used_bytes - join.account.used_bytes == 300 * (index_bytes([0, 1]) - index_bytes([0]))
    assert not any(attribute for _, attribute in join._accesses[1]._known)
    check_state(join)
    join._leaving.evict([EvictInput(2)])
    assert join._leaving.asked(1) == [0, 1]
    check_state(join)
    join.close()


@pytest.mark.parametrize("settled", [False, True])
def test_rows_of_the_only_input_on_disk_are_read_back_and_nothing_is_written(tmp_path: Path, settled: bool) -> None:
    """Facts came first and left; the others never did. It goes on in the middle of it, in another operator."""
    tables = in_order(3_000, 300)
    join = join_of(tmp_path, 40_000)
    found = arrived(join, 0, tables[0])
    join._leaving.evict_all()
    found += [*arrived(join, 1, tables[1]), *arrived(join, 2, tables[2])]
    assert not found
    assert chained_of(join._graph, join.inputs) == [0]
    before = spilled_rows(join)
    around = SETTLING if settled else BUSY
    if not settled:
        for which in range(3):
            join.end(which)
    for _ in range(4):
        found += join.work(2_000, around)
    assert 0 < len(rows_of(found)) < 3_000
    saved = join.snapshot()
    join.close()
    join = join_of(tmp_path, 40_000)
    join.restore(saved)
    found += worked(join, around, 2_000)
    assert rows_of(found) == answer(tables)
    if settled:
        assert spilled_rows(join) == before
        assert not ended(join, 0, 1, 2)
    join.close()


def test_rows_that_are_being_joined_with_those_on_disk_stay_in_memory(tmp_path: Path) -> None:
    """Also if there is less of it when the join goes on."""
    tables = in_order(3_000, 300)
    join = join_of(tmp_path, 40_000)
    arrived(join, 0, tables[0])
    join._leaving.evict_all()
    arrived(join, 1, tables[1])
    arrived(join, 2, tables[2])
    assert not [*join.work(2_000, SETTLING)]
    assert join._chain is not None
    with pytest.raises(BudgetTooSmall, match="raise `memory` to what it was"):
        join_of(tmp_path, 10_000).restore(join.snapshot())
    join.close()


def test_inputs_in_memory_stay_there_while_those_on_disk_are_joined(tmp_path: Path) -> None:
    tables = drawn(("a", "ab", "bc", "c"), [1_500, 900, 30, 10], 100)
    join = join_of(tmp_path, 60_000, ("a", "ab", "bc", "c"))
    found = [*arrived(join, 2, tables[2]), *arrived(join, 3, tables[3])]
    for begin in range(0, 1_500, 100):
        for which in (0, 1):
            found += arrived(join, which, tables[which].slice(begin, 100))
    assert chained_of(join._graph, join.inputs) == [0, 1]
    for which in range(4):
        join.end(which)
    while join._chain is None:
        found += join.work(2**14, BUSY)
    assert [bool(one.resident_bytes) for one in join.inputs] == [False, False, True, True]
    found += worked(join, BUSY)
    assert rows_of(found) == answer(tables)
    join.close()


def test_blocks_that_nobody_looks_for_are_passed_by_in_the_call_that_comes_to_them(tmp_path: Path) -> None:
    """The largest input has the first keys only. So no call does nothing, but for the last one."""
    facts, neighbours, others = in_order(3_000, 100)
    neighbours = in_order(3_000, 1_500)[1]
    join = join_of(tmp_path, PLENTY)
    found = arrived(join, 0, facts)
    join._leaving.evict_all()
    for which, table in ((1, neighbours), (2, others)):
        found += arrived(join, which, table)
    join._leaving.evict_all()
    for which in range(3):
        join.end(which)
    blocks = join.inputs[1].partitions[0].spilled[0].segments[0].blocks
    assert (blocks.first_codes > join.inputs[0].partitions[0].spilled[0].segments[0].blocks.last_codes[-1]).sum() > 10
    while join._chain is None:
        found += join.work(2_000, BUSY)
    while join._chain is not None:
        before = join.worked_bytes
        results = [*join.work(2_000, BUSY)]
        assert results or join.worked_bytes > before or join._chain is None
        found += results
    assert rows_of(found) == answer([facts, neighbours, others])
    join.close()


def test_a_join_that_gives_more_rows_than_it_gets_comes_after_one_that_lets_few_through(tmp_path: Path) -> None:
    """The middle input matches many rows of the first, and few of the last: what it makes with the first alone would be
    ten times what the inputs are.
    """
    rng, rows = np.random.default_rng(1), 4_000
    columns = [
        [rng.integers(0, 100, rows)],
        [rng.integers(0, 100, rows), np.arange(rows)],
        [np.arange(0, 20 * rows, 20)],
    ]
    tables = [
        pa.table([*some, np.arange(rows)], schema=schema)
        for some, schema in zip(columns, schemas_of(FACTS), strict=True)
    ]
    join = join_of(tmp_path, 60_000)
    found: list[pa.RecordBatch] = []
    for begin in range(0, rows, 100):
        for which, table in enumerate(tables):
            found += arrived(join, which, table.slice(begin, 100))
    before_bytes = most_bytes = files_bytes(tmp_path)
    for which in range(3):
        join.end(which)
    while join.has_work(BUSY):
        found += join.work(2**14, BUSY)
        most_bytes = max(most_bytes, files_bytes(tmp_path))
    assert most_bytes < 3 * before_bytes
    assert rows_of(found) == answer(tables)
    join.close()


def files_bytes(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())


def test_what_lies_between_inputs_on_disk_is_joined_with_them() -> None:
    graph = graph_of_shape(("a", "ab", "bc", "c", "c"))
    assert graph.connecting([0]) == [0]
    assert graph.connecting([0, 2]) == [0, 1, 2]
    assert graph.connecting([3, 4]) == [3, 4]
    assert graph.connecting([0, 4]) == [0, 1, 2, 4]
    assert graph.connecting([]) == []


@pytest.mark.one_in(4)
@pytest.mark.parametrize("silences", [0, 12], ids="{} pieces of work in silences".format)
@pytest.mark.parametrize("shape", [FACTS, ("X", "XY", "Y")], ids="+".join)
@pytest.mark.parametrize("seed", range(3))
def test_two_inputs_that_lie_in_one_order_are_merged_where_they_lie(
    tmp_path: Path, shape: Sequence[str], silences: int, seed: int
) -> None:
    """Nothing is written for it, a key may have more rows than a slab, and it goes on anywhere in another operator."""
    tables = drawn(shape, [3_000, 700, 40], 120, seed)
    hot = tables[0].slice(0, 900)
    tables[0] = pa.concat_tables(
        [tables[0], hot.set_column(0, hot.schema.field(0), pa.array([hot[0][0].as_py()] * 900))]
    )
    join = join_of(tmp_path / "0", 1_000_000, shape)
    found: list[pa.RecordBatch] = []
    for quarter in range(4):
        found += arrive(join, [table.slice(quarter * len(table) // 4, len(table) // 4) for table in tables])
        join._leaving.evict_all()
        for _ in range(silences if quarter == 1 else 0):
            found += join.work(QUANTUM, SILENT)
    for which in range(3):
        join.end(which)
    while join._chain is None:
        found += join.work(QUANTUM, BUSY)
    merge, before = join._chain._merge, spilled_rows(join)
    assert merge is not None
    merge._slab_bytes = 4_000
    assert (join._loop.joined[0] > START) == (silences > 0)
    calls = 0
    while join.has_work(BUSY):
        found += join.work(2_000, BUSY)
        assert spilled_rows(join) in (before, [0, 0, 0])
        saved = join.snapshot()
        join.close()
        calls += 1
        join = join_of(tmp_path / "0", 1_000_000, shape)
        join.restore(saved)
    assert calls > 20
    assert rows_of(found) == answer(tables)
    join.close()
