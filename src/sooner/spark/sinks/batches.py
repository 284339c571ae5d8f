"""What a sink that writes each batch once has to know: which query it serves, and how to say that it cannot go on.

Spark gives a batch again, under the same number, when it does not know whether it was written. A sink therefore records
the number together with the rows, in one transaction, and skips a batch whose number is there already.
"""

from collections.abc import Callable
from typing import Final, Literal, TypeAlias

from pyspark.sql import DataFrame

from sooner.errors import InvalidCall
from sooner.spark.query.running import RUNNING
from sooner.spark.session.connect import is_connect

WriteBatch: TypeAlias = Callable[[DataFrame, int], None]
IfMissing: TypeAlias = Literal["create", "refuse"]

QUERY: Final = "sql.streaming.queryId"  # local properties of the thread that runs a query
DESCRIPTION: Final = "spark.job.description"


def query_of(frame: DataFrame, query: str | None) -> str:
    """What identifies the query whose batch this is, today and after a restart.

    That is the id in its checkpoint, unless the user gives a name. A name outlives the checkpoint: with a new one,
    batches count from 0 again and would be skipped, so a new checkpoint needs a new name.
    """
    if not query and is_connect(frame):
        raise InvalidCall("under Spark Connect a batch does not say which query gave it; give query='a name'")
    name = query or frame.sparkSession.sparkContext.getLocalProperty(QUERY)
    if not name:
        raise InvalidCall("no streaming query gave this batch; use the sink in foreachBatch, or give query='a name'")
    return name


def describe_jobs(frame: DataFrame) -> None:
    """Spark's UI describes the jobs and stages of a batch by its query; how far the join was before it is added.

    Under Connect a batch is written by a program that has no part in the query.
    """
    if is_connect(frame):
        return
    context = frame.sparkSession.sparkContext
    running = RUNNING.get(context.getLocalProperty(QUERY) or "")
    if running is not None and running.progress is not None:
        context.setJobDescription(f"{context.getLocalProperty(DESCRIPTION)}\n{running.progress}")


def require_if_missing(if_missing: IfMissing) -> None:
    """Refuse any other word."""
    if if_missing not in ("create", "refuse"):
        raise InvalidCall(f"if_missing is {if_missing!r}; give 'create' or 'refuse'")


def require_distinct_columns(frame: DataFrame) -> None:
    """Refuse two columns of one name: a table has each once."""
    for column in frame.columns:
        if frame.columns.count(column) > 1:
            raise InvalidCall(f"there are {frame.columns.count(column)} columns {column!r}; rename all but one")
