"""Rows that come after the other side has ended, and find all of it in memory, meet it and are not kept."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from joins import arrive, end, new_join, rows
from schedules import RowPairs
from sooner.operators.two_way import ended_side
from sooner.operators.two_way.ended_side import EndedSide
from sooner.operators.two_way.join import TwoWayJoin
from sooner.policies.view import EvictAll, EvictUpTo
from sooner.sides import LEFT, RIGHT, SIDES, opposite
from sooner.testing.invariants import check_invariants

KEYS, SHORT, LONG, PIECES = 50, 120, 150, 6
TEXTS = pa.schema([("key", pa.string()), ("row", pa.int64())])
FOUR_PARTITIONS = range(4)


def keys(side: int, n_rows: int) -> list[int | None]:
    drawn = np.random.default_rng(side).integers(0, KEYS, n_rows).tolist()
    return [None if key == 7 else key for key in drawn]


def some_rows(side: int, piece: int, schema: pa.Schema | None = None) -> pa.RecordBatch:
    drawn = keys(piece * 2 + side, LONG)
    batch = rows(drawn, range(piece * LONG, (piece + 1) * LONG))
    return batch if schema is None else batch.set_column(0, schema.field(0), batch.column(0).cast(pa.string()))


def arrive_at(join: TwoWayJoin[Any], side: int, batch: pa.RecordBatch) -> RowPairs:
    return arrive(join, batch, None) if side == LEFT else arrive(join, None, batch)


def expected(ended: int, pieces: int) -> Counter[tuple[int, int]]:
    batches: list[list[pa.RecordBatch]] = [[], []]
    batches[ended] = [some_rows(ended, 0)]
    batches[opposite(ended)] = [some_rows(opposite(ended), piece) for piece in range(pieces)]
    left, right = (
        [row for batch in some for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)]
        for some in batches
    )
    return Counter((a, b) for k, a in left for other, b in right if k is not None and k == other)


@pytest.fixture
def in_one_piece(monkeypatch: pytest.MonkeyPatch) -> list[EndedSide]:
    """Every ended side that was put into one piece."""
    made: list[EndedSide] = []
    begin = EndedSide.__init__

    def noted(ended: EndedSide, *arguments: Any) -> None:
        begin(ended, *arguments)
        made.append(ended)

    monkeypatch.setattr(EndedSide, "__init__", noted)
    return made


@pytest.mark.parametrize("schema", [None, TEXTS], ids=["numbers", "texts"])
@pytest.mark.parametrize("ended", SIDES)
def test_rows_that_come_after_the_end_are_met_and_not_kept(
    ended: int, schema: pa.Schema | None, in_one_piece: list[EndedSide], tmp_path: Path
) -> None:
    join = new_join(tmp_path, partitions=4, **({} if schema is None else {"schema": schema}))
    other = opposite(ended)
    found = Counter(arrive_at(join, ended, some_rows(ended, 0, schema)))
    found += Counter(arrive_at(join, other, some_rows(other, 0, schema)))
    join.end(ended)
    kept_rows, kept_bytes = join.statistics.resident_rows.copy(), join.account.used_bytes
    for piece in range(1, PIECES):
        found += Counter(arrive_at(join, other, some_rows(other, piece, schema)))
        check_invariants(join)
    assert (join.statistics.resident_rows == kept_rows).all()
    assert (
        join.statistics.forgotten_rows[other].sum()
        == join.statistics.arrived_rows[other].sum() - kept_rows[other].sum()
    )
    assert len(in_one_piece) == 1, "it is made once, as soon as it pays"
    assert join.progress().arrived_rows[other] == PIECES * LONG
    assert join.progress().covered_fraction == 1
    join.end(other)
    assert join.account.used_bytes == kept_bytes, "what was there for the index is free again"
    assert found + Counter(end(join)) == expected(ended, PIECES)


def test_rows_of_an_ended_side_that_are_handed_over_are_met_too(in_one_piece: list[EndedSide], tmp_path: Path) -> None:
    """They came to another partition on Spark, before the end; those that come later meet them as well."""
    join, handed_over = new_join(tmp_path, partitions=4), 1_000
    arrive_at(join, RIGHT, some_rows(RIGHT, 0))
    join.end(RIGHT)
    arrive_at(join, LEFT, some_rows(LEFT, 0))
    arrive_at(join, RIGHT, rows([handed_over], [handed_over]))
    found = arrive_at(join, LEFT, rows([handed_over] * LONG * 2))
    assert sorted(found) == [(number, handed_over) for number in range(LONG * 2)]
    assert len(in_one_piece) == 2, "it is made anew"
    check_invariants(join)


def test_a_side_is_not_put_into_one_piece_for_a_few_rows(in_one_piece: list[EndedSide], tmp_path: Path) -> None:
    join = new_join(tmp_path, partitions=4)
    arrive_at(join, RIGHT, some_rows(RIGHT, 0))
    join.end(RIGHT)
    for number in range(5):
        arrive_at(join, LEFT, some_rows(LEFT, 0).slice(number * 10, 10))
    assert in_one_piece == []
    assert join.statistics.forgotten_rows[LEFT].sum() > 0
    assert join.statistics.resident_rows[LEFT].sum() == 0


def test_rows_are_kept_where_the_ended_side_has_rows_on_disk(tmp_path: Path) -> None:
    join = new_join(tmp_path, partitions=4)
    arrive_at(join, RIGHT, some_rows(RIGHT, 0))
    join.evict([EvictUpTo(RIGHT, 0, at_most_bytes=1)])
    join.end(RIGHT)
    found = Counter(pair for piece in range(PIECES) for pair in arrive_at(join, LEFT, some_rows(LEFT, piece)))
    check_invariants(join)
    assert (join.statistics.resident_rows[LEFT] > 0).tolist() == [True, False, False, False]
    assert (join.statistics.forgotten_rows[LEFT] > 0).tolist() == [False, True, True, True]
    assert found + Counter(end(join)) == expected(RIGHT, PIECES)


def test_what_leaves_memory_for_others_is_met_on_disk(in_one_piece: list[EndedSide], tmp_path: Path) -> None:
    join = new_join(tmp_path, partitions=4)
    arrive_at(join, RIGHT, some_rows(RIGHT, 0))
    join.end(RIGHT)
    found = Counter(pair for piece in range(2) for pair in arrive_at(join, LEFT, some_rows(LEFT, piece)))
    assert len(in_one_piece) == 1
    join.evict([EvictAll(RIGHT, p) for p in FOUR_PARTITIONS])
    found += Counter(pair for piece in range(2, PIECES) for pair in arrive_at(join, LEFT, some_rows(LEFT, piece)))
    check_invariants(join)
    assert found + Counter(end(join)) == expected(RIGHT, PIECES)


def test_a_join_that_is_restored_knows_what_it_need_not_keep(tmp_path: Path) -> None:
    join = new_join(tmp_path, partitions=4)
    found = Counter(arrive_at(join, RIGHT, some_rows(RIGHT, 0)))
    join.end(RIGHT)
    for piece in range(PIECES):
        saved = json.loads(json.dumps(join.snapshot()))
        join = new_join(tmp_path, partitions=4)
        join.restore(saved)
        found += Counter(arrive_at(join, LEFT, some_rows(LEFT, piece)))
        check_invariants(join)
    assert join.statistics.resident_rows[LEFT].sum() == 0
    assert found + Counter(end(join)) == expected(RIGHT, PIECES)


def test_without_memory_for_an_index_rows_are_met_as_before(in_one_piece: list[EndedSide], tmp_path: Path) -> None:
    join = new_join(tmp_path, partitions=4, budget_rows=LONG + SHORT)
    found = Counter(arrive_at(join, RIGHT, some_rows(RIGHT, 0)))
    join.end(RIGHT)
    for piece in range(PIECES):
        found += Counter(arrive_at(join, LEFT, some_rows(LEFT, piece)))
        check_invariants(join)
    assert in_one_piece == []
    assert join.statistics.spilled_rows.sum() == 0
    assert found + Counter(end(join)) == expected(RIGHT, PIECES)


def test_more_text_than_arrow_can_address_is_not_put_into_one_piece(
    in_one_piece: list[EndedSide], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ended_side, "MOST_BYTES", 1000)
    join = new_join(tmp_path, partitions=4)
    found = Counter(arrive_at(join, RIGHT, some_rows(RIGHT, 0)))
    join.end(RIGHT)
    for piece in range(PIECES):
        found += Counter(arrive_at(join, LEFT, some_rows(LEFT, piece)))
    assert in_one_piece == []
    assert found + Counter(end(join)) == expected(RIGHT, PIECES)
