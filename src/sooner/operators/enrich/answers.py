"""What stream rows have to do with master rows: pairs, rows that match something, rows that match nothing."""

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from sooner.how import Kind
from sooner.kernels.array_types import Flags, Positions
from sooner.kernels.matching import EQUAL
from sooner.operators.deciding.existence import Existence
from sooner.operators.enrich.as_of import Validity
from sooner.operators.order import Arrivals, Order
from sooner.operators.pairs import Filter, Findings, note_matches, pairs_of, singles_of
from sooner.operators.two_way.collecting import filters_of
from sooner.runs.run import Run
from sooner.sides import LEFT


class Answers:
    """The stream is the left side. What a row matches at all is noted in its run, where the kind of join asks."""

    def __init__(self, order: Order, kind: Kind, breathe: Callable[[], None], validity: Validity | None = None) -> None:
        self._kind = kind
        self._validity = validity
        self._filters = filters_of(order, kind, breathe)
        self._existence = Existence(EQUAL, order.only_matching, breathe)

    @property
    def examines(self) -> bool:
        """Whether it must be known of each row if it matches anything."""
        return bool(self._kind.examined)

    def followed(self, stream: Run) -> Run:
        """The same rows, of which it is noted that they match if anybody asks."""
        return stream.followed() if self.examines else stream

    def met(self, stream: Run, master: Run, *also: Filter) -> Iterator[Findings]:
        """What comes out at once when these rows meet; each pair of rows meets once, or passes `also` once."""
        if self._validity is not None:
            pairs = map(note_matches, self._validity.pairs(stream, master))
            for one in pairs:
                if self._kind.pairs and len(one):
                    yield one
        elif self._kind.pairs:
            yield from pairs_of(stream, master, EQUAL, *also, *self._filters)
        else:
            assert stream.matched is not None
            for _ in self._existence.look(LEFT, stream, master, stream.matched):
                pass

    def met_all(self, stream: Run, masters: Iterable[Run]) -> Iterator[Findings]:
        """All that comes out of these rows when they meet all there is."""
        for master in masters:
            yield from self.met(stream, master)
        yield from self.settled(stream)

    def settled(self, stream: Run, which: Flags | None = None) -> Iterator[Findings]:
        """What comes out of these rows by themselves, or of some of them, now that they have met all there is."""
        if not self.examines:
            return
        assert stream.matched is not None
        meant = stream.matched if self._kind.matched else ~stream.matched
        yield from self._alone(stream, np.flatnonzero(meant if which is None else meant & which))

    def keyless(self, arrivals: Arrivals) -> Iterator[Findings]:
        """Rows whose key is null match nothing."""
        if arrivals.keyless is not None and LEFT in self._kind.unmatched:
            yield from self._alone(*arrivals.keyless)

    def _alone(self, stream: Run, positions: Positions) -> Iterator[Findings]:
        return singles_of(LEFT, stream, positions)
