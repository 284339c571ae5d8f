"""The ledger: RPJ's duplicates and matching runs, and the rules against brute force."""

import random
from collections import Counter

import numpy as np
import pytest

from pair_masks import not_met
from run_building import run_of
from sooner.runs.ledger import CoveredCells, Group
from sooner.runs.run import NEVER, STILL_HERE, Run

FIRST = np.array([0])


def met(one: Run, other: Run) -> bool:
    """Whether the ledger takes this pair of rows for one that is out, whichever of the two is on the left."""
    as_given = bool(not_met(one, other, FIRST, FIRST)[0])
    mirrored = bool(not_met(other, one, FIRST, FIRST)[0])
    assert as_given == mirrored
    return not as_given


def row(arrived: int, departed: int = STILL_HERE, met_disk: int = NEVER) -> Run:
    return run_of([1], arrived=arrived, departed=departed, met_disk=met_disk)


def test_the_duplicates_of_section_2_1() -> None:
    # t1 comes at 0 and leaves at 10; t2 comes at 5, meets the disk in the task at 15, and leaves at 20. Ticks begin
    # with 1, so 1 is added to the paper's times. The pair is out since 5: no later stage may give it again.
    t1 = row(arrived=1, departed=11)
    assert met(t1, row(arrived=6)), "the memory-disk task at 15 must not give it again"
    assert met(t1, row(arrived=6, departed=21, met_disk=16)), "nor must the disk-disk task in the end"


def test_condition_1_rows_met_whose_stays_in_memory_overlap() -> None:
    stay = row(arrived=5, departed=10)
    assert met(stay, row(arrived=1, departed=5))
    assert met(stay, row(arrived=10, departed=20))
    assert met(stay, row(arrived=6, departed=7))
    assert not met(stay, row(arrived=1, departed=4))
    assert not met(stay, row(arrived=11, departed=20))


def test_conditions_2_and_3_rows_met_if_a_task_saw_one_in_memory_and_the_other_on_disk() -> None:
    gone = row(arrived=1, departed=10)
    assert not met(gone, row(arrived=11, departed=20, met_disk=NEVER)), "there was no task"
    assert met(gone, row(arrived=11, departed=20, met_disk=15)), "the task at 15 saw both"
    assert met(gone, row(arrived=15, departed=20, met_disk=15)), "it came with the very step of the task"
    assert not met(gone, row(arrived=16, departed=20, met_disk=15)), "it came after the task"
    late = row(arrived=12, departed=17)
    assert not met(late, row(arrived=18, departed=30, met_disk=16)), (
        "it had not left memory by then, nor the other come"
    )


def test_each_pair_of_rows_is_judged_by_its_own_stamps() -> None:
    left = run_of([1, 1], arrived=np.array([1, 11], np.int32), departed=np.array([10, 20], np.int32), met_disk=NEVER)
    right = run_of([1, 1], arrived=15, departed=np.array([30, 40], np.int32), met_disk=np.array([NEVER, 25], np.int32))
    at_left, at_right = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    assert not_met(left, right, at_left, at_right).tolist() == [True, False, False, False]


class OnePartition:
    """One partition of a join, by the ledger; what it gives is noted row by row."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.tick = NEVER
        self.rows = 0
        self.resident: tuple[dict[int, int], dict[int, int]] = ({}, {})  # by side: row number -> arrived
        self.met_disk = [NEVER, NEVER]
        self.runs: tuple[dict[int, Run], dict[int, Run]] = ({}, {})
        self.cells = CoveredCells()
        self.next_run = 1
        self.given: Counter[tuple[int, int]] = Counter()
        self.all_rows: tuple[list[int], list[int]] = ([], [])

    def arrive(self) -> None:
        self.tick += 1
        for side in (0, 1):
            new = {self.rows + n: self.tick for n in range(self.dice.randrange(4))}
            self.rows += len(new)
            for number in new:
                for other in self.resident[1 - side]:
                    self.note(side, number, other)
            self.resident[side].update(new)
            self.all_rows[side].extend(new)

    def flush(self) -> None:
        self.tick += 1
        for side in (0, 1):
            leaving = sorted(n for n in self.resident[side] if self.dice.random() < 0.5)
            if leaving:
                self.runs[side][self.next_run] = self.as_run(side, leaving, self.tick)
                self.next_run += 1
            for number in leaving:
                del self.resident[side][number]

    def memory_with_disk(self) -> None:
        self.tick += 1
        side = self.dice.randrange(2)
        if self.resident[side]:
            mine = self.as_run(side, sorted(self.resident[side]), STILL_HERE)
            for run in self.runs[1 - side].values():
                self.meet(*((mine, run) if side == 0 else (run, mine)))
        self.met_disk[side] = self.tick

    def disk_with_disk(self) -> None:
        """Some open cells, covered; then perhaps some runs are merged into one."""
        self.tick += 1
        chosen = [self.some(self.runs[side]) for side in (0, 1)]
        self.cover(self.cells.open_rectangles(*chosen))
        groups = [self.some(self.runs[side]) for side in (0, 1)]
        outsiders = [[n for n in self.runs[side] if n not in groups[side]] for side in (0, 1)]
        left, right = (Group(tuple(groups[side]), tuple(outsiders[side])) for side in (0, 1))
        self.cover(self.cells.rectangles_to_merge(left, right))
        for side, group in enumerate(groups):
            if len(group) > 1:
                self.runs[side][self.next_run] = concatenation([self.runs[side].pop(n) for n in group])
                self.cells.merge(side, group, self.next_run)
                self.next_run += 1

    def clean_up(self) -> None:
        self.cover(self.cells.open_rectangles(list(self.runs[0]), list(self.runs[1])))
        for side in (0, 1):
            mine = self.as_run(side, sorted(self.resident[side]), STILL_HERE)
            for run in self.runs[1 - side].values():
                self.meet(*((mine, run) if side == 0 else (run, mine)))

    def some(self, runs: dict[int, Run]) -> list[int]:
        return [number for number in runs if self.dice.random() < 0.6]

    def cover(self, blocks: list[tuple[tuple[int, ...], tuple[int, ...]]]) -> None:
        for lefts, rights in blocks:
            for left in lefts:
                for right in rights:
                    self.meet(self.runs[0][left], self.runs[1][right])
            self.cells.cover(lefts, rights)

    def meet(self, left: Run, right: Run) -> None:
        at_left, at_right = (grid.ravel() for grid in np.indices((len(left), len(right))))
        new = not_met(left, right, at_left, at_right)
        for a, b in zip(left.codes[at_left[new]].tolist(), right.codes[at_right[new]].tolist(), strict=True):
            self.given[a, b] += 1

    def as_run(self, side: int, numbers: list[int], departed: int) -> Run:
        arrived = np.array([self.resident[side][n] for n in numbers], np.int32)
        return run_of(numbers, arrived=arrived, departed=departed, met_disk=self.met_disk[side])

    def note(self, side: int, number: int, other: int) -> None:
        self.given[(number, other) if side == 0 else (other, number)] += 1


def concatenation(runs: list[Run]) -> Run:
    """Rows and stamps side by side; the ledger does not ask for sorted runs."""
    stamps = [
        np.concatenate([np.broadcast_to(np.asarray(getattr(run, name), np.int32), len(run)) for run in runs])
        for name in ("arrived", "departed", "met_disk")
    ]
    return Run(np.concatenate([run.codes for run in runs]), runs[0].columns, *stamps)


def test_every_pair_comes_once_on_random_schedules() -> None:
    """The row's number is its code here; whatever the order of arrivals, flushes and tasks, all pairs come once."""
    for seed in range(400):
        dice = random.Random(seed)
        join = OnePartition(dice)
        actions = [join.arrive, join.arrive, join.flush, join.memory_with_disk, join.disk_with_disk]
        for _ in range(dice.randrange(5, 30)):
            dice.choice(actions)()
        join.clean_up()
        expected = Counter((a, b) for a in join.all_rows[0] for b in join.all_rows[1])
        assert join.given == expected, f"seed {seed}"


def test_the_matching_runs_of_figure_6() -> None:
    # Before the first task: 4 runs of R1 and 3 of R2. Runs are numbered as in the paper, r7 of R2 being its r5.
    cells = CoveredCells()
    first = cells.rectangles_to_merge(Group((1, 2), (3, 4)), Group((1, 2), (3,)))
    assert first == [((1, 2), (1, 2))]
    cells.cover(*first[0])
    cells.merge(0, (1, 2), 5)
    cells.merge(1, (1, 2), 4)
    assert cells.open_rectangles([5], [4]) == [], "r5 of R1 matches r4 of R2"
    second = cells.rectangles_to_merge(Group((3, 4), (5,)), Group((3,), (4,)))
    assert second == [((3, 4), (3,))]
    cells.cover(*second[0])
    cells.merge(0, (3, 4), 6)
    assert cells.open_rectangles([6], [3]) == [], "r6 of R1 matches r3 of R2"
    third = cells.rectangles_to_merge(Group((5, 6), ()), Group((4, 3), ()))
    assert sorted(third) == [((5,), (3,)), ((6,), (4,))], "the second pass crosses what the first did not"
    for block in third:
        cells.cover(*block)
    cells.merge(0, (5, 6), 7)
    cells.merge(1, (4, 3), 5)
    assert cells.open_rectangles([7], [5]) == [], "r7 of R1 matches r5 of R2"
    # Runs that are flushed later have met nobody.
    assert cells.open_rectangles([7, 8], [5, 6]) == [((7,), (6,)), ((8,), (5, 6))]


def test_an_outsider_that_met_part_of_a_group_must_meet_the_rest_before_they_merge() -> None:
    cells = CoveredCells([(1, 1), (1, 2), (2, 1), (2, 2), (3, 1)])
    left, right = Group((1, 2), (3,)), Group((1, 2), ())
    assert cells.rectangles_to_merge(left, right) == [((3,), (2,))]
    mirrored = CoveredCells([(b, a) for a, b in cells.to_plain()])
    assert mirrored.rectangles_to_merge(right, left) == [((2,), (3,))]


@pytest.mark.parametrize("already", [[], [(3, 1), (3, 2)]])
def test_an_outsider_that_met_all_or_nothing_of_a_group_can_wait(already: list[tuple[int, int]]) -> None:
    cells = CoveredCells([(1, 1), (1, 2), *already])
    assert cells.rectangles_to_merge(Group((1,), (3,)), Group((1, 2), ())) == []


def test_the_ledger_of_a_stream_stays_small_however_many_runs_it_has_had() -> None:
    cells, living = CoveredCells(), list(range(1, 4))
    for newest in range(4, 10**6, 100):
        cells.cover(living, living)
        if newest % 300 == 4:
            for side in (0, 1):
                cells.merge(side, living[:2], newest)
        else:
            for side in (0, 1):
                cells.forget(side, living[:2])
        living = [*living[2:], newest - 1, newest]
        assert cells.met(0).keys() <= {*living}
        assert max(met.bit_length() for met in cells._met.values()) <= 6
        assert len(cells._bit) + len(cells._free_bits) <= 6
    assert CoveredCells(map(tuple, cells.to_plain())).to_plain() == cells.to_plain() != []


def test_a_run_never_inherits_what_another_has_met() -> None:
    cells = CoveredCells([(1, 1), (1, 2), (2, 1)])
    cells.forget(1, (1,))
    assert cells.open_rectangles((1, 2), (2, 3)) == [((1,), (3,)), ((2,), (2, 3))]
    cells.cover((2,), (3,))
    assert cells.open_rectangles((1, 2), (2, 3)) == [((1,), (3,)), ((2,), (2,))]
    assert cells.alike((1, 2), (2, 3, 4)) == ([(1,), (2,)], [(2,), (3,), (4,)])


def test_open_rectangles_have_each_open_cell_once_and_no_covered_one() -> None:
    covered = {(1, 1), (1, 2), (2, 2), (4, 1)}
    blocks = CoveredCells(covered).open_rectangles([1, 2, 3, 4], [1, 2])
    cells = Counter((a, b) for lefts, rights in blocks for a in lefts for b in rights)
    assert cells == Counter({(a, b) for a in (1, 2, 3, 4) for b in (1, 2)} - covered)
    assert len(blocks) == 3, "runs with the same gaps share a block"


def test_of_runs_that_are_gone_nothing_is_kept() -> None:
    covered = [(1, 1), (1, 2), (2, 2), (3, 1)]
    for side in (0, 1):
        cells = CoveredCells(covered)
        cells.forget(side, [1])
        assert cells.to_plain() == [list(cell) for cell in covered if cell[side] != 1]
