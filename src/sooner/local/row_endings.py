"""What becomes of rows that were asked for as such: DISTINCT while they come, ORDER BY when all are there, LIMIT."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from sooner.budget import format_bytes
from sooner.errors import BudgetTooSmall
from sooner.estimation.groups import Groups
from sooner.kernels.arrays import to_arrow
from sooner.local.rows import Rows
from sooner.queries.row_order import Sorting

_FEW: Final = 2**16  # rows that wait to be sorted


@dataclass(frozen=True)
class RowEnding:
    """Columns that are only sorted by come last; of all there are, so many are `shown`."""

    shown: int
    distinct: bool
    order: tuple[Sorting, ...]
    limit: int | None
    offset: int
    memory_bytes: int

    @property
    def changes(self) -> bool:
        return self.distinct or bool(self.order) or self.limit is not None or self.offset > 0

    def through(self, rows: Rows) -> Rows:
        """These rows as they are asked for."""
        if not self.changes:
            return rows
        whole = rows.schema
        shown = pa.schema([whole.field(at) for at in range(self.shown)])

        def changed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            found = self._distinct(batches, whole) if self.distinct else batches
            found = self._sorted(found, whole) if self.order else found
            return self._limited(found, shown, rows.stop)

        return rows.through(shown, changed)

    def _distinct(self, batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Each row when it is first seen."""
        groups = Groups(schema.types)
        for batch in batches:
            known = len(groups)
            numbers, first = np.unique(groups.numbers_of(batch.columns), return_index=True)
            new = np.sort(first[numbers >= known])
            self._require_room(groups.n_bytes, "SELECT DISTINCT", len(groups))
            if len(new):
                yield batch.take(to_arrow(new))

    def _sorted(self, batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """All rows at last, or the first of them."""
        most = None if self.limit is None else self.offset + self.limit
        nothing = [pa.nulls(0, type_) for type_ in schema.types]
        found, waiting = pa.Table.from_arrays(nothing, schema=schema), []
        for batch in batches:
            waiting.append(batch)
            n_waiting = sum(one.num_rows for one in waiting)
            if most is not None and n_waiting > max(_FEW, most):
                found, waiting = self._in_order([*found.to_batches(), *waiting], schema).slice(0, most), []
            self._require_room(found.nbytes + sum(one.nbytes for one in waiting), "ORDER BY", len(found) + n_waiting)
        yield from self._in_order([*found.to_batches(), *waiting], schema).to_batches()

    def _in_order(self, batches: Sequence[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
        table = pa.Table.from_batches(batches, schema=schema).combine_chunks()
        for key in reversed(self.order):  # each keeps the order of those before it among equals
            table = table.take(key.places(table))
        return table.combine_chunks()

    def _limited(
        self, batches: Iterator[pa.RecordBatch], shown: pa.Schema, stop: Callable[[], None]
    ) -> Iterator[pa.RecordBatch]:
        """The first rows to come; then nothing more is read."""
        skipped, left = self.offset, self.limit
        for batch in batches if left != 0 else ():
            kept = batch.slice(min(skipped, batch.num_rows), left)
            skipped -= min(skipped, batch.num_rows)
            if kept.num_rows:
                yield pa.RecordBatch.from_arrays(kept.columns[: self.shown], schema=shown)
            left = None if left is None else left - kept.num_rows
            if left == 0:
                break
        if left == 0:
            stop()

    def _require_room(self, n_bytes: int, part: str, n_rows: int) -> None:
        if n_bytes > self.memory_bytes:
            needed = 2 * n_bytes // 2**20 + 1
            raise BudgetTooSmall(
                f"{part} must keep {n_rows:,} rows so far, which take {format_bytes(n_bytes)}; give "
                f"memory='{needed}MB' or more, or ask for less."
            )
