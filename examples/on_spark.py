"""Join two Parquet files on local Spark, kill the query in the middle, and let it go on to the exact answer.

python examples/on_spark.py
"""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import sooner.spark as ss
from sooner.spark import sources


def write_inputs(folder: Path) -> None:
    rng = np.random.default_rng(0)
    orders = {"order": np.arange(200_000), "customer": rng.integers(0, 20_000, 200_000)}
    customers = {"customer": rng.permutation(20_000), "region": rng.integers(0, 7, 20_000)}
    pq.write_table(pa.table(orders), folder / "orders.parquet")
    pq.write_table(pa.table(customers), folder / "customers.parquet")


def start(spark: SparkSession, folder: Path) -> ss.Query:
    """The same call starts the query and resumes it: all it needs is in its checkpoint and its state."""
    orders = sources.parquet(spark, str(folder / "orders.parquet"), rows_per_batch=20_000)
    customers = sources.parquet(spark, str(folder / "customers.parquet"), rows_per_batch=2_000)
    joined = ss.join(orders, customers, on="customer", memory="2MB", state=folder / "state")
    writer = joined.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    return ss.start(writer, str(folder / "joined"), listener=print)


def main() -> None:
    spark = ss.local_session()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_inputs(folder)
        query = start(spark, folder)
        while query.progress is None or query.progress.batch < 3:
            query.awaitTermination(0.1)
        query.stop()
        print("stopped; starting again")
        start(spark, folder).awaitTermination()
        print(f"{spark.read.parquet(str(folder / 'joined')).count():,} results, and no order is without its customer")
    spark.stop()


if __name__ == "__main__":
    main()
