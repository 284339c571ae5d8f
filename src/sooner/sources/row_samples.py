"""A few rows of an input that is at rest, by chance: enough to tell about how many matches a join will find."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from sooner.kernels.array_types import Positions
from sooner.sources.checking import CheckedSource
from sooner.sources.files import ParquetSource
from sooner.sources.in_memory import TableSource
from sooner.sources.parquet_footer import one_batch
from sooner.sources.plain_columns import PlainColumns, plain_batch
from sooner.sources.source import Source

# Whole row groups have to be decoded. Few of them make a poor sample if rows lie in the order of their keys, and many
# take longer than a good plan saves: eight columns of so many rows take about 20 ms.
DECODED_ROWS: Final = 250_000


def sampled_rows(source: Source, columns: Sequence[str], n_rows: int, seed: int) -> pa.RecordBatch | None:
    """About so many rows of a table or a Parquet file; None of all else, which may be read only once."""
    rng = np.random.default_rng(seed)
    match source:
        case TableSource(table=table):
            return one_batch(table.select(columns).take(_by_chance(table.num_rows, n_rows, rng)), source.name)
        case ParquetSource(footer=footer):
            groups = _row_groups(
                [footer.metadata.row_group(at).num_rows for at in range(footer.metadata.num_row_groups)], rng
            )
            rows = footer.read(groups, columns)
            return rows.take(_by_chance(rows.num_rows, n_rows, rng))
        case PlainColumns(source=encoded):
            rows = sampled_rows(encoded, columns, n_rows, seed)
            return None if rows is None else plain_batch(rows)
        case CheckedSource(source=checked):
            return sampled_rows(checked, columns, n_rows, seed)
    return None


def _by_chance(n_rows: int, wanted: int, rng: np.random.Generator) -> Positions:
    return np.sort(rng.choice(n_rows, min(wanted, n_rows), replace=False))


def _row_groups(sizes: Sequence[int], rng: np.random.Generator) -> list[int]:
    """By chance, as many as have DECODED_ROWS, and one at least."""
    chosen: list[int] = []
    decoded = 0
    for at in rng.permutation(len(sizes)):
        if chosen and decoded + sizes[at] > DECODED_ROWS:
            break
        chosen.append(int(at))
        decoded += sizes[at]
    return sorted(chosen)
