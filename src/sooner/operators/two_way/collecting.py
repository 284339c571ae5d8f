"""What becomes of the pairs that a join finds: whole rows, or whatever else a collector makes of them."""

from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar

from sooner.how import Kind
from sooner.kernels.array_types import Flags
from sooner.kernels.looking_up import CodeIndex
from sooner.operators.ledgers.ledger import Ledger
from sooner.operators.order import Order
from sooner.operators.pairs import Bundle, Filter, Findings, Pairs, note_matches, only_by_rows, pairs_by_index, pairs_of
from sooner.operators.sweeping.parts import JoinRuns
from sooner.runs.run import Run

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Collector(Protocol[R_co]):
    def pairs_of(self, left: Run, right: Run) -> Iterator[Findings]:
        """What is found in two runs of which all pairs are new."""

    def pairs_by_index(
        self, side: int, rows: Run, wanted: Flags | None, other: Run, index: CodeIndex
    ) -> Iterator[Findings]:
        """The same with rows of one side in no order, as far as they are wanted, and an index of the other."""

    def open_pairs_of(self, p: int, until: int) -> JoinRuns:
        """How a task of a partition that began at a tick finds what has not met."""

    def result_of(self, bundle: Bundle) -> R_co:
        """A result of what was found."""


class PairCollector(Generic[R]):
    """Pairs and single rows, of which `result_of` makes results."""

    def __init__(
        self, order: Order, ledger: Ledger, filters: tuple[Filter, ...], result_of: Callable[[Bundle], R]
    ) -> None:
        self._reach = order.reach
        self._ledger = ledger
        self._filters = filters
        self._result_of = result_of

    def pairs_of(self, left: Run, right: Run) -> Iterator[Findings]:
        return pairs_of(left, right, self._reach, *self._filters)

    def pairs_by_index(
        self, side: int, rows: Run, wanted: Flags | None, other: Run, index: CodeIndex
    ) -> Iterator[Findings]:
        return pairs_by_index(side, rows, wanted, other, index, self._reach, *self._filters)

    def open_pairs_of(self, p: int, until: int) -> JoinRuns:
        only_open = self._ledger.only_open(p, until)
        return lambda left, right: pairs_of(left, right, self._reach, only_open, *self._filters)

    def result_of(self, bundle: Bundle) -> R:
        return self._result_of(bundle)


def filters_of(order: Order, kind: Kind, breathe: Callable[[], None]) -> tuple[Filter, ...]:
    """What pairs of codes within reach go through to be pairs of the join."""

    def go_on(pairs: Pairs) -> Pairs:
        """Also where everything has come out before, and nobody sees a result for long."""
        breathe()
        return pairs

    checks = () if order.only_matching is None else (only_by_rows(order.only_matching),)
    return (go_on, *checks, *((note_matches,) if kind.examined else ()))
