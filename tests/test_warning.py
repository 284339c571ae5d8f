"""A warning stands at the line of the user's, and comes once for one cause."""

import pyarrow as pa
import pytest

import sooner

ORDERS = pa.table({"k": [1, 2, 3], "cents": [10, 20, 30]})


def test_a_warning_points_to_the_line_that_asked() -> None:
    stream = pa.RecordBatchReader.from_batches(ORDERS.schema, ORDERS.to_batches())
    with pytest.warns(UserWarning, match="can be read in its own order only") as warned:
        sooner.estimate(stream, ORDERS, on="k", aggregates={"n": "count"}).final()
    assert [one.filename for one in warned] == [__file__]


def test_that_of_sql_too() -> None:
    stream = pa.RecordBatchReader.from_batches(ORDERS.schema, ORDERS.to_batches())
    tables = {"o": stream, "p": ORDERS}
    with pytest.warns(UserWarning, match="can be read in its own order only") as warned:
        sooner.sql("SELECT COUNT(*) AS n FROM o JOIN p ON o.k = p.k", tables).stop()
    assert [one.filename for one in warned] == [__file__]
