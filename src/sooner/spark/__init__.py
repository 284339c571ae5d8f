"""Joins inside PySpark: streaming DataFrames in, a streaming DataFrame out.

>>> import sooner.spark as ss
>>> joined = ss.join(orders, customers, on="custkey", memory="1g", state="/data/state")  # doctest: +SKIP
>>> query = ss.start(joined.writeStream.option("checkpointLocation", "/data/log"), "/data/out")  # doctest: +SKIP
"""

import importlib.util

if importlib.util.find_spec("pyspark") is None:
    raise ModuleNotFoundError("sooner.spark needs PySpark; run: pip install 'sooner[spark]'")

from sooner.spark import sinks, sources
from sooner.spark.join import join
from sooner.spark.progress import JoinProgress
from sooner.spark.query import Query, start
from sooner.spark.session import local_session

__all__ = ["JoinProgress", "Query", "join", "local_session", "sinks", "sources", "start"]
