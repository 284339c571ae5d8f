"""Rows that wait before inputs that take none now, for engines that cannot leave them where they come from."""

from collections.abc import Iterator, Sequence
from typing import Generic, Protocol, TypeVar

import pyarrow as pa

from sooner.operators.operator import Operator

R = TypeVar("R")
Batches = Sequence[pa.RecordBatch]  # of one input, in one call


class Shelf(Protocol):
    """Rows of one input in the order of their calls, in memory (a deque) or elsewhere."""

    def append(self, batches: Batches, /) -> None: ...

    def popleft(self) -> Batches: ...

    def __len__(self) -> int: ...


class Doors(Generic[R]):
    """Before an operator: calls go through to inputs that are ready, and what is for blocked ones waits on a shelf."""

    def __init__(self, operator: Operator[R], shelves: Sequence[Shelf]) -> None:
        self._operator = operator
        self._shelves = shelves

    def arrive(self, rows: Sequence[Batches], now: float) -> Iterator[R]:
        """Give these rows to the operator, or hold them back; rows that were held back before stay behind."""
        taken: list[Batches] = []
        for which, (batches, shelf) in enumerate(zip(rows, self._shelves, strict=True)):
            is_blocked = self._operator.port(which) == "blocked"
            taken.append([] if is_blocked else batches)
            if is_blocked:
                shelf.append(batches)
        yield from self._operator.arrive(taken, now)

    def look(self, ended: Sequence[bool], now: float) -> Iterator[R]:
        """Give what waits to inputs that are ready by now, and end those that get no more; one may open another."""
        inputs, changed = self._operator.inputs, True
        while changed:
            changed = False
            for which, shelf in enumerate(self._shelves):
                while len(shelf) and self._operator.port(which) == "ready":
                    rows = shelf.popleft()
                    yield from self._operator.arrive([rows if one is shelf else [] for one in self._shelves], now)
                    changed = True
                if ended[which] and not inputs[which].ended and not len(shelf):
                    self._operator.end(which)
                    changed = True
