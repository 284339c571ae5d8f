"""Joins inside PySpark: streaming DataFrames in, a streaming DataFrame out.

>>> import sooner.spark as ss
>>> joined = ss.join(orders, customers, on="custkey", memory="1g", state="/data/state")  # doctest: +SKIP
>>> query = ss.start(joined.writeStream.option("checkpointLocation", "/data/log"), "/data/out")  # doctest: +SKIP
"""

from typing import TYPE_CHECKING

from sooner.extras import require
from sooner.lazily import lazily

require("pyspark", "sooner.spark", "spark")

if TYPE_CHECKING:
    from sooner.spark import sinks, sources
    from sooner.spark.session.joins import explain
    from sooner.spark.session.query import Query, start
    from sooner.spark.session.session import local_session
    from sooner.spark.step.standing import JoinProgress
    from sooner.spark.streaming_estimate import estimate
    from sooner.spark.streaming_join import join

__all__ = ["JoinProgress", "Query", "estimate", "explain", "join", "local_session", "sinks", "sources", "start"]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "JoinProgress": "sooner.spark.step.standing",
        "Query": "sooner.spark.session.query",
        "estimate": "sooner.spark.streaming_estimate",
        "explain": "sooner.spark.session.joins",
        "join": "sooner.spark.streaming_join",
        "local_session": "sooner.spark.session.session",
        "sinks": "sooner.spark.sinks",
        "sources": "sooner.spark.sources",
        "start": "sooner.spark.session.query",
    },
)
