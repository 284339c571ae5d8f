"""Inputs of which every beginning is a random sample: in the order in which they come, or block by block at random.

Where blocks say between which keys they are, as row groups of Parquet files do, the blocks of one input can come right
after those of the other that they can match. Then each of them is complete when it comes, and a few say as much of the
whole as such a sample can (tables that are in the order of their keys would otherwise meet late).
"""

import itertools
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple

import pyarrow as pa

from sooner.errors import InvalidJoin
from sooner.estimation.preparation import Preparation
from sooner.estimation.tags import MOST_TAGS, InBlocks, InTurn
from sooner.local.order_watch import OrderWatch
from sooner.parallel import Crew
from sooner.sides import SIDES, opposite
from sooner.sources.blocks import Blocks, blocks_of, partners, shuffled_order
from sooner.sources.chosen_columns import only_columns
from sooner.sources.source import Source, close_source, n_rows_of

Sampling = Literal["rows", "blocks"]
FIRST_ROWS: Final = 4_096  # that are read at once: few at first, so that the first estimate comes soon,
GROWTH: Final = 8  # then one in so many of those that were read before,
MOST_ROWS: Final = 2**19  # up to so many, since each piece has its price, however small it is;
MEMORY_OF_ROW: Final = 2**11  # but so few that all that is read ahead is a small part of the memory
READERS: Final = 2
FIRST_PIECES: Final = 8  # are read by one thread, so that others have time for what becomes of them
FEW: Final = 8  # blocks meet in pairs if they can match one part of the other side in so many, or less


@dataclass(frozen=True)
class Sample:
    """How an input is read."""

    source: Source
    sampling: Sampling
    blocks: Blocks | None = None  # to be read in this order
    order: Sequence[int] = ()

    @property
    def n_rows(self) -> int | None:
        return sum(self.blocks.n_rows) if self.blocks is not None else n_rows_of(self.source)


class Guide(NamedTuple):
    """Blocks of one side come after those of the other that they can match: which these are, for each block."""

    side: int
    partners: Sequence[tuple[int, ...]]


class PreparedSource:
    """`before` is called with the number of a block before it comes, and may wait; `after` when it was taken."""

    def __init__(
        self,
        sample: Sample,
        preparation: Preparation,
        memory_bytes: int,
        before: Callable[[int], None] | None = None,
        after: Callable[[int], None] | None = None,
        close: Callable[[], None] | None = None,
    ) -> None:
        self.name = sample.source.name
        self._preparation = replace(preparation, encodes=True)
        self.schema = self._preparation.schema
        self._sample = sample
        self._affordable_rows = max(memory_bytes // MEMORY_OF_ROW, FIRST_ROWS)
        self._most_rows = min(self._affordable_rows, MOST_ROWS)
        self._before, self._after, self._close = before, after, close

    def batches(self) -> Iterator[pa.RecordBatch]:
        """What is kept of the rows, and tallies of all."""
        if self._sample.blocks is not None:
            return self._blocks(self._sample.blocks)
        return self._rows() if self._sample.sampling == "rows" else self._batches()

    def _blocks(self, blocks: Blocks) -> Iterator[pa.RecordBatch]:
        """In their random order, some at a time, by several threads if there is memory for that."""
        order = self._sample.order
        crew = Crew(READERS if max(blocks.n_rows, default=0) <= self._affordable_rows else 1)

        def read(positions: range) -> tuple[range, list[pa.RecordBatch]]:
            """Those that come together in the order of their numbers: then their keys may be in order, too."""
            tags = {order[position]: position % MOST_TAGS for position in positions}
            numbers = sorted(tags)
            tagging = InBlocks([tags[number] for number in numbers], [blocks.n_rows[number] for number in numbers])
            found = list(self._pieces(blocks.read(*numbers, encoded=True), tagging))
            if self._before is not None:
                for number in numbers:
                    self._before(number)
            return positions, found

        try:
            together = list(_together([blocks.n_rows[number] for number in order], self._most_rows))
            first, rest = together[:FIRST_PIECES], together[FIRST_PIECES:]
            for positions, pieces in itertools.chain(map(read, first), crew.in_order(read, rest)):
                yield from pieces
                if self._after is not None:
                    for position in positions:
                        self._after(order[position])
        finally:
            crew.dismiss()

    def _batches(self) -> Iterator[pa.RecordBatch]:
        for position, batch in enumerate(self._sample.source.batches()):
            yield from self._pieces(batch, InBlocks([position % MOST_TAGS], [batch.num_rows]))

    def _pieces(self, rows: pa.RecordBatch, tagging: InBlocks) -> Iterator[pa.RecordBatch]:
        n_rows = rows.num_rows
        at_once = -(-n_rows // max(round(n_rows / self._most_rows), 1))
        for begin in range(0, n_rows, max(at_once, 1)):
            piece = rows.slice(begin, at_once)
            yield from self._preparation.prepared(piece, tagging.between(begin, begin + piece.num_rows))

    def _rows(self) -> Iterator[pa.RecordBatch]:
        begun, watch = 0, OrderWatch(self.name, self._preparation)
        for batch in self._sample.source.batches():
            rows, tallies = self._preparation.prepared(batch, InTurn(begun, batch.num_rows))
            begun += batch.num_rows
            watch.see(rows)
            yield from (rows, tallies)

    def close(self) -> None:
        """Close the source."""
        close_source(self._sample.source)
        if self._close is not None:
            self._close()


def _together(sizes: Sequence[int], most_rows: int) -> Iterator[range]:
    """Which blocks of these sizes are read at once."""
    first, read, n_rows = 0, 0, 0
    for position, size in enumerate(sizes):
        n_rows += size
        if n_rows >= min(max(read // GROWTH, FIRST_ROWS), most_rows):
            yield range(first, position + 1)
            first, read, n_rows = position + 1, read + n_rows, 0
    if first < len(sizes):
        yield range(first, len(sizes))


def samples_of(
    sources: Sequence[Source],
    preparations: Sequence[Preparation],
    keys: Sequence[Sequence[str]],
    sampling: Sampling | None,
    seed: int,
) -> tuple[list[Sample], Guide | None]:
    """How both inputs are read, and whether one of them comes by blocks that are complete when they come."""
    if sampling not in (None, "rows", "blocks"):
        raise InvalidJoin(f"sampling={sampling!r} must be 'rows' or 'blocks': what comes in random order.")
    chosen = [only_columns(source, one.needed) for source, one in zip(sources, preparations, strict=True)]
    samples = [
        _sample_of(source, shuffled, some, sampling, seed + side)
        for side, (source, shuffled, some) in enumerate(
            zip(chosen, (rows_are_shuffled(source) for source in sources), keys, strict=True)
        )
    ]
    guide = _guide(samples)
    if guide is not None:
        mine, other = samples[guide.side], samples[opposite(guide.side)]
        needed = dict.fromkeys(number for block in mine.order for number in guide.partners[block])
        rest = [number for number in other.order if number not in needed]
        samples[opposite(guide.side)] = replace(other, order=[*needed, *rest])
    return samples, guide


def _guide(samples: Sequence[Sample]) -> Guide | None:
    """Of the side with more blocks, if each of them can match few of the other."""
    side = max(SIDES, key=lambda one: len(samples[one].order))
    mine, other = samples[side].blocks, samples[opposite(side)].blocks
    met = None if mine is None or other is None else partners(mine, other)
    if met is None or other is None or sum(map(len, met)) * FEW > len(met) * len(other.n_rows):
        return None
    return Guide(side, met)


def rows_are_shuffled(source: Source) -> bool:
    """Whether it says so itself."""
    while (inner := getattr(source, "source", None)) is not None:
        source = inner
    return bool(getattr(source, "rows_are_shuffled", False))


def _sample_of(source: Source, shuffled: bool, keys: Sequence[str], sampling: Sampling | None, seed: int) -> Sample:
    blocks = blocks_of(source, keys)
    if sampling == "rows" or (sampling is None and shuffled):
        return Sample(source, "rows")
    if blocks is not None:
        return Sample(source, "blocks", blocks, shuffled_order(len(blocks.n_rows), seed))
    if sampling is None:
        warnings.warn(
            f"{source.name} can be read in its own order only: intervals hold if its rows come in random order. Say "
            "sampling='rows' if they do, 'blocks' if its batches do, or write it once with `sooner shuffle`.",
            UserWarning,
            stacklevel=6,
        )
    return Sample(source, sampling or "rows")


def prepared_sources(
    samples: Sequence[Sample], preparations: Sequence[Preparation], guide: Guide | None, memory_bytes: int
) -> list[PreparedSource]:
    """Of the guided input, blocks wait until what they can match has come."""
    both = list(zip(samples, preparations, strict=True))
    if guide is None:
        return [PreparedSource(sample, one, memory_bytes) for sample, one in both]
    turnstile = Turnstile(guide.partners)
    return [
        PreparedSource(sample, one, memory_bytes, before=turnstile.wait_with, close=turnstile.open)
        if side == guide.side
        else PreparedSource(sample, one, memory_bytes, after=turnstile.came, close=turnstile.open)
        for side, (sample, one) in enumerate(both)
    ]


class Turnstile:
    """Where a block waits for its partners."""

    def __init__(self, partners: Sequence[Sequence[int]]) -> None:
        self._partners = partners
        self._there: set[int] = set()
        self._is_open = False
        self._changed = threading.Condition()

    def came(self, number: int) -> None:
        with self._changed:
            self._there.add(number)
            self._changed.notify_all()

    def wait_with(self, number: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._is_open or self._there.issuperset(self._partners[number]))

    def open(self) -> None:
        """Nobody waits any more."""
        with self._changed:
            self._is_open = True
            self._changed.notify_all()
