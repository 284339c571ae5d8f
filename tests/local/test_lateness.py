"""`lateness=` and `retention=` in process: what the user sees of it, and what is refused."""

import datetime as dt
import time
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import sooner
from sooner.errors import InvalidJoin
from sooner.sources import Fixed, paced

MINUTE = dt.timedelta(minutes=1)
NOON = dt.datetime(2026, 1, 1, 12)
BATCHES = 200


def endless(first: int, step: int) -> Iterator[pa.RecordBatch]:
    for number in range(BATCHES):
        values = [NOON + MINUTE * (number + first), NOON + MINUTE * (number + first - step)]
        yield pa.record_batch({"at": pa.array(values, pa.timestamp("us")), "id": [2 * number, 2 * number + 1]})


def test_rows_that_match_nothing_come_while_both_inputs_go_on() -> None:
    """No two are near each other, and of each row that is known ten minutes later."""
    left = paced(pa.Table.from_batches(list(endless(0, 5))), Fixed(0.004))
    right = paced(pa.Table.from_batches(list(endless(10**6, 5))), Fixed(0.004))
    query = sooner.join(left, right, on="at", within=MINUTE / 2, lateness=10 * MINUTE, how="left", suffixes=("", "_r"))
    seen, early = 0, 0
    for batch in query:
        seen += batch.num_rows
        early = seen if query.progress.phase in ("arriving", "reactive") else early
    assert seen == 2 * BATCHES
    assert early > BATCHES, "before the inputs ended"
    assert query.progress.late_rows == (0, 0)


def test_late_rows_are_counted_and_left_out() -> None:
    """Each row comes when the one before it has been taken in."""
    values, queries = [1, 100, 5, 99], list[sooner.Query]()

    def one_by_one() -> Iterator[pa.RecordBatch]:
        for number, value in enumerate(values):
            while (progress := queries[0].progress).arrived_rows[0] + progress.late_rows[0] < number:
                time.sleep(0.002)
            yield pa.record_batch({"v": [value]})

    left = pa.RecordBatchReader.from_batches(pa.schema([("v", pa.int64())]), one_by_one())
    right = pa.table({"v": [1, 5, 99, 100]})
    with sooner.join(left, right, on="v", within=0, lateness=10, suffixes=("_l", "_r")) as query:
        queries.append(query)
        found = sorted(row["v_l"] for batch in query for row in batch.to_pylist())
        assert found == [1, 99, 100]
        assert query.progress.late_rows == (1, 0)
        assert str(query.progress).endswith(", 1 came too late")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"lateness": 5}, "lateness=5 was given without within="),
        ({"within": 1, "lateness": -1}, "lateness=-1 is no distance; give 0 or more"),
        ({"within": 1, "lateness": MINUTE}, "must be a number, since 'v' is int64"),
        ({"within": 1, "lateness": 0.5}, "lateness=0.5 is finer than 'v', which is int64"),
        ({"within": 1, "retention": MINUTE}, "is for equal keys alone; with within= give lateness="),
        ({"retention": 5}, "retention=5 must be a datetime.timedelta, longer than nothing"),
        ({"retention": -MINUTE}, "must be a datetime.timedelta, longer than nothing"),
    ],
)
def test_what_cannot_be_is_refused(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidJoin) as refusal:
        sooner.join(pa.table({"v": [1]}), pa.table({"v": [1]}), on="v", **arguments)
    assert sentence in str(refusal.value)
