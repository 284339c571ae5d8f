"""What is not out yet is found by a chain of two-way joins over all rows, in bounded memory.

Combinations that were in memory together are out, and which they are follows from the stamps of their rows: all of them
were there from the latest arrival to the earliest departure, if that is not before it. Such intervals intersect one
after the other, so a partial result carries two numbers, and the last join of the chain tells what is new.

Each join has an equal part of the memory, all of which is taken from the account for as long as the chain lives, and
spills what it cannot hold. All rows of the inputs that are joined later are
given to their joins first, then those of the first input; what a join finds goes to the next one at once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from sooner.budget import Budget
from sooner.kernels.arrays import to_arrow, to_numpy
from sooner.kernels.content_order import order_by_content
from sooner.kernels.gathering import gather
from sooner.named_algorithms import ALGORITHMS
from sooner.operators.inputs import Input, Storage
from sooner.operators.multiway.graph import Graph, Step
from sooner.operators.operator import Means
from sooner.operators.two_way.join import TwoWayJoin
from sooner.operators.two_way.plan import INPUTS, TwoWayPlan
from sooner.policies.view import SILENT
from sooner.runs.run import Run
from sooner.runs.store import counted
from sooner.sides import LEFT, RIGHT

ARRIVED: Final = ("arrived", "arrived_too")  # the stamps of the left and of the right, as columns
DEPARTED: Final = ("departed", "departed_too")
PIECES_IN_SHARE: Final = 2  # a join is given rows in pieces of this part of its memory at most


class Fed(NamedTuple):
    """How far the joins have been given rows: inputs in the order of feeding, runs of one, and blocks of one."""

    inputs: int = 0
    runs: int = 0
    blocks: int = 0


def named(which: int, column: str) -> str:
    """What a column of an input is called in the chain, where all have to differ."""
    return f"{which}.{column}"


class Chain:
    """`numbers` are the runs on disk of each input that take part: all that there were when it began."""

    def __init__(
        self, graph: Graph, inputs: Sequence[Input], numbers: Sequence[Sequence[int]], storage: Storage, means: Means
    ) -> None:
        self.numbers = numbers
        self._inputs = inputs
        self._steps = graph.steps_from(0)
        self._order = [*(step.input for step in reversed(self._steps)), 0]  # in which inputs are given
        self._fed = Fed()
        self._read_bytes = 0
        self._account = means.account
        share_bytes = means.account.share_bytes // len(self._steps)
        self._taken_bytes = share_bytes * len(self._steps)
        self._account.reserve(self._taken_bytes)
        self._joins: list[TwoWayJoin[pa.RecordBatch]] = []
        left = _with_stamps([(0, field) for field in inputs[0].schema], LEFT)
        for step in self._steps:
            right = _with_stamps([(step.input, field) for field in inputs[step.input].schema], RIGHT)
            plan = _two_way(graph, step)
            schemas = [pa.schema(left), pa.schema(right)]
            account = Budget(share_bytes).account(f"the join with {graph.inputs[step.input]}")
            self._joins.append(plan.make(INPUTS, schemas, storage, replace(means, account=account, room=None)))
            left = [*left[:-2], *right[:-2], *left[-2:]]

    @property
    def is_done(self) -> bool:
        return all(join.phase == "done" for join in self._joins)

    @property
    def worked_bytes(self) -> int:
        return self._read_bytes + sum(join.worked_bytes for join in self._joins)

    def work(self, quantum_bytes: int) -> Iterator[pa.RecordBatch]:
        """Go on for so many bytes: what comes out has the columns of all inputs, and two stamps."""
        if self._fed.inputs < len(self._order):
            yield from self._feed(quantum_bytes)
            return
        at = next(at for at, join in enumerate(self._joins) if join.phase != "done")
        for found in self._joins[at].work(quantum_bytes, SILENT):
            yield from self._passed_on(at, found)
        if self._joins[at].phase == "done" and at + 1 < len(self._joins):
            self._joins[at + 1].end(LEFT)

    def _feed(self, quantum_bytes: int) -> Iterator[pa.RecordBatch]:
        """Some blocks of a run, or the end of an input."""
        which = self._order[self._fed.inputs]
        at, side = (0, LEFT) if which == 0 else ([step.input for step in self._steps].index(which), RIGHT)
        runs = [run for run in self._inputs[which].partitions[0].spilled if run.number in self.numbers[which]]
        if self._fed.runs == len(runs):
            self._joins[at].end(side)
            self._fed = Fed(self._fed.inputs + 1)
            return
        [segment] = runs[self._fed.runs].segments
        blocks = segment.blocks
        sizes = blocks.n_bytes[self._fed.blocks :].astype(np.int64).cumsum()
        many = max(int(sizes.searchsorted(quantum_bytes, side="right")), 1)
        some = blocks[self._fed.blocks : self._fed.blocks + many]
        for run in self._inputs[which].store.read(segment, some):
            yield from self._given(at, side, _stamped(which, run, side))
        self._read_bytes += sum(block.n_bytes for block in some)
        is_over = self._fed.blocks + len(some) == len(blocks)
        self._fed = Fed(self._fed.inputs, self._fed.runs + is_over, 0 if is_over else self._fed.blocks + len(some))

    def _given(self, at: int, side: int, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """A join is given these rows, in pieces, and what it finds goes on."""
        piece_bytes = self._joins[at].account.share_bytes // PIECES_IN_SHARE
        n_rows = max(rows.num_rows * piece_bytes // max(rows.nbytes, 1), 1)
        for first in range(0, rows.num_rows, n_rows):
            piece = [rows.slice(first, n_rows)]
            for found in self._joins[at].arrive([piece, []] if side == LEFT else [[], piece], 0.0):
                yield from self._passed_on(at, found)

    def _passed_on(self, at: int, found: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        rows = _with_common_stamps(found)
        if at + 1 == len(self._joins):
            yield rows
        else:
            yield from self._given(at + 1, LEFT, rows)

    def to_plain(self) -> dict[str, Any]:
        return {"numbers": self.numbers, "fed": self._fed, "joins": [join.snapshot() for join in self._joins]}

    def load_plain(self, data: dict[str, Any]) -> None:
        self._fed = Fed(*map(counted, data["fed"]))
        for join, saved in zip(self._joins, data["joins"], strict=True):
            join.restore(saved)

    def interrupt(self) -> None:
        for join in self._joins:
            join.interrupt()

    def close(self) -> None:
        for join in self._joins:
            join.close()
        self._account.release(self._taken_bytes)


def _two_way(graph: Graph, step: Step) -> TwoWayPlan:
    columns = graph.attributes[step.attribute].by_input
    left_on = tuple(named(step.parent, column) for column in columns[step.parent])
    right_on = tuple(named(step.input, column) for column in columns[step.input])
    return TwoWayPlan(left_on, right_on, ("", ""), ALGORITHMS["grace"])


def _with_stamps(fields: Sequence[tuple[int, pa.Field]], side: int) -> list[pa.Field]:
    stamps = [pa.field(names[side], pa.int32()) for names in (ARRIVED, DEPARTED)]
    return [*(field.with_name(named(which, field.name)) for which, field in fields), *stamps]


def _stamped(which: int, run: Run, side: int) -> pa.RecordBatch:
    """Rows of an input with their stamps as columns, in an order that follows from their content."""
    stamps = [to_arrow(np.broadcast_to(np.asarray(stamp, np.int32), len(run))) for stamp in (run.arrived, run.departed)]
    rows = pa.RecordBatch.from_arrays(
        [*run.rows.columns, *stamps],
        schema=pa.schema(_with_stamps([(which, field) for field in run.rows.schema], side)),
    )
    if (run.codes[1:] == run.codes[:-1]).any():
        return gather(rows, order_by_content([to_arrow(run.codes), *rows.columns]))
    return rows


def _with_common_stamps(found: pa.RecordBatch) -> pa.RecordBatch:
    """Of both: the later arrival, and the earlier departure."""
    stamps = []
    for names, chosen in ((ARRIVED, np.maximum), (DEPARTED, np.minimum)):
        stamps.append(to_arrow(chosen(*(to_numpy(found.column(name)) for name in names))))
    own = [name for name in found.schema.names if name not in (*ARRIVED, *DEPARTED)]
    fields = [
        *(found.schema.field(name) for name in own),
        *(pa.field(names[LEFT], pa.int32()) for names in (ARRIVED, DEPARTED)),
    ]
    return pa.RecordBatch.from_arrays([*(found.column(name) for name in own), *stamps], schema=pa.schema(fields))
