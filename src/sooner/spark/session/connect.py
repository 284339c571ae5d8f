"""Spark Connect: a program without Java, whose session is on a server. What is asked of such a session is asked here.

Its DataFrames and writers know their plan as messages of Connect's protocol, a tree of relations.
"""

from collections.abc import Iterator
from typing import Any

import pyspark

from sooner.errors import SoonerError

Relation = Any  # a message of Connect's protocol


class UnfitSession(SoonerError):  # noqa: N818
    """Nothing of sooner can run in this Spark session: it must be started in another way."""


def is_connect(value: object) -> bool:
    """Whether a session, DataFrame, writer or query is one of Spark Connect, by its module: to import that takes
    packages that classic Spark does without.
    """
    return type(value).__module__.startswith("pyspark.sql.connect.")


def require_same_version(spark: Any) -> None:
    """Refuse a server of another version: functions travel to it as this PySpark writes them."""
    here, there = pyspark.__version__, str(spark.version)
    if here.split(".")[:2] != there.split(".")[:2]:
        wanted = ".".join(there.split(".")[:2])
        raise UnfitSession(
            f"The Spark Connect server runs Spark {there}, and this program has PySpark {here}: install the server's, "
            f"pip install 'pyspark[connect]=={wanted}.*', or connect to a server of this one."
        )


def relation_of(rows: Any) -> Relation:
    """The plan of a DataFrame, or of what a writer writes."""
    if type(rows).__name__ == "DataStreamWriter":
        return rows._write_stream._child.plan(rows._session.client)
    return rows._plan.plan(rows.sparkSession.client)


def leaves_of(relation: Relation) -> Iterator[Relation]:
    """The relations that have no others inside, from left to right."""
    inside = list(_inside(getattr(relation, relation.WhichOneof("rel_type"))))
    if not inside:
        yield relation
    for one in inside:
        yield from leaves_of(one)


def _inside(message: Any) -> Iterator[Relation]:
    """Relations are in fields of their own, some of them in lists."""
    for field, value in message.ListFields():
        if field.message_type is not None and field.message_type.name == "Relation":
            yield from [value] if hasattr(value, "WhichOneof") else value
