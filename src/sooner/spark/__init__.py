"""Joins inside PySpark: streaming DataFrames in, a streaming DataFrame out.

>>> import sooner.spark as ss
>>> joined = ss.join(orders, customers, on="custkey", memory="1g", state="/data/state")  # doctest: +SKIP
>>> query = ss.start(joined.writeStream.option("checkpointLocation", "/data/log"), "/data/out")  # doctest: +SKIP
"""

from sooner.spark.join import join
from sooner.spark.query import JoinProgress, Query, start
from sooner.spark.session import local_session

__all__ = ["JoinProgress", "Query", "join", "local_session", "start"]
