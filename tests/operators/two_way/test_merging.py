"""Which runs are merged next: passes as a pure function of numbers, levels and covered cells."""

from dataclasses import replace

from sooner.operators.tasks.merging import DiskTask, MergePlan, covered_pairs, plan_merge
from sooner.runs.block_index import Block
from sooner.runs.ledger import CoveredCells
from sooner.runs.store import SpilledRun, segment_of


def runs(*levels: int, n_rows: int = 10) -> list[SpilledRun]:
    """Runs numbered from 1 with these levels."""
    segment = segment_of("f", [Block(0, 100, n_rows, 0, 9, 0)], 100)
    return [SpilledRun(number, level, (segment,)) for number, level in enumerate(levels, 1)]


def plan_of(left: list[SpilledRun], right: list[SpilledRun], cells: CoveredCells, fan_in: int = 2) -> MergePlan | None:
    """The next merge of a task with all these runs."""
    return plan_merge(left, right, cells, task_of(left, right, fan_in))


def task_of(left: list[SpilledRun], right: list[SpilledRun], fan_in: int = 2, open_pairs: float = 1.0) -> DiskTask:
    return DiskTask(fan_in, (tuple(run.number for run in left), tuple(run.number for run in right)), open_pairs)


def covered(left: list[SpilledRun], right: list[SpilledRun]) -> CoveredCells:
    return CoveredCells((a.number, b.number) for a in left for b in right)


def test_nothing_is_merged_of_nothing() -> None:
    assert plan_of([], [], CoveredCells(), fan_in=2) is None


def test_one_run_a_side_that_have_met_are_done() -> None:
    assert plan_of(runs(0), runs(0), CoveredCells([(1, 1)]), fan_in=2) is None


def test_one_run_a_side_that_have_not_met_are_joined_and_nothing_is_written() -> None:
    plan = plan_of(runs(0), runs(0), CoveredCells(), fan_in=2)
    assert plan is not None
    assert plan.rectangles == (((1,), (1,)),)
    assert [group.members for group in plan.groups] == [(1,), (1,)]


def test_the_oldest_runs_of_the_lowest_level_are_merged_first_and_go_one_level_up() -> None:
    plan = plan_of(runs(0, 0, 0, 0), runs(0, 0, 0), CoveredCells(), fan_in=2)
    assert plan is not None
    assert [group.members for group in plan.groups] == [(1, 2), (1, 2)]
    assert [group.outsiders for group in plan.groups] == [(3, 4), (3,)]
    assert plan.rectangles == (((1, 2), (1, 2)),)
    assert plan.levels == (1, 1)


def test_the_fan_in_bounds_each_side() -> None:
    plan = plan_of(runs(*[0] * 9), runs(*[0] * 5), CoveredCells(), fan_in=3)
    assert plan is not None
    assert [len(group.members) for group in plan.groups] == [3, 3]


def test_a_second_pass_comes_when_the_first_is_over() -> None:
    left, right = runs(1, 1), runs(1, 1)
    plan = plan_of(left, right, CoveredCells([(1, 1), (2, 2)]), fan_in=2)
    assert plan is not None
    assert plan.levels == (2, 2)
    assert sorted(plan.rectangles) == [((1,), (2,)), ((2,), (1,))]


def test_what_is_left_over_on_a_level_goes_up_with_the_next_one() -> None:
    # A new run of the left, and nothing new on the right: they are not merged alone.
    left, right = runs(0, 1), runs(1)
    plan = plan_of(left, right, CoveredCells([(2, 1)]), fan_in=2)
    assert plan is not None
    assert plan.groups[0].members == (1, 2)
    assert plan.groups[1].members == (1,)
    assert plan.levels == (2, 2)


def test_runs_on_one_side_only_are_merged_without_a_join() -> None:
    plan = plan_of(runs(0, 0), [], CoveredCells(), fan_in=2)
    assert plan is not None
    assert plan.rectangles == ()
    assert plan.reads(0) == (1, 2)
    assert plan.reads(1) == ()


def test_a_plan_reads_the_members_and_the_outsiders_that_must_meet_them() -> None:
    # Run 3 of the left has met run 1 of the right and not run 2: it must, before 1 and 2 become one.
    left, right = runs(0, 0, 1), runs(0, 0)
    cells = CoveredCells([*((a, b) for a in (1, 2) for b in (1, 2)), (3, 1)])
    plan = plan_of(left, right, cells, fan_in=2)
    assert plan is not None
    assert plan.rectangles == (((3,), (2,)),)
    assert plan.reads(0) == (1, 2, 3)
    assert plan.reads(1) == (1, 2)


def test_planning_ends_with_all_cells_covered_and_one_run_a_side() -> None:
    left, right, cells, merges = runs(*[0] * 7), runs(*[0] * 4), CoveredCells(), 0
    while (plan := plan_of(left, right, cells, fan_in=2)) is not None:
        for block in plan.rectangles:
            cells.cover(*block)
        left, right = (
            lifted(side, some, plan.groups[side].members, plan.levels[side], cells, 100 + merges)
            for side, some in enumerate((left, right))
        )
        merges += 1
        assert merges < 20
    assert len(left) == len(right) == 1
    assert cells.open_rectangles([left[0].number], [right[0].number]) == []


def lifted(
    side: int, some: list[SpilledRun], members: tuple[int, ...], level: int, cells: CoveredCells, number: int
) -> list[SpilledRun]:
    """These runs after a merge of `members`."""
    stay = [run for run in some if run.number not in members]
    going_up = [replace(run, level=level) for run in some if run.number in members]
    if len(going_up) > 1:
        cells.merge(side, members, number)
        going_up = [replace(going_up[0], number=number)]
    return [*going_up, *stay]


def test_runs_that_came_since_a_task_began_have_no_part_in_it() -> None:
    left, right = runs(0, 0, 0), runs(0, 0, 0)
    plan = plan_merge(left, right, CoveredCells(), DiskTask(3, ((1, 2), (1,)), 1.0))
    assert plan is not None
    assert [group.members for group in plan.groups] == [(1, 2), (1,)]
    assert [group.outsiders for group in plan.groups] == [(3,), (2, 3)]


def test_a_task_goes_on_with_what_has_become_of_its_runs_until_all_its_pairs_are_covered() -> None:
    left, right, cells = runs(*[0] * 5), runs(*[0] * 3), CoveredCells()
    task = task_of(left, right, open_pairs=60.0)
    merges = 0
    while (plan := plan_merge(left, right, cells, task)) is not None:
        pairs = covered_pairs(left, right, cells, task, plan)
        for rectangle in plan.rectangles:
            cells.cover(*rectangle)
        number = 100 + merges
        merged = [number if len(group.members) > 1 else None for group in plan.groups]
        left, right = (
            lifted(side, some, plan.groups[side].members, plan.levels[side], cells, number)
            for side, some in enumerate((left, right))
        )
        task = task.after(plan, merged, pairs)
        merges += 1
    assert task.runs == ((left[0].number,), (right[0].number,))
    assert task.open_pairs == 0
    assert merges == 4  # two and two, two and one, one and none, and then what has become of them


def test_a_merge_covers_its_share_of_open_cells_by_area() -> None:
    left, right = runs(0, 0, 0), runs(0)
    task = task_of(left, right, open_pairs=30.0)
    plan = plan_merge(left, right, CoveredCells(), task)
    assert plan is not None
    assert plan.rectangles == (((1, 2), (1,)),)
    assert covered_pairs(left, right, CoveredCells(), task, plan) == 20
    assert covered_pairs(left, right, CoveredCells([(3, 1)]), task, plan) == 30
    assert covered_pairs(left, right, covered(left, right), task, replace(plan, rectangles=())) == 30
