"""NOT IN, where nulls forbid: nobody knows that a null is not equal.

It is an anti join, but for this: if a null is among what a value must not be in, nothing is known not to be in it; and
a value that is null is not in nothing alone. An anti join gives a row with a value when all of the right is there, so
by then it is known whether a null was among it. A row without a value comes at once, and waits here until a first row
of the right has come, or none did.
"""

from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from sooner.errors import BudgetTooSmall

MOST_WAITING_BYTES: Final = 32 * 2**20


class NotIn:
    """`value` is a column of joined rows, `own` one of the rows of the right."""

    def __init__(self, value: str, own: str) -> None:
        self._value = value
        self._own = own
        self._rows = 0
        self._nulls = 0

    def watch(self, batch: pa.RecordBatch) -> None:
        """These rows of the right have come."""
        self._nulls += batch.column(self._own).null_count
        self._rows += batch.num_rows

    def of(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        waiting: list[pa.RecordBatch] = []
        for batch in batches:
            values = batch.column(self._value)
            known = batch if not values.null_count else batch.filter(values.is_valid())
            if known.num_rows and not self._nulls:
                yield known
            waiting = [] if self._rows else [*waiting, batch.filter(values.is_null())]
            if sum(one.nbytes for one in waiting) > MOST_WAITING_BYTES:
                raise BudgetTooSmall(
                    f"NOT IN must keep all rows whose {self._value} is null, since its SELECT has given no row so far; "
                    f"add {self._value} IS NOT NULL."
                )
        if not self._rows:
            yield from (one for one in waiting if one.num_rows)
