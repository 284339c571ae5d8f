"""Which input is read last: its rows need not be kept once all others are in memory."""

from collections.abc import Sequence
from typing import Final

FAR_LARGER: Final = 4  # times: of two inputs both give results from the start, so it has to be worth it


def read_last(rows: Sequence[int | None], times: int = 1) -> int | None:
    """The input that has more than so many times the rows of all others, if all are tables or files with so many."""
    known = [count for count in rows if count is not None]
    largest = max(range(len(known)), key=known.__getitem__, default=0)
    if len(known) < len(rows) or known[largest] <= times * (sum(known) - known[largest]):
        return None
    return largest


def read_last_of_two(rows: Sequence[int | None]) -> int | None:
    return read_last(rows, FAR_LARGER)


def told_of_last(last: int | None, names: Sequence[str]) -> list[str]:
    """What there is to explain."""
    return [] if last is None else [f"read last: {names[last]}, which has most of all rows"]
