"""Joins that answer while the data is still arriving."""

from sooner import sources
from sooner.algorithms import Algorithm, algorithms
from sooner.errors import (
    BudgetTooSmall,
    InvalidJoin,
    SoonerError,
    SourceFailed,
    SpillFailed,
    StateCorrupted,
)
from sooner.local.join import join
from sooner.local.query import Query

__all__ = [
    "Algorithm",
    "BudgetTooSmall",
    "InvalidJoin",
    "Query",
    "SoonerError",
    "SourceFailed",
    "SpillFailed",
    "StateCorrupted",
    "algorithms",
    "join",
    "sources",
]
