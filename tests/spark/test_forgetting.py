"""Endless inputs on real Spark: rows are forgotten as Spark's join does by a watermark, and nothing else differs."""

import datetime as dt
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from stream_reading import stops_by_itself

import sooner.spark as ss
from patience import HANG_SECONDS
from sooner.spark.step.standing import read_progress
from spark_joins import stream_of, write_files

BATCHES, ROWS, STEP_SECONDS = 7, 60, 100
START = 1_700_000_000  # Spark's first watermark is 1970: what is older is late for it
LATENESS_SECONDS, BEHIND_SECONDS = 150, 190
WITHIN = (dt.timedelta(seconds=-20), dt.timedelta(seconds=30))
LATENESS = dt.timedelta(seconds=LATENESS_SECONDS)


def clicks(seed: int, behind: int) -> pa.Table:
    """Batch after batch; each has rows up to so many seconds behind the batch before."""
    dice = np.random.default_rng(seed)
    seconds = [number * STEP_SECONDS + dice.integers(-behind, STEP_SECONDS, ROWS) for number in range(BATCHES)]
    times = pa.array((np.concatenate(seconds) + START) * 10**6, pa.timestamp("us", "UTC"))
    groups = dice.integers(0, 25, BATCHES * ROWS)
    return pa.table({"t": times, "g": groups, "id": np.arange(BATCHES * ROWS)})


def seconds_of(table: pa.Table) -> list[int]:
    return [value // 10**6 - START for value in table["t"].cast(pa.int64()).to_pylist()]


def late_ids(table: pa.Table) -> set[int]:
    """Rows too far behind the newest of the batches before their own."""
    values, newest, late = seconds_of(table), -(10**9), set()
    for first in range(0, len(values), ROWS):
        mine = range(first, first + ROWS)
        late |= {at for at in mine if values[at] < newest - LATENESS_SECONDS}
        newest = max(newest, *(values[at] for at in mine if at not in late))
    return late


def written_by(rows: DataFrame, folder: Path) -> Counter[Any]:
    """All that comes of what is there, while the inputs stay open."""
    writer = rows.select("l_id", "r_id").writeStream.format("parquet").option("checkpointLocation", str(folder / "log"))
    query = writer.start(str(folder / "rows"))
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    return Counter((one.l_id, one.r_id) for one in rows.sparkSession.read.parquet(str(folder / "rows")).collect())


def named(rows: DataFrame, side: str) -> DataFrame:
    return rows.select(*(F.col(name).alias(f"{side}_{name}") for name in rows.columns))


def by_spark(left: DataFrame, right: DataFrame, how: str) -> DataFrame:
    left, right = (rows.withWatermark("t", f"{LATENESS_SECONDS} seconds") for rows in (left, right))
    near = F.expr("r_t BETWEEN l_t - INTERVAL 20 SECONDS AND l_t + INTERVAL 30 SECONDS AND l_g = r_g")
    return named(left, "l").join(named(right, "r"), near, how)


@pytest.mark.parametrize(
    ("how", "behind"),
    [
        pytest.param("inner", BEHIND_SECONDS, marks=pytest.mark.long),  # late rows in process: test_forgetting_steps
        ("left", LATENESS_SECONDS - STEP_SECONDS),
    ],
)
def test_the_answer_is_that_of_sparks_join_but_for_late_rows(
    spark: SparkSession, tmp_path: Path, how: str, behind: int
) -> None:
    tables = [clicks(seed, behind) for seed in (1, 2)]
    for side, table in zip("lr", tables, strict=True):
        write_files(table, tmp_path / side, BATCHES)
    left, right = (stream_of(spark, tmp_path / side) for side in "lr")
    columns = {"left_on": "l_t", "right_on": "r_t", "left_by": "l_g", "right_by": "r_g"}
    joined = ss.join(
        named(left, "l"), named(right, "r"), **columns, within=WITHIN, lateness=LATENESS, how=how,
        state=tmp_path / "state", partitions=2, memory="128KB",
    )  # fmt: skip
    ours = written_by(joined, tmp_path / "ours")
    progress = read_progress(str(tmp_path / "state"), 2)
    assert progress is not None
    theirs = written_by(by_spark(left, right, how), tmp_path / "theirs")

    late = [late_ids(table) for table in tables]
    assert bool(late[0] and late[1]) == (behind == BEHIND_SECONDS)
    assert tuple(map(len, late)) <= progress.late_rows
    assert (sum(progress.late_rows) > 0) == (behind == BEHIND_SECONDS)
    # What is too new to be decided by the one or the other is left out.
    last = (BATCHES - 3) * STEP_SECONDS - LATENESS_SECONDS
    times = seconds_of(tables[0])

    def settled(found: Counter[Any]) -> Counter[Any]:
        kept = {pair: n for pair, n in found.items() if pair[0] not in late[0] and pair[1] not in late[1]}
        return Counter({pair: n for pair, n in kept.items() if pair[1] is not None or times[pair[0]] < last})

    assert settled(ours) == settled(theirs)
    assert any(right is None for _, right in settled(ours)) == (how == "left")
    held = progress.total.resident_rows + progress.total.spilled_rows
    alive = 2 * ROWS * (LATENESS_SECONDS + behind + 2 * STEP_SECONDS + 50) / STEP_SECONDS
    assert held < 1.5 * alive < 2 * ROWS * BATCHES, "most have been forgotten"


@pytest.mark.long  # in process: test_forgetting_steps.py
def test_rows_are_kept_so_long_after_their_batch(spark: SparkSession, tmp_path: Path) -> None:
    """By the clock of the batches, from one run of the query to the next; what comes too late matches nothing."""
    for side in "lr":
        (tmp_path / side).mkdir()
    inputs = (spark.readStream.schema("id long").parquet(str(tmp_path / side)) for side in "lr")
    left, right = (named(rows, side) for side, rows in zip("lr", inputs, strict=True))
    joined = ss.join(
        left, right, left_on="l_id", right_on="r_id", retention=dt.timedelta(seconds=1), state=tmp_path / "state",
        partitions=2,
    )  # fmt: skip

    def found_with(number: int, **keys: list[int]) -> list[int]:
        """All files lie there before the query starts, so that one batch has them, however long it takes."""
        for side, values in keys.items():
            pq.write_table(pa.table({"id": values}), tmp_path / side / f"{number}.parquet")
        return sorted(key for key, _ in written_by(joined, tmp_path / "out").elements())

    assert found_with(1, l=[1, 2, 3], r=[1]) == [1]
    time.sleep(2)
    assert found_with(2, l=[7], r=[7]) == [1, 7]
    assert found_with(3, r=[2]) == [1, 7]
    progress = read_progress(str(tmp_path / "state"), 2)
    assert progress is not None
    assert progress.total.forgotten_rows_by_side[0] >= 3, "those of the left that came first"


@stops_by_itself
def test_retention_needs_a_trigger_that_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "l").mkdir()
    pq.write_table(pa.table({"k": [1]}), tmp_path / "l" / "1.parquet")
    rows = [named(stream_of(spark, tmp_path / "l"), side) for side in "lr"]
    joined = ss.join(
        *rows, left_on="l_k", right_on="r_k", retention=dt.timedelta(hours=1), state=tmp_path / "state", partitions=1
    )
    writer = joined.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "log"))
    with pytest.raises(StreamingQueryException, match="retention=1:00:00 counts the time since rows arrived"):
        writer.trigger(availableNow=True).start().awaitTermination(HANG_SECONDS)
