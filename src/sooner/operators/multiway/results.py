"""Results of a join of many inputs: rows that are found together, as columns of all inputs."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from sooner.kernels.columns import Columns
from sooner.kernels.gathering import gather_from
from sooner.kernels.sorting import Places
from sooner.operators.multiway.combining import Combinations, picked
from sooner.operators.multiway.output import OutputColumn
from sooner.operators.pairs import PAIRS_BYTES
from sooner.runs.run import HELPER_BYTES, Run, Stamp, Ticks


class Results:
    def __init__(self, columns: Sequence[OutputColumn]) -> None:
        self._columns = columns
        self._schema = pa.schema([column.field for column in columns])

    def of(self, found: Combinations, runs: Sequence[Sequence[Run]]) -> Iterator[pa.RecordBatch]:
        """These combinations of rows in these runs of each input, copying a bounded number of bytes at a time."""
        as_they_lie = {which for which, places in found.items() if _are_most_as_they_lie(places, runs[which])}
        copied = [max(_row_bytes(run) for run in there) for at, there in enumerate(runs) if at not in as_they_lie]
        n_rows, at_once = len(found[0].positions), max(int(PAIRS_BYTES / max(sum(copied), 1)), 1)
        for first in range(0, n_rows, at_once):
            some = slice(first, first + at_once)
            arrays: dict[OutputColumn, pa.Array] = {}
            for which, places in found.items():
                mine = [column for column in self._columns if column.input == which]
                if mine:
                    parts = [run.columns.only(tuple(column.column for column in mine)) for run in runs[which]]
                    taken = (_sliced if which in as_they_lie else gather_from)(parts, _cut(places, some))
                    arrays.update(zip(mine, taken.arrays, strict=True))
            yield pa.RecordBatch.from_arrays([arrays[column] for column in self._columns], schema=self._schema)

    def missing(self, found: Combinations, runs: Sequence[Sequence[Run]], horizon: int) -> Iterator[pa.RecordBatch]:
        """Those of them whose rows were never in memory all at once, unless the last came up to the horizon."""
        arrived, departed = (
            chosen.reduce([_stamps_of(places, [getattr(run, stamp) for run in runs[which]])
                           for which, places in found.items()])
            for stamp, chosen in (("arrived", np.maximum), ("departed", np.minimum))
        )  # fmt: skip
        is_new = np.flatnonzero((arrived > departed) & (arrived > horizon))
        if len(is_new):
            yield from self.of({which: picked(places, is_new) for which, places in found.items()}, runs)


def _row_bytes(run: Run) -> float:
    return run.n_bytes / len(run) - HELPER_BYTES


def _are_most_as_they_lie(places: Places, runs: Sequence[Run]) -> bool:
    """Whether these are most rows of a run, one after the other: then they need not be copied, and whoever keeps them
    keeps little else in memory.
    """
    positions = places.positions
    return len(runs) == 1 and 2 * len(positions) > len(runs[0]) and bool((np.diff(positions) == 1).all())


def _sliced(parts: Sequence[Columns], places: Places) -> Columns:
    """Rows of one run that lie one after the other."""
    begin = int(places.positions[0])
    return parts[0].slice(begin, begin + len(places.positions))


def _cut(places: Places, some: slice) -> Places:
    return Places(places.positions[some], None if places.parts is None else places.parts[some])


def _stamps_of(places: Places, stamps: Sequence[Stamp]) -> Ticks:
    """The stamps of rows in several runs."""
    chosen = np.empty(len(places.positions), np.int32)
    for number, stamp in enumerate(stamps):
        here = slice(None) if len(stamps) == 1 else np.flatnonzero(places.parts == number)
        chosen[here] = stamp if isinstance(stamp, int) else stamp[places.positions[here]]
    return chosen
