"""The queries of this program that run: a sink knows the one that it serves by its id."""

from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from sooner.spark.query.query import Query

RUNNING: Final["WeakValueDictionary[str, Query]"] = WeakValueDictionary()  # by the ids in their checkpoints
