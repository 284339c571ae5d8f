"""MINER (Bornea et al., sec. 4): what leaves memory, in which order rows are looked up, and the loop over the disk."""

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from multijoins_made import CHAIN, MINER, arrive, chain_of_four, drawn, made, rows_of, schemas_of, worked
from multiway import STEP, STEPS_APART, answer, graph_of_shape
from sooner.kernels.matching import EQUAL, Reach
from sooner.kernels.ranges import Near
from sooner.named_algorithms import ALGORITHMS
from sooner.operators.events import Arrived, Event, Flushed, Looped
from sooner.operators.multiway.accesses import LOOK_UP_BYTES, Accesses
from sooner.operators.multiway.algorithms import MULTI_ALGORITHMS
from sooner.operators.multiway.nested_loop import START, BlocksOf, Position, Wanted, sequences
from sooner.operators.multiway.plan import MultiPlan
from sooner.operators.two_way.plan import TwoWayPlan
from sooner.policies.react.nested_loop import ReactiveNestedLoop
from sooner.policies.view import BUSY, SETTLING, SILENT, Surroundings

CHAIN_WITH_A_RANGE = ("a", "aX", "bX", "b")
ALL_CODES = 2**64 - 1


# Two inputs


def events_of(directory: Path, plan: Any, tables: Sequence[pa.Table], row_bytes: int = 29) -> list[Event]:
    """With memory for 800 rows, which weigh so much with their helpers."""
    events: list[Event] = []
    join = made(directory, plan, [table.schema for table in tables], 800 * row_bytes, events)
    for begin in range(0, 2_000, 100):
        list(join.arrive([table.slice(begin, 100).to_batches() for table in tables], begin / 100))
        if begin in (900, 1_400):
            list(worked(join, SILENT))
    for which in range(len(tables)):
        join.end(which)
    list(worked(join, BUSY))
    join.close()
    return events


def skewed(seed: int) -> list[pa.Table]:
    dice = np.random.default_rng(seed)
    return [
        pa.table([pa.array(dice.zipf(1.5, 2_000) % 500), pa.array(np.arange(2_000))], schema=schema)
        for schema in schemas_of(("a", "a"))
    ]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(3))
def test_with_two_inputs_it_is_diner_event_by_event(tmp_path: Path, seed: int) -> None:
    tables = skewed(seed)
    diner = events_of(tmp_path / "diner", TwoWayPlan(("a",), ("a",), ("", ""), ALGORITHMS["diner"]), tables)
    miner = events_of(tmp_path / "miner", MultiPlan(graph_of_shape(("a", "a")), MULTI_ALGORITHMS["miner"]), tables)
    assert sum(isinstance(event, Flushed) for event in diner) > 3
    assert miner == diner


@pytest.mark.parametrize("shape", [("X", "X"), ("aX", "aX")], ids="+".join)
def test_with_a_range_between_two_inputs_it_is_diner_event_by_event(tmp_path: Path, shape: tuple[str, ...]) -> None:
    """Also beside a key."""
    tables = drawn(shape, [2_000] * 2, 500 if len(shape[0]) == 1 else 50)
    keys, steps = tuple(shape[0][:-1]), STEPS_APART["X"]
    near = Near("X0", "X1", (steps.start * STEP, steps.stop * STEP - 1))
    diner = events_of(tmp_path / "diner", TwoWayPlan(keys, keys, ("", ""), ALGORITHMS["diner"], near=near), tables)
    miner = events_of(tmp_path / "miner", MultiPlan(graph_of_shape(shape), MULTI_ALGORITHMS["miner"]), tables)
    assert sum(isinstance(event, Flushed) for event in diner) > 3
    assert miner == diner


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(3))
def test_regions_of_two_inputs_let_the_same_rows_go_as_diner(tmp_path: Path, seed: int) -> None:
    """The operator for many inputs, which two could have as well: what arrives and what leaves is the same."""
    tables = skewed(seed)
    algorithm = replace(ALGORITHMS["diner"], react=ReactiveNestedLoop(max_new_arrivals=0))
    diner = events_of(tmp_path / "diner", TwoWayPlan(("a",), ("a",), ("", ""), algorithm), tables)
    with_index = 29 + LOOK_UP_BYTES
    miner = events_of(tmp_path / "miner", MultiPlan(graph_of_shape(("a", "a")), MINER), tables, with_index)

    def online(events: Sequence[Event]) -> list[tuple[Any, ...]]:
        seen: list[tuple[Any, ...]] = []
        for event in events:
            if isinstance(event, Arrived):
                seen.append(("arrived", event.rows))
            elif isinstance(event, Flushed):
                seen.append(("left", event.side, event.n_rows))
        last = max(at for at, event in enumerate(seen) if event[0] == "arrived")
        return seen[: last + 1]  # at the end all rows leave the one, and none the other

    assert online(miner) == online(diner)


# What leaves memory


def test_a_region_that_only_matches_a_neighbour_leaves_before_one_with_results(tmp_path: Path) -> None:
    """Results of the whole join count (footnote 2): half of R2 meets R1 only, and that half goes."""
    r1 = pa.table([pa.array(range(200)), pa.array(range(200))], schema=schemas_of(CHAIN)[0])
    keys = pa.array(np.random.default_rng(0).permutation(600) % 200)
    r2 = pa.table([keys, keys, pa.array(range(600))], schema=schemas_of(CHAIN)[1])
    r3 = pa.table([pa.array(range(100, 200)), pa.array([0] * 100), pa.array(range(100))], schema=schemas_of(CHAIN)[2])
    r4 = pa.table([pa.array([0]), pa.array([0])], schema=schemas_of(CHAIN)[3])
    needed = 36 * 201 + (48 + 24) * 700  # about, with indexes and join bits
    join = chain_of_four(tmp_path, int(needed * 0.7))
    list(arrive(join, [r1, r2.slice(0, 0), r3, r4], 200))
    for begin in range(0, 600, 100):
        list(join.arrive([[], r2.slice(begin, 100).to_batches(), [], []], 0.0))
    segments = [run.segments[0] for run in join.inputs[1].partitions[0].spilled]
    parts = [part for one in segments for part in join.inputs[1].store.read(one, one.blocks[:])]
    assert join.inputs[1].partitions[0].resident.n_rows
    assert max(key for part in parts for key in part.rows["b"].to_pylist()) < 100  # those from 100 on have results
    join.close()


@pytest.mark.parametrize("chain", [CHAIN, CHAIN_WITH_A_RANGE], ids="+".join)
def test_a_flush_by_one_attribute_leaves_all_indexes_consistent(tmp_path: Path, chain: tuple[str, ...]) -> None:
    """Rows of R2 leave by either of its attributes, and each index has what is in memory and nothing else."""
    join = chain_of_four(tmp_path, 60_000, chain=chain)
    tables = drawn(chain, [100, 2_000, 2_000, 100], 400)
    for begin in range(0, 2_000, 100):
        list(arrive(join, [table.slice(begin, 100) for table in tables]))
        for which, one in enumerate(join.inputs):
            there = {(id(run), place) for run in one.partitions[0].resident for place in range(2)}
            assert set(join._accesses[which]._known) <= there
    assert all(len(join.inputs[which].partitions[0].spilled) for which in (1, 2))
    regions = join._leaving.regions
    assert regions is not None
    seen = join._leaving._seen_regions()
    assert seen is not None
    for which, one in enumerate(join.inputs):
        for place in join._leaving.asked(which):
            assert seen.rows[which, place].sum() == one.partitions[0].resident.n_rows
    join.close()


# The order of probes


def test_the_most_selective_input_is_probed_first(tmp_path: Path) -> None:
    """The paper's example: the join of R2 and R3 selects most, then R1 and R2, then R3 and R4; a row of R2 goes to R3,
    then to R1, then to R4.
    """
    join = chain_of_four(tmp_path, 10**7)
    combining = join._combining
    for which, attribute, met in ((0, 0, 20), (2, 1, 10), (3, 2, 30)):
        combining._probes[which][attribute], combining._met[which][attribute] = 100, met
    assert [step.input for step in combining.route([1])] == [2, 0, 3]
    combining._met[3][2] = 1  # R4 can be reached by R3 alone, however well it selects
    assert [step.input for step in combining.route([1])] == [2, 3, 0]
    combining._probes[2][1] = combining._met[2][1] = 0  # a pair that was never probed does not look selective
    assert [step.input for step in combining.route([1])] == [0, 2, 3]
    join.close()


# The loop over the disk


def test_two_join_sequences_when_the_outer_input_stands_in_the_middle(tmp_path: Path) -> None:
    """The paper's figure 5: with R2 as the outer input, R3 and R4 are gone through, then comes more of R1, and R3 and
    R4 are gone through again.
    """
    graph = graph_of_shape(CHAIN)
    assert [step.input for step in sequences(graph, 1)] == [0, 2, 3]
    assert [step.input for step in sequences(graph, 0)] == [1, 2, 3]
    assert [step.input for step in sequences(graph, 3)] == [2, 1, 0]
    join = chain_of_four(tmp_path, 40_000)
    tables = drawn(CHAIN, [1_500] * 4, 500)
    list(arrive(join, tables))
    loop = join._loop
    loop._share_bytes = 400  # of rows of 40 bytes or so
    loop._outer, loop.joined = 1, [START if which == 1 else BlocksOf(join.inputs[which]).end for which in range(4)]
    turns: list[int] = []  # of inner inputs
    while loop.joined[1] == START:
        list(join.work(1, SILENT))  # a block at a time
        if (present := loop._present) is not None:
            assert present.outer == 1
            turns.append(present.levels[present.depth].step.input)
    changes = [turn for turn, _ in itertools.groupby(turns)]
    rounds = "".join(map(str, changes)).strip("0").split("0")
    assert len(rounds) > 1  # R1 came in several batches,
    assert all(re.fullmatch("2(32)+", one) for one in rounds)  # and after each of them R3 and R4 came, to their end
    join.close()


@pytest.mark.parametrize(
    "shape",
    [
        CHAIN, ("a", "a", "a"), ("a", "ab", "b", "b"), ("abX", "a", "b", "X"), ("X", "XY", "Y"), ("aX", "abX", "b"),
        *(pytest.param(shape, marks=pytest.mark.long) for shape in (CHAIN_WITH_A_RANGE, ("abc", "a", "b", "c"))),
    ],
    ids="+".join,
)  # fmt: skip
def test_what_the_disk_knows_comes_in_a_silence_and_once(tmp_path: Path, shape: tuple[str, ...]) -> None:
    """All rows have left memory, the inputs are silent: all results are there before the inputs end. Events say of each
    two runs of two inputs once that they have met.
    """
    plan, events = MultiPlan(graph_of_shape(shape), MINER), list[Event]()
    tables = drawn(shape, [250] * len(shape), 100, seed=len(shape))
    join = made(tmp_path, plan, [table.schema for table in tables], 20_000, events)
    online = rows_of([*arrive(join, tables)])
    join._leaving.evict_all()
    in_silence = rows_of([*worked(join, SILENT, 5_000)])
    assert online and in_silence
    assert online + in_silence == answer(tables)
    told = [event.cells for event in events if isinstance(event, Looped) and event.cells]
    numbers = [[run.number for run in one.partitions[0].spilled] for one in join.inputs]
    for cells, of_two in zip(zip(*told, strict=True), itertools.combinations(numbers, 2), strict=True):
        met = [pair for cell in cells for pair in itertools.product(*cell)]
        assert sorted(met) == sorted(itertools.product(*of_two))
    for which in range(len(shape)):
        join.end(which)
    assert not rows_of([*worked(join, BUSY)])
    join.close()


def test_a_chunk_of_the_loop_is_of_as_many_flushes_as_its_bound_lets_it(tmp_path: Path) -> None:
    tables = drawn(CHAIN, [600] * 4, 200)
    read_bytes, found = {}, {}
    for name, most_bytes in (("small", 1), ("large", 2**62)):
        algorithm = replace(MINER, react=ReactiveNestedLoop(max_outer_bytes=most_bytes))
        join = chain_of_four(tmp_path / name, 40_000, algorithm)
        list(arrive(join, tables))
        found[name] = rows_of([*worked(join, SILENT, 2**20)])
        read_bytes[name] = join._loop.worked_bytes
        blocks, segments = BlocksOf(join.inputs[1]), [run.segments[0] for run in join.inputs[1].partitions[0].spilled]
        join.close()
    sizes = [int(segment.blocks.n_bytes.sum()) for segment in segments]
    assert len(sizes) > 3
    assert blocks.chunk(START, sum(sizes[:3])) == Position(3)
    assert blocks.chunk(Position(1), sum(sizes[1:3]) - 1) < Position(3)
    assert Position(1) < blocks.chunk(Position(1), 1) <= Position(2)
    assert blocks.chunk(START, 2**62) == blocks.end
    assert found["small"] == found["large"] != Counter()
    assert read_bytes["large"] < 0.5 * read_bytes["small"]  # inner inputs are gone through less often


@pytest.mark.parametrize("reach", [EQUAL, Reach(3, 5), Reach(1, ALL_CODES), Reach(ALL_CODES, 2)], ids=str)
def test_blocks_and_rows_are_left_out_that_are_beyond_reach(reach: Reach) -> None:
    wanted = Wanted(np.array([20, 21, 40, 90], np.uint64), reach, Accesses([], []), 0)
    every = [*range(100), ALL_CODES - 1, ALL_CODES]
    for n_codes in (1, 4, 30):
        blocks = [every[first : first + n_codes] for first in range(0, len(every), n_codes)]
        bounds = (np.array([block[at] for block in blocks], np.uint64) for at in (0, -1))
        reaching = [
            any(code - reach.below <= high and low <= code + reach.above for code in wanted.codes.tolist())
            for low, *_, high in ([block[0], *block] for block in blocks)
        ]
        assert wanted.between(*bounds).tolist() == reaching


@pytest.mark.parametrize(("chain", "rows", "n_keys"), [(CHAIN, 400, 133), (CHAIN_WITH_A_RANGE, 400, 400)])
def test_a_loop_hands_over_and_what_it_did_is_not_done_again(
    tmp_path: Path, chain: tuple[str, ...], rows: int, n_keys: int
) -> None:
    """Rows come in the middle of a pass, also of inputs that it has gone through; a new operator goes on from there."""
    tables = drawn(chain, [rows] * 4, n_keys)
    halves = [[table.slice(0, rows // 2) for table in tables], [table.slice(rows // 2) for table in tables]]
    join = chain_of_four(tmp_path, 15_000, chain=chain)
    found = [*arrive(join, halves[0])]
    for _ in range(5):
        found += join.work(2_000, SILENT)
    assert join._loop.is_in_the_middle
    for half in halves[1:]:
        found += arrive(join, half)
    saved = join.snapshot()
    join.close()
    join = chain_of_four(tmp_path, 15_000, chain=chain)
    join.restore(saved)
    for _ in range(5):
        found += join.work(2_000, SILENT)
    found += worked(join, SETTLING, 5_000)
    assert rows_of(found) == answer(tables)
    for which in range(4):
        join.end(which)
    assert not rows_of([*worked(join, BUSY)])
    join.close()


def test_the_loop_begins_in_a_silence_and_yields_to_many_rows(tmp_path: Path) -> None:
    join = chain_of_four(tmp_path, 30_000)
    list(arrive(join, drawn(CHAIN, [600] * 4, 300)))
    assert not join.has_work(BUSY)
    assert join.has_work(SILENT)
    assert join.has_work(Surroundings(after_silence=True, waiting_rows=(400, 300, 200, 100)))
    assert not join.has_work(Surroundings(after_silence=True, waiting_rows=(400, 300, 200, 101)))
    join.close()
    mjoin = chain_of_four(tmp_path, 30_000, MULTI_ALGORITHMS["mjoin"])
    list(arrive(mjoin, drawn(CHAIN, [600] * 4, 300)))
    assert not mjoin.has_work(SILENT)
    mjoin.close()
