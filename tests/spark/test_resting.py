"""A query with nothing to do rests: no batch, no file. It wakes for a row and for word of an end."""

import time
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

import sooner.spark as ss
from patience import until
from sooner.operators.two_way.plan import INPUTS
from sooner.sides import SIDES
from sooner.spark.dataflow.endings import note_end
from spark_joins import JoinCase, ended, skewed, write_files

LEFT, RIGHT = skewed(3000, 1500, 1, "a"), skewed(2500, 1500, 2, "b")
QUIET_SECONDS = 1.5  # far more than Spark waits before it asks its sources again, if the machine is idle
BUSY = 10  # times as long as a tiny job takes by then, if it is not


def files_of(case: JoinCase) -> dict[Path, int]:
    """All that the query keeps, and when it was written."""
    folders = (case.checkpoint, case.state, case.output)
    return {path: path.stat().st_mtime_ns for folder in folders for path in folder.rglob("*") if path.is_file()}


def batches_of(case: JoinCase) -> int:
    return len(list((case.checkpoint / "offsets").glob("[0-9]*")))


def wait_for_rest(case: JoinCase, left_rows: int) -> None:
    """Until all rows are there and nothing happens any more; on a busy machine much time can pass between batches."""
    until(lambda: bool(case.progress) and sum(case.progress[-1].total.arrived_rows) == left_rows + RIGHT.num_rows)
    while True:
        batches = batches_of(case)
        time.sleep(max(QUIET_SECONDS, BUSY * tiny_job_seconds(case)))
        if batches_of(case) == batches == len(list((case.checkpoint / "commits").glob("[0-9]*"))):
            return


def tiny_job_seconds(case: JoinCase) -> float:
    """How fast the machine is at this time."""
    began = time.monotonic()
    case.spark.range(1).count()
    return time.monotonic() - began


def add_row(case: JoinCase, number: int) -> None:
    row = pa.table({"k": pa.array([number], pa.int64()), "a": pa.array([LEFT.num_rows + number], pa.int64())})
    write_files(row, case.folder / "new", 1)
    (case.folder / "new" / "000.parquet").rename(case.folder / "left" / f"new-{number}.parquet")
    (case.folder / "new").rmdir()


def test_an_idle_query_runs_no_batch_and_writes_no_file_and_sees_a_row_and_finish_within_a_second(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Words that a query which never ran has left for both sides mean nothing to it."""
    case = JoinCase(spark, tmp_path, LEFT, RIGHT, batches=2)
    for side in SIDES:
        note_end(str(case.state), INPUTS[side], "a query that never ran")
    case.listen = case.progress.append  # type: ignore[method-assign]
    query = case.start()
    wait_for_rest(case, LEFT.num_rows)
    files = files_of(case)
    time.sleep(2)
    assert files_of(case) == files
    arrived = case.progress[-1].total
    assert arrived.arrived_rows == (LEFT.num_rows, RIGHT.num_rows)
    assert arrived.spilled_rows > 1000
    require_figures(query, case)

    waited = []
    for number in range(2):
        batches = batches_of(case)
        add_row(case, number)
        waited.append(until(lambda before=batches: batches_of(case) > before))
        wait_for_rest(case, LEFT.num_rows + number + 1)
    assert case.progress[-1].total.arrived_rows[0] == LEFT.num_rows + 2
    assert min(waited) < max(1, BUSY * tiny_job_seconds(case))

    batches = batches_of(case)
    query.finish("left")
    waited = [until(lambda: batches_of(case) > batches)]
    wait_for_rest(case, LEFT.num_rows + 2)
    batches = batches_of(case)
    query.finish("right")
    waited.append(until(lambda: batches_of(case) > batches))
    ended(query)
    assert min(waited) < max(1, BUSY * tiny_job_seconds(case))
    assert query.is_complete
    assert case.progress[-1].late_rows == (0, 0)
    assert case.written() == case.expected()


def require_figures(query: ss.Query, case: JoinCase) -> None:
    """Spark's own progress tells them: after the last change too. Of rows only pulses come on top."""
    batches = [progress for progress in query.spark_query.recentProgress if "addBatch" in progress["durationMs"]]
    for progress in batches:
        *_, pulses = rows = [source["numInputRows"] for source in progress["sources"]]
        assert progress["numInputRows"] == sum(rows)
        assert pulses in (0, 1)
    last, total = batches[-1]["observedMetrics"][f"sooner:{case.state}"], case.progress[-1].total
    assert last.asDict() == {
        "phase": total.phase,
        "arrived_left": total.arrived_rows[0],
        "arrived_right": total.arrived_rows[1],
        "results": total.results,
        "resident_bytes": total.resident_bytes,
        "spilled_bytes": total.spilled_bytes,
        "forgotten_rows": total.forgotten_rows,
        "copied_rows": 0,
        "late_rows": 0,
        "covered_fraction": total.covered_fraction,
        "fallbacks": "",
        "hot_keys": "",
    }
