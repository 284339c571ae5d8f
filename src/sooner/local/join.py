"""`sooner.join`: check what the user gave, and put a query together from it. No row is read here."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pyarrow.fs as pafs

from sooner.algorithms import Algorithm, find_algorithm
from sooner.budget import UNLIMITED_BYTES, Budget, format_bytes, parse_bytes
from sooner.errors import BudgetTooSmall, InvalidJoin
from sooner.kernels.keys import plan_keys
from sooner.local.inbox import PIECES_HELD, Inbox
from sooner.local.query import Query
from sooner.local.reading import Reader
from sooner.local.spill_directory import SpillDirectory
from sooner.operators.arrivals import coder
from sooner.operators.output import plan_output
from sooner.operators.two_way import TwoWayJoin
from sooner.policies.view import LEFT, RIGHT, SIDES
from sooner.runs.files import RunFiles
from sooner.sources.checked import checked
from sooner.sources.opening import open_source

Columns = str | Sequence[str]

LEAST_MEMORY_BYTES: Final = 64 * 1024
INBOX_SHARE: Final = 3  # of the memory, one part in so many is for rows that wait to be joined
MEMORY_IN_BLOCKS: Final = 256  # blocks of spilled runs are small beside the memory: one of each run is read at once
LEAST_BLOCK_BYTES: Final = 4 * 2**10
MOST_BLOCK_BYTES: Final = 2**20
MOST_PIECE_BYTES: Final = 8 * 2**20  # larger pieces save nothing more


def join(
    left: object,
    right: object,
    on: Columns | None = None,
    *,
    left_on: Columns | None = None,
    right_on: Columns | None = None,
    how: str = "inner",
    suffixes: tuple[str, str] = ("_left", "_right"),
    algorithm: str | Algorithm = "rpj",
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
    if how != "inner":
        raise InvalidJoin(f"how={how!r} is not supported; sooner gives inner joins, how='inner'.")
    left_names, right_names = _key_names(on, left_on, right_on)
    chosen = find_algorithm(algorithm)
    memory_bytes = _memory_bytes(memory)
    partitions = _partition_count(memory_bytes) if partitions is None else partitions
    _require_sane(partitions, silence_seconds)
    sources = [checked(open_source(thing, name)) for thing, name in ((left, "left"), (right, "right"))]
    left_schema, right_schema = schemas = [source.schema for source in sources]
    keys = plan_keys(left_schema, right_schema, left_names, right_names)
    output = plan_output(left_schema, right_schema, keys, suffixes)

    piece_bytes = min(memory_bytes // INBOX_SHARE // PIECES_HELD, MOST_PIECE_BYTES)
    inbox = Inbox(piece_bytes)
    spill_directory = SpillDirectory(spill_dir)
    block_bytes = min(max(memory_bytes // MEMORY_IN_BLOCKS, LEAST_BLOCK_BYTES), MOST_BLOCK_BYTES)
    files = [RunFiles(pafs.LocalFileSystem(), spill_directory.path, schema, block_bytes) for schema in schemas]
    operator = TwoWayJoin(
        keys,
        (coder(keys, LEFT), coder(keys, RIGHT)),
        (files[0], files[1]),
        chosen,
        Budget(memory_bytes - piece_bytes * PIECES_HELD),
        partitions,
        result_of=output.batch,
        workers=workers or len(os.sched_getaffinity(0)),
    )
    readers = [Reader(sources[side], side, inbox, piece_bytes) for side in SIDES]
    return Query(operator, output.schema, inbox, (readers[0], readers[1]), spill_directory, silence_seconds)


def _key_names(on: Columns | None, left_on: Columns | None, right_on: Columns | None) -> tuple[list[str], list[str]]:
    if on is not None and (left_on is not None or right_on is not None):
        raise InvalidJoin("on= and left_on=/right_on= were both given; give one of the two.")
    if on is None and (left_on is None or right_on is None):
        raise InvalidJoin("Which columns must be equal? Give on=, or both left_on= and right_on=.")
    names = [on, on] if on is not None else [left_on, right_on]
    left, right = ([name] if isinstance(name, str) else list(name or ()) for name in names)
    return left, right


def _memory_bytes(memory: int | str | None) -> int:
    n_bytes = parse_bytes(memory)
    if n_bytes < LEAST_MEMORY_BYTES:
        raise BudgetTooSmall(
            f"memory={memory!r} is too small for a batch of rows; give at least {format_bytes(LEAST_MEMORY_BYTES)}."
        )
    return min(n_bytes, UNLIMITED_BYTES)


def _partition_count(memory_bytes: int) -> int:
    """More partitions let a flush choose more finely, but small ones cost more to probe than they hold."""
    return 16 if memory_bytes >= 64 * 2**20 else 8


def _require_sane(partitions: int, silence_seconds: float) -> None:
    if not isinstance(partitions, int) or partitions < 1:
        raise InvalidJoin(f"partitions={partitions!r} must be a whole number from 1 on.")
    if not silence_seconds >= 0:
        raise InvalidJoin(f"silence_seconds={silence_seconds!r} must be 0 or more.")
