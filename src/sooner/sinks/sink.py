"""The contract of a destination: one method, which takes all rows of an answer."""

from typing import Protocol, runtime_checkable

import pyarrow as pa


@runtime_checkable
class Sink(Protocol):
    """Where the rows of an answer go.

    `rows` gives them as they are found. When it ends, the answer is whole. When it raises, the query failed or was
    stopped: what came before is valid, and a part of the answer. Let the error pass, and do with that part what is
    right where it is.
    """

    def write_rows(self, rows: pa.RecordBatchReader) -> None:
        """Take all rows, and return when they are safe."""
        ...
