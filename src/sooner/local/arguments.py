"""What only the in-process join refuses before any row is read."""

import threading
from typing import Final

import pyarrow as pa

from sooner.budget import format_bytes, parse_bytes
from sooner.errors import BudgetTooSmall, InvalidJoin
from sooner.sources.files import is_dataset
from sooner.sources.source import Source

LEAST_MEMORY_BYTES: Final = 64 * 1024


def usable_memory(memory: int | str | None) -> int:
    n_bytes = parse_bytes(memory)
    if n_bytes < LEAST_MEMORY_BYTES:
        raise BudgetTooSmall(
            f"memory={memory!r} is too small for a batch of rows; give at least {format_bytes(LEAST_MEMORY_BYTES)}."
        )
    return n_bytes


def require_silence(seconds: object) -> None:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds <= threading.TIMEOUT_MAX:
        raise InvalidJoin(
            f"silence_seconds={seconds!r} must be a number of seconds, from 0 to {threading.TIMEOUT_MAX:.0f}."
        )


def require_two_streams(left: object, right: object) -> None:
    """A stream can be read once: given twice, each side would get some of its rows."""
    once = (
        isinstance(left, pa.RecordBatchReader)
        or is_dataset(left, "Scanner")
        or (hasattr(type(left), "batches") and isinstance(left, Source))
    )
    if left is right and once:
        raise InvalidJoin(
            f"left and right are the same {type(left).__name__}, which can be read only once; open it twice, "
            "or read it into a table first."
        )
