"""What an eviction means for the rows of a join: all of a place, its lowest or highest codes, or certain codes."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from joins import PLENTY, arrive, end, new_join, rows
from schedules import ROW_BYTES, RowPairs
from sooner.named_algorithms import Algorithm
from sooner.operators.two_way.join import TwoWayJoin
from sooner.policies.react.never import Never
from sooner.policies.view import EvictAll, EvictCodes, EvictUpTo, JoinView, Together
from sooner.sides import LEFT, RIGHT, SIDES
from sooner.testing.invariants import check_invariants

KEYS = list(range(60))
End = Literal["lowest", "highest"]


@dataclass(frozen=True)
class FromOneEnd:
    """Some rows of the side that has more of them in memory, from one end of the codes."""

    codes_from: End

    def choose(self, view: JoinView, needed_bytes: int) -> Iterable[Together]:
        side = int(view.resident_rows[:, 0].argmax())
        yield [EvictUpTo(side, 0, at_most_bytes=needed_bytes, codes_from=self.codes_from)]


def codes_in_memory(join: TwoWayJoin[RowPairs], side: int) -> list[int]:
    return [code for run in join.inputs[side].partitions[0].resident for code in run.codes.tolist()]


def codes_on_disk(join: TwoWayJoin[RowPairs], side: int) -> list[int]:
    return [
        code
        for run in join.inputs[side].partitions[0].spilled
        for segment in run.segments
        for block in join.inputs[side].store.read(segment, segment.blocks)
        for code in block.codes.tolist()
    ]


@pytest.mark.parametrize("codes_from", ["lowest", "highest"])
def test_what_leaves_is_from_the_end_that_is_asked_for(codes_from: End, tmp_path: Path) -> None:
    algorithm = Algorithm("from one end", FromOneEnd(codes_from), Never())
    join = new_join(tmp_path, algorithm, budget_rows=100, flush_fraction=0.2)
    found = Counter(arrive(join, rows(KEYS), rows(KEYS[:30])))
    found.update(arrive(join, None, rows(KEYS[:20], range(30, 50))))  # 10 rows too many: a fifth of the memory leaves
    stayed, left = codes_in_memory(join, LEFT), codes_on_disk(join, LEFT)
    assert (len(stayed), len(left)) == (40, 20)
    assert max(stayed) < min(left) if codes_from == "highest" else max(left) < min(stayed)
    assert codes_on_disk(join, RIGHT) == []
    check_invariants(join)
    found.update(end(join))
    partners = [*enumerate(KEYS[:30]), *enumerate(KEYS[:20], 30)]
    assert found == Counter((key, number) for number, key in partners)


@pytest.mark.parametrize("codes_from", ["lowest", "highest"])
def test_no_code_is_split_by_size(codes_from: End, tmp_path: Path) -> None:
    join = new_join(tmp_path, budget_rows=PLENTY)
    arrive(join, rows([1] * 10 + [2] * 10 + [3] * 10), None)
    assert join.evict([EvictUpTo(LEFT, 0, at_most_bytes=4 * ROW_BYTES, codes_from=codes_from)])
    assert len(codes_on_disk(join, LEFT)) == 10
    assert not {*codes_on_disk(join, LEFT)} & {*codes_in_memory(join, LEFT)}
    check_invariants(join)


def test_certain_codes_leave_and_no_others(tmp_path: Path) -> None:
    join = new_join(tmp_path, budget_rows=PLENTY)
    arrive(join, rows(KEYS), None)
    every = np.array(sorted(codes_in_memory(join, LEFT)), np.uint64)
    assert join.evict([EvictCodes(LEFT, 0, codes=every[::3])])
    assert sorted(codes_on_disk(join, LEFT)) == every[::3].tolist()
    assert sorted(codes_in_memory(join, LEFT)) == sorted({*every.tolist()} - {*every[::3].tolist()})
    check_invariants(join)


def test_a_place_without_rows_loses_none(tmp_path: Path) -> None:
    join = new_join(tmp_path, partitions=2)
    assert not join.evict([EvictAll(side, p) for side in SIDES for p in range(2)])
    arrive(join, rows([1]), None)
    assert join.evict([EvictAll(side, p) for side in SIDES for p in range(2)])
    assert join.account.used_bytes == 0
