"""Loops over values, in plain Python: codes and hashes of them, and how near they are to each other.

A reference changes the arrays that its loop writes, and gives what that gives.
"""

import math
import struct
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import xxhash

from fuzz.fences import Words
from fuzz.kernel_arguments import WORD, codes, doubles, halves, positions, size, texts, wide

# Codes


def mix(word: int) -> int:
    word = (word + 0x9E3779B97F4A7C15) % WORD
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % WORD
    word = (word ^ word >> 27) * 0x94D049BB133111EB % WORD
    return word ^ word >> 31


def mix_words(words: Any, n: int) -> None:
    words[:] = [mix(int(word)) for word in words[:n]]


def folded(word_of: Callable[[Any], int]) -> Callable[..., None]:
    def fold(words: Any, values: Any, n: int) -> None:
        words[:] = [int(word) ^ word_of(value) for word, value in zip(words[:n], values, strict=True)]

    return fold


def word_of_double(value: float) -> int:
    """All NaNs are one, and both zeros."""
    number = math.nan if math.isnan(value) else float(value) + 0.0
    return 0x7FF8000000000000 if math.isnan(number) else int.from_bytes(struct.pack("<d", number), "little")


def fold_strided(words: Any, values: Any, stride: int, n: int) -> None:
    words[:] = [int(words[i]) ^ int(values[i * stride]) for i in range(n)]


def word_of_text(text: bytes) -> int:
    state = len(text) * 0x9E3779B97F4A7C15 % WORD
    for at in range(0, len(text), 8):
        part = text[at : at + 8]
        word = int.from_bytes(part, "little") << (8 * (8 - len(part)) if len(part) < 8 else 0)
        state = (mix(state) if at else state) ^ word
    return state


def fold_texts(words: Any, offsets: Any, data: Any, n: int, longest: int) -> int:
    left_out = 0
    for i in range(n):
        text = data[offsets[i] : offsets[i + 1]].tobytes()
        if len(text) > longest:
            left_out += 1
        else:
            words[i] = int(words[i]) ^ word_of_text(text)
    return left_out


def make_fold(make: Callable[[Random, int], Any]) -> Callable[[Random], list[Any]]:
    def arguments(dice: Random) -> list[Any]:
        n = size(dice)
        return [codes(dice, n), make(dice, n), n]

    return arguments


def make_strided(dice: Random) -> list[Any]:
    n, stride = size(dice), dice.choice((1, 2, 4))
    return [codes(dice, n), codes(dice, max((n - 1) * stride + 1, 0)), stride, n]


def make_texts(bits: int, *more: int) -> Callable[[Random], list[Any]]:
    def arguments(dice: Random) -> list[Any]:
        n = size(dice)
        return [codes(dice, n), *texts(dice, n, bits), n, *more]

    return arguments


def xxh64_of_texts(hashes: Any, offsets: Any, data: Any, n: int) -> None:
    for i in range(n):
        hashes[i] = xxhash.xxh64_intdigest(data[offsets[i] : offsets[i + 1]].tobytes(), int(hashes[i]))


def xxh64(form: str, plain: Callable[[Any], Any]) -> Callable[..., None]:
    def hash_values(hashes: Any, values: Any, n: int) -> None:
        hashes[:] = [
            xxhash.xxh64_intdigest(struct.pack(form, plain(value)), int(seed))
            for seed, value in zip(hashes[:n], values, strict=True)
        ]

    return hash_values


# Ranges


def make_places(values: Callable[[Random, int], Any]) -> Callable[[Random], list[Any]]:
    def arguments(dice: Random) -> list[Any]:
        n = size(dice)
        moved = dice.choice((0, 1, -1, 2**63, -(2**64), 2**127 - 1, -(2**127) + 1, dice.getrandbits(126)))
        low, high = dice.choice(((-(2**62), 2**62), (-(2**63), 2**63 - 1)))
        return [
            codes(dice, n),
            values(dice, n),
            n,
            Words([*halves(moved), dice.choice((0, 1, 20, 64, 107)), low, high]),
        ]

    return arguments


def add_places(value_at: Callable[[Any, int], int]) -> Callable[..., None]:
    def add(words: Any, values: Any, n: int, line: Words) -> None:
        moved, bits, low, high = wide(line, 0), line[2], line[3], line[4]
        for i in range(n):
            place = min(max(value_at(values, i) + moved, -(2**127)), 2**127 - 1) >> bits
            words[i] = (int(words[i]) + min(max(place, low), high)) % WORD

    return add


def make_places_of_doubles(dice: Random) -> list[Any]:
    n, unit = size(dice), 2.0 ** dice.choice((-1020, -20, 0, 3, 100, 971, 1000))
    straight = unit * 2.0**52 if unit <= 2.0**971 else math.inf
    moved = dice.choice((0.0, 1.0, -0.5, 1e300, -1.7976931348623157e308))
    return [codes(dice, n), doubles(dice, n), n, np.array([moved, unit, straight], np.float64)]


def add_places_of_doubles(words: Any, values: Any, n: int, line: Any) -> None:
    """As many places as units up to 2^52 of them; beyond, four neighbours share one."""
    moved_by, unit, straight = map(float, line)
    most, last = 1.7976931348623157e308, 2**62
    for i in range(n):
        value = float(values[i])
        if math.isnan(value):
            continue
        moved = min(max(value + moved_by, -most), most)
        if math.isinf(value):
            place = last if value > 0 else -last
        elif abs(moved) <= straight:
            place = math.floor(moved / unit)
        else:
            place = 2**52 + ((_bits(abs(moved)) - _bits(straight)) >> 2)
            place = -place if moved < 0 else place
        words[i] = (int(words[i]) + place) % WORD


def _bits(value: float) -> int:
    return int.from_bytes(struct.pack("<d", value), "little")


def make_near(values: Callable[[Random, int], Any], per_value: int = 1) -> Callable[[Random], list[Any]]:
    def arguments(dice: Random) -> list[Any]:
        left, right = values(dice, size(dice)), values(dice, size(dice))
        n = size(dice) if len(left) and len(right) else 0
        limits: list[int] = []
        for _ in range(2):
            limit = dice.choice((0, 1, -1, 2**64 - 1, -(2**64), 2**128 - 1, -(2**128) + 1, dice.randrange(-100, 100)))
            limits += [*halves(abs(limit)), int(limit < 0), int(dice.random() < 0.9)]
        where = [positions(dice, n, len(some) // per_value) for some in (left, right)]
        return [left, where[0], right, where[1], n, Words(limits), np.zeros(n, np.uint8)]

    return arguments


def near(value_at: Callable[[Any, int], int]) -> Callable[..., None]:
    def near_enough(left: Any, at_left: Any, right: Any, at_right: Any, n: int, limits: Words, near: Any) -> None:
        bounds = [
            (limits[4 * end] + (limits[4 * end + 1] << 64)) * (-1 if limits[4 * end + 2] else 1)
            if limits[4 * end + 3]
            else None
            for end in (0, 1)
        ]
        for i in range(n):
            apart = value_at(right, int(at_right[i])) - value_at(left, int(at_left[i]))
            near[i] = (bounds[0] is None or apart >= bounds[0]) and (bounds[1] is None or apart <= bounds[1])

    return near_enough


def make_near_doubles(dice: Random) -> list[Any]:
    left, at_left, right, at_right, n, _, near = make_near(doubles)(dice)
    limits = np.sort(np.array([dice.choice((0.0, 1.0, -1.0, 0.5, 1e300, math.inf, -math.inf)) for _ in range(2)]))
    return [left, at_left, right, at_right, n, limits, near]


def near_doubles(left: Any, at_left: Any, right: Any, at_right: Any, n: int, limits: Any, near: Any) -> None:
    for i in range(n):
        a, b = float(left[at_left[i]]), float(right[at_right[i]])
        near[i] = float(limits[0]) <= (0.0 if a == b else b - a) <= float(limits[1])
