"""When a partition is joined as a whole: PR-Join's condition, with the paper's numbers."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import sooner
from sooner.errors import InvalidJoin
from sooner.named_algorithms import ALGORITHMS
from sooner.policies.react.growth import Growth, staggered
from sooner.policies.react.ripple import Ripple
from sooner.policies.view import BUSY, JoinView, WholePartitions
from views import ROW_BYTES, view_of

N = 4


def grown(rows: int, **others: object) -> JoinView:
    """Partitions that were whole with 100 rows, and have so many now, half of each side."""
    fields = {"whole_rows": [100] * N, "unmet_on_disk": [1.0] * N, "around": BUSY} | others
    return view_of([[0] * N] * 2, [[rows // 2] * N] * 2, **fields)


def test_the_first_joins_are_staggered() -> None:
    """Equation 11: the i-th of n is first joined when it has grown to (1 + gamma) ** (1 + i / n) times its size."""
    due = {rows: Growth().choose(grown(rows)) for rows in (198, 200, 236, 238, 282, 284, 338)}
    partitions = {rows: () if chosen is None else chosen.partitions for rows, chosen in due.items()}
    assert partitions == {198: (), 200: (0,), 236: (0,), 238: (0, 2), 282: (0, 2), 284: (0, 1, 2), 338: (0, 1, 2, 3)}


@pytest.mark.parametrize("n_partitions", [1, 2, 5, 20, 48, 193])
def test_turns_are_even_and_neighbours_are_far_apart(n_partitions: int) -> None:
    turns = staggered(n_partitions)
    assert sorted(turns) == pytest.approx(np.arange(n_partitions) / n_partitions)
    if n_partitions > 4:
        assert np.abs(np.diff(turns)).min() >= 0.2


@pytest.mark.parametrize("gamma", [0.5, 1.0, 2.0])
def test_later_joins_come_when_a_partition_has_grown_by_gamma(gamma: float) -> None:
    rows = round(100 * (1 + gamma))
    joined_before = {"last_merge": [7] * N}
    assert Growth(gamma).choose(grown(rows - 2, **joined_before)) is None
    assert Growth(gamma).choose(grown(rows, **joined_before)) == WholePartitions((0, 1, 2, 3))


def test_all_joins_together_read_at_most_so_much_more_than_the_last_one() -> None:
    """Section 4.4: each join but the last reads the partition as it is, and the sum is below 1/gamma times the end."""
    for gamma in (0.5, 1.0, 2.0):
        whole, read, rows = 100, 0, 100
        while rows < 10_000:
            rows += 1
            view = view_of(
                [[0]] * 2, [[rows], [0]], whole_rows=[whole], last_merge=[1], unmet_on_disk=[1.0], around=BUSY
            )
            if Growth(gamma).choose(view) is not None:
                whole, read = rows, read + rows
        assert read < (1 + 1 / gamma) * rows


def test_the_rate_of_early_results_grows_as_the_paper_says() -> None:
    """Section 4.4, with gamma = 1 and all pages at one price: c, 1.7c, 3.2c, 6.2c, 12.2c."""
    nu = 1.0
    mu = 2.0 ** np.arange(5)
    rates = mu * (nu**2 + 2 * nu) / (3 * nu + 1 - 1 / mu)
    assert [round(rate, 1) for rate in rates] == [1.0, 1.7, 3.2, 6.2, 12.2]


def test_near_the_end_nothing_is_joined_unless_it_is_told_to() -> None:
    """The stop constraint: with less to come than the partition would have to grow by, the end is near enough."""
    assert Growth().choose(grown(200, expected_rows=200 * N * 2)) is not None
    assert Growth().choose(grown(200, expected_rows=200 * N * 2 - 1)) is None
    assert Growth(stops="never").choose(grown(200, expected_rows=200 * N)) is not None


def test_the_end_is_that_of_a_partition() -> None:
    """Equation 11 looks at the rows of the partition: one that has more than its share stops before the others."""
    arrived = np.array([[100, 100, 200, 100]] * 2)
    view = replace(grown(200, last_merge=[7] * N, expected_rows=200 * N * 2), arrived_rows=arrived)
    assert Growth().choose(view) == WholePartitions((0, 1, 3))


def test_nothing_is_joined_before_the_user_wants_to_see_anything() -> None:
    """So many rows, or such a share of all of them."""
    a_tenth, some = Growth(not_before=0.1, stops="never"), Growth(not_before=200 * N, stops="never")
    assert a_tenth.choose(grown(200, expected_rows=2000 * N + 1)) is None
    assert a_tenth.choose(grown(200, expected_rows=2000 * N)) is not None
    assert some.choose(grown(200)) is not None
    assert some.choose(grown(198, whole_rows=[9] * N)) is None


def test_in_a_silence_the_partition_with_most_to_gain_for_what_is_read_is_joined() -> None:
    view = view_of(
        [[0] * 3] * 2,
        whole_rows=[9] * 3,
        unmet_on_disk=[900.0, 500.0, 0.0],
        spilled_bytes=[[900, 100, 1], [900, 100, 1]],
    )
    assert Growth().choose(view) == Ripple().choose(view) == WholePartitions((1,))


def test_a_ripple_is_as_wide_as_the_memory() -> None:
    """Whatever has been read before: no partition waits for more than its share of the memory."""
    memory = 100 * N * ROW_BYTES
    for whole in (100, 100_000):
        on_disk = {"spilled_rows": [[1] * N] * 2, "spilled_bytes": [[ROW_BYTES] * N] * 2}
        fields = {"whole_rows": [whole] * N, "memory_bytes": memory, **on_disk}
        assert Ripple().choose(grown(whole + 78, **fields)) is None
        assert Ripple().choose(grown(whole + 80, **fields)) == WholePartitions((0, 1, 2, 3))


@pytest.mark.parametrize(
    ("wrong", "mentions"),
    [
        ({"gamma": 0}, "gamma=0 must be more than 0"),
        ({"not_before": 1.5}, "not_before=1.5"),
        ({"not_before": -1}, "-1"),
    ],
)
def test_a_rule_that_means_nothing_is_refused(wrong: dict[str, float], mentions: str) -> None:
    with pytest.raises(InvalidJoin, match=mentions):
        Growth(**wrong)


def test_a_share_of_rows_that_nobody_can_count_is_refused_before_any_is_read() -> None:
    def never() -> Iterator[pa.RecordBatch]:
        raise AssertionError("it was read")
        yield

    schema = pa.schema([("k", pa.int64())])
    endless = pa.RecordBatchReader.from_batches(schema, never())
    rule = replace(ALGORITHMS["pr_join"], react=Growth(not_before=0.1))
    with pytest.raises(InvalidJoin, match=r"not_before=0.1 is a share of all rows.*give a number of rows"):
        sooner.join(endless, pa.table({"k": [1]}), on="k", algorithm=rule)
    known = pa.table({"k": list(range(100))})
    assert sooner.join(known, known, on="k", algorithm=rule).to_table().num_rows == 100
