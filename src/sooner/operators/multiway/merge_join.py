"""A merge join of two inputs on disk whose rows lie in the order of the attribute that they share.

Their runs are gone through side by side, from the lowest code to the highest: each row is read once, and nothing is
sorted or written anew. That takes a block in memory of each run that has rows around a code. Where those are too many,
a two-way join has to take the rows in (`chain`).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from sooner.kernels.array_types import Codes, Flags
from sooner.operators.inputs import Input
from sooner.operators.multiway.nested_loop import Position
from sooner.operators.multiway.passing import CodesOnDisk
from sooner.operators.order import Order
from sooner.operators.pairs import Filter, Findings, Pairs, only_by_rows, pairs_of
from sooner.operators.shell import Shell
from sooner.operators.sweeping.parts import COPIES, OnDisk, ReadsBlocks, Workbench
from sooner.operators.sweeping.sweep import START, Cursor, Sweep
from sooner.operators.two_way.output import OutputPlan
from sooner.runs.block_index import Block, BlockIndex
from sooner.runs.run import Run, Ticks, pick
from sooner.runs.slabs import ALL_CODES
from sooner.runs.store import Segment, counted

MOST_SLAB_BYTES: Final = 16 * 2**20  # of larger ones the joining is no faster
SLABS: Final = 2 * COPIES  # in the memory: one with its copies, and as much again for what is made of it
HELD_SHARE: Final = 4  # of the memory, one part in so many at most is for blocks of which a part is needed later

IsOut = Callable[[Codes, Ticks, Ticks], Flags]  # by codes of the left, and from when to when both rows were in memory


class Met(NamedTuple):
    """Pairs of rows by what counts for those that they meet: the later arrival, the earlier departure, and whether a
    nested loop has joined both.
    """

    arrived: Ticks
    departed: Ticks
    looped: Flags


class MergeJoin:
    """`output` is of the columns of both sides; behind them come those of `Met`, which are called `stamps`. Pairs of
    which all is out by now are left out.
    """

    def __init__(
        self,
        sides: tuple[Sequence[OnDisk], Sequence[OnDisk]],
        order: Order,
        is_out: IsOut,
        output: OutputPlan,
        stamps: Sequence[str],
        memory_bytes: int,
    ) -> None:
        self._sides = sides
        self._reach = order.reach
        by_rows: list[Filter] = [] if order.only_matching is None else [only_by_rows(order.only_matching)]
        self._filters = (*by_rows, self._not_out)
        self._is_out = is_out
        self._output = output
        self._schema = pa.schema([*output.schema, *(pa.field(name, pa.int32()) for name in stamps)])
        self._slab_bytes = min(max((memory_bytes - held_bytes(sides)) // SLABS, 1), MOST_SLAB_BYTES)
        self._shell = Shell(None)
        self._sweep: Sweep | None = None
        self._cursor = START
        self.worked_bytes = 0

    @property
    def is_done(self) -> bool:
        return self._cursor.code == ALL_CODES

    def work(self, quantum_bytes: int) -> Iterator[pa.RecordBatch]:
        """The pairs of the next codes, for so many bytes."""
        if self._sweep is None:
            bench = Workbench(COPIES * self._slab_bytes, self._shell.breathe)
            self._sweep = Sweep([self._sides], [], [], self._reach, "left", self._slab_bytes, bench, self._cursor)
        before = self._sweep.worked_bytes
        for bundle in self._sweep.advance(quantum_bytes, self._pairs):
            yield self._batch(bundle)
        self.worked_bytes += self._sweep.worked_bytes - before
        self._cursor = self._sweep.cursor
        if self._sweep.is_at_its_end:
            self._sweep = None

    def _pairs(self, left: Run, right: Run) -> Iterator[Findings]:
        return pairs_of(left, right, self._reach, *self._filters)

    def _not_out(self, pairs: Pairs) -> Pairs:
        met = _met(pairs)
        kept = np.flatnonzero(~self._is_out(pairs.left.codes[pairs.at_left], met.arrived, met.departed))
        return pairs.only(pairs.at_left[kept], pairs.at_right[kept])

    def _batch(self, bundle: Sequence[Findings]) -> pa.RecordBatch:
        rows = self._output.batch(bundle)
        met = [_met(pairs) for pairs in bundle if isinstance(pairs, Pairs)]
        stamps = [np.concatenate(some).astype(np.int32, copy=False) for some in zip(*met, strict=True)]
        return pa.RecordBatch.from_arrays([*rows.columns, *stamps], schema=self._schema)

    def interrupt(self) -> None:
        self._shell.interrupt()

    def to_plain(self) -> dict[str, Any]:
        return {"cursor": list(self._cursor), "slab_bytes": self._slab_bytes}

    def load_plain(self, data: dict[str, Any]) -> None:
        self._cursor = Cursor(*data["cursor"])
        self._slab_bytes = counted(data["slab_bytes"])


class _Noting:
    """Of each row that is read it is noted, as if it were its join bit, whether a nested loop has joined it."""

    def __init__(self, store: ReadsBlocks, *, is_looped: bool) -> None:
        self._store = store
        self._is_looped = is_looped

    def read(self, segment: Segment, blocks: Sequence[Block]) -> Iterator[Run]:
        for run in self._store.read(segment, blocks):
            yield replace(run, joined=np.full(len(run), self._is_looped))


def parts_of(one: Input, other: CodesOnDisk, looped: Position) -> Iterator[OnDisk]:
    """The blocks of an input that may match something of the other. A nested loop has joined those up to a position."""
    for number, run in enumerate(one.partitions[0].spilled):
        [segment] = run.segments
        blocks = segment.blocks
        may_match = other.may_have(blocks.first_codes, blocks.last_codes)
        are_looped = np.array([Position(number, place) < looped for place in range(len(blocks))])
        for is_looped in (True, False):
            if len(some := blocks.only(may_match & (are_looped == is_looped))):
                yield OnDisk(_Noting(one.store, is_looped=is_looped), replace(segment, index=BlockIndex(some)))


def finds_room(sides: tuple[Sequence[OnDisk], Sequence[OnDisk]], memory_bytes: int) -> bool:
    return held_bytes(sides) * HELD_SHARE <= memory_bytes


def held_bytes(sides: tuple[Sequence[OnDisk], Sequence[OnDisk]]) -> int:
    """What a block takes of each run that has rows around one code, whichever code that is."""
    parts = [part.blocks for part in chain(*sides)]
    if not parts:
        return 0
    begins, ends = (
        np.sort(np.array(codes))
        for codes in zip(*((one.first_codes[0], one.last_codes[-1]) for one in parts), strict=True)
    )
    at_once = np.arange(1, len(begins) + 1) - ends.searchsorted(begins)
    return int(at_once.max()) * max(int(one.n_bytes.max()) for one in parts)


def _met(pairs: Pairs) -> Met:
    left, right = pairs.left, pairs.right
    assert left.joined is not None and right.joined is not None, "it is noted when they are read"
    arrived, departed = (
        np.broadcast_to(chosen(pick(of_left, pairs.at_left), pick(of_right, pairs.at_right)), len(pairs))
        for chosen, of_left, of_right in (
            (np.maximum, left.arrived, right.arrived),
            (np.minimum, left.departed, right.departed),
        )
    )
    return Met(arrived, departed, left.joined[pairs.at_left] & right.joined[pairs.at_right])
