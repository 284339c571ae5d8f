"""Where rows come from: Arrow data, files, replays that take their time.

>>> import pyarrow as pa
>>> slow = paced(pa.table({"k": [1, 2, 3]}), Fixed(0.001))
>>> sum(batch.num_rows for batch in slow.batches())
3
"""

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
from sooner.sources.checked import checked
from sooner.sources.files import csv, parquet
from sooner.sources.opening import open_source
from sooner.sources.paced import paced
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
    "open_source",
    "paced",
    "parquet",
    "shuffle",
]
