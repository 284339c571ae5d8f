"""Examine the rows of one side, range by range: which of them match anything of the other, wherever that is.

A sweep sees all rows of a range of codes, so no row has to carry what it has matched; where one is known to have a
match it is not asked again. Where codes of a match may differ, all that a range reaches is looked at.
"""

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from sooner.kernels.array_types import Flags
from sooner.kernels.matching import Reach
from sooner.operators.deciding.existence import Existence
from sooner.operators.pairs import Singles, singles_of
from sooner.operators.sweeping.parts import InMemory, MergedOutput, OnDisk, Part
from sooner.operators.sweeping.strides import Piece, Span, Stride, pieces, pieces_of_span
from sooner.operators.sweeping.sweep import LoadedSlab
from sooner.runs.run import NEVER, STILL_HERE, Run
from sooner.sides import LEFT


@dataclass(frozen=True)
class Rows:
    """Of one side and partition, wherever they are."""

    on_disk: Sequence[OnDisk]
    in_memory: Sequence[InMemory]
    since: Sequence[OnDisk] = ()  # on disk since the task began: not in the order by which strides are counted


@dataclass(frozen=True)
class Examination:
    """Of the rows of a side that came after one tick and not after another, and have no match that is known of."""

    side: int
    mine: Rows
    others: Rows
    existence: Existence
    gives: Literal["matched", "unmatched", "nothing"]
    after: int = NEVER
    until: int = STILL_HERE
    is_known_in_memory: bool = False  # rows in memory have met all of the other side: what has no match by now has none
    survivors: MergedOutput | None = None  # where rows on disk go that match nothing; those that do are gone then
    meant: Callable[[Run], Flags] | None = None  # of these rows only those

    @property
    def groups(self) -> Sequence[Sequence[Part]]:
        return [group for rows in (self.mine, self.others) for group in (rows.on_disk, rows.since) if group]

    @property
    def writes(self) -> bool:
        return self.survivors is not None

    def in_slab(self, slab: LoadedSlab) -> Iterator[Singles]:
        """All rows of the slab are there at once."""
        on_disk, since = (slab.on_disk(group) for group in (self.others.on_disk, self.others.since))
        others = [run for run in (on_disk, since, *slab.in_memory(self.others.in_memory)) if run is not None]
        if (run := slab.on_disk(self.mine.on_disk)) is not None:
            yield from self._of_disk(run, others)
        if (run := slab.on_disk(self.mine.since)) is not None:
            yield from self._examined(run, others)
        for resident in slab.in_memory(self.mine.in_memory):
            yield from self._of_memory(resident, others)

    def in_strides(self, span: Span, reach: Reach, piece_bytes: int) -> Iterator[Stride]:
        """Rows that are in memory, or have left it since the task began, all at once: these may leave before the next
        stride. Then piece by piece those that were on disk.
        """
        reached = span.reached(reach if self.side == LEFT else reach.from_the_right())
        others = list(pieces([*self.others.on_disk, *self.others.since], reached, piece_bytes))
        others_bytes = others[0].n_bytes if others else 0  # mostly the first of them tells
        since = list(pieces_of_span(self.mine.since, span, piece_bytes))
        first_bytes = sum(piece.n_bytes for piece in since) + (others_bytes if self.mine.in_memory or since else 0)
        yield Stride(first_bytes, partial(self._first_of_span, span, since, reached, others))
        for piece in pieces_of_span(self.mine.on_disk, span, piece_bytes):
            n_bytes = piece.n_bytes * (2 if self.writes else 1) + others_bytes
            yield Stride(n_bytes, partial(self._piece_of_span, piece, reached, others))

    def _first_of_span(
        self, span: Span, since: Sequence[Piece], reached: Span, others: Sequence[Piece]
    ) -> Iterator[Singles]:
        for piece in since:
            yield from self._examined(piece.rows, self._reached(reached, others))
        for part in self.mine.in_memory:
            for run in part.load(*span):
                yield from self._of_memory(run, self._reached(reached, others))

    def _piece_of_span(self, piece: Piece, reached: Span, others: Sequence[Piece]) -> Iterator[Singles]:
        yield from self._of_disk(piece.rows, self._reached(reached, others))

    def _reached(self, span: Span, others: Sequence[Piece]) -> Iterable[Run]:
        in_memory = (run for part in self.others.in_memory for run in part.load(*span))
        return itertools.chain(in_memory, (piece.read() for piece in others))

    def _of_memory(self, run: Run, others: Iterable[Run]) -> Iterator[Singles]:
        return self._examined(run, () if self.is_known_in_memory else others)

    def _of_disk(self, run: Run, others: Iterable[Run]) -> Iterator[Singles]:
        known = self._known(run, others)
        yield from self._given(run, known)
        if self.survivors is not None and not known.all():
            self.survivors.append(run if not known.any() else run.take(np.flatnonzero(~known)))

    def _examined(self, run: Run, others: Iterable[Run]) -> Iterator[Singles]:
        return self._given(run, self._known(run, others))

    def _known(self, run: Run, others: Iterable[Run]) -> Flags:
        """Which rows match, or are not meant."""
        known = ~self._meant(run)
        for other in others:
            if known.all():
                break
            deque(self.existence.look(self.side, run, other, known), maxlen=0)
        return known

    def _given(self, run: Run, known: Flags) -> Iterator[Singles]:
        if self.gives == "unmatched":
            yield from singles_of(self.side, run, np.flatnonzero(~known))
            return
        matched = known & self._meant(run)
        if self.gives == "matched":
            yield from singles_of(self.side, run, np.flatnonzero(matched))
        if run.matched is not None:
            run.matched[matched] = True  # of rows in memory: these are out

    def _meant(self, run: Run) -> Flags:
        meant = np.ones(len(run), np.bool_) if run.matched is None else ~run.matched
        if self.after > NEVER or self.until < STILL_HERE:
            meant &= (np.asarray(run.arrived) > self.after) & (np.asarray(run.arrived) <= self.until)
        return meant if self.meant is None or not len(run) else meant & self.meant(run)
