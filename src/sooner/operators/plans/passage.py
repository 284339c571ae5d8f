"""Memory that is kept free so that results can go up through a plan although the joins below hold their rows.

A join that is in the middle of a call lets no rows go: its results may hold them. If it had all the memory, those above
it could take in nothing of what it gives. So before rows are given to a join, there is room for a piece at each of
those above it, and who finds no other room gets that.
"""

from sooner.budget import Account


class Passage:
    """Pieces on their way weigh at most so many bytes."""

    def __init__(self, account: Account, joins: int) -> None:
        self._account = account
        self.piece_bytes = max(account.share_bytes // max(joins - 1, 1), 1)

    def missing_bytes(self, joins_above: int) -> int:
        """How much more must be set aside for pieces at so many joins."""
        return max(self.piece_bytes * joins_above - self._account.used_bytes, 0)

    def set_aside(self, joins_above: int) -> bool:
        """Whether there was room for it."""
        return self._account.try_reserve(self.missing_bytes(joins_above))

    def give(self) -> bool:
        """All of it is free for others. Whether there was any."""
        n_bytes = self._account.used_bytes
        self._account.release(n_bytes)
        return n_bytes > 0

    @property
    def share_bytes(self) -> int:
        return self._account.share_bytes

    def close(self) -> None:
        self._account.close()
