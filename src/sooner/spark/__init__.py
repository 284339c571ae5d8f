"""Joins inside PySpark: streaming DataFrames in, a streaming DataFrame out.

>>> import sooner.spark as ss
>>> joined = ss.join(orders, customers, on="custkey", memory="1g", state="/data/state")  # doctest: +SKIP
>>> query = ss.start(joined.writeStream.option("checkpointLocation", "/data/log"), "/data/out")  # doctest: +SKIP

Its rooms, each of which imports only from those below it:

    joins                    `join`, `multijoin`, `enrich` and `estimate`
    query, sinks             a running query; files and tables that take each batch once
    dataflow                 any operator inside a streaming DataFrame, and the pacemaker
    states                   a state between two runs of its query: contents, checks, other partitions
    sources, step            streams that end; what a task does in a batch
    shuffle                  how rows reach a task
    session, interop         Spark itself; its types, locations, plans and batches
"""

from typing import TYPE_CHECKING

from sooner.extras import OLDEST_SPARK, require, require_at_least
from sooner.lazily import lazily

require("pyspark", "sooner.spark", "spark")
require_at_least(OLDEST_SPARK, "pyspark", "sooner.spark")

if TYPE_CHECKING:
    from sooner.spark import sinks, sources
    from sooner.spark.joins.enrich import enrich
    from sooner.spark.joins.estimate import estimate
    from sooner.spark.joins.join import join
    from sooner.spark.joins.multijoin import multijoin
    from sooner.spark.query.joins import explain
    from sooner.spark.query.query import Query, start
    from sooner.spark.session.session import local_session
    from sooner.spark.step.standing import JoinProgress
    from sooner.viewing import dashboard

__all__ = [
    "JoinProgress",
    "Query",
    "dashboard",
    "enrich",
    "estimate",
    "explain",
    "join",
    "local_session",
    "multijoin",
    "sinks",
    "sources",
    "start",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "JoinProgress": "sooner.spark.step.standing",
        "Query": "sooner.spark.query.query",
        "dashboard": "sooner.viewing",
        "enrich": "sooner.spark.joins.enrich",
        "estimate": "sooner.spark.joins.estimate",
        "explain": "sooner.spark.query.joins",
        "join": "sooner.spark.joins.join",
        "local_session": "sooner.spark.session.session",
        "multijoin": "sooner.spark.joins.multijoin",
        "sinks": "sooner.spark.sinks",
        "sources": "sooner.spark.sources",
        "start": "sooner.spark.query.query",
    },
)
