"""Put a query together: any operator, from the plan of it, over any sources."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import pyarrow.fs as pafs

from sooner.budget import Budget
from sooner.local.inbox import PIECES_HELD, Inbox
from sooner.local.reading import Reader
from sooner.local.returned_memory import ReturnedMemory
from sooner.local.running import Parts
from sooner.local.spill_directory import SpillDirectory
from sooner.operators.inputs import Storage
from sooner.operators.operator import FLUSH_FRACTION, Means, OperatorPlan
from sooner.runs.formats.files import RunFiles
from sooner.sources.checking import checked
from sooner.sources.source import Source
from sooner.trace import Tracing

INBOX_SHARE: Final = 3  # of the memory, one part in so many is for rows that wait to be joined
MEMORY_IN_BLOCKS: Final = 128  # blocks of spilled runs are small beside the memory: one of each run is read at once
LEAST_BLOCK_BYTES: Final = 64 * 2**10
MOST_BLOCK_BYTES: Final = 2**20
LEAST_FLUSH_BYTES: Final = 512 * 2**10  # a file for each few rows would cost more than what is in it
# Pieces grow with what has arrived when sources are fast, and then all probing together is a few passes (PR-Join's
# argument). A large memory is mostly for rows that have been joined: few more pieces cost little more.
LARGE_PIECE_BYTES: Final = 8 * 2**20
PIECES_IN_MEMORY: Final = 32
CROWD: Final = 32  # runs on disk that are alike: reading so many at once still takes little memory

R = TypeVar("R")


def parts_of(
    plan: OperatorPlan[R],
    names: Sequence[str],
    sources: Sequence[Source],
    memory_bytes: int,
    partitions: int,
    workers: int,
    spill_parent: Path | None,
    tracing: Tracing | None = None,
    expected_rows: int | None = None,
) -> Parts[R]:
    """All that a query is made of; nothing has begun to read."""
    schemas = [source.schema for source in sources]
    spill_directory = SpillDirectory(spill_parent)
    most_piece_bytes = max(LARGE_PIECE_BYTES, memory_bytes // PIECES_IN_MEMORY)
    piece_bytes = min(memory_bytes // INBOX_SHARE // (len(sources) * PIECES_HELD), most_piece_bytes)
    budget = Budget(memory_bytes)
    budget.account("rows that wait").take(piece_bytes * len(sources) * PIECES_HELD)
    account = budget.account("the operator")
    block_bytes = min(max(memory_bytes // MEMORY_IN_BLOCKS, LEAST_BLOCK_BYTES), MOST_BLOCK_BYTES)
    files = partial(RunFiles, pafs.LocalFileSystem(), spill_directory.path, block_bytes=block_bytes)
    means = Means(
        account,
        workers,
        _flush_fraction(account.share_bytes),
        CROWD,
        listener=None if tracing is None else tracing.listener(),
        expected_rows=expected_rows,
        memory_bytes=memory_bytes,
    )
    inbox, returned = Inbox(len(sources), piece_bytes), ReturnedMemory(memory_bytes)
    readers = [Reader(checked(source), which, inbox, piece_bytes, returned) for which, source in enumerate(sources)]
    operator = plan.make(names, schemas, Storage(partitions, files), means)
    return Parts(operator, inbox, readers, spill_directory, returned)


def _flush_fraction(rows_bytes: int) -> float:
    """How much leaves a full memory: a tenth, or as much as is worth a file, or half of a memory that is so small."""
    return max(FLUSH_FRACTION, min(LEAST_FLUSH_BYTES / rows_bytes, 1 / 2))
