"""What is known of a stream before it has begun, where it comes from a source of ours: how many rows it will give, so
that an estimate can say what is still to come, and what of it comes in random order.
"""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import DataFrame

from sooner.spark.sources.parquet_files import find_parquet
from sooner.spark.sources.pushed_down import reading_of

OF_FILES: Final = ("sooner.parquet", "sooner.replay")


def is_in_random_blocks(rows: DataFrame) -> bool:
    """Whether row groups come in random order, and in each of them its rows together."""
    reading = reading_of(rows)
    return not isinstance(reading, str) and reading.source == OF_FILES[0] and reading.options.get("order") == "random"


def known_rows(rows: DataFrame, sources: Sequence[str] = OF_FILES) -> int | None:
    """The number of rows by the footers of Parquet files; None if it is not known or some are left out on the way."""
    reading = reading_of(rows)
    if isinstance(reading, str) or reading.source not in sources or reading.condition is not None:
        return None
    version = reading.options.get("version")
    found = find_parquet(reading.options["path"], None, None if version is None else int(version))
    return sum(sum(file.rows_of_groups) for file in found.files)


def resting_rows(rows: DataFrame) -> int | None:
    """The same of files that come as fast as they can be read; None of a replay, which takes its time."""
    return known_rows(rows, OF_FILES[:1])
