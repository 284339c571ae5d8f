"""Joins that answer while the data is still arriving."""

from typing import TYPE_CHECKING

from sooner.errors import (
    BudgetTooSmall,
    InvalidJoin,
    SinkFailed,
    SoonerError,
    SourceFailed,
    SpillFailed,
    StateCorrupted,
)
from sooner.lazily import lazily
from sooner.named_algorithms import Algorithm, algorithms

if TYPE_CHECKING:
    from sooner import sources
    from sooner.local.join import join
    from sooner.local.query import Query

__all__ = [
    "Algorithm",
    "BudgetTooSmall",
    "InvalidJoin",
    "Query",
    "SinkFailed",
    "SoonerError",
    "SourceFailed",
    "SpillFailed",
    "StateCorrupted",
    "algorithms",
    "join",
    "sources",
]

__getattr__ = lazily(
    __name__, {"join": "sooner.local.join", "Query": "sooner.local.query", "sources": "sooner.sources"}
)
