"""Whether rows that should come in random order look as if they were in the order of what is estimated."""

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sooner.estimation.preparation import BY, COLUMN, FACTOR, TAG, Preparation
from sooner.expressions.tree import Coalesce
from sooner.warning import warn_user

LOOKS: Final = {8: 0.999, 16: 0.9, 32: 0.9, 64: 0.9}  # after so many batches, how alike orders must be to be no chance
MOST_BATCHES: Final = max(LOOKS)


class OrderWatch:
    """Looks at the means of numbers in the first batches of an input, and warns once if they rise or fall."""

    def __init__(self, name: str, preparation: Preparation) -> None:
        self._name = name
        self._preparation = preparation
        self._columns = [one.name for one in preparation.schema if _is_number(one.type) and not _is_label(one.name)]
        self._means: list[list[float]] = []

    def see(self, rows: pa.RecordBatch) -> None:
        """What is kept of a batch."""
        if len(self._means) >= MOST_BATCHES or not self._columns or not rows.num_rows:
            return
        self._means.append([_mean(rows.column(name)) for name in self._columns])
        if (bound := LOOKS.get(len(self._means))) is None:
            return
        for name, means in zip(self._columns, np.array(self._means).T, strict=True):
            if _likeness_to_order(means) > bound:
                self._means = [[]] * MOST_BATCHES  # once is enough
                warn_user(
                    f"{self._name} is read as if its rows came in random order, but they look ordered by "
                    f"{self._meaning(name)}: intervals would be wrong. Write it once with `sooner shuffle`, or leave "
                    "out sampling= if it is a table or a Parquet file, so that its blocks are read in random order.",
                )
                return

    def _meaning(self, name: str) -> str:
        if name.startswith(FACTOR):
            node = self._preparation.factors[int(name.removeprefix(FACTOR))].value.node
            return str(node.parts[0] if isinstance(node, Coalesce) else node)
        return name.removeprefix(COLUMN)


def _is_label(name: str) -> bool:
    return name == TAG or name.startswith(BY)


def _is_number(type_: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(type_)
        or pa.types.is_floating(type_)
        or pa.types.is_decimal(type_)
        or pa.types.is_timestamp(type_)
        or pa.types.is_date(type_)
    )


def _mean(column: pa.Array) -> float:
    if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
        column = column.cast(pa.int32() if pa.types.is_date32(column.type) else pa.int64())
    found = pc.mean(column).as_py()
    return np.nan if found is None else float(found)


def _likeness_to_order(means: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> float:
    """How much they rise or fall all the way: a rank correlation, where equal means have one rank."""
    if np.isnan(means).any():
        return 0.0
    ranks = np.unique(means, return_inverse=True)[1].reshape(-1)
    if not ranks.any():
        return 0.0
    return abs(float(np.corrcoef(ranks, np.arange(len(ranks)))[0, 1]))
