"""From a data source to a streaming DataFrame."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource


def load_stream(spark: SparkSession, source: type[DataSource], options: dict[str, str]) -> DataFrame:
    """A DataFrame of the source, or a refusal in one sentence.

    The schema is asked for here as well, since what a worker of Spark refuses is shown as a page of Java.
    """
    source(options).schema()
    spark.dataSource.register(source)
    return spark.readStream.format(source.name()).options(**options).load()


def tasks_of(spark: SparkSession, partitions: int | None) -> int:
    """The number of tasks that read a batch: what the user says, else one for each core."""
    return spark.sparkContext.defaultParallelism if partitions is None else partitions
