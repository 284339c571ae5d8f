"""Bytes: how many there are, how many are taken, and how many ever were."""

import re
import threading
from typing import Final

from sooner.errors import BudgetTooSmall, InvalidJoin

_UNITS: Final = {"": 1, "b": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_SIZE: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?\s*", re.IGNORECASE)
UNLIMITED_BYTES: Final = 2**62


def parse_bytes(memory: int | str | None) -> int:
    """'256MB', '1g', '1.5 GiB' or a number of bytes, as bytes (units are powers of 1024); None is no limit."""
    if memory is None:
        return UNLIMITED_BYTES
    if isinstance(memory, int) and not isinstance(memory, bool):
        n_bytes: float = memory
    elif isinstance(memory, str) and (match := _SIZE.fullmatch(memory)):
        n_bytes = float(match[1]) * _UNITS[match[2].lower()]
    else:
        raise InvalidJoin(f"memory={memory!r} is not a size; give bytes as an int, or text such as '256MB' or '1g'.")
    if n_bytes > UNLIMITED_BYTES:
        raise InvalidJoin("memory= is more than any machine has; give for example '256MB', or None for no limit.")
    if n_bytes < 1:
        raise InvalidJoin(f"memory={memory!r} must be more than nothing; give for example '256MB'.")
    return int(n_bytes)


def format_bytes(n_bytes: float) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if n_bytes < 1024 or unit == "GB":
            break
        n_bytes /= 1024
    return f"{n_bytes:.0f} {unit}" if unit == "B" else f"{n_bytes:.1f} {unit}"


class Budget:
    """A hard limit of bytes. Nothing is taken beyond it: who needs room must first make some."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.used_bytes = 0
        self.peak_bytes = 0
        self._lock = threading.Lock()

    @property
    def free_bytes(self) -> int:
        return self.limit_bytes - self.used_bytes

    def try_reserve(self, n_bytes: int) -> bool:
        with self._lock:
            if n_bytes > self.free_bytes:
                return False
            self.used_bytes += n_bytes
            self.peak_bytes = max(self.peak_bytes, self.used_bytes)
            return True

    def reserve(self, n_bytes: int) -> None:
        if not self.try_reserve(n_bytes):
            raise BudgetTooSmall(
                f"{format_bytes(n_bytes)} more do not fit: {format_bytes(self.used_bytes)} of "
                f"{format_bytes(self.limit_bytes)} are in use; raise `memory`."
            )

    def take(self, n_bytes: int) -> None:
        """Count what is there already, even beyond the limit: its owner must then make room."""
        with self._lock:
            self.used_bytes += n_bytes
            self.peak_bytes = max(self.peak_bytes, self.used_bytes)

    def release(self, n_bytes: int) -> None:
        with self._lock:
            assert 0 <= n_bytes <= self.used_bytes, "released more bytes than were reserved"
            self.used_bytes -= n_bytes
