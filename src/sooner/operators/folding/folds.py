"""What has been folded: one rectangle as long as all that is there has met, and then one for each partition.

Sums in which a task adds up what it finds are *pending* until the partition is whole, since before that they are of no
rectangle. While all has met, several workers fold at once, each into sums of its own.

Sums of very many groups are *in one*: without tags, without partitions, and workers take turns. There are no intervals
then, and once rows wait no estimates before the exact ones; but all that counts in the end is kept once, and no more.
"""

import base64
import math
import threading
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sooner.budget import Account
from sooner.estimation.groups import Groups
from sooner.estimation.intervals import Keys
from sooner.estimation.reckoning import Reckoning, Rectangle
from sooner.estimation.tags import MOST_TAGS, Tags, rows_by_tags, tallied
from sooner.estimation.workings import Workings
from sooner.kernels.array_types import Codes
from sooner.kernels.folding import BYTES_OF_MOMENTS, BYTES_OF_REAL, BYTES_OF_WHOLE, Reals, Sums
from sooner.operators.folding.room import FEWEST_TAGS, GROWING, SMALL_BYTES, Room
from sooner.sides import SIDES

KEY_PARTS: Final = 1024  # a power of two
Counts = npt.NDArray[np.int64]


class Folds:
    """`account` is that of the rows, and `memory_bytes` what the user gave, to be named where it is too little."""

    def __init__(
        self, workings: Workings, partitions: int, account: Account, memory_bytes: int, guided: int | None
    ) -> None:
        self.workings = workings
        self.guided = guided  # the side whose rows meet all that they can match when they come
        self.changes = 0  # as long as they are as many, an estimate is what it was
        self._partitions = partitions
        self.room = Room(account, memory_bytes)
        self.groups = [groups_of(workings, side) for side in SIDES]
        self.n_tags = MOST_TAGS
        self._met: list[Sums] = []  # of the one rectangle, by whoever folded
        self._free: list[Sums] = []  # of them
        self.parts: list[Sums] | None = None  # of each partition, once rows wait
        self._until_full: Counts | None = None  # what had come then, if it is not known of each partition
        self._pending: dict[int, Sums] = {}
        self.tallies: Counts = np.zeros((2, MOST_TAGS + 1), np.int64)
        self.keys = no_keys()  # rows that have come, by parts of their codes
        self._before: Counts | None = None  # what had come before the rows that are being taken in
        self._at_begin: dict[int, Counts] = {}  # of pending ones, when they began
        self._when_whole: list[Counts] = []  # of each partition
        self._in_one = False
        self._choosing = threading.Lock()
        self._in_turn = threading.Lock()  # for sums in one

    @property
    def n_groups(self) -> int:
        """That there can be, by what has come; at least one."""
        return max(math.prod(map(len, self.groups)), 1)

    def came(self, side: int, tags: Tags) -> None:
        """These tallies have come."""
        self.tallies[side] += tallied(tags)
        self.changes += self.guided in (None, side)

    def keys_came(self, side: int, codes: Codes) -> None:
        """Of rows that are kept; hashes, so that their lowest bits are random parts of the keys."""
        self.keys[side] += np.bincount((codes & np.uint64(KEY_PARTS - 1)).astype(np.int64), minlength=KEY_PARTS)

    def rows_come(self) -> None:
        """They are tallied first; but if there is no room for them in memory, they are the first that wait."""
        self._before = self.tallies.copy()

    def rows_are_in(self) -> None:
        self._before = None

    def make_room_for_groups(self) -> None:
        """After groups were seen for the first time; nobody folds meanwhile."""
        with self._choosing:
            self._make_room_for_groups()

    def now_in(self, sums: Sums) -> Sums:
        """Where to go on that had these sums in its hands when room was made: they may be in one by now."""
        return self._met[0] if self._in_one else sums

    def _make_room_for_groups(self) -> None:
        most_of_one = self.room.for_tags_bytes // (len(self._every()) + 1)
        while self.n_tags > FEWEST_TAGS and self._bytes_of(self.n_tags) > min(SMALL_BYTES, most_of_one):
            self._halve_tags()
        if not self._in_one and self._bytes_of(self.n_tags) > most_of_one:
            self._put_in_one()
        self.room.require(self._bytes_in_one, self.n_groups)
        for one in self._every():
            one.grow(self._groups_room)

    @property
    def _groups_room(self) -> tuple[int, int]:
        return power_of_two(len(self.groups[0])), power_of_two(len(self.groups[1]))

    def _bytes_of(self, n_tags: int) -> int:
        """What the sums of all groups take."""
        return bytes_of_cell(self.workings) * math.prod(self._groups_room) * n_tags**2

    def _halve_tags(self) -> None:
        self.n_tags //= 2
        for one in self._every():
            one.halve_tags()

    def _put_in_one(self) -> None:
        while self.n_tags > 1:
            self._halve_tags()
        first, *others = self._every() or [self._new_sums()]
        for other in others:
            first.add(other)
        self._in_one, self._met, self._free, self._pending = True, [first], [], {}
        self.parts = None if self.parts is None else []

    @property
    def _bytes_in_one(self) -> int:
        return self._bytes_of(self.n_tags) * GROWING if self._in_one else 0

    @contextmanager
    def of_all(self) -> Iterator[Sums]:
        """Sums of the one rectangle, for one worker at a time."""
        if self._in_one:
            with self._in_turn:
                yield self._met[0]
            return
        with self._choosing:
            sums = self._free.pop() if self._free else self._new(self._met)
        try:
            yield sums
        finally:
            with self._choosing:
                self._free.append(sums)

    @contextmanager
    def pending_of(self, p: int) -> Iterator[Sums]:
        """Sums of what a task finds in a partition."""
        if self._in_one:
            with self._in_turn:
                yield self._met[0]
            return
        if p not in self._pending:
            self._pending[p] = self._new_sums()
        yield self._pending[p]

    def begin_waiting(self, *, all_is_there: bool) -> Sequence[Sums]:
        """What comes from now on waits. Sums for each partition, to be filled with what is in memory and has met.

        If rows that have met are gone, it cannot be said what each partition has of the sums: they stay as they are,
        and so do estimates until the end.
        """
        if self._in_one:
            self.parts = []
            return ()
        met = self.tallies if self._before is None else self._before
        self.parts = [self._new_sums() for _ in range(self._partitions)]
        self._when_whole = [met.copy() for _ in range(self._partitions)]
        self._until_full = None if all_is_there else met.copy()
        if all_is_there:
            self._met, self._free = [], []
        return self.parts if all_is_there else ()

    def whole_begins(self, p: int) -> None:
        self._at_begin[p] = self.tallies.copy()

    def is_whole(self, p: int) -> None:
        """What is pending of a partition makes its rectangle larger."""
        began = self._at_begin.pop(p, None)
        pending = self._pending.pop(p, None)
        if self.parts is None:
            assert pending is None, "only partitions that wait are joined as wholes"
            return
        if self._in_one:
            return
        self.changes += 1
        self._when_whole[p] = self.tallies.copy() if began is None else began
        if pending is not None:
            self.parts[p].add(pending)

    def reckoning(self, sizes: Sequence[int | None], confidence: float, *, exact: bool) -> Reckoning | None:
        """Of inputs with so many rows, where that is known; None while nothing can be said."""
        found = [rectangle_of(sums, counts, sizes, self.guided) for sums, counts in self.rectangles(done=exact)]
        if not found:
            return None
        return Reckoning(self.workings, found, confidence, keys_of(self.keys, self.tallies), exact=exact)

    def rectangles(self, *, done: bool) -> list[tuple[Sums, Counts]]:
        """Sums over what has met, and what had come by then; when all has met they are one."""
        if self._in_one:
            return [(self._met[0], self.tallies)] if done or self.parts is None else []
        parts = list(zip(self.parts or (), self._when_whole, strict=True))
        if done:
            return [(self._together([*self._met, *(self.parts or ())]), self.tallies)]
        return [(self._together(self._met), self._met_until)] if self._met or not parts else parts

    @property
    def found(self) -> Sums:
        """All pairs that were folded, of rectangles or not yet."""
        return self._together(self._every())

    @property
    def _met_until(self) -> Counts:
        return self.tallies if self._until_full is None else self._until_full

    def _together(self, every: Sequence[Sums]) -> Sums:
        together = self._new_sums()
        for one in every:
            together.add(one)
        return together

    def _new(self, into: list[Sums]) -> Sums:
        into.append(self._new_sums())
        return into[-1]

    def _new_sums(self) -> Sums:
        return sums_of(self.workings, self.n_tags, (len(self.groups[0]), len(self.groups[1])))

    def _every(self) -> list[Sums]:
        return [*self._met, *(self.parts or ()), *self._pending.values()]

    # As plain data

    def to_plain(self) -> dict[str, Any]:
        return {
            "groups": [one.to_plain() for one in self.groups],
            "n_tags": self.n_tags,
            "in_one": self._in_one,
            "met": sums_to_plain(self._together(self._met)) if self._met else None,
            "until_full": None if self._until_full is None else self._until_full.tolist(),
            "parts": None if self.parts is None else [sums_to_plain(one) for one in self.parts],
            "pending": [[p, sums_to_plain(one)] for p, one in sorted(self._pending.items())],
            "tallies": self.tallies.tolist(),
            "keys": packed(self.keys),
            "at_begin": [[p, one.tolist()] for p, one in sorted(self._at_begin.items())],
            "when_whole": [one.tolist() for one in self._when_whole],
        }

    def load_plain(self, data: dict[str, Any]) -> None:
        for one, text in zip(self.groups, data["groups"], strict=True):
            one.load_plain(text)
        self.n_tags, self._in_one = data["n_tags"], data["in_one"]
        self._met = [] if data["met"] is None else [self._loaded(data["met"])]
        self._until_full = None if data["until_full"] is None else np.array(data["until_full"], np.int64)
        self._free = list(self._met)
        self.parts = None if data["parts"] is None else [self._loaded(one) for one in data["parts"]]
        self._pending = {p: self._loaded(one) for p, one in data["pending"]}
        self.tallies = np.array(data["tallies"], np.int64)
        self.keys = unpacked(data["keys"], no_keys())
        self._at_begin = {p: np.array(one, np.int64) for p, one in data["at_begin"]}
        self._when_whole = [np.array(one, np.int64) for one in data["when_whole"]]
        self.room.take(self._bytes_in_one)

    def _loaded(self, data: list[str]) -> Sums:
        return load_sums(self._new_sums(), data)


def rectangle_of(
    sums: Sums, tallies: Counts, sizes: Sequence[int | None], guided: int | None = None, weight: int = 1
) -> Rectangle:
    """Of inputs with so many rows, where that is known; `weight` is how many rectangles it was made of."""
    rows = rows_by_tags(tallies, sums.n_tags)
    both = enumerate(zip(rows, sizes, strict=True))
    shares = [1.0 if guided == 1 - side else share_of(some, size) for side, (some, size) in both]
    return Rectangle(sums, (rows[0], rows[1]), (shares[0], shares[1]), weight)


def share_of(rows: Reals, size: int | None) -> float | None:
    """Which share of an input these are that have come; None if its size is not known."""
    return None if size is None else min(float(rows.sum()) / size, 1.0) if size else 1.0


def no_keys() -> Counts:
    """[side, part]: no rows yet."""
    return np.zeros((2, KEY_PARTS), np.int64)


def keys_of(keys: Counts, tallies: Counts) -> list[Keys]:
    """Of both sides, of all rows that have come."""
    return [Keys(keys[side].astype(np.float64), float(tallies[side].sum())) for side in SIDES]


def groups_of(workings: Workings, side: int) -> Groups:
    """Those that one side tells apart, none of them seen yet; what only pairs tell counts as the left's."""
    return Groups([one.type for one in workings.by if (one.side or 0) == side])


def sums_of(workings: Workings, n_tags: int, groups: tuple[int, int]) -> Sums:
    """Nothing yet, of so many groups at least."""
    n_wholes = sum(workings.are_whole)
    room = power_of_two(groups[0]), power_of_two(groups[1])
    return Sums(n_wholes, len(workings.are_whole) - n_wholes, n_tags, room, len(workings.moments))


def bytes_of_cell(workings: Workings) -> int:
    """What its sums take, for one pair of groups and tags."""
    n_wholes = sum(workings.are_whole)
    n_reals = len(workings.are_whole) - n_wholes
    return n_wholes * BYTES_OF_WHOLE + n_reals * BYTES_OF_REAL + len(workings.moments) * BYTES_OF_MOMENTS


def load_sums(sums: Sums, data: Sequence[str]) -> Sums:
    """The same, filled."""
    sums.wholes, sums.reals, sums.moments = (unpacked(text, like) for text, like in zip(data, sums.arrays, strict=True))
    return sums


def sums_to_plain(sums: Sums) -> list[str]:
    return [packed(array) for array in sums.arrays]


def packed(array: npt.NDArray[Any]) -> str:
    return base64.b64encode(zlib.compress(array.tobytes(), 1)).decode()


def unpacked(text: str, like: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Of the same shape and type."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), like.dtype).reshape(like.shape).copy()


def power_of_two(groups: int) -> int:
    """Room for more of them, so that it is made rarely."""
    return 1 << max(groups - 1, 0).bit_length()
