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

if TYPE_CHECKING:
    from sooner import sources
    from sooner.estimation.estimate import Estimate
    from sooner.local.enrich import enrich
    from sooner.local.estimate import Estimates, estimate
    from sooner.local.figures import Figures
    from sooner.local.groups import LiveGroups
    from sooner.local.join import join
    from sooner.local.multijoin import multijoin
    from sooner.local.query import Query
    from sooner.local.sql import sql
    from sooner.named_algorithms import Algorithm, algorithm, algorithms
    from sooner.version import __version__
    from sooner.viewing import dashboard

__all__ = [
    "Algorithm",
    "BudgetTooSmall",
    "Estimate",
    "Estimates",
    "Figures",
    "InvalidCall",
    "InvalidJoin",
    "LiveGroups",
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
    "dashboard",
    "enrich",
    "estimate",
    "join",
    "multijoin",
    "sources",
    "sql",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "Algorithm": "sooner.named_algorithms",
        "Estimate": "sooner.estimation.estimate",
        "Estimates": "sooner.local.estimate",
        "Figures": "sooner.local.figures",
        "LiveGroups": "sooner.local.groups",
        "Query": "sooner.local.query",
        "__version__": "sooner.version",
        "algorithm": "sooner.named_algorithms",
        "algorithms": "sooner.named_algorithms",
        "dashboard": "sooner.viewing",
        "enrich": "sooner.local.enrich",
        "estimate": "sooner.local.estimate",
        "join": "sooner.local.join",
        "load_ipython_extension": "sooner.completing",
        "multijoin": "sooner.local.multijoin",
        "sources": "sooner.sources",
        "sql": "sooner.local.sql",
    },
)
