"""Chance from a seed, and the kinds of keys and calls that schedules are made of."""

import random
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Kind:
    """What the rows of a schedule are like."""

    name: str
    steps: tuple[int, int]  # that a schedule has, from and up to
    rows: tuple[int, ...]  # that a call brings to an input: one of these
    domains: tuple[int, ...]  # how many keys there are: one of these
    skew: float = 1.0  # low keys come more often, the larger it is
    nulls: float = 0.0  # the share of keys that are null
    hot: float = 0.0  # the share of keys that are one and the same
    an_empty_input: bool = False


_KINDS: Final = (
    Kind("dense", (14, 18), tuple(range(4, 10)), (12,)),
    Kind("wide", (16, 24), (0, 20, 25, 25, 30), (40, 120, 400), skew=2.0, nulls=0.03),
    Kind("hot key", (10, 16), (0, 3, 6, 9), (40,), hot=0.5),
    Kind("nulls", (10, 16), (0, 4, 8, 16), (10, 60), nulls=0.4),
    Kind("an empty input", (8, 14), (3, 6, 12), (8, 40), an_empty_input=True),
    Kind("only nulls", (4, 8), (0, 5, 10), (1,), nulls=1.0),
)
KINDS: Final = {kind.name: kind for kind in _KINDS}
LONG_RUNS: Final = Kind("long runs", (8, 10), (40, 60), (400,))  # of many blocks, so that a quantum is a small part


class Dice(random.Random):
    """A random source that also draws keys, as the kind of a schedule wants them."""

    kind: Kind
    domain: int  # how many keys there are

    @staticmethod
    def of(seed: int, kind: Kind) -> "Dice":
        dice = Dice(seed)
        dice.kind, dice.domain = kind, dice.choice(kind.domains)
        return dice

    def keys(self, n: int) -> list[int | None]:
        """So many keys, from 0 up; None is null."""
        return [self._key() for _ in range(n)]

    def _key(self) -> int | None:
        if self.random() < self.kind.nulls:
            return None
        if self.random() < self.kind.hot:
            return 0
        return int(self.domain * self.random() ** self.kind.skew)
