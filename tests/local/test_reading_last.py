"""Of tables and files, an input with most of all rows is read last: its rows need not be kept."""

import pyarrow as pa
import pytest

import sooner
from sooner.local.reading_last import read_last, read_last_of_two

LAST = "read last: left, which has most of all rows"


def numbered(rows: int, keys: int) -> pa.Table:
    return pa.table({"k": pa.array([row % keys for row in range(rows)]), "n": range(rows)})


@pytest.mark.parametrize(
    ("rows", "of_many", "of_two"),
    [
        ((100, 20), 0, 0),
        ((20, 100), 1, 1),
        ((100, 25), 0, None),  # four times as many are not more than four times as many
        ((100, 100), None, None),
        ((100, None), None, None),
        ((0, 0), None, None),
        ((3, 10, 5), 1, None),
        ((3, 8, 5), None, None),
    ],
)
def test_which_it_is(rows: tuple[int | None, ...], of_many: int | None, of_two: int | None) -> None:
    assert read_last(rows) == of_many
    assert read_last_of_two(rows) == of_two


def test_a_join_and_sql_say_so() -> None:
    many, few = numbered(100, 10), numbered(10, 10)
    assert sooner.join(many, few, on="k").explain().splitlines()[-1] == LAST
    assert "read last: right" in sooner.join(few, many, on="k").explain()
    asked = "select * from many join few on many.k = few.k"
    assert LAST in sooner.sql(asked, {"many": many, "few": few}).explain()
    assert "read last" not in sooner.join(many, many, on="k").explain()
    assert "read last" not in sooner.join(many.to_reader(), few, on="k").explain()


@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "semi", "anti"])
def test_rows_that_come_last_are_not_kept_and_nothing_is_missing(how: str) -> None:
    many, few = numbered(400_000, 2_000), numbered(1_000, 1_500)
    query = sooner.join(many, few, on="k", how=how)  # type: ignore[arg-type]
    most, found = 0, []
    for batch in query:
        found.append(batch)
        most = max(most, query.progress.resident_rows_by_side[0])
    assert most < 100_000
    assert sum(batch.num_rows for batch in found) == {
        "inner": 200_000, "left": 400_000, "right": 200_000, "full": 400_000, "semi": 200_000, "anti": 200_000
    }[how]  # fmt: skip
