"""Refuse what cannot be right before any row is read, in a sentence that names the argument and what would do."""

import os
from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.dataset as arrow_dataset

from sooner.budget import format_bytes, parse_bytes
from sooner.errors import BudgetTooSmall, InvalidJoin
from sooner.sources.source import Source

Columns = str | Sequence[str]

LEAST_MEMORY_BYTES: Final = 64 * 1024


def key_names(on: Columns | None, left_on: Columns | None, right_on: Columns | None) -> tuple[list[str], list[str]]:
    """The key columns of both sides."""
    if on is not None and (left_on is not None or right_on is not None):
        raise InvalidJoin("on= and left_on=/right_on= were both given; give one of the two.")
    if on is not None:
        return _names("on", on), _names("on", on)
    if left_on is None or right_on is None:
        raise InvalidJoin("Which columns must be equal? Give on=, or both left_on= and right_on=.")
    return _names("left_on", left_on), _names("right_on", right_on)


def _names(argument: str, columns: Columns) -> list[str]:
    names = [columns] if isinstance(columns, str) else columns
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise InvalidJoin(f"{argument}={columns!r} must be the name of a column, or a list of names.")
    return list(names)


def usable_memory(memory: int | str | None) -> int:
    n_bytes = parse_bytes(memory)
    if n_bytes < LEAST_MEMORY_BYTES:
        raise BudgetTooSmall(
            f"memory={memory!r} is too small for a batch of rows; give at least {format_bytes(LEAST_MEMORY_BYTES)}."
        )
    return n_bytes


def require_sane(
    how: object, suffixes: object, partitions: object, workers: object, silence_seconds: object, spill_dir: object
) -> None:
    if how != "inner":
        raise InvalidJoin(f"how={how!r} is not supported; sooner gives inner joins, how='inner'.")
    if not _is_pair_of_text(suffixes):
        raise InvalidJoin(f"suffixes={suffixes!r} must be two texts, such as ('_left', '_right').")
    for name, value in (("partitions", partitions), ("workers", workers)):
        if not isinstance(value, int) or value < 1:
            raise InvalidJoin(f"{name}={value!r} must be a whole number from 1 on.")
    if not isinstance(silence_seconds, int | float) or not silence_seconds >= 0:
        raise InvalidJoin(f"silence_seconds={silence_seconds!r} must be a number of seconds, 0 or more.")
    if spill_dir is not None and not isinstance(spill_dir, str | os.PathLike):
        raise InvalidJoin(f"spill_dir={spill_dir!r} must be the path of a directory.")


def _is_pair_of_text(value: object) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2 and all(isinstance(text, str) for text in value)


def require_two_streams(left: object, right: object) -> None:
    """A stream can be read once: given twice, each side would get some of its rows."""
    once = isinstance(left, pa.RecordBatchReader | arrow_dataset.Scanner) or (
        hasattr(type(left), "batches") and isinstance(left, Source)
    )
    if left is right and once:
        raise InvalidJoin(
            f"left and right are the same {type(left).__name__}, which can be read only once; open it twice, "
            "or read it into a table first."
        )
