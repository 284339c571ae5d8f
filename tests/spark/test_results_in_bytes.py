"""Results on their way to Spark: few batches for many small rows, few bytes in each for wide ones (A1)."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from join_steps import QUERY, Arriving, plan_of
from sooner.spark.step.step import RESULT_BYTES, RESULT_ROWS, Attempt, in_larger_batches, run_step


def texts(n_rows: int, text_bytes: int) -> pa.RecordBatch:
    return pa.record_batch([pa.array(["x" * text_bytes] * n_rows)], ["text"])


def test_many_small_batches_become_few() -> None:
    batches = list(in_larger_batches(iter([texts(1000, 8)] * 150)))
    assert sum(batch.num_rows for batch in batches) == 150_000
    assert [batch.num_rows >= RESULT_ROWS for batch in batches] == [True, True, False]


def test_wide_batches_are_put_together_by_bytes_and_one_wide_row_goes_by_itself() -> None:
    given = [texts(3, 2**20)] * 5 + [texts(1, 9 * 2**20)] + [texts(3, 2**20)]
    batches = list(in_larger_batches(iter(given)))
    assert sum(batch.num_rows for batch in batches) == 19
    assert all(batch.nbytes <= RESULT_BYTES or batch.num_rows == 1 for batch in batches)
    assert len(batches) == 5


def test_a_wide_row_with_many_matches_leaves_a_step_in_batches_of_few_bytes(tmp_path: Path) -> None:
    left = pa.table({"k": [7], "text": ["y" * 60_000]})
    right = pa.table({"k": np.full(2000, 7), "n": np.arange(2000)})
    plan = plan_of(left.schema, right.schema, tmp_path, memory_bytes=2**24)
    batches = list(run_step(plan, Attempt(0, QUERY), Arriving(left, right).batches(plan)))
    assert sum(batch.num_rows for batch in batches) == 2000
    assert max(batch.nbytes for batch in batches) <= RESULT_BYTES
