"""Bytes: how many there are, who has how many of them, and how many anybody ever had."""

import math
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
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
    """A hard limit of bytes for all its accounts together. Nothing is taken beyond it: who needs room makes some first.

    Memory beside the limit, which owners work in and which results wait in, is counted in their accounts as scratch.
    """

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.used_bytes = 0
        self.peak_bytes = 0
        self.accounts: dict[str, Account] = {}
        self._lock = threading.Lock()

    @property
    def free_bytes(self) -> int:
        return self.limit_bytes - self.used_bytes

    @property
    def scratch_bytes(self) -> int:
        return sum(account.scratch_bytes for account in self.accounts.values())

    def account(self, owner: str, share_bytes: int | None = None) -> "Account":
        """Open an account. Its owner may count on such a share, or on all that is free now; it can have more."""
        if owner in self.accounts:
            raise ValueError(f"{owner!r} has an account already; give each owner a name of its own.")
        self.accounts[owner] = Account(self, owner, self.free_bytes if share_bytes is None else share_bytes)
        return self.accounts[owner]

    def _add(self, account: "Account", n_bytes: int, *, at_most_bytes: float) -> bool:
        with self._lock:
            if self.used_bytes + n_bytes > at_most_bytes:
                return False
            assert account.used_bytes + n_bytes >= 0, "released more bytes than were reserved"
            for one in (self, account):
                one.used_bytes += n_bytes
                one.peak_bytes = max(one.peak_bytes, one.used_bytes)
            return True


class Account:
    """What one owner has of a budget. The sizes in which it works follow its share, and not the whole limit."""

    def __init__(self, budget: Budget, owner: str, share_bytes: int) -> None:
        self.budget = budget
        self.owner = owner
        self.share_bytes = share_bytes
        self.used_bytes = 0
        self.peak_bytes = 0
        self.scratch_bytes = 0
        self.peak_scratch_bytes = 0

    @property
    def free_bytes(self) -> int:
        """That nobody has."""
        return self.budget.free_bytes

    def try_reserve(self, n_bytes: int) -> bool:
        return self.budget._add(self, n_bytes, at_most_bytes=self.budget.limit_bytes)

    def reserve(self, n_bytes: int) -> None:
        if not self.try_reserve(n_bytes):
            raise BudgetTooSmall(
                f"{format_bytes(n_bytes)} more do not fit: {format_bytes(self.budget.used_bytes)} of "
                f"{format_bytes(self.budget.limit_bytes)} are in use; raise `memory`."
            )

    def take(self, n_bytes: int) -> None:
        """Count what is there already, even beyond the limit: its owner must then make room."""
        self.budget._add(self, n_bytes, at_most_bytes=math.inf)

    def release(self, n_bytes: int) -> None:
        assert n_bytes >= 0, "released less than nothing"
        self.budget._add(self, -n_bytes, at_most_bytes=math.inf)

    def borrow(self, n_bytes: int) -> None:
        """Count scratch memory that is in use; less than nothing is given back."""
        with self.budget._lock:
            self.scratch_bytes += n_bytes
            self.peak_scratch_bytes = max(self.peak_scratch_bytes, self.scratch_bytes)

    @contextmanager
    def borrowed(self, n_bytes: int) -> Iterator[None]:
        self.borrow(n_bytes)
        try:
            yield
        finally:
            self.borrow(-n_bytes)

    def close(self) -> None:
        """The owner is gone, and all that it had is free."""
        self.release(self.used_bytes)
        self.budget.accounts.pop(self.owner, None)
