"""Keys with a large share of the rows: found, spread over all partitions, and each pair comes out once."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

import sooner.operators.order
import sooner.spark.dataflow.finding_hot_keys
from hot_steps import PartitionedJoin, expected, spread_plan
from join_steps import versions_of
from sooner.errors import InvalidJoin
from sooner.how import KINDS
from sooner.kernels.array_types import Codes, Flags
from sooner.kernels.codes import code_rows
from sooner.kernels.keys import plan_keys
from sooner.named_algorithms import ALGORITHMS
from sooner.operators.order import by_hashes
from sooner.progress import Progress, together
from sooner.runs.formats.files import RunFiles
from sooner.runs.formats.versions import Header, Versions
from sooner.sides import LEFT, RIGHT, SIDES
from sooner.spark.dataflow.finding_hot_keys import MOST_KEYS, newly_hot
from sooner.spark.joins.meeting_places import placements
from sooner.spark.shuffle.hot_keys import HOT_KEYS, HotKey, Spreading, WithKeys, text_of_key
from sooner.spark.shuffle.packing import plain_placement
from sooner.spark.shuffle.placing import Placement
from sooner.spark.states.reporting import export
from sooner.spark.states.rescaling import PLACEMENTS
from sooner.spark.states.restricting import require_divisible
from sooner.spark.step import heavy_keys
from sooner.spark.step.heavy_keys import KEPT, HeavyKey, HeavyKeys, PartitionKeys, partition_keys_in
from sooner.spark.step.shelf import SpilledShelf
from sooner.spark.step.spread_keys import SpreadKeys
from sooner.spark.step.standing import JoinProgress, Standing

PROGRESS = JoinProgress(
    0, together([Progress("arriving", (0, 0), (0, 0), 0, 0, (0, 0), 0, (0, 0), 0, 0.0, 0.0)]), (), (0, 0)
)
PARTITIONS = 3
HOT = 12_345
BATCHES = 8


@pytest.fixture(autouse=True)
def few_rows_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sooner.spark.dataflow.finding_hot_keys, "LEAST_ROWS", 20)


def rows_of(side: int, rows: int, hot_share: float, first: int, dice: np.random.Generator, text: bool) -> pa.Table:
    keys = np.where(dice.random(rows) < hot_share, HOT, dice.integers(0, 300, rows))
    column = pa.array(keys, pa.int64(), mask=dice.random(rows) < 0.02)
    named = {"k": column.cast(pa.string()) if text else column, "ab"[side]: np.arange(first, first + rows)}
    return pa.table(named)


def run_schedule(
    folder: Path,
    how: str,
    algorithm: str,
    seed: int,
    *,
    heavy: int | None = None,
    ends: Sequence[int] | None = None,
    attempts: int = 1,
    text: bool = False,
) -> PartitionedJoin:
    """Random rows in batches of random sizes; which side has the hot key and when sides end, unless given, by dice."""
    dice = np.random.default_rng(seed)
    heavy = (LEFT if how in ("semi", "anti") else int(dice.integers(2))) if heavy is None else heavy
    ends = dice.integers(2, BATCHES + 3, 2).tolist() if ends is None else ends
    memory = 2**30 if algorithm == "symmetric_hash" else int(dice.choice([2**13, 2**14, 2**22]))
    schemas = [rows_of(side, 0, 0, 0, dice, text).schema for side in SIDES]
    join = PartitionedJoin(spread_plan(schemas, folder, PARTITIONS, how, algorithm, memory))
    came: list[list[pa.Table]] = [[], []]
    for batch in range(BATCHES):
        for side in SIDES:
            n_rows = int(dice.integers(20, 160)) if batch < ends[side] else 0
            first = sum(map(len, came[side]))
            came[side].append(rows_of(side, n_rows, 0.5 if side == heavy else 0.03, first, dice, text))
        join.batch([came[side][-1] for side in SIDES], dice, attempts)
        join.ended |= sum((batch + 1 >= ends[side]) << side for side in SIDES)
    found = join.finish(dice)
    left, right = (pa.concat_tables(some) for some in came)
    assert np.array_equal(found, expected(left, right, how)), f"{how} by {algorithm}, seed {seed}"
    arrived = join.progress().total.arrived_rows
    whole = [
        len(table) - (0 if side in KINDS[how].unmatched else table["k"].null_count)
        for side, table in enumerate((left, right))
    ]
    assert list(arrived) == whole, "a copy is counted as a row"
    return join


@pytest.mark.one_in(2)
@pytest.mark.parametrize("how", KINDS)
def test_each_pair_comes_out_once(tmp_path: Path, how: str) -> None:
    join = run_schedule(tmp_path, how, "rpj", seed=1, attempts=2)
    [hot] = join.progress().hot_keys
    assert hot.name == str(HOT)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("how", "heavy", "ends"),
    [
        ("inner", LEFT, (99, 1)),
        ("left", LEFT, (99, 1)),
        ("left", RIGHT, (1, 99)),
        ("full", LEFT, (99, 1)),
        ("full", LEFT, (5, 99)),
        ("semi", LEFT, (99, 1)),
        ("anti", LEFT, (99, 1)),
        ("anti", LEFT, (5, 99)),
    ],
)
def test_sides_that_end_before_the_key_is_spread_or_after(
    tmp_path: Path, how: str, heavy: int, ends: tuple[int, int]
) -> None:
    """Rows of a side that has ended are handed over all the same, and copies come after the dealt side has ended."""
    join = run_schedule(tmp_path, how, "rpj", seed=2, heavy=heavy, ends=ends)
    [hot] = join.progress().hot_keys
    assert hot.dealt == heavy


def keyed(side: int, key: int, rows: int, first: int) -> pa.Table:
    return pa.table({"k": np.full(rows, key), "ab"[side]: np.arange(first, first + rows)})


def test_copies_match_although_nothing_was_dealt_to_where_they_are(tmp_path: Path) -> None:
    """The key is spread, and then only the other side has it: its copies must not come out alone."""
    dice = np.random.default_rng(1)
    lefts = [keyed(LEFT, HOT, 60, 0), *(keyed(LEFT, HOT + 20 + batch, 5, 60 + 5 * batch) for batch in range(4))]
    lefts.append(lefts[0].slice(0, 0))
    rights = [keyed(RIGHT, HOT + 9, 5, 0), *(keyed(RIGHT, HOT, 3, 5 + 3 * batch) for batch in range(5))]
    schemas = [lefts[0].schema, rights[0].schema]
    join = PartitionedJoin(spread_plan(schemas, tmp_path, PARTITIONS, "full", "rpj", 2**20))
    for batch, tables in enumerate(zip(lefts, rights, strict=True)):
        join.batch(tables, dice)
        join.ended = 1 if batch == 4 else join.ended  # the last copies come when what they match has ended
    assert [hot.since for hot in join.progress().hot_keys] == [2]
    came = pa.concat_tables(lefts)
    assert np.array_equal(join.finish(dice), expected(came, pa.concat_tables(rights), "full"))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("how", ["inner", "left", "semi", "anti"])
def test_partitions_that_had_nothing_of_an_ended_side_take_over_its_rows(tmp_path: Path, how: str) -> None:
    dice = np.random.default_rng(1)
    lefts = [keyed(LEFT, HOT, 60, 60 * batch) for batch in range(5)]
    right = keyed(RIGHT, HOT, 3, 0)
    join = PartitionedJoin(spread_plan([lefts[0].schema, right.schema], tmp_path, PARTITIONS, how, "rpj", 2**20))
    for left in lefts:
        join.batch([left, right if join.version == 0 else right.slice(0, 0)], dice)
        join.ended = 2
    assert np.array_equal(join.finish(dice), expected(pa.concat_tables(lefts), right, how))


@pytest.mark.long
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("how", KINDS)
def test_each_pair_comes_out_once_by_every_algorithm(tmp_path: Path, algorithm: str, how: str) -> None:
    for seed in range(4):
        run_schedule(tmp_path / str(seed), how, algorithm, 100 + seed, attempts=2)


def test_rows_on_disk_are_handed_over(tmp_path: Path) -> None:
    spilled = [
        run_schedule(tmp_path / str(seed), "inner", algorithm, seed, heavy=LEFT).most_spilled_rows
        for seed, algorithm in enumerate(("xjoin", "hmj", "pmj", "rpj"))
    ]
    assert any(spilled)


@pytest.mark.parametrize("how", ["full", "anti"])
def test_other_keys_with_the_code_of_a_hot_one_stay_at_home(
    tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def few_codes(
        batch: pa.RecordBatch, columns: Sequence[str], types: Sequence[pa.DataType]
    ) -> tuple[Codes, Flags | None]:
        codes, wanted = code_rows(batch, columns, types)
        return codes & np.uint64(7 << 61), wanted

    monkeypatch.setattr(sooner.operators.order, "code_rows", few_codes)
    join = run_schedule(tmp_path, how, "rpj", seed=3, heavy=LEFT, text=True)
    assert join.progress().hot_keys


# Which keys are heavy


def counting() -> HeavyKeys:
    schemas = [pa.schema([("k", pa.float64()), (name, pa.int64())]) for name in "ab"]
    keys = plan_keys(*schemas, ["k"], ["k"])
    return HeavyKeys(keys, by_hashes(keys).coders)


def piece(keys: np.ndarray, side: int = LEFT) -> list[pa.RecordBatch]:
    rows = [pa.record_batch({"k": pa.array([], pa.float64()), name: pa.array([], pa.int64())}) for name in "ab"]
    rows[side] = pa.record_batch({"k": pa.array(keys, pa.float64()), "ab"[side]: np.arange(len(keys))})
    return rows


def counts_in(heavy: HeavyKeys) -> dict[str, int]:
    return {one.name: one.rows for one in partition_keys_in(heavy.to_plain()).found}


def test_a_sketch_counts_what_is_heavy_whatever_the_order() -> None:
    dice = np.random.default_rng(1)
    keys = np.append(dice.integers(10, 10**6, 6000).astype(float), np.repeat([1.0, 2.0, -0.0, 0.0, np.nan], 1000))
    one, other = counting(), counting()
    one.count(piece(keys))
    other.count(piece(dice.permutation(keys)))
    assert one.to_plain() == other.to_plain()
    assert counts_in(one) == {"1.0": 1000, "2.0": 1000, "0.0": 2000}
    other.load_plain(json.loads(json.dumps(one.to_plain())))
    assert other.to_plain() == one.to_plain()


def test_a_sketch_stays_small_and_forgets_what_came_long_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heavy_keys, "HALF_LIFE_ROWS", 1000)
    heavy = counting()
    for first in range(0, 1000, 20):
        heavy.count(piece(np.repeat(np.arange(first, first + 20.0), 5)))
    assert len(counts_in(heavy)) == KEPT
    for _ in range(20):
        heavy.count(piece(np.full(400, 7.5)))
    plain = partition_keys_in(heavy.to_plain())
    assert plain.seen[LEFT] <= 1000
    assert counts_in(heavy)["7.5"] > 0.9 * plain.seen[LEFT]


# Which of them are hot


def found_hot(heavy: Sequence[HeavyKey], seen: int = 400, ended: int = 0, known: int = 0) -> list[tuple[int, int]]:
    """Codes and dealt sides, if the first of four partitions has found these keys and all have seen as many rows."""
    partition = PartitionKeys((seen, seen), ())
    hot = tuple(HotKey("", "", code, LEFT, 0, 1) for code in range(known))
    progress = replace(PROGRESS, hot_keys=hot)
    keys = (replace(partition, found=tuple(heavy)), partition, partition, partition)
    standing = Standing("", progress, True, False, True, keys)
    return [(one["code"], one["dealt"]) for one in newly_hot(standing, SIDES, ended)]


def test_a_key_is_hot_by_its_share_and_its_heavier_side_is_dealt() -> None:
    left, right = HeavyKey(LEFT, 77, 100, "", ""), HeavyKey(RIGHT, 77, 300, "", "")
    assert found_hot([left]) == [(77, LEFT)]
    assert found_hot([left], seen=401) == []  # less than a quarter of a partition's fair share
    assert found_hot([replace(left, rows=19)], seen=10) == []
    assert found_hot([left, right]) == [(77, RIGHT)]
    assert found_hot([left, right], ended=2) == []  # the other side has more of it, which would be copied
    assert found_hot([left], ended=1) == []  # nothing more to deal
    assert found_hot([left], known=78) == []  # it is hot already
    assert found_hot([left], known=MOST_KEYS) == []
    several = [replace(left, code=100 + code) for code in range(5)]
    assert found_hot(several, known=MOST_KEYS - 2) == [(100, LEFT), (101, LEFT)]


# Where rows go


def test_dealt_rows_go_round_by_their_content_and_copies_go_everywhere(tmp_path: Path) -> None:
    rows = pa.record_batch({"k": pa.array([7, 8] * 3000), "n": np.arange(6000)})
    placement = Placement(("k",), (pa.int64(),), 4)
    [home] = placement.places(rows)
    found = text_of_key(rows.slice(0, 1), ["k"], [pa.int64()])
    assert found is not None
    hot = HotKey(*found, code=0, dealt=LEFT, home=int(home[0]), since=5)
    assert WithKeys([hot], ["k"], [pa.int64()])(rows).tolist() == [True, False] * 3000
    summary = {HOT_KEYS: [hot.to_plain()]}
    Versions(pafs.LocalFileSystem(), str(tmp_path)).publish(Header(4, {}, summary), {})
    spreading = [Spreading(str(tmp_path), side) for side in SIDES]
    [places] = spreading[LEFT].in_batch(5, placement)(rows)
    assert np.array_equal(places[1::2], home[1::2])
    assert min(Counter(places[::2].tolist()).values()) > 600
    mixed = np.random.default_rng(1).permutation(6000)
    [again] = spreading[LEFT].in_batch(5, placement)(rows.take(pa.array(mixed)))
    assert np.array_equal(again, places[mixed]), "a row is dealt elsewhere when it comes among others"
    copies = np.array(spreading[RIGHT].in_batch(5, placement)(rows))
    assert all(set(column) == {0, 1, 2, 3} for column in copies[:, ::2].T.tolist())
    assert np.array_equal(copies[:, 1::2], np.tile(home[1::2], (4, 1)))


def test_a_state_is_not_divided_among_more_partitions_when_keys_are_spread_over_those_there_are(tmp_path: Path) -> None:
    join = run_schedule(tmp_path, "inner", "rpj", seed=1)
    versions = versions_of(join.plan)
    _, state = versions.load(max(versions.published()))
    with pytest.raises(InvalidJoin, match=f"has rows of hot keys \\({HOT}\\), which are spread over all partitions"):
        require_divisible(state, "partition 0")
    state[HOT_KEYS]["hot"] = []
    require_divisible(state, "partition 0")


def test_rows_are_exported_once_although_partitions_have_copies_of_them(tmp_path: Path) -> None:
    dice = np.random.default_rng(1)
    schemas = [rows_of(side, 0, 0, 0, dice, text=False).schema for side in SIDES]
    plan = spread_plan(schemas, tmp_path / "join", PARTITIONS, "inner", "rpj", 2**22)
    placed = placements(plan.operator, schemas, PARTITIONS)
    identity = {"partitions": PARTITIONS, "left": "", "right": "", PLACEMENTS: list(map(plain_placement, placed))}
    join = PartitionedJoin(replace(plan, identity=identity))
    came: list[list[pa.Table]] = [[], []]
    for batch in range(BATCHES):
        for side in SIDES:
            came[side].append(rows_of(side, 80, (0.1, 0.5)[side], 80 * batch, dice, text=False))
        join.batch([of_side[-1] for of_side in came], dice)
    assert [(hot.dealt, hot.since) for hot in join.progress().hot_keys] == [(RIGHT, 2)]
    for side, (file, n_rows) in enumerate(export(plan.state, tmp_path / "out")):
        rows = pq.read_table(file)
        assert n_rows == rows.num_rows
        number = "ab"[side]
        assert rows.sort_by(number).equals(pa.concat_tables(came[side]).drop_null().combine_chunks())


def test_a_decision_of_a_batch_that_was_planned_for_other_partitions_is_not_heard(tmp_path: Path) -> None:
    """Homes are other ones by now; the key is found again."""
    schemas = [rows_of(side, 0, 0, 0, np.random.default_rng(1), text=False).schema for side in SIDES]
    keys = plan_keys(*schemas, ["k"], ["k"])
    files = pafs.LocalFileSystem()
    spread = SpreadKeys(
        keys,
        by_hashes(keys),
        version=4,
        place=0,
        versions_of=lambda place: Versions(files, str(tmp_path / str(place))),
        shelf_in=lambda place, side: SpilledShelf(RunFiles(files, str(tmp_path / str(place)), schemas[side]), 2**20),
    )
    told = {"key": "", "name": "7", "code": 7, "dealt": LEFT, "home": 1}
    spread.hear([{**told, "partitions": 2}], PARTITIONS)
    assert spread.summary()[HOT_KEYS] == []
    spread.hear([{**told, "partitions": PARTITIONS}], PARTITIONS)
    assert [one["since"] for one in spread.summary()[HOT_KEYS]] == [5]
