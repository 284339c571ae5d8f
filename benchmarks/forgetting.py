"""An endless interval join on Spark, whose rows are forgotten: ours beside Spark's own, and whether its state is level.

    python benchmarks/forgetting.py --json results.json

Two streams of clicks with a key out of 100,000 and a time; rows with equal keys join if they are 125 seconds apart, and
come up to 375 seconds late. Each batch brings 100,000 rows of each side, a millisecond apart, so a million rows of both
sides together can still match something. Spark's join has the same watermark, RocksDB, a changelog and join state of
format 4, which is made for this. Both run in one session on the same input, inner and left; the batches before the
window is full are left out.

Then 500 small batches of the left join: the state's files and bytes, its manifests and shared memory, the third quarter
of the run beside the fourth.
"""

import argparse
import statistics
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any

from long_run import LEVEL, files_in, newest_manifests
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from report import write_report
from spark_join import AT_ITS_BEST, PARTITIONS, batch_seconds, claim

import sooner.spark as ss
from sooner.how import How

ROWS = 100_000  # of each side in a batch
KEYS = 100_000
GAP_MICROSECONDS = 1_000
WITHIN_SECONDS, LATENESS_SECONDS = 125, 375
FULL_AFTER, BATCHES = 6, 9
MEMORY = "512MB"
SMALL_BATCHES, SMALL_ROWS = 500, 500
SMALL_WITHIN_SECONDS, SMALL_LATENESS_SECONDS = 2, 8  # twenty small batches
ROUNDS = 3
WHAT = {"files": "files of the state", "bytes": "bytes of the state", "manifest_bytes": "bytes of the newest manifests"}
WHAT |= {"shared_bytes": "bytes in shared memory"}


def stream(spark: SparkSession, seed: int, rows: int, side: str) -> DataFrame:
    """Up to a tenth of a second out of order."""
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", rows)
    rows_of = source.option("numPartitions", PARTITIONS).load()
    dice = F.abs(F.xxhash64("value", F.lit(seed)))
    time = F.timestamp_micros(F.lit(1_700_000_000_000_000) + F.col("value") * GAP_MICROSECONDS - dice % 100_000)
    return rows_of.select(
        (dice % KEYS).alias(f"{side}_key"), time.alias(f"{side}_time"), F.col("value").alias(f"{side}_value")
    )


def ours(spark: SparkSession, folder: Path, how: How, rows: int, within: int, lateness: int, **where: Any) -> DataFrame:
    return ss.join(
        stream(spark, 1, rows, "l"),
        stream(spark, 2, rows, "r"),
        left_on="l_time",
        right_on="r_time",
        left_by="l_key",
        right_by="r_key",
        within=timedelta(seconds=within),
        lateness=timedelta(seconds=lateness),
        how=how,
        memory=MEMORY,
        partitions=PARTITIONS,
        state=folder / "state",
        **where,
    )


def sparks(spark: SparkSession, how: How) -> DataFrame:
    for setting, value in AT_ITS_BEST.items():
        spark.conf.set(setting, value)
    left, right = (
        stream(spark, seed, ROWS, side).withWatermark(f"{side}_time", f"{LATENESS_SECONDS} seconds")
        for seed, side in ((1, "l"), (2, "r"))
    )
    interval = F.expr(f"INTERVAL {WITHIN_SECONDS} SECONDS")
    is_near = F.col("r_time").between(F.col("l_time") - interval, F.col("l_time") + interval)
    return left.join(right, (F.col("l_key") == F.col("r_key")) & is_near, how)


def seconds_of(name: str, make: Any) -> float:
    with tempfile.TemporaryDirectory(prefix="sooner-benchmark-") as folder:
        found = batch_seconds(make(Path(folder)), Path(folder), BATCHES)[FULL_AFTER:]
    print(f"{name:36} {statistics.mean(found):7.3f} s a batch", flush=True)
    return statistics.mean(found)


def compared(spark: SparkSession, how: How) -> dict[str, list[float]]:
    """A first round of ours warms up and is left out; Spark's takes minutes, and runs once in the middle."""
    seconds: dict[str, list[float]] = {"sooner": [], "Spark": []}
    for number in range(ROUNDS + 1):
        mine = seconds_of(
            f"sooner, {how}", lambda folder: ours(spark, folder, how, ROWS, WITHIN_SECONDS, LATENESS_SECONDS)
        )
        if number:
            seconds["sooner"].append(mine)
        if number == ROUNDS // 2:
            seconds["Spark"].append(seconds_of(f"Spark, {how}", lambda _: sparks(spark, how)))
    return seconds


def watched(spark: SparkSession) -> dict[str, list[float]]:
    """What the state takes after each of many batches."""
    sizes: dict[str, list[float]] = {name: [] for name in WHAT}
    with (
        tempfile.TemporaryDirectory(prefix="sooner-benchmark-") as folder,
        tempfile.TemporaryDirectory(prefix="sooner-benchmark-", dir="/dev/shm") as memory,
    ):
        state, shared = Path(folder, "state"), Path(memory)

        def look(_: ss.JoinProgress) -> None:
            files = list(files_in(state))
            sizes["files"].append(len(files))
            sizes["bytes"].append(sum(size for _, size in files))
            sizes["manifest_bytes"].append(sum(newest_manifests(state)))
            sizes["shared_bytes"].append(sum(size for _, size in files_in(shared)))

        asked = (SMALL_ROWS, SMALL_WITHIN_SECONDS, SMALL_LATENESS_SECONDS)
        joined = ours(spark, Path(folder), "left", *asked, shared_memory=shared)
        writer = joined.writeStream.format("noop").option("checkpointLocation", f"{folder}/checkpoint")
        with ss.start(writer, listener=look) as query:
            while len(sizes["files"]) < SMALL_BATCHES and query.isActive:
                query.awaitTermination(1)
        if (failure := query.exception()) is not None:
            raise failure
    return sizes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the measurements to this file")
    arguments = parser.parse_args()
    spark = ss.local_session(f"local[{PARTITIONS}]", spark__driver__memory="8g")
    claims, series = [], {}
    for how in ("inner", "left"):
        series[how] = compared(spark, how)
        times = statistics.median(series[how]["Spark"]) / statistics.median(series[how]["sooner"])
        claims.append(claim(f"{how}: times as many rows a second as Spark's join at its best", times, 8, True))
    sizes = watched(spark)
    for name, what in WHAT.items():
        quarter = len(sizes[name]) // 4
        third, fourth = (statistics.fmean(sizes[name][quarter * n : quarter * (n + 1)]) for n in (2, 3))
        claims.append(claim(f"{what} over 500 batches: fourth quarter over third", fourth / third, LEVEL, False))
    if arguments.json:
        write_report(
            arguments.json, "forgetting", "forgetting", claims, {**series, "sizes": sizes}, spark=spark.version
        )


if __name__ == "__main__":
    main()
