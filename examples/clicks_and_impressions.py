"""Which clicks belong to which views of an ad, and which views had none: two endless streams, forgotten in time.

python examples/clicks_and_impressions.py

A click counts if it is at most 10 seconds after its view, and comes at most 2 seconds late. A view without a click
comes out once none can come any more.
"""

import tempfile
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import sooner.spark as ss


def streams(spark: SparkSession) -> tuple[DataFrame, DataFrame]:
    """Views, and a click on every third of them, four seconds later."""
    rate = spark.readStream.format("rate").option("rowsPerSecond", 200)
    views = rate.load().selectExpr("value AS view", "value % 50 AS ad", "timestamp AS seen")
    clicks = rate.load().where("value % 3 = 0")
    clicks = clicks.selectExpr("value AS view", "timestamp + INTERVAL 4 SECONDS AS clicked")
    return views, clicks


def main(seconds: float = 30) -> None:
    spark = ss.local_session()
    views, clicks = streams(spark)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        answered = ss.join(
            views,
            clicks,
            left_on="seen",
            right_on="clicked",
            within=("0 seconds", "10 seconds"),
            by="view",
            how="left",
            lateness="2 seconds",
            memory="64MB",
            state=folder / "state",
        )
        writer = answered.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
        with ss.start(writer, str(folder / "answered"), listener=print) as query:
            query.awaitTermination(seconds)
        found = pq.read_table(folder / "answered")
        print(f"{found.num_rows:,} views are decided, {found['clicked'].null_count:,} of them without a click")


if __name__ == "__main__":
    main()
