"""Other orders over the same rows: an input has an index in memory for each of its attributes but the first.

Rows are kept in the order of the first, so that needs none. MINER has an index for each join attribute as well (Bornea
et al., sec. 4); what they take is charged to the budget.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from sooner.kernels.array_types import Codes, Positions
from sooner.kernels.looking_up import CodeIndex
from sooner.kernels.sorting import sort
from sooner.operators.order import CodeRows
from sooner.runs.run import Run, pick

ORDER_BYTES: Final = 8 + 8 + 8  # of another order, for a row: a code by its row, a code in its order, where its row is
CODES_IN_ENTRY: Final = 4  # of an index to look up codes that come in no order, at least
LOOK_UP_BYTES: Final = 2  # of it, at most, for a row


class Access(NamedTuple):
    """Rows by one attribute. Without `order` they lie as their codes do."""

    of_rows: Codes  # the code of each row, as the rows lie
    codes: Codes  # sorted
    order: Positions | None = None  # where the rows of those are


class Accesses:
    """The indexes of one input. An index is made when it is first asked for, and counted from the start."""

    def __init__(self, coders: Sequence[CodeRows]) -> None:
        """`coders` are those of its attributes, in order."""
        self._coders = coders
        self._codes: dict[tuple[int, int], tuple[Run, Codes]] = {}  # by run and attribute
        self._known: dict[tuple[int, int], tuple[Run, Access]] = {}
        self._indexes: dict[tuple[int, int], CodeIndex] = {}

    @property
    def n_attributes(self) -> int:
        return len(self._coders)

    @property
    def row_bytes(self) -> int:
        """What all indexes take of a row."""
        return ORDER_BYTES * (len(self._coders) - 1) + LOOK_UP_BYTES * len(self._coders)

    def of(self, run: Run, attribute: int) -> Access:
        """`attribute` is its place among those of the input."""
        if attribute == 0:
            return Access(run.codes, run.codes)
        key = id(run), attribute
        if key not in self._known:
            of_rows = self.of_rows(run, attribute)
            codes, order = sort(of_rows)
            self._known[key] = run, Access(of_rows, codes, order)
        return self._known[key][1]

    def of_rows(self, run: Run, attribute: int) -> Codes:
        """The code of each row, as the rows lie; with no index made, but remembered."""
        if attribute == 0:
            return run.codes
        key = id(run), attribute
        if key not in self._codes:
            self._codes[key] = run, self.codes_of(run, attribute)
        return self._codes[key][1]

    def has_index(self, run: Run, attribute: int) -> bool:
        return (id(run), attribute) in self._indexes

    def index_of(self, run: Run, attribute: int) -> CodeIndex:
        """To look up codes in no order; where it finds them is a position in the order of the attribute."""
        key = id(run), attribute
        if key not in self._indexes:
            self._indexes[key] = CodeIndex(self.of(run, attribute).codes, CODES_IN_ENTRY)
            self._known.setdefault(key, (run, self.of(run, attribute)))  # as long as it is known, no other has its id
        return self._indexes[key]

    def codes_of(self, run: Run, attribute: int) -> Codes:
        """The code of each row, as the rows lie, with no index made."""
        return run.codes if attribute == 0 else self._coders[attribute](run.rows)[0]

    def in_order(self, run: Run, attribute: int) -> Run:
        """The codes of this attribute in their order, with the stamps and join bits of their rows; the rows themselves
        are where they were.
        """
        access = self.of(run, attribute)
        if access.order is None:
            return run
        joined = None if run.joined is None else run.joined[access.order]
        return replace(run, codes=access.codes, arrived=pick(run.arrived, access.order), joined=joined)

    def keep_only(self, runs: Sequence[Run]) -> None:
        """Others are in memory no more."""
        kept = {id(run) for run in runs}
        self._codes = {key: known for key, known in self._codes.items() if key[0] in kept}
        self._known = {key: known for key, known in self._known.items() if key[0] in kept}
        self._indexes = {key: index for key, index in self._indexes.items() if key[0] in kept}
