"""Where rows come from: Arrow data, files, replays that take their time.

>>> import pyarrow as pa
>>> from sooner.sources import Fixed, paced
>>> slow = paced(pa.table({"k": [1, 2, 3]}), Fixed(0.001))
>>> sum(batch.num_rows for batch in slow.batches())
3
"""

from typing import TYPE_CHECKING

from sooner.lazily import lazily

if TYPE_CHECKING:
    from sooner.sources.arrival_patterns import (
        ArrivalPattern,
        Exponential,
        Fixed,
        Fragments,
        ParetoBursts,
        Pauses,
        ZipfGaps,
        arrival_times,
    )
    from sooner.sources.checking import checked
    from sooner.sources.files import csv, json, parquet
    from sooner.sources.iterables import rows
    from sooner.sources.opening import open_source
    from sooner.sources.pacing import paced
    from sooner.sources.shuffling import shuffle
    from sooner.sources.source import Source, close_source

__all__ = [
    "ArrivalPattern",
    "Exponential",
    "Fixed",
    "Fragments",
    "ParetoBursts",
    "Pauses",
    "Source",
    "ZipfGaps",
    "arrival_times",
    "checked",
    "close_source",
    "csv",
    "json",
    "open_source",
    "paced",
    "parquet",
    "rows",
    "shuffle",
]

_PATTERNS = "sooner.sources.arrival_patterns"
__getattr__, __dir__ = lazily(
    __name__,
    {
        **dict.fromkeys(__all__, _PATTERNS),
        "Source": "sooner.sources.source",
        "checked": "sooner.sources.checking",
        "close_source": "sooner.sources.source",
        "csv": "sooner.sources.files",
        "json": "sooner.sources.files",
        "open_source": "sooner.sources.opening",
        "paced": "sooner.sources.pacing",
        "parquet": "sooner.sources.files",
        "rows": "sooner.sources.iterables",
        "shuffle": "sooner.sources.shuffling",
    },
)
