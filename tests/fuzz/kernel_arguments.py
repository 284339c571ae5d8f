"""Random arguments for compiled loops: arrays with the ends of their types in them."""

import math
from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np

WORD = 2**64
CODES = (0, 1, 2, 2**63 - 1, 2**63, 2**63 + 1, WORD - 2, WORD - 1)
DOUBLES = (0.0, -0.0, math.nan, math.inf, -math.inf, 5e-324, -5e-324, 1.7976931348623157e308, -1.7976931348623157e308,
           1.0, -1.0, 0.1, 2.0**52, 2.0**53, -(2.0**63))  # fmt: skip


def size(dice: Random) -> int:
    return dice.choice((0, 1, 2, 3, 8, 9, 17, dice.randrange(64), dice.randrange(300)))


def codes(dice: Random, n: int, domain: int | None = None) -> np.ndarray[Any, Any]:
    domain = dice.choice((1, 4, 100, WORD)) if domain is None else domain
    near = dice.choice((0, 2**63 - 50, WORD - domain))
    values = [dice.choice(CODES) if dice.random() < 0.1 else (near + dice.randrange(domain)) % WORD for _ in range(n)]
    return np.array(values, np.uint64)


def ordered(dice: Random, n: int) -> np.ndarray[Any, Any]:
    return np.sort(codes(dice, n))


def integers(dice: Random, n: int, type_: Any) -> np.ndarray[Any, Any]:
    info = np.iinfo(type_)
    ends = (info.min, info.min + 1, 0, 1, info.max - 1, info.max)
    values = [dice.choice(ends) if dice.random() < 0.3 else dice.randint(info.min, info.max) for _ in range(n)]
    return np.array(values, type_)


def doubles(dice: Random, n: int) -> np.ndarray[Any, Any]:
    values = [dice.choice(DOUBLES) if dice.random() < 0.4 else dice.uniform(-1e3, 1e3) for _ in range(n)]
    return np.array(values, np.float64)


def wides(dice: Random, n: int) -> np.ndarray[Any, Any]:
    """Numbers of 128 bits, as words."""
    ends = (-(2**127), 2**127 - 1, 0, 1, -1, 10**38 - 1, 2**64, -(2**64))
    values = [dice.choice(ends) if dice.random() < 0.4 else dice.getrandbits(127) - 2**126 for _ in range(n)]
    return np.array([word for value in values for word in halves(value)], np.uint64)


def halves(value: int) -> tuple[int, int]:
    return value % WORD, (value >> 64) % WORD


def wide(words: Sequence[Any], at: int) -> int:
    low, high = int(words[2 * at]), int(words[2 * at + 1])
    return low + ((high - WORD if high >= 2**63 else high) << 64)


def texts(dice: Random, n: int, bits: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Offsets, which need not begin at 0, and bytes."""
    lengths = [
        dice.choice((0, 1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40, 64, 70, dice.randrange(300))) for _ in range(n)
    ]
    begin = dice.choice((0, 0, 5))
    offsets = np.cumsum([begin, *lengths]).astype(np.int32 if bits == 32 else np.int64)
    alphabet = dice.choice((1, 2, 256))
    return offsets, np.array([dice.randrange(alphabet) for _ in range(int(offsets[-1]))], np.uint8)


def flags(dice: Random, n: int) -> np.ndarray[Any, Any] | None:
    return None if dice.random() < 0.4 else np.array([dice.random() < 0.5 for _ in range(n)], np.uint8)


def positions(dice: Random, n: int, among: int) -> np.ndarray[Any, Any]:
    return np.array([dice.randrange(among) for _ in range(n)] if among else [], np.int64)
