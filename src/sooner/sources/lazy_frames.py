"""Lazy frames of Polars as sources: Polars runs them when they are read, and gives its batches as they come."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from sooner.sources.cutting import cut

if TYPE_CHECKING:
    import polars


@dataclass(frozen=True)
class LazyFrameSource:
    """It can be read again and again, and is worked out each time."""

    name: str
    frame: "polars.LazyFrame"

    @cached_property
    def schema(self) -> pa.Schema:
        """Names and types of the columns; Polars looks into files for that."""
        import polars

        return pa.table(polars.DataFrame(schema=self.frame.collect_schema())).schema

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows of the frame."""
        return cut(batch for some in self.frame.collect_batches() for batch in pa.table(some).to_batches())
