"""Join orders with customers in a program that spark-submit runs; docs/deploy.md says how, and what must be there.

spark-submit --master spark://master:7077 examples/on_a_cluster.py INPUTS PLACE

INPUTS has orders.parquet and customers.parquet, PLACE gets the state, the checkpoint and the answer: directories that
every node reaches. Submitted again with the same PLACE, it goes on where it ended, whatever ended it.
"""

import sys

from pyspark.sql import SparkSession

import sooner.spark as ss
from sooner.spark import sources


def main(inputs: str, place: str) -> None:
    spark = SparkSession.builder.appName("orders with customers").getOrCreate()
    orders = sources.parquet(spark, f"{inputs}/orders.parquet", rows_per_batch=20_000)
    customers = sources.parquet(spark, f"{inputs}/customers.parquet", rows_per_batch=2_000)
    joined = ss.join(orders, customers, on="customer", memory="64MB", state=f"{place}/state")
    writer = joined.writeStream.format("parquet").option("checkpointLocation", f"{place}/checkpoint")
    ss.start(writer, f"{place}/joined", listener=print).awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
