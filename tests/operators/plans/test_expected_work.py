"""How much joins are expected to do, by hand."""

import pytest

from sooner.operators.multiway.graph import ColumnOf, Graph, graph_of
from sooner.operators.plans.expected import Expected, best_order, looked_up_rows

SELECTIVE = Expected([100, 1_000, 10_000], {(0, 1): 5, (1, 2): 50_000})


@pytest.fixture
def chain() -> Graph:
    return graph_of(
        ["a", "b", "c"], [(ColumnOf("a", "x"), ColumnOf("b", "x")), (ColumnOf("b", "y"), ColumnOf("c", "y"))]
    )


def test_matches_are_those_of_a_row() -> None:
    assert SELECTIVE.matches(0, 1) == 5 / 100
    assert SELECTIVE.matches(1, 0) == 5 / 1_000
    assert SELECTIVE.matches(2, 1) == 5.0


def test_the_selective_join_comes_first_and_the_last_join_keeps_nothing(chain: Graph) -> None:
    assert best_order(chain, SELECTIVE) == ([0, 1, 2], 5)


def test_rows_of_every_input_are_looked_up_by_the_way_with_the_fewest_matches(chain: Graph) -> None:
    from_a = 5 / 2 + 5 * 50 / 3  # a with b, then each of these with c
    from_b = 5 / 2 + 5 * 50 / 3  # first to a, where a row of b has less than one match
    from_c = 50_000 / 2 + 50_000 * 5 / 1_000 / 3
    assert looked_up_rows(chain, SELECTIVE) == pytest.approx(from_a + from_b + from_c)


def test_an_attribute_of_three_inputs_joins_them_in_any_order() -> None:
    columns = [ColumnOf(name, "key") for name in "abc"]
    clique = graph_of(["a", "b", "c"], [(columns[0], columns[1]), (columns[1], columns[2])])
    expected = Expected([100, 100, 100], {(0, 1): 1_000, (0, 2): 10, (1, 2): 500})
    assert best_order(clique, expected).kept_rows == 10
    assert {*best_order(clique, expected).inputs[:2]} == {0, 2}


def test_steps_go_through_the_inputs_in_the_order_that_is_given(chain: Graph) -> None:
    assert [step.input for step in chain.steps_through([2, 1, 0])] == [1, 0]
    assert [step.input for step in chain.steps_through([1, 2, 0])] == [2, 0]
    assert [step.input for step in chain.steps_through([1])] == [0, 2]
