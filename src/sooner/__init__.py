"""Joins that answer while the data is still arriving."""

from typing import TYPE_CHECKING

from sooner.errors import (
    BudgetTooSmall,
    InvalidCall,
    InvalidJoin,
    MissingLibrary,
    SinkFailed,
    SoonerError,
    SourceFailed,
    SpillFailed,
    StateCorrupted,
)
from sooner.lazily import lazily
from sooner.named_algorithms import Algorithm, algorithm, algorithms

if TYPE_CHECKING:
    from sooner import sources
    from sooner.local.join import join
    from sooner.local.query import Query
    from sooner.version import __version__

__all__ = [
    "Algorithm",
    "BudgetTooSmall",
    "InvalidCall",
    "InvalidJoin",
    "MissingLibrary",
    "Query",
    "SinkFailed",
    "SoonerError",
    "SourceFailed",
    "SpillFailed",
    "StateCorrupted",
    "__version__",
    "algorithm",
    "algorithms",
    "join",
    "sources",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "Query": "sooner.local.query",
        "__version__": "sooner.version",
        "join": "sooner.local.join",
        "sources": "sooner.sources",
    },
)
