"""Several joins may share one budget: whoever needs room says which of them gives some."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from joins import WHOLE_TASK, arrive, end, flat, new_join, rows
from schedules import ROW_BYTES
from sooner.budget import Budget
from sooner.errors import BudgetTooSmall
from sooner.named_algorithms import ALGORITHMS, Algorithm
from sooner.operators.events import Event, Flushed
from sooner.operators.leaving.room import flush_bytes_of, scratch_bytes_of
from sooner.operators.operator import Means
from sooner.operators.plans.room import SharedRoom
from sooner.operators.two_way.join import TwoWayJoin
from sooner.policies.flush.never import Never as FlushNever
from sooner.policies.react.best_rate import BestRate
from sooner.policies.react.memory_disk import LargestMemoryDisk
from sooner.policies.react.merge import Merge
from sooner.policies.react.never import Never
from sooner.policies.view import (
    SETTLING,
    SILENT,
    CodesFrom,
    EvictAll,
    EvictUpTo,
    JoinView,
    ReactPolicy,
    Surroundings,
    Together,
    View,
)
from sooner.sides import LEFT, RIGHT, SIDES
from sooner.testing.invariants import check_invariants

PARTITIONS = 2
NAMES = ("one", "other")
SHARES = (("one", 500 * 2**20), ("other", 50 * 2**20))
KEYS = 40
SMALL_QUANTUM = 2_000
REACT: dict[str, ReactPolicy] = {
    "never": Never(),
    "memory-disk": LargestMemoryDisk(),
    "merge": Merge(fan_in=2),
    "best rate": BestRate(fan_in=2),
}


@dataclass
class OtherFirst:
    """Both sides of the partition that has most, if half of it is needed; else a part of one side."""

    taken: list[Counter[str]]

    def choose(self, views: Mapping[str, View], asking: str, needed_bytes: int) -> Iterator[Together]:
        other = NAMES[1 - NAMES.index(asking)]
        for name in (other, asking):
            resident = views[name].resident_bytes
            if not resident.any():
                continue
            p = int(resident.sum(axis=0).argmax())
            self.taken[NAMES.index(asking)]["other" if name == other else "own"] += 1
            if 2 * needed_bytes < resident[:, p].sum():
                side = int(resident[:, p].argmax())
                codes_from: CodesFrom = "highest" if needed_bytes % 2 else "lowest"
                yield [EvictUpTo(side, p, needed_bytes, codes_from, operator=name)]
            else:
                yield [EvictAll(side, p, operator=name) for side in SIDES]


@dataclass
class Couple:
    """Two joins with one budget. Whichever needs room takes it from the other, as long as that has any rows."""

    directory: Path
    react: ReactPolicy
    budget: Budget = field(default_factory=lambda: Budget(150 * ROW_BYTES))
    taken: list[Counter[str]] = field(default_factory=lambda: [Counter(), Counter()])

    def __post_init__(self) -> None:
        algorithm, room = Algorithm("sharing", FlushNever(), self.react), SharedRoom(OtherFirst(self.taken))
        for name in NAMES:
            room.members[name] = new_join(
                self.directory,
                algorithm,
                partitions=PARTITIONS,
                budget=self.budget,
                owner=name,
                room=room.made_for(name),
            )
        self.joins = [cast("TwoWayJoin[Any]", room.members[name]) for name in NAMES]
        self.found: list[Counter[tuple[int, int]]] = [Counter(), Counter()]
        self.keys: list[tuple[list[int], list[int]]] = [([], []), ([], [])]

    def arrive(self, who: int, keys: tuple[list[int], list[int]]) -> None:
        batches = []
        for new, old in zip(keys, self.keys[who], strict=True):
            batches.append(rows(new, range(len(old), len(old) + len(new))))
            old += new
        self.found[who].update(arrive(self.joins[who], *batches))
        self.check()

    def work(self, who: int, quantum_bytes: int, around: Surroundings) -> None:
        self.found[who].update(flat(self.joins[who].work(quantum_bytes, around)))
        self.check()

    def check(self) -> None:
        for join in self.joins:
            check_invariants(join)
        assert self.budget.used_bytes == sum(int(join.view().resident_bytes.sum()) for join in self.joins)
        assert self.budget.peak_bytes <= self.budget.limit_bytes

    def end(self) -> None:
        for who, join in enumerate(self.joins):
            self.found[who].update(end(join))
        assert self.budget.used_bytes == 0

    def answer(self, who: int) -> Counter[tuple[int, int]]:
        left, right = self.keys[who]
        return Counter((a, b) for a, key in enumerate(left) for b, other in enumerate(right) if key == other)


def drive(couple: Couple, seed: int, quantum_bytes: int) -> None:
    """Rows for one join, then for the other, and some disk work of either."""
    dice = random.Random(seed)
    for _ in range(30):
        who = dice.randrange(2)
        if dice.random() < 0.6:
            left, right = ([dice.randrange(KEYS) for _ in range(dice.randrange(5, 25))] for _ in SIDES)
            couple.arrive(who, (left, right))
        else:
            around = dice.choice([SILENT, SETTLING])
            for _ in range(dice.randrange(1, 4)):
                couple.work(who, quantum_bytes, around)
    couple.end()


@pytest.mark.one_in(4)
@pytest.mark.parametrize("react", REACT.values(), ids=REACT)
@pytest.mark.parametrize("quantum_bytes", [WHOLE_TASK, SMALL_QUANTUM], ids=["whole tasks", "quanta"])
def test_two_joins_with_one_budget_both_give_the_right_answer(
    react: ReactPolicy, quantum_bytes: int, tmp_path: Path
) -> None:
    for seed in range(6):
        couple = Couple(tmp_path, react)
        drive(couple, seed, quantum_bytes)
        for who in range(2):
            assert couple.found[who] == couple.answer(who), f"seed {seed}, join {who}"
            assert couple.taken[who]["other"] > 1
        assert list(tmp_path.iterdir()) == []


def test_rows_that_leave_between_two_quanta_of_a_scan_come_once(tmp_path: Path) -> None:
    """What a scan has still to look at is on disk by the time it goes on."""
    for react in (LargestMemoryDisk(), Never()):
        join = new_join(tmp_path, Algorithm("by hand", FlushNever(), react))
        keys = list(range(100))
        found = Counter(arrive(join, rows(keys), None))
        join.evict([EvictAll(LEFT, 0)])
        found.update(arrive(join, None, rows(keys)))
        around = SETTLING if isinstance(react, Never) else SILENT
        assert join.has_work(around)
        found.update(flat(join.work(SMALL_QUANTUM, around)))
        assert 0 < len(found) < 100, "the scan is in the middle"
        assert join.evict([EvictAll(RIGHT, 0)])
        check_invariants(join)
        while join.has_work(SETTLING):
            found.update(flat(join.work(SMALL_QUANTUM, SETTLING)))
            check_invariants(join)
        found.update(end(join))
        assert found == Counter((key, key) for key in keys)


def test_rows_that_leave_in_the_clean_up_come_too(tmp_path: Path) -> None:
    """Another join with the same budget may need the room while this one is cleaning up."""
    join = new_join(tmp_path, Algorithm("by hand", FlushNever(), Never()))
    keys = list(range(100))
    found = Counter(arrive(join, rows(keys), None))
    join.evict([EvictAll(LEFT, 0)])
    found.update(arrive(join, None, rows(keys)))
    join.end(LEFT)
    join.end(RIGHT)
    found.update(flat(join.work(SMALL_QUANTUM, SILENT)))
    assert 0 < len(found) < 100, "the clean-up is in the middle"
    assert join.evict([EvictAll(RIGHT, 0)])
    while join.phase != "done":
        found.update(flat(join.work(SMALL_QUANTUM, SILENT)))
    assert found == Counter((key, key) for key in keys)


# Groups


@dataclass(frozen=True)
class Pairwise:
    """Both sides of partition 0 together, then both of partition 1."""

    def choose(self, view: JoinView, needed_bytes: int) -> Iterable[Together]:  # noqa: ARG002 - the contract
        for p in range(PARTITIONS):
            yield [EvictAll(side, p) for side in SIDES]


def test_a_group_leaves_as_a_whole_and_the_next_one_stays(tmp_path: Path) -> None:
    events: list[Event] = []
    algorithm = Algorithm("pairwise", Pairwise(), Never())
    join = new_join(tmp_path, algorithm, 100, PARTITIONS, flush_fraction=0.01, listener=events.append)
    arrive(join, rows(list(range(48))), rows(list(range(48))))
    before = join.view().resident_rows.copy()
    assert (before > 6).all()
    arrive(join, rows(list(range(48, 54))), None)  # 2 rows too many: one side of the first partition would do
    flushed = [event for event in events if isinstance(event, Flushed)]
    assert [(event.side, event.partition, event.n_rows) for event in flushed] == [
        (side, 0, int(before[side, 0])) for side in SIDES
    ]
    assert len({event.tick for event in flushed}) == 1
    assert join.view().spilled_rows[:, 1].tolist() == [0, 0]


def test_groups_leave_until_enough_has_left(tmp_path: Path) -> None:
    events: list[Event] = []
    algorithm = Algorithm("pairwise", Pairwise(), Never())
    join = new_join(tmp_path, algorithm, 100, PARTITIONS, flush_fraction=0.01, listener=events.append)
    arrive(join, rows(list(range(48))), rows(list(range(48))))
    arrive(join, rows(list(range(48, 138))), None)
    assert [(event.side, event.partition) for event in events if isinstance(event, Flushed)] == [
        (side, p) for p in range(PARTITIONS) for side in SIDES
    ]


# What a hook may say


def test_a_hook_is_asked_again_until_enough_is_free(tmp_path: Path) -> None:
    asked: list[int] = []

    def a_little(needed_bytes: int) -> bool:
        asked.append(needed_bytes)
        return join.evict([EvictUpTo(LEFT, 0, at_most_bytes=3 * ROW_BYTES)])

    join = new_join(tmp_path, budget_rows=20, room=a_little)
    arrive(join, rows(list(range(20))), None)
    assert asked == []
    arrive(join, None, rows(list(range(8))))
    assert asked == [8 * ROW_BYTES, 5 * ROW_BYTES, 2 * ROW_BYTES]
    assert join.view().resident_rows.tolist() == [[11], [8]]


def test_without_room_nothing_is_taken_in(tmp_path: Path) -> None:
    join = new_join(tmp_path, "rpj", budget_rows=20, room=lambda _: False)
    arrive(join, rows(list(range(20))), None)
    with pytest.raises(BudgetTooSmall):
        arrive(join, None, rows(list(range(8))))
    check_invariants(join)
    assert join.view().resident_rows.tolist() == [[20], [0]]
    assert end(join) == []


def test_scratch_and_results_that_wait_are_counted_while_a_call_is_read(tmp_path: Path) -> None:
    join = new_join(tmp_path, "rpj", workers=2)
    arriving = join.arrive([[rows([*range(40)] * 3)], [rows([*range(40)] * 3)]], 0)
    scratch_bytes = [join.account.scratch_bytes for _ in arriving]
    assert min(scratch_bytes) >= scratch_bytes_of(join.account)
    assert join.account.scratch_bytes == 0
    reading = join.arrive([[rows([1])], [rows([1])]], 0)
    next(reading)
    reading.close()  # type: ignore[attr-defined]
    assert join.account.scratch_bytes == 0, "who walks away gives it back"
    join.close()


def test_sizes_follow_the_share_of_an_account_and_not_the_whole_limit(tmp_path: Path) -> None:
    budget = Budget(1000 * 2**20)
    one, other = (new_join(tmp_path, "rpj", budget=budget, owner=owner, share=share) for owner, share in SHARES)
    assert one.view().memory_bytes == 10 * other.view().memory_bytes
    means = [Means(join.account) for join in (one, other)]
    assert [flush_bytes_of(ALGORITHMS["rpj"], mine) for mine in means] == [50 * 2**20, 5 * 2**20]
    assert [scratch_bytes_of(mine.account) for mine in means] == [500 * 2**20 // 8, 50 * 2**20 // 8]
    assert one.progress().resident_bytes == 0
    flat(one.arrive([[rows([*range(40)])], []], 0))
    assert (one.progress().resident_bytes, other.progress().resident_bytes) == (budget.used_bytes, 0)
    one.close()
    assert budget.used_bytes == 0
    assert [*budget.accounts] == ["other"]


def test_a_join_that_was_refused_room_asks_no_more(tmp_path: Path) -> None:
    """Else it would let rows go for others in the middle of a later call, in which results may hold them."""
    join = new_join(tmp_path, "symmetric_hash", partitions=1, budget_bytes=100 * ROW_BYTES)
    with pytest.raises(BudgetTooSmall):
        flat(join.arrive([[rows([*range(1_000)])], []], 0))
    assert not join._room.is_asking


def test_in_the_middle_of_a_call_a_join_lets_nothing_go_for_others(tmp_path: Path) -> None:
    join = new_join(tmp_path, "symmetric_hash", partitions=1)
    flat(join.arrive([[rows([1])], []], 0))
    reading = join.arrive([[], [rows([1])]], 0)
    next(reading)
    assert not join.evict([EvictAll(LEFT, 0)])
    flat(reading)
    assert join.evict([EvictAll(LEFT, 0)])
