"""What a task gets in a batch: rows of both sides, the mark of its partition and perhaps a pulse, in any order."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Final

import pyarrow as pa

from sooner.kernels.arrays import to_numpy
from sooner.kernels.keys import plan_keys
from sooner.kernels.sizes import data_bytes
from sooner.operators.pieces import Sides, pieces
from sooner.operators.sorted_runs import coder
from sooner.sides import LEFT, RIGHT, SIDES
from sooner.spark.plan import JoinPlan
from sooner.spark.shuffle.row_kinds import Pulse, place_of, pulse_in
from sooner.spark.shuffle.shared_columns import as_one_batch
from sooner.spark.shuffle.staging import Staging

# Half of the partition's memory may be held, but at least and at most so much.
LEAST_HELD_BYTES: Final = 32 * 2**20
MOST_HELD_BYTES: Final = 256 * 2**20


class Arrivals:
    """All that one task gets. A context, because it may hold files."""

    def __init__(self, plan: JoinPlan, batches: Iterator[pa.RecordBatch]) -> None:
        self._plan = plan
        self._context = ExitStack()
        self._held: tuple[list[pa.Table], list[pa.Table]] = ([], [])
        self._held_bytes = 0
        self._staging: Staging | None = None
        self.n_rows = [0, 0]
        self._pulse: Pulse | None = None
        # Rows know their partition: a union after the join changes what Spark calls it. Without a row there is none.
        self.place: int | None = None
        for batch in batches:
            if self.place is None:
                self._learn(batch.schema)
                self.place = place_of(int(batch.column(0)[0].as_py()))
            self._take(batch)

    @property
    def pulse(self) -> Pulse:
        """What the driver says in this batch; nothing if it is silent."""
        return self._pulse or Pulse()

    def pieces(self, at_most_bytes: int) -> Iterator[Sides]:
        """The rows, in pieces that depend on the set of rows only."""
        if self._staging is None:
            yield from pieces(self._take_held(), self.coders, at_most_bytes)
            return
        self._stage()
        for rows in self._staging.ranges(at_most_bytes):
            yield from pieces(rows, self.coders, at_most_bytes)

    def __enter__(self) -> "Arrivals":
        return self

    def __exit__(self, *_: object) -> None:
        self._context.close()

    def _learn(self, schema: pa.Schema) -> None:
        plan = self._plan
        self.schemas = plan.schema(LEFT, schema), plan.schema(RIGHT, schema)
        self.keys = plan_keys(*self.schemas, plan.left_on, plan.right_on)
        self.coders = coder(self.keys, LEFT), coder(self.keys, RIGHT)

    def _take(self, batch: pa.RecordBatch) -> None:
        kinds = to_numpy(batch.column(0))
        self._pulse = self._pulse or pulse_in(kinds)
        for side in SIDES:
            rows = self._plan.shared.rows_of(batch, kinds, side)
            self._held[side].append(rows)
            self._held_bytes += data_bytes(rows)
            self.n_rows[side] += rows.num_rows
        if self._held_bytes > min(max(self._plan.partition_bytes // 2, LEAST_HELD_BYTES), MOST_HELD_BYTES):
            self._stage()

    def _stage(self) -> None:
        if self._staging is None:
            self._staging = self._context.enter_context(Staging(self.schemas, self.coders))
        for side, rows in enumerate(self._take_held()):
            self._staging.add(side, rows)

    def _take_held(self) -> Sides:
        left, right = (as_one_batch(self._held[side], self.schemas[side]) for side in SIDES)
        self._held, self._held_bytes = ([], []), 0
        return left, right
