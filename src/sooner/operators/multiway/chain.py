"""What is not out yet is found by a chain of two-way joins over all rows, in bounded memory.

Combinations that were in memory together are out, and which they are follows from the stamps of their rows: all of them
were there from the latest arrival to the earliest departure, if that is not before it. Such intervals intersect one
after the other, so a partial result carries two numbers, and one that says whether all of its rows are among those that
a nested loop has joined; the last join of the chain tells what is new.

Inputs that are in memory as a whole stay there, if they are not between others: what the chain finds meets them in the
end. So if one input alone is on disk, its rows are read back, and there is nothing to join but that.

The chain begins with the input that is largest, and goes first to those where least was met so far: a join that gives
more rows than it gets comes late, so what one join writes for the next is little. All others are given to their joins
first, where they stay in memory as far as there is room; then come the rows of the largest, and what one join finds
goes to the next at once. A row that meets all that it can in memory is not kept, so nothing is written but what finds
no room (hybrid hash join). Where the rows of the largest and of the first of the others lie in the order of the
attribute that they share, these two are not given to a join but merged where they lie.

All memory that is free is taken from the account for as long as the chain lives. Each join has a part of it, by the
size of the input that stays there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from sooner.budget import Budget
from sooner.kernels.array_types import Codes, Flags
from sooner.kernels.arrays import to_arrow, to_numpy
from sooner.kernels.columns import Columns
from sooner.kernels.gathering import as_one, gather
from sooner.kernels.keys import NO_KEYS
from sooner.operators.inputs import Input, Storage
from sooner.operators.multiway.algorithms import HYBRID_HASH
from sooner.operators.multiway.combining import Combining
from sooner.operators.multiway.comparing import comparison_of
from sooner.operators.multiway.graph import Graph, Step
from sooner.operators.multiway.merge_join import MergeJoin, finds_room, parts_of
from sooner.operators.multiway.nested_loop import Position
from sooner.operators.multiway.overlaps import Overlaps
from sooner.operators.multiway.passing import CodesOnDisk
from sooner.operators.multiway.results import Results
from sooner.operators.operator import Means
from sooner.operators.order import Order
from sooner.operators.pieces import pieces
from sooner.operators.two_way.join import TwoWayJoin
from sooner.operators.two_way.making import two_way_join
from sooner.operators.two_way.output import plan_output
from sooner.operators.two_way.plan import INPUTS
from sooner.parallel import Crew
from sooner.policies.view import SILENT
from sooner.runs.block_index import Blocks
from sooner.runs.run import NEVER, Run, Stamp
from sooner.runs.store import counted
from sooner.sides import LEFT, RIGHT

ARRIVED: Final = ("arrived", "arrived_too")  # the stamps of the left and of the right, as columns
DEPARTED: Final = ("departed", "departed_too")
LOOPED: Final = ("looped", "looped_too")  # whether a nested loop has joined them
STAMPS: Final = (ARRIVED, DEPARTED, LOOPED)
FED_AT_ONCE: Final = 16  # of the memory: what is read is copied, sorted and met
PIECES_IN_SHARE: Final = 2  # a join is given rows in pieces of this part of its memory at most
MERGING_SHARE: Final = 4  # of the memory, one part in so many is for a merge join that is not alone
LEAST_SHARE: Final = 4  # of the memory a join has at least one part in so many, of its equal part


class Fed(NamedTuple):
    """How far the joins have been given rows: inputs in the order of feeding, runs of one, and blocks of one."""

    inputs: int = 0
    runs: int = 0
    blocks: int = 0


def named(which: int, column: str) -> str:
    """What a column of an input is called in the chain, where all have to differ."""
    return f"{which}.{column}"


def chained_of(graph: Graph, inputs: Sequence[Input]) -> list[int]:
    """The inputs that have rows on disk, and those between them. All rows of the others are in memory."""
    return graph.connecting([which for which, one in enumerate(inputs) if one.partitions[0].spilled])


class Chain:
    """`joined` is how far a nested loop has come with each input; what came up to the `horizon` is out."""

    def __init__(
        self,
        graph: Graph,
        inputs: Sequence[Input],
        combining: Combining,
        results: Results,
        joined: Sequence[Position],
        horizon: int,
        storage: Storage,
        means: Means,
        crew: Crew,
        *,
        merges: bool | None = None,
    ) -> None:
        """`merges` is whether it began with a merge join, if it has begun before."""
        self._combining = combining
        self._results = results
        self._joined = joined
        self._horizon = horizon
        self._inputs = inputs
        self._crew = crew
        sizes = [sum(run.n_bytes for run in one.partitions[0].spilled) for one in inputs]
        first = int(np.argmax(sizes))
        self._chained = chained_of(graph, inputs)
        steps = combining.route([first])
        chained = [step for step in steps if step.input in self._chained]
        self._asking = {step.parent for step in combining.route(self._chained)}  # who looks for rows in memory
        self._account = means.account
        self._taken_bytes = means.account.free_bytes
        self._account.reserve(self._taken_bytes)
        merging_bytes = self._taken_bytes // (1 if len(chained) == 1 else MERGING_SHARE)
        self._merge = self._new_merge(graph, first, chained, merging_bytes, anyway=merges)
        self._steps = chained if self._merge is None else chained[1:]
        self._order = [step.input for step in reversed(self._steps)]  # in which inputs are given
        self._order += [first] if self._merge is None else []
        met_by_ranges = [step for step in steps if self._merge is None or step != chained[0]]
        self._overlaps = Overlaps(graph, inputs, first, met_by_ranges, list(map(combining.reach, met_by_ranges)))
        self._in_memory = [
            [] if which in self._chained else list(one.partitions[0].resident) for which, one in enumerate(inputs)
        ]
        for which, runs in enumerate(self._in_memory):
            for run in runs:
                self._overlaps.add(which, run)
        # Of neighbours that lie in the order in which the first input lies, what it looks for.
        self._looked_for = {
            step.input: CodesOnDisk(inputs[first].partitions[0].spilled, combining.reach(step).from_the_right())
            for step in self._steps
            if step.parent == first and graph.are_in_order(step)
        }
        self._fed = Fed()
        self._read_bytes = 0
        joins_bytes = self._taken_bytes - (0 if self._merge is None else merging_bytes)
        shares = _shares(joins_bytes, [sizes[step.input] for step in self._steps])
        self._joins: list[TwoWayJoin[pa.RecordBatch]] = []
        merged = [first] if self._merge is None else [first, chained[0].input]
        left = _with_stamps([field for which in merged for field in _named(which, inputs[which].schema)], LEFT)
        all_schemas = [one.schema for one in inputs]
        for step, share_bytes in zip(self._steps, shares, strict=True):
            right = _with_stamps(_named(step.input, inputs[step.input].schema), RIGHT)
            schemas = pa.schema(left), pa.schema(right)
            account = Budget(share_bytes).account(f"the join with {graph.inputs[step.input]}")
            own_means = replace(means, account=account, room=None, listener=None)
            compared = comparison_of(graph, graph.attributes[step.attribute], all_schemas)
            order = compared.renamed(named).between(step.parent, step.input)
            self._joins.append(_two_way(order, schemas, storage, own_means))
            left = [*left[: -len(STAMPS)], *right[: -len(STAMPS)], *left[-len(STAMPS) :]]

    def _new_merge(
        self, graph: Graph, first: int, chained: Sequence[Step], memory_bytes: int, *, anyway: bool | None
    ) -> MergeJoin | None:
        """Of the largest input and the first of the others, if both lie in one order and their blocks find room."""
        if anyway is False or not chained or chained[0].parent != first or not graph.are_in_order(chained[0]):
            return None
        which, reach = (first, chained[0].input), self._combining.reach(chained[0])
        runs = [self._inputs[one].partitions[0].spilled for one in which]
        looking = CodesOnDisk(runs[RIGHT], reach), CodesOnDisk(runs[LEFT], reach.from_the_right())
        left, right = (
            list(parts_of(self._inputs[one], seen, self._joined[one])) for one, seen in zip(which, looking, strict=True)
        )
        if not anyway and not finds_room((left, right), memory_bytes):
            return None
        left_schema, right_schema = (pa.schema(_named(one, self._inputs[one].schema)) for one in which)
        output = plan_output(left_schema, right_schema, NO_KEYS, ("", ""))
        stamps = [names[LEFT] for names in STAMPS]
        return MergeJoin((left, right), self._combining.order(chained[0]), self._is_out, output, stamps, memory_bytes)

    def _is_out(self, codes: Codes, arrived: Stamp, departed: Stamp) -> Flags:
        """All that there is for rows of the first input with these codes, or pairs of them with others."""
        return self._overlaps.have_met_all(codes, arrived, departed, self._horizon)

    @property
    def is_done(self) -> bool:
        is_merged = self._merge is None or self._merge.is_done
        return self._all_are_fed and is_merged and all(join.phase == "done" for join in self._joins)

    @property
    def _all_are_fed(self) -> bool:
        return self._fed.inputs == len(self._order)

    @property
    def worked_bytes(self) -> int:
        merged_bytes = 0 if self._merge is None else self._merge.worked_bytes
        return self._read_bytes + merged_bytes + sum(join.worked_bytes for join in self._joins)

    def work(self, quantum_bytes: int) -> Iterator[pa.RecordBatch]:
        """Go on for so many bytes; results come as they are found."""
        yield from self._crew.together(map(self._completed, self._combinations(quantum_bytes)))

    def _combinations(self, quantum_bytes: int) -> Iterator[pa.RecordBatch]:
        """With the columns of all inputs of the chain, and the stamps. A call goes on until it has read something:
        blocks that nobody looks for are passed by, and so is the end of an input.
        """
        before = self.worked_bytes
        while not self._all_are_fed and self.worked_bytes == before:
            yield from self._feed(quantum_bytes)
        while self._merge is not None and not self._merge.is_done and self.worked_bytes == before:
            for found in self._merge.work(quantum_bytes):
                yield from self._given(0, LEFT, [found])
            if self._merge.is_done and self._joins:
                self._joins[0].end(LEFT)
        while not self.is_done and self.worked_bytes == before:  # a join with nothing on disk ends at once
            at = next(at for at, join in enumerate(self._joins) if join.phase != "done")
            for found in self._joins[at].work(quantum_bytes, SILENT):
                yield from self._passed_on(at, found)
            if self._joins[at].phase == "done" and at + 1 < len(self._joins):
                self._joins[at + 1].end(LEFT)

    def _feed(self, quantum_bytes: int) -> Iterator[pa.RecordBatch]:
        """Some blocks of a run, or the end of an input."""
        which = self._order[self._fed.inputs]
        inner = [step.input for step in self._steps]
        at, side = (inner.index(which), RIGHT) if which in inner else (0, LEFT)
        runs = self._inputs[which].partitions[0].spilled
        if self._fed.runs == len(runs):
            if self._joins:
                self._joins[at].end(side)
            self._fed = Fed(self._fed.inputs + 1)
            return
        [segment] = runs[self._fed.runs].segments
        blocks = segment.blocks
        sizes = blocks.n_bytes[self._fed.blocks :].astype(np.int64).cumsum()
        at_most = min(quantum_bytes, max(self._taken_bytes // FED_AT_ONCE, 1)) if self._joins else quantum_bytes
        end = self._fed.blocks + max(int(sizes.searchsorted(at_most, side="right")), 1)
        places = self._wanted(which, blocks, self._fed.blocks, min(end, len(blocks)))
        some = [blocks[place] for place in places]
        together: list[pa.RecordBatch] = []
        for place, run in zip(places, self._inputs[which].store.read(segment, some), strict=True):
            if side == RIGHT:
                self._overlaps.add(which, run)
            elif (met := self._is_out(run.codes, run.arrived, run.departed)).any():
                run = run.take(np.flatnonzero(~met))
            if len(run):
                is_looped = (self._fed.runs, place) < self._joined[which]
                together.append(_stamped(which, run, side, is_looped=is_looped))
        yield from self._given(at, side, together)
        self._read_bytes += sum(block.n_bytes for block in some)
        is_over = end >= len(blocks)
        self._fed = Fed(self._fed.inputs, self._fed.runs + is_over, 0 if is_over else end)

    def _wanted(self, which: int, blocks: Blocks, begin: int, end: int) -> list[int]:
        """Of these blocks those that may have a match: rows of the first input say which codes they look for."""
        places = np.arange(begin, end)
        if (of_first := self._looked_for.get(which)) is not None:
            places = places[of_first.may_have(blocks.first_codes[begin:end], blocks.last_codes[begin:end])]
        return [int(place) for place in places]

    def _given(self, at: int, side: int, batches: Sequence[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """A join is given these rows, in pieces, and what it finds goes on; after the last one they are through."""
        if at == len(self._joins):
            yield from batches
            return
        if not batches:
            return
        join = self._joins[at]
        for piece in pieces([as_one(batches)], [join.inputs[side].code], join.account.share_bytes // PIECES_IN_SHARE):
            for found in join.arrive([piece, []] if side == LEFT else [[], piece], 0.0):
                yield from self._passed_on(at, found)

    def _passed_on(self, at: int, found: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        return self._given(at + 1, LEFT, [_with_common_stamps(found)])

    def _completed(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """With rows of all other inputs, which are in memory: what did not come out when the last of its rows came, nor
        by an earlier chain, nor by the loop, which knows of no combination with a row that never left.
        """
        arrived, departed, is_looped = (to_numpy(rows.column(names[LEFT])) for names in STAMPS)
        if len(self._chained) == len(self._inputs) and is_looped.any():
            at = np.flatnonzero(is_looped == 0)
            rows, arrived, departed = gather(rows, at), arrived[at], departed[at]
        if not rows.num_rows:
            return
        runs = list(self._in_memory)
        for which in self._chained:
            runs[which] = [self._as_run(which, rows)]
        first = self._chained[0]  # whose rows carry the stamps of all that are joined
        runs[first] = [replace(run, arrived=arrived, departed=departed) for run in runs[first]]
        for found in self._combining.beyond(self._chained, runs):
            yield from self._results.missing(found, runs, self._horizon)

    def _as_run(self, which: int, rows: pa.RecordBatch) -> Run:
        schema = self._inputs[which].schema
        own = pa.RecordBatch.from_arrays([rows.column(named(which, name)) for name in schema.names], schema=schema)
        codes = self._inputs[which].code(own)[0] if which in self._asking else np.zeros(len(own), np.uint64)
        return Run(codes, Columns.of(own), NEVER)

    def to_plain(self) -> dict[str, Any]:
        return {
            "fed": self._fed,
            "merge": None if self._merge is None else self._merge.to_plain(),
            "overlaps": self._overlaps.to_plain(),
            "joins": [join.snapshot() for join in self._joins],
        }

    def load_plain(self, data: dict[str, Any]) -> None:
        self._fed = Fed(*map(counted, data["fed"]))
        if self._merge is not None:
            self._merge.load_plain(data["merge"])
        self._overlaps.load_plain(data["overlaps"])
        for join, saved in zip(self._joins, data["joins"], strict=True):
            join.restore(saved)

    def interrupt(self) -> None:
        if self._merge is not None:
            self._merge.interrupt()
        for join in self._joins:
            join.interrupt()

    def close(self) -> None:
        for join in self._joins:
            join.close()
        self._account.release(self._taken_bytes)


def _two_way(
    order: Order, schemas: tuple[pa.Schema, pa.Schema], storage: Storage, means: Means
) -> TwoWayJoin[pa.RecordBatch]:
    """It gives all columns of both sides."""
    left, right = storage.inputs(order, INPUTS, schemas)
    return two_way_join((left, right), order, HYBRID_HASH, plan_output(*schemas, NO_KEYS, ("", "")).batch, means)


def _shares(n_bytes: int, sizes: Sequence[int]) -> list[int]:
    """The memory in parts that go by these sizes, none of which is tiny."""
    if not sizes:
        return []
    least = n_bytes // (LEAST_SHARE * len(sizes))
    rest = n_bytes - least * len(sizes)
    return [least + rest * size // max(sum(sizes), 1) for size in sizes]


def _named(which: int, schema: pa.Schema) -> list[pa.Field]:
    return [field.with_name(named(which, field.name)) for field in schema]


def _with_stamps(fields: Sequence[pa.Field], side: int) -> list[pa.Field]:
    """The columns of a side of a join in the chain."""
    return [*fields, *(pa.field(names[side], pa.int32()) for names in STAMPS)]


def _stamped(which: int, run: Run, side: int, *, is_looped: bool) -> pa.RecordBatch:
    """Rows of an input with their stamps as columns."""
    of_rows = (run.arrived, run.departed, int(is_looped))
    stamps = [to_arrow(np.broadcast_to(np.asarray(stamp, np.int32), len(run))) for stamp in of_rows]
    schema = pa.schema(_with_stamps(_named(which, run.rows.schema), side))
    return pa.RecordBatch.from_arrays([*run.rows.columns, *stamps], schema=schema)


def _with_common_stamps(found: pa.RecordBatch) -> pa.RecordBatch:
    """Of both: the later arrival, the earlier departure, and whether both were joined by a loop."""
    stamps = []
    for names, chosen in zip(STAMPS, (np.maximum, np.minimum, np.minimum), strict=True):
        stamps.append(to_arrow(chosen(*(to_numpy(found.column(name)) for name in names))))
    own = [name for name in found.schema.names if not any(name in names for names in STAMPS)]
    fields = [
        *(found.schema.field(name) for name in own),
        *(pa.field(names[LEFT], pa.int32()) for names in STAMPS),
    ]
    return pa.RecordBatch.from_arrays([*(found.column(name) for name in own), *stamps], schema=pa.schema(fields))
