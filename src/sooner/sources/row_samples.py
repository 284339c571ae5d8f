"""A few rows of an input that is at rest, by chance: enough to tell about how many matches a join will find."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa

from sooner.kernels.arrays import to_arrow
from sooner.sources.checking import CheckedSource
from sooner.sources.cutting import DEFAULT_BATCH_ROWS
from sooner.sources.in_memory import TableSource
from sooner.sources.parquet_batches import ParquetBatches
from sooner.sources.parquet_files import ParquetSource
from sooner.sources.parquet_footer import one_batch
from sooner.sources.plain_columns import PlainColumns, plain_batch
from sooner.sources.source import Source

# Few row groups make a poor sample if rows lie in the order of their keys, and many take longer than a good plan saves:
# eight columns of so many rows take about 20 ms.
DECODED_ROWS: Final = 250_000
DECODED_BYTES: Final = 16 * 2**20


def sampled_rows(source: Source, columns: Sequence[str], n_rows: int, seed: int) -> pa.RecordBatch | None:
    """About so many rows of a table or a Parquet file; None of all else, which may be read only once."""
    rng = np.random.default_rng(seed)
    match source:
        case TableSource(table=table):
            return one_batch(table.select(columns).take(_by_chance(table.num_rows, n_rows, rng)), source.name)
        case ParquetSource():
            rows = _decoded(source, columns, rng)
            return rows.take(_by_chance(rows.num_rows, n_rows, rng))
        case PlainColumns(source=encoded):
            rows = sampled_rows(encoded, columns, n_rows, seed)
            return None if rows is None else plain_batch(rows)
        case CheckedSource(source=checked):
            return sampled_rows(checked, columns, n_rows, seed)
    return None


def _by_chance(n_rows: int, wanted: int, rng: np.random.Generator) -> pa.Array:
    return to_arrow(np.sort(rng.choice(n_rows, min(wanted, n_rows), replace=False)))  # NumPy's would load pandas


def _decoded(whole: ParquetSource, columns: Sequence[str], rng: np.random.Generator) -> pa.RecordBatch:
    """Rows of row groups by chance, until they are enough or heavy."""
    schema = pa.schema([whole.schema.field(name) for name in columns])
    source = replace(whole, schema=schema, columns=schema.names)
    groups = [(part, group) for part in source.parts for group in range(part.n_groups)]
    n_rows, n_bytes, decoded = 0, 0, []
    with ExitStack() as opened:
        files: dict[str, ParquetBatches] = {}
        for at in rng.permutation(len(groups)).tolist():
            part, group = groups[at]
            if part.footer.path not in files:
                files[part.footer.path] = opened.enter_context(part.open())
            for batch in source.read(part, files[part.footer.path], group, DEFAULT_BATCH_ROWS):
                decoded.append(batch.select(schema.names))
                n_rows, n_bytes = n_rows + batch.num_rows, n_bytes + batch.nbytes
                if n_rows >= DECODED_ROWS or n_bytes >= DECODED_BYTES:
                    return one_batch(pa.Table.from_batches(decoded, schema), f"a sample of {source.name}")
    return one_batch(pa.Table.from_batches(decoded, schema), f"a sample of {source.name}")
