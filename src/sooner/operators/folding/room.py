"""The memory that sums of groups may take beside rows."""

from typing import Final

from sooner.budget import Account, format_bytes
from sooner.errors import BudgetTooSmall

FEWEST_TAGS: Final = 4  # fewer tell nothing
SMALL_BYTES: Final = 3 * 2**19  # of sums: more tags than these have room for cost more time than they are worth
GROWING: Final = 2  # what is there is copied into more room
SUMS_SHARE: Final = 8  # of the memory, one part in so many may be for sums,
LEAST_SUMS_BYTES: Final = 4 * 2**20  # or so many bytes beside it, if that is more;
IN_ONE_SHARE: Final = 2  # and if they are in one, one part in so many, which rows then do without


class Room:
    """`account` is that of the rows, and `memory_bytes` what the user gave, to be named where it is too little."""

    def __init__(self, account: Account, memory_bytes: int) -> None:
        self.account = account.budget.account(f"{account.owner}, sums")
        self._share_bytes = account.share_bytes
        self._memory_bytes = memory_bytes

    @property
    def for_tags_bytes(self) -> int:
        """What sums may take that are kept apart by tags."""
        return self._share(SUMS_SHARE)

    def require(self, in_one_bytes: int, n_groups: int) -> None:
        """There is room for sums of so many groups that are in one, or it is refused."""
        if in_one_bytes > self._share(IN_ONE_SHARE):
            needed_bytes = in_one_bytes * IN_ONE_SHARE * self._memory_bytes // self._share_bytes
            each = format_bytes(in_one_bytes / n_groups)
            raise BudgetTooSmall(
                f"by= gives {n_groups:,} groups so far, whose sums take {each} each; give "
                f"memory='{needed_bytes // 2**20 + 1}MB' for these, or group by less."
            )
        self.take(in_one_bytes)

    def take(self, in_one_bytes: int) -> None:
        """What sums in one take beyond the share of sums, rows do without."""
        self.account.take(max(in_one_bytes - self.for_tags_bytes, 0) - self.account.used_bytes)

    def _share(self, share: int) -> int:
        return max(self._share_bytes // share, LEAST_SUMS_BYTES)
