"""When how many results were there."""

import pytest

from sooner.ui.milestones import Milestones


@pytest.fixture
def milestones() -> Milestones:
    milestones = Milestones()
    for seconds, results in [(1.0, 0), (2.0, 5), (3.0, 5), (4.0, 60), (9.0, 100), (9.5, 100)]:
        milestones.add(seconds, results)
    return milestones


def test_a_part_of_the_results_is_there_with_the_first_count_that_reaches_it(milestones: Milestones) -> None:
    assert [milestones.reached(part) for part in (0.01, 0.05, 0.06, 0.6, 1.0)] == [2.0, 2.0, 4.0, 4.0, 9.0]


def test_the_first_result_is_not_the_first_count(milestones: Milestones) -> None:
    assert milestones.first() == 2.0
    assert milestones.total == 100


@pytest.mark.parametrize("counts", [[], [0, 0]])
def test_without_results_nothing_is_reached(counts: list[int]) -> None:
    milestones = Milestones()
    for count in counts:
        milestones.add(1.0, count)
    assert milestones.total == 0
    assert milestones.first() is None
    assert milestones.reached(1.0) is None


def test_of_a_single_result_every_part_is_there_at_once() -> None:
    milestones = Milestones()
    milestones.add(1.0, 0)
    milestones.add(2.0, 1)
    assert milestones.reached(0.01) == milestones.reached(1.0) == 2.0
