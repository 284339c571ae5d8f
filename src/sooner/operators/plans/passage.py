"""Memory that is kept free so that results can go up through a plan although the joins below hold their rows.

A join that is in the middle of a call lets no rows go: its results may hold them. If it has all the memory, those above
it could take in nothing of what it gives. So some is set aside before a call, and given to whoever finds no other room.
"""

from sooner.budget import Account


class Passage:
    def __init__(self, account: Account) -> None:
        self._account = account

    def set_aside(self) -> bool:
        """As much as its share, between calls. Whether there was room for it."""
        return self._account.try_reserve(self.missing_bytes)

    @property
    def share_bytes(self) -> int:
        return self._account.share_bytes

    @property
    def missing_bytes(self) -> int:
        return self._account.share_bytes - self._account.used_bytes

    def give(self) -> bool:
        """All of it is free for others. Whether there was any."""
        n_bytes = self._account.used_bytes
        self._account.release(n_bytes)
        return n_bytes > 0

    def close(self) -> None:
        self._account.close()
