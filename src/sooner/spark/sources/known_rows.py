"""How many rows a stream will give in all, where its source knows: an estimate can say then what is still to come."""

from typing import Final

from pyspark.sql import DataFrame

from sooner.spark.sources.parquet_files import find_parquet
from sooner.spark.sources.pushed_down import reading_of

OF_FILES: Final = ("sooner.parquet", "sooner.replay")


def known_rows(rows: DataFrame) -> int | None:
    """By the footers of Parquet files, if nothing is left out on the way; None if that is not known."""
    reading = reading_of(rows)
    if isinstance(reading, str) or reading.source not in OF_FILES or reading.condition is not None:
        return None
    return sum(sum(file.rows_of_groups) for file in find_parquet(reading.options["path"], None).files)
