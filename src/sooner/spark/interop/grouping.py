"""Batches that belong together because each by itself is small: what is done once for many rows has its price once."""

from collections.abc import Iterator

import pyarrow as pa


def grouped(batches: Iterator[pa.RecordBatch], enough_rows: int, most_bytes: int) -> Iterator[list[pa.RecordBatch]]:
    """Groups of batches, each with enough rows, or full before it has too many bytes; a single batch may have more."""
    group: list[pa.RecordBatch] = []
    rows, n_bytes = 0, 0
    for batch in batches:
        batch_bytes = batch.nbytes
        if group and n_bytes + batch_bytes > most_bytes:
            yield group
            group, rows, n_bytes = [], 0, 0
        group.append(batch)
        rows, n_bytes = rows + batch.num_rows, n_bytes + batch_bytes
        if rows >= enough_rows:
            yield group
            group, rows, n_bytes = [], 0, 0
    if group:
        yield group
