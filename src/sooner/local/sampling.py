"""Inputs that are read as samples of themselves, some blocks at a time, and prepared for the sums of an estimate."""

import itertools
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

import pyarrow as pa

from sooner.estimation.preparation import Preparation
from sooner.estimation.tags import MOST_TAGS, InBlocks, InTurn
from sooner.local.order_watch import OrderWatch
from sooner.parallel import Crew
from sooner.sources.blocks import Blocks
from sooner.sources.sampling import Sample
from sooner.sources.source import close_source

FIRST_ROWS: Final = 4_096  # that are read at once: few at first, so that the first estimate comes soon,
GROWTH: Final = 8  # then one in so many of those that were read before,
MOST_ROWS: Final = 2**19  # up to so many, since each piece has its price, however small it is;
MEMORY_OF_ROW: Final = 2**11  # but so few that all that is read ahead is a small part of the memory
READERS: Final = 2
FIRST_PIECES: Final = 8  # are read by one thread, so that others have time for what becomes of them


class PreparedSource:
    """An input as estimates need it. Blocks that have partners wait for them at the turnstile."""

    def __init__(self, sample: Sample, preparation: Preparation, memory_bytes: int, turnstile: "Turnstile") -> None:
        self.name = sample.source.name
        self._preparation = replace(preparation, encodes=True)
        self.schema = self._preparation.schema
        self._sample = sample
        self._affordable_rows, self._most_rows = _affordable_rows(memory_bytes), _most_rows(memory_bytes)
        self._turnstile = turnstile

    def batches(self) -> Iterator[pa.RecordBatch]:
        """What is kept of the rows, and tallies of all."""
        if self._sample.blocks is not None:
            return self._blocks(self._sample.blocks)
        return self._rows() if self._sample.sampling == "rows" else self._batches()

    def _blocks(self, blocks: Blocks) -> Iterator[pa.RecordBatch]:
        """In their random order, some at a time, by several threads if there is memory for that."""
        order, awaited = self._sample.order, self._sample.partners
        crew = Crew(READERS if max(blocks.n_rows, default=0) <= self._affordable_rows else 1)

        def read(positions: range) -> tuple[range, list[pa.RecordBatch]]:
            """Those that come together in the order of their numbers: then their keys may be in order, too."""
            tags = {order[position]: position % MOST_TAGS for position in positions}
            numbers = sorted(tags)
            tagging = InBlocks([tags[number] for number in numbers], [blocks.n_rows[number] for number in numbers])
            found = list(self._pieces(blocks.read(*numbers, encoded=True), tagging))
            if awaited is not None:
                self._turnstile.wait_for(*(awaited[number] for number in numbers))
            return positions, found

        try:
            together = list(_together([blocks.n_rows[number] for number in order], self._most_rows))
            first, rest = together[:FIRST_PIECES], together[FIRST_PIECES:]
            for positions, pieces in itertools.chain(map(read, first), crew.in_order(read, rest)):
                yield from pieces
                if awaited is None:
                    self._turnstile.let_in(order[position] for position in positions)
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
        self._turnstile.open()


class GuidingSource:
    """The input that guides a sample of another: blocks in the order in which that needs them, as they are."""

    def __init__(self, sample: Sample, memory_bytes: int, turnstile: "Turnstile") -> None:
        self.name = sample.source.name
        self.schema = sample.source.schema
        self._sample = sample
        self._most_rows = _most_rows(memory_bytes)
        self._turnstile = turnstile

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Some blocks at a time."""
        blocks, order = self._sample.blocks, self._sample.order
        assert blocks is not None, "what is read from its beginning guides no sample"
        for positions in _together([blocks.n_rows[number] for number in order], self._most_rows):
            numbers = [order[position] for position in positions]
            yield blocks.read(*numbers)
            self._turnstile.let_in(numbers)

    def close(self) -> None:
        """Close the source."""
        close_source(self._sample.source)
        self._turnstile.open()


def _affordable_rows(memory_bytes: int) -> int:
    return max(memory_bytes // MEMORY_OF_ROW, FIRST_ROWS)


def _most_rows(memory_bytes: int) -> int:
    """That are read at once."""
    return min(_affordable_rows(memory_bytes), MOST_ROWS)


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


def prepared_sources(
    samples: Sequence[Sample], preparations: Sequence[Preparation], memory_bytes: int
) -> list[PreparedSource]:
    turnstile = Turnstile()
    return [PreparedSource(*both, memory_bytes, turnstile) for both in zip(samples, preparations, strict=True)]


class Turnstile:
    """Where blocks wait for their partners."""

    def __init__(self) -> None:
        self._there: set[int] = set()
        self._is_open = False
        self._changed = threading.Condition()

    def let_in(self, numbers: Iterable[int]) -> None:
        """Blocks that others may wait for have come."""
        with self._changed:
            self._there.update(numbers)
            self._changed.notify_all()

    def wait_for(self, *numbers: Iterable[int]) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._is_open or self._there.issuperset(itertools.chain(*numbers)))

    def open(self) -> None:
        """Nobody waits any more."""
        with self._changed:
            self._is_open = True
            self._changed.notify_all()
