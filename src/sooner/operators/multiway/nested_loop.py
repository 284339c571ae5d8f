"""MINER's reactive phase (sec. 4.2): in a silence what is on disk is joined by a nested loop, a chunk of one input, the
outer one, with what has been joined of all others.

Blocks count in the order in which they were written. `joined` says of each input how far it has come: combinations of
rows from blocks before that are out. A pass takes the next chunk of the outer input through the inner ones; then the
chunk is joined as well. Where the outer input stands in the middle, the inner ones are several sequences that begin at
it; the last of them is gone through again and again, for each batch of those before (the paper's figure 5).

The paper loads a block of each inner input at a time, which costs a product of block counts. Here an inner input is
gone through for a *batch* of the one before it in its sequence: rows that match nothing of that are left out, so a
batch holds what many blocks have to say. Where rows lie in the order in which they are compared, blocks without a match
are not even read. Nothing is kept but rows; combinations are made when the innermost block is there, and come out if
their rows were not in memory together.

A pass can end for a while after each block: it is a few positions, from which batches are read again. So a chunk and
the blocks of all batches are no more than three quarters of a quantum, or a block each.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from sooner.kernels.array_types import Codes, Flags
from sooner.kernels.matching import Reach
from sooner.kernels.sorting import sort
from sooner.operators.inputs import Input
from sooner.operators.multiway.accesses import Accesses
from sooner.operators.multiway.combining import Combinations, Combining
from sooner.operators.multiway.comparing import reached
from sooner.operators.multiway.graph import Graph, Step
from sooner.runs.block_index import Block
from sooner.runs.ledger import Rectangle
from sooner.runs.run import Run, merge
from sooner.runs.store import Segment, counted


class Position(NamedTuple):
    """Among the blocks of an input: so many whole runs, and so many blocks of the next."""

    runs: int = 0
    blocks: int = 0


START = Position()


class Span(NamedTuple):
    """The blocks of an input that a batch was made of."""

    begin: Position = START
    end: Position = START


class Quantum(NamedTuple):
    """How much may be read: up to so many bytes in all, and so many for a batch."""

    until_bytes: int
    batch_bytes: int


class Together(NamedTuple):
    """Combinations of rows, and the runs that they are in."""

    found: Combinations
    runs: Sequence[Sequence[Run]]


class BlocksOf:
    """The blocks of an input on disk, by their positions."""

    def __init__(self, one: Input) -> None:
        self._store = one.store
        self._segments: list[Segment] = [run.segments[0] for run in one.partitions[0].spilled]

    @property
    def end(self) -> Position:
        return Position(len(self._segments))

    @property
    def largest_bytes(self) -> int:
        """Of a block."""
        return max((int(segment.blocks.n_bytes.max()) for segment in self._segments), default=0)

    def chunk(self, begin: Position, at_most_bytes: int) -> Position:
        """Up to where the next blocks weigh no more than this, of however many runs, and are one at least."""
        end, left_bytes = begin, at_most_bytes
        for at, segment in enumerate(self._segments[begin.runs :], begin.runs):
            sizes = segment.blocks.n_bytes[end.blocks :].astype(np.int64).cumsum()
            fitting = max(int(sizes.searchsorted(left_bytes, side="right")), int(end == begin))
            if fitting < len(sizes):
                return Position(at, end.blocks + fitting)
            end, left_bytes = Position(at + 1), left_bytes - int(sizes[-1])
        return end

    def read(self, begin: Position, end: Position, wanted: "Wanted | None") -> Iterator[tuple[Position, int, Run]]:
        """Blocks from one position to another, of which some may have wanted rows: the position after each, how many
        bytes were read, and its rows.
        """
        for at in range(begin.runs, end.runs + (end.blocks > 0)):
            blocks = self._segments[at].blocks
            first = begin.blocks if at == begin.runs else 0
            last = end.blocks if at == end.runs else len(blocks)
            chosen = np.arange(first, last)
            if wanted is not None:
                lowest, highest = blocks.first_codes[first:last], blocks.last_codes[first:last]
                chosen = chosen[wanted.between(lowest, highest)]
            picked: list[Block] = [blocks[place] for place in chosen.tolist()]
            for place, block, run in zip(
                chosen.tolist(), picked, self._store.read(self._segments[at], picked), strict=True
            ):
                is_over = place + 1 == len(blocks)
                yield Position(at + 1) if is_over else Position(at, place + 1), block.n_bytes, run


class Level:
    """An inner input on its way through: which blocks its batch is made of, and the rows of it that match."""

    def __init__(self, step: Step, span: Span) -> None:
        self.step = step
        self.span = span
        self.read_bytes = 0  # of these blocks
        self.batch: list[Run] = []

    @property
    def n_bytes(self) -> int:
        return sum(run.n_bytes for run in self.batch)

    def begin_at(self, position: Position) -> None:
        """A new batch."""
        self.span, self.read_bytes, self.batch = Span(position, position), 0, []


class Pass:
    """A chunk of the outer input, with what has been joined of the others: up to `ends`."""

    def __init__(self, graph: Graph, outer: int, chunk: Span, ends: Sequence[Position]) -> None:
        self.outer = outer
        self.chunk = chunk
        self.ends = ends
        self.levels = [Level(step, Span()) for step in sequences(graph, outer)]
        self.depth = 0  # the level that is being gone through
        self.outer_rows: list[Run] | None = None  # while they are in memory

    @property
    def is_done(self) -> bool:
        return self.depth < 0

    def to_plain(self) -> dict[str, Any]:
        spans = [level.span for level in self.levels]
        return {"outer": self.outer, "chunk": self.chunk, "ends": self.ends, "spans": spans, "depth": self.depth}


def sequences(graph: Graph, outer: int) -> list[Step]:
    """How an outer input is joined with all others: each sequence that begins at it to its end, and then the next."""
    found: list[Step] = []

    def go_on(which: int, came_by: int | None) -> None:
        for at in graph.of_input(which):
            if at != came_by:
                others = [one for one in graph.attributes[at].inputs if one != which]
                for one in others:
                    found.append(Step(one, at, which))
                    go_on(one, at)

    go_on(outer, None)
    return found


class NestedLoop:
    def __init__(
        self,
        graph: Graph,
        inputs: Sequence[Input],
        accesses: Sequence[Accesses],
        combining: Combining,
        share_bytes: int,
        max_outer_bytes: int,
    ) -> None:
        """`share_bytes` are for the batch of each inner input, and for the chunk, which is also no more than
        `max_outer_bytes`; `accesses` are its own.
        """
        self._graph = graph
        self._inputs = inputs
        self._accesses = accesses
        self._combining = combining
        self._share_bytes = share_bytes
        self._outer_bytes = min(share_bytes, max_outer_bytes)
        self.joined = [START] * len(inputs)
        self._outer: int | None = None
        self._present: Pass | None = None
        self.worked_bytes = 0

    @property
    def is_in_the_middle(self) -> bool:
        return self._present is not None

    @property
    def is_open(self) -> bool:
        """Whether combinations may be missing of which all rows are on disk."""
        ends = [Position(len(one.partitions[0].spilled)) for one in self._inputs]
        is_new = any(joined < end for joined, end in zip(self.joined, ends, strict=True))
        return self._present is not None or (is_new and START not in ends)

    def work(self, quantum_bytes: int) -> Iterator[Together]:
        """Go on for so many bytes with what is read again, or for a block; or to the end of a pass."""
        blocks = [BlocksOf(one) for one in self._inputs]
        if self._present is None:
            self._present = self._next_pass(blocks, quantum_bytes // 4)
        present, block_bytes = self._present, max(one.largest_bytes for one in blocks)
        batch_bytes = quantum_bytes // (2 * max(len(present.levels) - 1, 1)) - block_bytes
        quantum = Quantum(self.worked_bytes + quantum_bytes - block_bytes, batch_bytes)
        self._load(present, blocks)
        yield from self._gone_through(present, blocks, quantum)
        while not present.is_done and self.worked_bytes < quantum.until_bytes:
            yield from self._gone_through(present, blocks, quantum)
        if present.is_done:
            self.joined[present.outer] = present.chunk.end
            self.let_go()
            self._present = None

    @property
    def outer(self) -> int:
        """The input whose turn it is, or was."""
        assert self._outer is not None, "the loop has begun"
        return self._outer

    def met_since(self, before: Sequence[Position]) -> tuple[Rectangle, ...]:
        """Whole runs that have met since inputs were joined up to `before`, of each two inputs in turn."""
        numbers = [
            tuple(run.number for run in one.partitions[0].spilled[: joined.runs])
            for one, joined in zip(self._inputs, self.joined, strict=True)
        ]
        if not all(numbers):
            return ()
        known = [0 if min(before).runs == 0 else joined.runs for joined in before]
        new = [of_input[first:] for of_input, first in zip(numbers, known, strict=True)]
        return tuple(
            (new[a], numbers[b]) if new[a] else (numbers[a], new[b])
            for a, b in itertools.combinations(range(len(numbers)), 2)
        )

    def all_is_joined(self) -> None:
        """By other means."""
        self.joined = [BlocksOf(one).end for one in self._inputs]

    def let_go(self) -> None:
        """No row is kept in memory; they are read again when they are needed."""
        if self._present is not None:
            self._present.outer_rows = None
            for level in self._present.levels:
                level.batch = []
        for accesses in self._accesses:
            accesses.forget()

    def _next_pass(self, blocks: Sequence[BlocksOf], chunk_bytes: int) -> Pass:
        """Roles change when the outer input is exhausted (sec. 4.2): the one with most that is new has its turn."""
        sizes = [sum(run.n_bytes for run in one.partitions[0].spilled) for one in self._inputs]
        if self._outer is None:
            self._outer = int(np.argmin(sizes))
            self.joined = [START if which == self._outer else one.end for which, one in enumerate(blocks)]
        elif self.joined[self._outer] == blocks[self._outer].end:
            new = [sum(run.n_bytes for run in one.partitions[0].spilled[joined.runs :])
                   for one, joined in zip(self._inputs, self.joined, strict=True)]  # fmt: skip
            self._outer = int(np.argmax(new))
        begin = self.joined[self._outer]
        chunk = Span(begin, blocks[self._outer].chunk(begin, min(chunk_bytes, self._outer_bytes)))
        return Pass(self._graph, self._outer, chunk, list(self.joined))

    def _load(self, present: Pass, blocks: Sequence[BlocksOf]) -> None:
        """The rows that a pass has in memory, if it was let go of."""
        if present.outer_rows is None:
            present.outer_rows, _ = self._read_again(present.outer, blocks, present.chunk, None)
            for level in present.levels[: present.depth + 1]:
                if level.span.begin < level.span.end and level is not present.levels[-1]:
                    wanted = self._wanted(present, level)
                    level.batch, level.read_bytes = self._read_again(level.step.input, blocks, level.span, wanted)

    def _read_again(
        self, which: int, blocks: Sequence[BlocksOf], span: Span, wanted: "Wanted | None"
    ) -> tuple[list[Run], int]:
        """The rows of these blocks that are wanted, as one run, if there are any; and how many bytes were read."""
        runs, before = [], self.worked_bytes
        for _, n_bytes, run in blocks[which].read(*span, None if wanted is None else wanted.in_blocks):
            self.worked_bytes += n_bytes
            runs.append(run if wanted is None else wanted.of(run))
        there = [run for run in runs if len(run)]
        return [merge(there)] if there else [], self.worked_bytes - before

    def _gone_through(self, present: Pass, blocks: Sequence[BlocksOf], quantum: Quantum) -> Iterator[Together]:
        """The level whose turn it is: to the end of its input, of what a batch may hold, or of the quantum."""
        level = present.levels[present.depth]
        wanted, end = self._wanted(present, level), present.ends[level.step.input]
        for after, n_bytes, run in blocks[level.step.input].read(level.span.end, end, wanted.in_blocks):
            self.worked_bytes += n_bytes
            level.span, matching = level.span._replace(end=after), wanted.of(run)
            if level is present.levels[-1]:
                yield from self._combined(present, level, matching)
            else:
                self._take_in(level, matching, n_bytes)
                if level.batch and (level.n_bytes >= self._share_bytes or level.read_bytes > quantum.batch_bytes):
                    self._descend(present, level)
                    return
            if self.worked_bytes >= quantum.until_bytes:
                return
        level.span = level.span._replace(end=end)
        if level.batch:
            self._descend(present, level)
        else:
            self._ascend(present)

    def _take_in(self, level: Level, matching: Run, read_bytes: int) -> None:
        """Rows for a batch; blocks without any need not be read again."""
        if len(matching):
            level.batch.append(matching)
        elif not level.batch:
            level.begin_at(level.span.end)
            return
        level.read_bytes += read_bytes

    def _descend(self, present: Pass, level: Level) -> None:
        level.batch = [merge(level.batch)]
        present.depth += 1
        present.levels[present.depth].begin_at(START)

    def _ascend(self, present: Pass) -> None:
        """The input is exhausted: the one before it goes on with its next batch."""
        present.depth -= 1
        if present.depth >= 0:
            level = present.levels[present.depth]
            level.begin_at(level.span.end)
            self._accesses[level.step.input].forget()

    def _combined(self, present: Pass, innermost: Level, rows: Run) -> Iterator[Together]:
        assert present.outer_rows is not None, "it was loaded"
        if not len(rows):
            return
        runs: list[Sequence[Run]] = [[] for _ in self._inputs]
        runs[present.outer] = present.outer_rows
        for level in present.levels[:-1]:
            runs[level.step.input] = level.batch
        which = innermost.step.input
        for found in self._combining.of(which, rows, runs):
            yield Together(found, [[rows] if at == which else there for at, there in enumerate(runs)])
        self._accesses[which].forget()

    def _wanted(self, present: Pass, level: Level) -> "Wanted":
        """What the rows of a level must match: those of the input before it."""
        step = level.step
        parents = present.outer_rows or []
        for before in present.levels:
            if before.step.input == step.parent:
                parents = before.batch
        place = self._graph.of_input(step.parent).index(step.attribute)
        codes = np.concatenate([self._accesses[step.parent].of(run, place).codes for run in parents])
        place = self._graph.of_input(step.input).index(step.attribute)
        return Wanted(sort(codes)[0], self._combining.reach(step), self._accesses[step.input], place)

    def to_plain(self) -> dict[str, Any]:
        present = None if self._present is None else self._present.to_plain()
        return {"joined": self.joined, "outer": self._outer, "present": present}

    def load_plain(self, data: dict[str, Any]) -> None:
        self.joined = [position_of(one) for one in data["joined"]]
        self._outer = None if data["outer"] is None else counted(data["outer"])
        if (saved := data["present"]) is not None:
            ends = [position_of(one) for one in saved["ends"]]
            self._present = Pass(self._graph, counted(saved["outer"]), _span(saved["chunk"]), ends)
            self._present.depth = counted(saved["depth"])
            for level, span in zip(self._present.levels, saved["spans"], strict=True):
                level.span = _span(span)


class Wanted(NamedTuple):
    """Codes of an attribute, sorted, how far from them a match may be, and how rows of an input are looked at by it."""

    codes: Codes
    reach: Reach
    accesses: Accesses
    place: int

    @property
    def in_blocks(self) -> "Wanted | None":
        """What blocks can be chosen by: their rows lie in the order of the first attribute."""
        return self if self.place == 0 else None

    def of(self, run: Run) -> Run:
        """The rows that may match one of these codes."""
        codes = self.accesses.codes_of(run, self.place)
        may_match = self.between(codes, codes)
        return run if may_match.all() else run.take(np.flatnonzero(may_match))

    def between(self, lowest: Codes, highest: Codes) -> Flags:
        """Whether a match may be between two codes, of each of many."""
        low, high = reached(lowest, highest, self.reach.from_the_right())
        nearest = self.codes[np.minimum(self.codes.searchsorted(low), len(self.codes) - 1)]
        may_match: Flags = (low <= nearest) & (nearest <= high)
        return may_match


def position_of(data: Sequence[int]) -> Position:
    return Position(*map(counted, data))


def _span(data: Sequence[Sequence[int]]) -> Span:
    return Span(*map(position_of, data))
