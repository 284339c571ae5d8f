"""Other orders over the same rows: an input has an index in memory for each of its attributes but the first.

Rows are kept in the order of the first, so that needs none. MINER has an index for each join attribute as well (Bornea
et al., sec. 4); what they take is charged to the budget, for as long as rows may be looked up by that attribute.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from sooner.kernels.array_types import Codes, Positions
from sooner.kernels.gathering import gather_from
from sooner.kernels.looking_up import CodeIndex
from sooner.kernels.sorting import Places, sort
from sooner.operators.order import CodeRows
from sooner.runs.run import Run, pick

ORDER_BYTES: Final = 8 + 8  # of another order, for a row: a code in its order, where its row is
CODES_IN_ENTRY: Final = 4  # of an index to look up codes that come in no order, at least
LOOK_UP_BYTES: Final = 2  # of it, at most, for a row


def index_bytes(attributes: Collection[int]) -> int:
    """What indexes of these attributes take of a row, which are told by their places among those of an input."""
    return ORDER_BYTES * sum(attribute > 0 for attribute in attributes) + LOOK_UP_BYTES * len(attributes)


class Access(NamedTuple):
    """Rows by one attribute. Without `order` they lie as their codes do."""

    codes: Codes  # sorted
    order: Positions | None = None  # where the rows of those are


class Accesses:
    """The indexes of one input. An index is made when it is first asked for, and counted from the start."""

    def __init__(self, coders: Sequence[CodeRows], columns: Sequence[Sequence[str]]) -> None:
        """`coders` are those of its attributes, in order, and `columns` what each of them looks at."""
        self._coders = coders
        self._columns = columns
        self._known: dict[tuple[int, int], tuple[Run, Access]] = {}  # by run and attribute
        self._indexes: dict[tuple[int, int], CodeIndex] = {}

    def of(self, run: Run, attribute: int) -> Access:
        """`attribute` is its place among those of the input."""
        if attribute == 0:
            return Access(run.codes)
        key = id(run), attribute
        if key not in self._known:
            self._known[key] = run, Access(*sort(self.codes_of(run, attribute)))
        return self._known[key][1]

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

    def codes_at(self, places: Places, runs: Sequence[Run], attribute: int) -> Codes:
        """The codes of some rows. But for the first attribute they are made anew: to keep them would take memory."""
        if attribute > 0:
            return self._coders[attribute](self.compared_at(places, runs, attribute))[0]
        if places.parts is None:
            return runs[0].codes[places.positions]
        codes = np.empty(len(places.positions), np.uint64)
        for number, run in enumerate(runs):
            here = np.flatnonzero(places.parts == number)
            codes[here] = run.codes[places.positions[here]]
        return codes

    def compared_at(self, places: Places, runs: Sequence[Run], attribute: int) -> pa.RecordBatch:
        """Some rows, with those columns that the attribute looks at."""
        names = self._columns[attribute]
        numbers = tuple(runs[0].columns.schema.get_field_index(name) for name in names)
        return gather_from([run.columns.only(numbers) for run in runs], places).rows

    def in_order(self, run: Run, attribute: int) -> Run:
        """The codes of this attribute in their order, with the stamps and join bits of their rows; the rows themselves
        are where they were.
        """
        access = self.of(run, attribute)
        if access.order is None:
            return run
        joined = None if run.joined is None else run.joined[access.order]
        return replace(run, codes=access.codes, arrived=pick(run.arrived, access.order), joined=joined)

    def keep_only(self, runs: Sequence[Run], attributes: Collection[int]) -> None:
        """Others are in memory no more, or nobody asks for them."""
        kept = {(id(run), attribute) for run in runs for attribute in attributes}
        self._known = {key: known for key, known in self._known.items() if key in kept}
        self._indexes = {key: index for key, index in self._indexes.items() if key in kept}

    def forget(self) -> None:
        self.keep_only([], [])
