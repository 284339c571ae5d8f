"""Each batch of a streaming query once: in files that tasks write themselves, and in systems that know transactions.

>>> query = ss.start(parquet(joined, "/data/joined").option("checkpointLocation", "/data/log"))  # doctest: +SKIP
>>> stream.writeStream.foreachBatch(to_postgres("dbname=shop", "totals")).start()  # doctest: +SKIP
"""

from typing import TYPE_CHECKING

from sooner.lazily import lazily

if TYPE_CHECKING:
    from sooner.spark.sinks.batches import WriteBatch
    from sooner.spark.sinks.delta_sink import delta, to_delta
    from sooner.spark.sinks.parquet_sink import parquet
    from sooner.spark.sinks.postgres_sink import to_postgres

__all__ = ["WriteBatch", "delta", "parquet", "to_delta", "to_postgres"]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "WriteBatch": "sooner.spark.sinks.batches",
        "delta": "sooner.spark.sinks.delta_sink",
        "parquet": "sooner.spark.sinks.parquet_sink",
        "to_delta": "sooner.spark.sinks.delta_sink",
        "to_postgres": "sooner.spark.sinks.postgres_sink",
    },
    extras={
        "delta": ("deltalake", "delta"),
        "to_delta": ("deltalake", "delta"),
        "to_postgres": ("psycopg", "postgres"),
    },
)
