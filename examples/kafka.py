"""Join two topics of Kafka on Spark. Not tried with a real Kafka: there is none where sooner is tested.

spark-submit --packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0 examples/kafka.py SERVERS PLACE

SERVERS is such as "localhost:9092"; PLACE, which every node must reach, gets state, checkpoint and answer. What is
tried is what comes after Kafka: `join_topics` on two streams with the columns that Spark's source gives.
"""

import sys
from datetime import timedelta

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import sooner.spark as ss
from sooner.spark import sinks

ORDER = "`order` BIGINT, customer BIGINT, cents BIGINT"
PAYMENT = "`order` BIGINT, paid BIGINT"


def topic(spark: SparkSession, servers: str, name: str) -> DataFrame:
    source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", servers).option("subscribe", name)
    return source.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", 500_000).load()


def join_topics(orders: DataFrame, payments: DataFrame, place: str) -> DataFrame:
    """Orders with their payments, as both come; `value` is JSON. Pairs more than a week apart may be missing."""
    rows = [
        one.select(F.from_json(F.col("value").cast("string"), columns).alias("row")).select("row.*")
        for one, columns in ((orders, ORDER), (payments, PAYMENT))
    ]
    return ss.join(*rows, on="order", retention=timedelta(days=7), memory="1GB", state=f"{place}/state")


def main(servers: str, place: str) -> None:
    spark = SparkSession.builder.appName("orders with payments").getOrCreate()
    paid = join_topics(topic(spark, servers, "orders"), topic(spark, servers, "payments"), place)
    writer = sinks.parquet(paid, f"{place}/paid").option("checkpointLocation", f"{place}/checkpoint")
    ss.start(writer, listener=print).awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
