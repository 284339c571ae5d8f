"""Hot keys in one step: which there are, and rows that partitions hand over to each other.

The pacemaker finds that a key is hot and says so in a pulse, to all partitions in the same batch, b. Rows that come in
batch b still go to the key's home. At the end of its step the home writes down all rows that it has of the side that
will be copied, as files that version b names. In batch b+1, from which on the key is spread, each other partition takes
these rows in before all others. So whatever is dealt to it finds all of the copied side, and each pair meets once:

    dealt before b+1, copied before b+1     at home
    dealt before b+1, copied since          at home, which gets a copy too
    dealt since,      copied before b+1     where it is dealt to: there the rows were handed over
    dealt since,      copied since          where it is dealt to: there is a copy

Files of version b stay until batch b+1 is done. The copies of a row that has a hot key are certain to match, since the
side that is dealt had the key: so none of them comes out by itself, wherever it is.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import pyarrow as pa

from sooner.kernels.arrays import to_arrow
from sooner.kernels.keys import KeyPlan
from sooner.operators.inputs import Input
from sooner.operators.order import Order
from sooner.operators.pieces import Rows
from sooner.runs.formats.versions import Versions
from sooner.sides import SIDES, opposite
from sooner.spark.interop.grouping import grouped
from sooner.spark.shuffle.hot_keys import HOT_KEYS, HotKey, WithKeys
from sooner.spark.step.heavy_keys import HEAVY_KEYS, HeavyKeys
from sooner.spark.step.shelf import SpilledShelf

COUNTED_FIRST: Final = 8  # batches, and then one in so many:
COUNTED_EVERY: Final = 4
PIECE_ROWS: Final = 2**18  # that are handed over in one file, and so many bytes at most
PIECE_BYTES: Final = 16 * 2**20
ShelfIn = Callable[[int, int], SpilledShelf]  # for rows of a side, in a partition's directory
VersionsOf = Callable[[int], Versions]  # of a partition


class SpreadKeys:
    """Of one partition, `place`, on its way to one version."""

    def __init__(
        self, keys: KeyPlan, order: Order, version: int, place: int, versions_of: VersionsOf, shelf_in: ShelfIn
    ) -> None:
        self._heavy = HeavyKeys(keys, order.coders)
        self._names = (keys.left, keys.right)
        self._types = keys.types
        self._version = version
        self._place = place
        self._versions_of = versions_of
        self._shelf_in = shelf_in
        self._hot: dict[str, HotKey] = {}

    def load_plain(self, data: dict[str, Any]) -> None:
        """What the version before says."""
        self._heavy.load_plain(data["heavy"])
        self._hot = {one["key"]: HotKey(**one) for one in data["hot"]}

    def count(self, rows: Rows) -> None:
        """Which keys are heavy, of rows that are joined: in some batches, since it costs a tenth of a step."""
        if self._version < COUNTED_FIRST or self._version % COUNTED_EVERY == 0:
            self._heavy.count(rows)

    def mark_copies(self, inputs: Sequence[Input]) -> None:
        """Rows that are copied are certain to match."""
        for side in SIDES:
            copied = [key for key in self._hot.values() if key.dealt == opposite(side)]
            if copied:
                inputs[side].certain_to_match = WithKeys(copied, self._names[side], self._types)

    def hear(self, found: Sequence[dict[str, Any]], partitions: int) -> None:
        """Keys that are hot from the next batch on; unless there were other partitions when they were found, which may
        be if the batch was planned before: their homes are others now, and they will be found again.
        """
        for told in found:
            one = dict(told)
            if one.pop("partitions") == partitions:
                self._hot.setdefault(one["key"], HotKey(**one, since=self._version + 1))

    def handed_over(self) -> Iterator[tuple[int, Sequence[pa.RecordBatch]]]:
        """Rows that the homes of keys have handed over to this partition, and of which side they are."""
        for key in self._hot.values():
            if key.since != self._version or key.home == self._place:
                continue
            side, versions = opposite(key.dealt), self._versions_of(key.home)
            shelf = self._shelf_in(key.home, side)
            _, state = versions.load(self._version - 1)
            with versions.believed(self._version - 1):
                shelf.load_plain(state[HOT_KEYS]["handed_over"][key.key])
            while len(shelf):
                yield side, shelf.popleft()

    def to_plain(self, inputs: Sequence[Input]) -> dict[str, Any]:
        """What this version says; rows that are handed over are written to run files, which it names."""
        handed_over = {}
        for key in self._hot.values():
            if key.since == self._version + 1 and key.home == self._place:
                handed_over[key.key] = self._hand_over(key, inputs[opposite(key.dealt)])
        hot = [key.to_plain() for key in self._hot.values()]
        return {"heavy": self._heavy.to_plain(), "hot": hot, "handed_over": handed_over}

    def _hand_over(self, key: HotKey, copied: Input) -> list[dict[str, Any]]:
        side = opposite(key.dealt)
        shelf, has_key = self._shelf_in(self._place, side), WithKeys([key], self._names[side], self._types)
        mine = (rows.filter(to_arrow(has_key(rows))) for rows in copied.rows_of_code(key.code))
        for some in grouped(mine, PIECE_ROWS, PIECE_BYTES):
            shelf.append(some)
        return shelf.to_plain()

    def summary(self) -> dict[str, Any]:
        """What everybody may know of it."""
        return {HEAVY_KEYS: self._heavy.to_plain(), HOT_KEYS: [key.to_plain() for key in self._hot.values()]}
