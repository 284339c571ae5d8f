"""What a partition gets in a batch: rows of all inputs, its mark and perhaps a pulse, in any order."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

import numpy as np
import pyarrow as pa

from sooner.kernels.arrays import to_arrow, to_numpy
from sooner.kernels.sizes import data_bytes
from sooner.operators.pieces import Rows, pieces, pieces_by
from sooner.runs.run import HELPER_BYTES
from sooner.spark.interop.grouping import grouped
from sooner.spark.shuffle.packing import unpacked
from sooner.spark.shuffle.row_kinds import MARK, PULSE, Kinds, Pulse, are_copies, of_input, place_of, pulse_in
from sooner.spark.shuffle.shared_columns import as_one_batch
from sooner.spark.step.plan import StepPlan
from sooner.spark.step.staging import Staging

# Half of a partition's memory may be held, but of a task at least and of a partition at most so much.
LEAST_HELD_BYTES: Final = 32 * 2**20
MOST_HELD_BYTES: Final = 256 * 2**20
# What is staged is copied and sorted so many rows or bytes at a time: what Spark hands over is far more.
STAGED_ROWS: Final = 2**20
STAGED_BYTES: Final = 16 * 2**20


@contextmanager
def deliveries(plan: StepPlan, batches: Iterator[pa.RecordBatch]) -> Iterator[list["Delivery"]]:
    """All that a task gets, partition by partition. Rows know theirs: a union after the join changes what Spark calls
    it. Without a row there is none.
    """
    of_place: dict[int, Delivery] = {}
    with ExitStack() as context:
        for batch in batches:
            for place, rows in _by_place(batch):
                if place not in of_place:
                    of_place[place] = context.enter_context(Delivery(plan, place, batch.schema))
                of_place[place].take(rows)
        yield [delivery for _, delivery in sorted(of_place.items())]


def _by_place(batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    places = place_of(to_numpy(batch.column(0)))
    found = np.unique(places).tolist()
    for place in found:
        yield place, batch if len(found) == 1 else batch.filter(to_arrow(places == place))


class Delivery:
    """All that one partition gets. A context, because it may hold files."""

    def __init__(self, plan: StepPlan, place: int, batch_schema: pa.Schema) -> None:
        self._plan = plan
        self._context = ExitStack()
        self._held: list[list[pa.Table]] = [[] for _ in plan.inputs]
        self._held_bytes = 0
        self._staging: Staging | None = None
        self.n_rows = [0] * len(plan.inputs)
        self.n_bytes = 0  # what they will take in memory, about
        self.n_copies = [0] * len(plan.inputs)  # among them: rows that are in another partition as well
        self.pulse = Pulse()  # what the driver says in this batch; nothing if it is silent
        self.time: float | None = None  # of the batch, in seconds; None where nobody asks
        self.place = place
        self.schemas = plan.schemas(batch_schema)
        self.order = plan.operator.order(self.schemas)
        least_bytes = LEAST_HELD_BYTES // plan.partitions_of_a_task
        self._most_held_bytes = min(max(plan.partition_bytes // 2, least_bytes), MOST_HELD_BYTES)

    def pieces(self, at_most_bytes: int) -> Iterator[Rows]:
        """The rows, in pieces that depend on the set of rows only."""
        if self._staging is None:
            rows: Rows = [as_one_batch(held, schema) for held, schema in zip(self._held, self.schemas, strict=True)]
            self._held = []
            yield from pieces(rows, self.order.coders, at_most_bytes)
            return
        self._stage()
        for rows, codes in self._staging.ranges(at_most_bytes):
            yield from pieces_by(rows, codes, at_most_bytes)

    def __enter__(self) -> "Delivery":
        return self

    def __exit__(self, *_: object) -> None:
        self._context.close()

    def _hear(self, batch: pa.RecordBatch, kinds: Kinds) -> None:
        """What pulse and mark say, if they are in this batch."""
        if (pulse := pulse_in(kinds)) is not None:
            said = self._plan.shared.word_of(batch, kinds, PULSE)
            self.pulse = pulse if said is None else pulse.saying(said)
        if (time := self._plan.shared.word_of(batch, kinds, MARK)) is not None:
            self.time = int(time) / 10**6

    def take(self, batch: pa.RecordBatch) -> None:
        """Some more of it."""
        kinds = to_numpy(batch.column(0))
        self._hear(batch, kinds)
        for which, held in enumerate(self._held):
            rows, n_copies = self._rows_of(batch, kinds, which)
            held.append(rows)
            self._held_bytes += data_bytes(rows)
            self.n_rows[which] += rows.num_rows
            self.n_bytes += data_bytes(rows) + HELPER_BYTES * rows.num_rows
            self.n_copies[which] += n_copies
        if self._held_bytes > self._most_held_bytes:
            self._stage()

    def _rows_of(self, batch: pa.RecordBatch, kinds: Kinds, which: int) -> tuple[pa.Table, int]:
        """The rows of an input, and how many of them are copies."""
        rows = self._plan.shared.rows_of(batch, kinds, which)
        copies = are_copies(kinds[of_input(kinds, which)])
        schema = self._plan.packed[which]
        if schema is None:
            return rows, int(copies.sum())
        packs = list(unpacked(rows.column(0), schema))
        return pa.Table.from_batches(packs, schema), sum(packs[at].num_rows for at in np.flatnonzero(copies))

    def _stage(self) -> None:
        if self._staging is None:
            self._staging = self._context.enter_context(Staging(self.schemas, self.order.coders))
        for which, (held, schema) in enumerate(zip(self._held, self.schemas, strict=True)):
            batches = (batch for table in held for batch in table.to_batches())
            for some in grouped(batches, STAGED_ROWS, STAGED_BYTES):
                self._staging.add(which, as_one_batch([pa.Table.from_batches(some)], schema))
        self._held, self._held_bytes = [[] for _ in self._held], 0
