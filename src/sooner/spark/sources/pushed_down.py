"""What stands between a source of ours and a join, if the source can do it itself: choosing, renaming, simple filters.

It is read from the plan of a DataFrame. Whatever else stands there (a computed column, a watermark, a union) is
Spark's, and is said in a few words.
"""

from pyspark.sql import DataFrame

from sooner.spark.session.connect import is_connect, relation_of
from sooner.spark.sources.plans_of_connect import reading_by_relation
from sooner.spark.sources.plans_of_java import reading_by_java
from sooner.spark.sources.readings import NotOurs, Reading


def reading_of(rows: DataFrame) -> Reading | str:
    """How a source of ours would read these rows; or why it cannot."""
    try:
        return reading_by_relation(relation_of(rows)) if is_connect(rows) else reading_by_java(rows)
    except NotOurs as error:
        return str(error)
