"""What the user gave to run a query with: checked, and what cannot be right refused before any row is read."""

import os
import threading
from pathlib import Path
from typing import Final, NamedTuple

from sooner.arguments import plain_path, require_whole_number
from sooner.budget import format_bytes, parse_bytes
from sooner.errors import BudgetTooSmall, InvalidJoin
from sooner.named_algorithms import Algorithm

LEAST_MEMORY_BYTES: Final = 64 * 1024
LEAST_PARTITION_BYTES: Final = 2 * 2**20
LEAST_WAITING_BYTES: Final = 2**18  # of a partition that is joined as a whole: nothing probes it
MOST_PARTITIONS: Final = 8
SILENCE_SECONDS: Final = 0.025


class Settings(NamedTuple):
    """What a query may use, and how long it waits."""

    memory_bytes: int
    partitions: int  # of each input
    workers: int
    spill_parent: Path | None
    silence_seconds: float = SILENCE_SECONDS


def settings_of(
    algorithm: Algorithm | None,
    memory: int | str | None,
    partitions: int | None,
    workers: int | None,
    spill_dir: str | Path | None,
    silence_seconds: float = SILENCE_SECONDS,
) -> Settings:
    """The settings as the user gave them; those that were left out are as the memory and the machine allow.

    Without an algorithm whose flushes choose among them, there is one partition.
    """
    memory_bytes = usable_memory(memory)
    partitions = _partition_count(memory_bytes, algorithm) if partitions is None else partitions
    workers = len(os.sched_getaffinity(0)) if workers is None else workers
    require_whole_number("partitions", partitions)
    require_whole_number("workers", workers)
    _require_silence(silence_seconds)
    spill_parent = None if spill_dir is None else plain_path("spill_dir", spill_dir)
    return Settings(memory_bytes, partitions, workers, spill_parent, silence_seconds)


def usable_memory(memory: int | str | None) -> int:
    """What was given, in bytes."""
    n_bytes = parse_bytes(memory)
    if n_bytes < LEAST_MEMORY_BYTES:
        raise BudgetTooSmall(
            f"memory={memory!r} is too small for a batch of rows; give at least {format_bytes(LEAST_MEMORY_BYTES)}."
        )
    return n_bytes


def _partition_count(memory_bytes: int, algorithm: Algorithm | None) -> int:
    """More partitions let a flush choose more finely, but small ones cost more to probe than they hold."""
    if algorithm is None:
        return 1
    least_bytes = LEAST_PARTITION_BYTES if algorithm.waits == "never" else LEAST_WAITING_BYTES
    possible = max(memory_bytes // least_bytes, 1)
    return min(1 << (possible.bit_length() - 1), MOST_PARTITIONS)


def _require_silence(seconds: object) -> None:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds <= threading.TIMEOUT_MAX:
        raise InvalidJoin(
            f"silence_seconds={seconds!r} must be a number of seconds, from 0 to {threading.TIMEOUT_MAX:.0f}."
        )
