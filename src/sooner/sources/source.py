"""The contract of an input: a name, a schema and batches that may take their time.

Not covered here: what can be turned into a source (`opening`), and what happens when a source breaks its
promises (`checked`).
"""

from collections.abc import Iterable, Iterator
from typing import Protocol, runtime_checkable

import pyarrow as pa


@runtime_checkable
class Source(Protocol):
    """An input of a join.

    `batches()` may block for as long as the data takes, and may be good for one iteration only. Every batch
    has the columns of `schema`.

    A source may also have a method `close()`. It is called from another thread while `batches()` blocks, and
    makes it end soon, with or without an error. Whoever closes a source knows that rows may be missing.

    And it may have an `n_rows`: how many rows it gives, if it knows before it has read them, or None.
    """

    @property
    def name(self) -> str:
        """What messages call this source."""
        ...

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns, known before any row is read."""
        ...

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, in their order."""
        ...


def n_rows_of(source: Source) -> int | None:
    """How many rows a source gives, if it knows."""
    n_rows: int | None = getattr(source, "n_rows", None)
    return n_rows


def n_rows_together(sources: Iterable[Source]) -> int | None:
    """How many rows these give, if all of them know."""
    numbers = [n_rows_of(source) for source in sources]
    return None if None in numbers else sum(number or 0 for number in numbers)


def close_source(source: Source) -> None:
    """Close a source that can be closed; leave any other alone."""
    close = getattr(source, "close", None)
    if close is not None:
        close()
