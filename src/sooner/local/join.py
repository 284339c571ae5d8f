"""`sooner.join`: check what the user gave, and put a query together from it. No row is read here."""

import os
from pathlib import Path
from typing import Final

import pyarrow.fs as pafs

from sooner.arguments import (
    Columns,
    How,
    key_names,
    plain_path,
    require_join,
    require_suffixes,
    require_whole_number,
)
from sooner.budget import Budget
from sooner.kernels.keys import plan_keys
from sooner.local.arguments import require_silence, require_two_streams, usable_memory
from sooner.local.inbox import PIECES_HELD, Inbox
from sooner.local.query import Query
from sooner.local.reading import Reader
from sooner.local.returned_memory import ReturnedMemory
from sooner.local.spill_directory import SpillDirectory
from sooner.named_algorithms import Algorithm, AlgorithmName, find_algorithm
from sooner.operators.sorted_runs import coder
from sooner.operators.two_way.join import FLUSH_FRACTION, TwoWayJoin
from sooner.operators.two_way.output import plan_output
from sooner.runs.files import RunFiles
from sooner.sides import LEFT, RIGHT, SIDES
from sooner.sources.checked import checked
from sooner.sources.opening import opened

INBOX_SHARE: Final = 3  # of the memory, one part in so many is for rows that wait to be joined
MEMORY_IN_BLOCKS: Final = 256  # blocks of spilled runs are small beside the memory: one of each run is read at once
LEAST_BLOCK_BYTES: Final = 64 * 2**10
MOST_BLOCK_BYTES: Final = 2**20
LEAST_FLUSH_BYTES: Final = 512 * 2**10  # a file for each few rows would cost more than what is in it
LEAST_PARTITION_BYTES: Final = 2 * 2**20
MOST_PARTITIONS: Final = 16
MOST_PIECE_BYTES: Final = 8 * 2**20  # larger pieces save nothing more


def join(
    left: object,
    right: object,
    on: Columns | None = None,
    *,
    left_on: Columns | None = None,
    right_on: Columns | None = None,
    how: How = "inner",
    suffixes: tuple[str, str] = ("_left", "_right"),
    algorithm: AlgorithmName | Algorithm = "rpj",
    memory: int | str | None = "1GB",
    partitions: int | None = None,
    workers: int | None = None,
    silence_seconds: float = 0.025,
    spill_dir: str | Path | None = None,
) -> Query:
    """Join two inputs while they arrive.

    left, right: anything with rows in Arrow form (tables, readers, datasets, Polars, DuckDB, pandas), a path to a
        Parquet, CSV or Arrow file, or a `sooner.sources.Source`.
    on, left_on, right_on: the key columns, by one name for both sides or by a name for each.
    suffixes: for columns that are not keys and have the same name on both sides.
    algorithm: a name of `sooner.algorithms()`, or an `Algorithm` of your own.
    partitions: how finely a flush can choose what leaves memory; by default as fine as the memory allows.
    memory: what rows may take, such as "256MB"; beyond it rows go to `spill_dir`. None is no limit.
    workers: threads that join; by default one for each core.
    silence_seconds: how long both inputs must be silent before work on spilled rows begins.

    >>> import pyarrow as pa, sooner
    >>> orders = pa.table({"customer": [1, 2, 1], "amount": [10, 20, 30]})
    >>> customers = pa.table({"customer": [1, 2], "name": ["Ada", "Alan"]})
    >>> sooner.join(orders, customers, on="customer").to_table().sort_by("amount").to_pydict()
    {'customer': [1, 2, 1], 'amount': [10, 20, 30], 'name': ['Ada', 'Alan', 'Ada']}
    """
    require_join(how)
    left_names, right_names = key_names(on, left_on, right_on)
    chosen = find_algorithm(algorithm)
    memory_bytes = usable_memory(memory)
    partitions = _partition_count(memory_bytes) if partitions is None else partitions
    workers = len(os.sched_getaffinity(0)) if workers is None else workers
    require_suffixes(suffixes)
    require_whole_number("partitions", partitions)
    require_whole_number("workers", workers)
    require_silence(silence_seconds)
    spill_parent = None if spill_dir is None else plain_path("spill_dir", spill_dir)
    require_two_streams(left, right)
    with opened(left, right) as sources:
        left_schema, right_schema = schemas = [source.schema for source in sources]
        keys = plan_keys(left_schema, right_schema, left_names, right_names)
        output = plan_output(left_schema, right_schema, keys, suffixes)
        spill_directory = SpillDirectory(spill_parent)

    piece_bytes = min(memory_bytes // INBOX_SHARE // PIECES_HELD, MOST_PIECE_BYTES)
    rows_bytes = memory_bytes - piece_bytes * PIECES_HELD
    block_bytes = min(max(memory_bytes // MEMORY_IN_BLOCKS, LEAST_BLOCK_BYTES), MOST_BLOCK_BYTES)
    files = [RunFiles(pafs.LocalFileSystem(), spill_directory.path, schema, block_bytes) for schema in schemas]
    operator = TwoWayJoin(
        keys,
        (coder(keys, LEFT), coder(keys, RIGHT)),
        (files[0], files[1]),
        chosen,
        Budget(rows_bytes),
        partitions,
        result_of=output.batch,
        flush_fraction=_flush_fraction(rows_bytes),
        workers=workers,
    )
    inbox, returned = Inbox(piece_bytes), ReturnedMemory(memory_bytes)
    readers = [Reader(checked(sources[side]), side, inbox, piece_bytes, returned) for side in SIDES]
    return Query(operator, output.schema, inbox, readers, spill_directory, returned, silence_seconds)


def _flush_fraction(rows_bytes: int) -> float:
    """How much leaves a full memory: a tenth, or as much as is worth a file, or half of a memory that is so small."""
    return max(FLUSH_FRACTION, min(LEAST_FLUSH_BYTES / rows_bytes, 1 / 2))


def _partition_count(memory_bytes: int) -> int:
    """More partitions let a flush choose more finely, but small ones cost more to probe than they hold."""
    possible = max(memory_bytes // LEAST_PARTITION_BYTES, 1)
    return min(1 << (possible.bit_length() - 1), MOST_PARTITIONS)
