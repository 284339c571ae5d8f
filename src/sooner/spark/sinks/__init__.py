"""Each batch of a streaming query once, in systems that know transactions.

>>> stream.writeStream.foreachBatch(to_postgres("dbname=shop", "totals")).start()  # doctest: +SKIP
"""

from typing import TYPE_CHECKING

from sooner.lazily import lazily

if TYPE_CHECKING:
    from sooner.spark.sinks.batches import WriteBatch
    from sooner.spark.sinks.delta_sink import to_delta
    from sooner.spark.sinks.postgres_sink import to_postgres

__all__ = ["WriteBatch", "to_delta", "to_postgres"]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "WriteBatch": "sooner.spark.sinks.batches",
        "to_delta": "sooner.spark.sinks.delta_sink",
        "to_postgres": "sooner.spark.sinks.postgres_sink",
    },
    extras={"to_delta": ("deltalake", "delta"), "to_postgres": ("psycopg", "postgres")},
)
