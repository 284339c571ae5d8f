"""For each compiled loop: random arguments, and the same in plain Python.

Arguments are arrays, numbers and `Words`. The letters of `kinds` are those of `native.loop`, with `r` for an array that
is read and `w` for one that is written; a reference changes the latter and gives what the loop gives.
"""

import math
import struct
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import xxhash

from fuzz.fences import Fences, Words
from fuzz.kernel_structures import fold_many, fold_pairs, fold_runs, gathered, some_folds, some_rows

WORD = 2**64
CODES = (0, 1, 2, 2**63 - 1, 2**63, 2**63 + 1, WORD - 2, WORD - 1)
DOUBLES = (0.0, -0.0, math.nan, math.inf, -math.inf, 5e-324, -5e-324, 1.7976931348623157e308, -1.7976931348623157e308,
           1.0, -1.0, 0.1, 2.0**52, 2.0**53, -(2.0**63))  # fmt: skip


@dataclass(frozen=True)
class Kernel:
    kinds: str
    make: Callable[[Random], list[Any]]
    reference: Callable[..., Any] = lambda *_: None
    counts: bool = False
    in_pieces: bool = False  # pairs, as many at once as there is room for
    scratch: tuple[int, ...] = ()  # arrays that are written, of which nobody asks what is in them
    only_first: Callable[[int], int] | None = None  # how much of each array says something
    by_itself: Callable[[list[Any], Fences], None] | None = None  # where arguments are structures of pointers


# Arguments


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
    lengths = [dice.choice((0, 1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40, 64, 70, dice.randrange(300))) for _ in range(n)]
    begin = dice.choice((0, 0, 5))
    offsets = np.cumsum([begin, *lengths]).astype(np.int32 if bits == 32 else np.int64)
    alphabet = dice.choice((1, 2, 256))
    return offsets, np.array([dice.randrange(alphabet) for _ in range(int(offsets[-1]))], np.uint8)


def flags(dice: Random, n: int) -> np.ndarray[Any, Any] | None:
    return None if dice.random() < 0.4 else np.array([dice.random() < 0.5 for _ in range(n)], np.uint8)


def positions(dice: Random, n: int, among: int) -> np.ndarray[Any, Any]:
    return np.array([dice.randrange(among) for _ in range(n)] if among else [], np.int64)


# Codes


def mix(word: int) -> int:
    word = (word + 0x9E3779B97F4A7C15) % WORD
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % WORD
    word = (word ^ word >> 27) * 0x94D049BB133111EB % WORD
    return word ^ word >> 31


def mix_words(words: Any, n: int) -> None:
    words[:] = [mix(int(word)) for word in words[:n]]


def _folded(word_of: Callable[[Any], int]) -> Callable[..., None]:
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


def _make_fold(make: Callable[[Random, int], Any]) -> Callable[[Random], list[Any]]:
    def arguments(dice: Random) -> list[Any]:
        n = size(dice)
        return [codes(dice, n), make(dice, n), n]

    return arguments


def _make_strided(dice: Random) -> list[Any]:
    n, stride = size(dice), dice.choice((1, 2, 4))
    return [codes(dice, n), codes(dice, max((n - 1) * stride + 1, 0)), stride, n]


def _make_texts(bits: int, *more: int) -> Callable[[Random], list[Any]]:
    def arguments(dice: Random) -> list[Any]:
        n = size(dice)
        return [codes(dice, n), *texts(dice, n, bits), n, *more]

    return arguments


def xxh64_of_texts(hashes: Any, offsets: Any, data: Any, n: int) -> None:
    for i in range(n):
        hashes[i] = xxhash.xxh64_intdigest(data[offsets[i] : offsets[i + 1]].tobytes(), int(hashes[i]))


def _xxh64(form: str, plain: Callable[[Any], Any]) -> Callable[..., None]:
    def hash_values(hashes: Any, values: Any, n: int) -> None:
        hashes[:] = [
            xxhash.xxh64_intdigest(struct.pack(form, plain(value)), int(seed))
            for seed, value in zip(hashes[:n], values, strict=True)
        ]

    return hash_values


# Ranges


def _make_places(values: Callable[[Random, int], Any]) -> Callable[[Random], list[Any]]:
    def arguments(dice: Random) -> list[Any]:
        n = size(dice)
        moved = dice.choice((0, 1, -1, 2**63, -(2**64), 2**127 - 1, -(2**127) + 1, dice.getrandbits(126)))
        low, high = dice.choice(((-(2**62), 2**62), (-(2**63), 2**63 - 1)))
        return [codes(dice, n), values(dice, n), n, Words([*halves(moved), dice.choice((0, 1, 20, 64, 107)), low, high])]

    return arguments


def _add_places(value_at: Callable[[Any, int], int]) -> Callable[..., None]:
    def add(words: Any, values: Any, n: int, line: Words) -> None:
        moved, bits, low, high = wide(line, 0), line[2], line[3], line[4]
        for i in range(n):
            place = min(max(value_at(values, i) + moved, -(2**127)), 2**127 - 1) >> bits
            words[i] = (int(words[i]) + min(max(place, low), high)) % WORD

    return add


def _make_places_of_doubles(dice: Random) -> list[Any]:
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


def _make_near(values: Callable[[Random, int], Any], per_value: int = 1) -> Callable[[Random], list[Any]]:
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


def _near(value_at: Callable[[Any, int], int]) -> Callable[..., None]:
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


def _make_near_doubles(dice: Random) -> list[Any]:
    left, at_left, right, at_right, n, _, near = _make_near(doubles)(dice)
    limits = np.sort(np.array([dice.choice((0.0, 1.0, -1.0, 0.5, 1e300, math.inf, -math.inf)) for _ in range(2)]))
    return [left, at_left, right, at_right, n, limits, near]


def near_doubles(left: Any, at_left: Any, right: Any, at_right: Any, n: int, limits: Any, near: Any) -> None:
    for i in range(n):
        a, b = float(left[at_left[i]]), float(right[at_right[i]])
        near[i] = float(limits[0]) <= (0.0 if a == b else b - a) <= float(limits[1])


# Sorting and matching


def _make_sort(dice: Random) -> list[Any]:
    n = dice.choice((size(dice), dice.randrange(2000)))
    wanted = flags(dice, n)
    kept = n if wanted is None else int(np.count_nonzero(wanted))
    rows = [np.zeros(16 * n, np.uint8) for _ in range(2)]
    return [codes(dice, n), wanted, n, *rows, np.zeros(kept, np.uint64), np.zeros(kept, np.int64)]


def sort_codes(all_codes: Any, wanted: Any, n: int, _: Any, __: Any, in_order: Any, order: Any) -> int:
    kept = [i for i in range(n) if wanted is None or wanted[i]]
    kept.sort(key=lambda i: int(all_codes[i]))
    in_order[:], order[:] = all_codes[kept], kept
    return len(kept)


def _make_merge(dice: Random) -> list[Any]:
    bits = dice.choice((1, 2, 8, 33, 63, 64))
    above = 0 if bits == 64 else dice.randrange(2 ** (64 - bits)) << bits
    parts = [
        np.sort(np.array([above + dice.randrange(2**bits) for _ in range(size(dice))], np.uint64))
        for _ in range(dice.randrange(1, 5))
    ]
    sizes = np.array([len(part) for part in parts], np.int64)
    n = int(sizes.sum())
    scratch = [np.zeros(16 * n, np.uint8) for _ in range(2)]
    found = [np.zeros(n, np.uint64), np.zeros(n, np.int64), np.zeros(n, np.int32)]
    return [Words(parts), sizes, len(parts), n, bits, *scratch, *found]


def merge_codes(parts: Any, *arguments: Any) -> None:
    *_, merged, where, which = arguments
    rows = sorted((int(code), part, at) for part, some in enumerate(parts) for at, code in enumerate(some))
    for i, (code, part, at) in enumerate(rows):
        merged[i], where[i], which[i] = code, at, part


def _reach(dice: Random) -> tuple[int, int]:
    return dice.choice(((0, 0), (0, 0), (1, 1), (5, 5), (WORD - 1, 0), (0, WORD - 1), (WORD - 1, WORD - 1), (2**63, 2**63)))


def _make_match(dice: Random) -> list[Any]:
    probes, others = ordered(dice, dice.randrange(60)), ordered(dice, dice.randrange(60))
    return [probes, len(probes), others, len(others), *_reach(dice), dice.choice((1, 2, 7, 5000))]


def _within_reach(probe: int, others: Sequence[int], below: int, above: int) -> range:
    return range(bisect_left(others, max(probe - below, 0)), bisect_left(others, probe + above + 1))


def match(probes: Any, _: int, others: Any, __: int, below: int, above: int) -> list[tuple[int, int]]:
    known = others.tolist()
    return [(i, j) for i, probe in enumerate(probes.tolist()) for j in _within_reach(probe, known, below, above)]


def only_first(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    found: dict[int, int] = {}
    for i, j in pairs:
        found.setdefault(i, j)
    return list(found.items())


def index_of(in_order: Any, bits: int) -> list[int]:
    known = in_order.tolist()
    return [bisect_left(known, high << (64 - bits)) for high in range(2**bits)] + [len(known)]


def _make_index(dice: Random) -> list[Any]:
    in_order, bits = ordered(dice, size(dice)), dice.randrange(1, 9)
    return [in_order, len(in_order), bits, np.zeros(1 + 2**bits, np.uint32)]


def index_codes(in_order: Any, _: int, bits: int, begins: Any) -> None:
    begins[:] = index_of(in_order, bits)


def _make_match_in_index(dice: Random) -> list[Any]:
    probes, others, bits = codes(dice, dice.randrange(60)), ordered(dice, dice.randrange(60)), dice.randrange(1, 9)
    index = np.array(index_of(others, bits), np.uint32)
    first = dice.choice((0, 1))
    of_probes = [probes, flags(dice, len(probes)), len(probes)]
    return [*of_probes, others, len(others), index, bits, *_reach(dice), first, dice.choice((1, 2, 7, 5000))]


def match_in_index(
    probes: Any, wanted: Any, n: int, others: Any, n_others: int, _: Any, __: int, below: int, above: int, first: int
) -> list[tuple[int, int]]:
    pairs = match(probes, n, others, n_others, below, above)
    pairs = [(i, j) for i, j in pairs if wanted is None or wanted[i]]
    return only_first(pairs) if first else pairs


def _make_count_between(dice: Random) -> list[Any]:
    rows, bounds, bits = codes(dice, size(dice)), ordered(dice, dice.randrange(40)), dice.randrange(1, 9)
    index = np.array(index_of(bounds, bits), np.uint32)
    counts = np.zeros(len(bounds) + 1, np.int64)
    return [rows, flags(dice, len(rows)), len(rows), bounds, len(bounds), index, bits, counts]


def count_between(rows: Any, wanted: Any, n: int, bounds: Any, *arguments: Any) -> None:
    known = bounds.tolist()
    for i in range(n):
        if wanted is None or wanted[i]:
            arguments[-1][bisect_left(known, int(rows[i]) + 1)] += 1


# Filters


def _stamp(dice: Random, n: int) -> tuple[Any, int]:
    """An array, or one number for all rows."""
    if dice.random() < 0.5:
        return None, dice.choice((0, 1, 3, 2**31 - 1))
    return np.array([dice.choice((0, 1, 2, 3, 2**31 - 1)) for _ in range(n)], np.int32), 0


def _stamp_at(stamps: Words, number: int, at: int) -> int:
    array, of_all = stamps[2 * number], stamps[2 * number + 1]
    return int(array[at] if isinstance(array, np.ndarray) else of_all)


def _stamps(dice: Random, n: int, count: int) -> Words:
    return Words([0 if part is None else part for _ in range(count) for part in _stamp(dice, n)])


def _make_unmet(count: int, horizons: int) -> Callable[[Random], list[Any]]:
    def arguments(dice: Random) -> list[Any]:
        rows = 1 + size(dice), 1 + size(dice)
        n = size(dice)
        where = [positions(dice, n, some) for some in rows]
        more = [dice.choice((0, 1, 2, 3, 2**31 - 1)) for _ in range(horizons)]
        return [*where, n, _stamps(dice, rows[0], count), _stamps(dice, rows[1], count), *more]

    return arguments


def _kept(is_kept: Callable[..., bool]) -> Callable[..., int]:
    def keep(at_left: Any, at_right: Any, n: int, *arguments: Any) -> int:
        pairs = [(int(at_left[i]), int(at_right[i])) for i in range(n)]
        pairs = [pair for pair in pairs if is_kept(*pair, *arguments)]
        at_left[: len(pairs)], at_right[: len(pairs)] = [left for left, _ in pairs], [right for _, right in pairs]
        return len(pairs)

    return keep


def is_unmet(left: int, right: int, lefts: Words, rights: Words) -> bool:
    """In memory together, or one of them by a task that met the other's disk."""
    l_arrived, l_departed, l_task = (_stamp_at(lefts, number, left) for number in range(3))
    r_arrived, r_departed, r_task = (_stamp_at(rights, number, right) for number in range(3))
    together = l_arrived <= r_departed and r_arrived <= l_departed
    by_left = l_task >= l_arrived and l_task > r_departed
    return not (together or by_left or (r_task >= r_arrived and r_task > l_departed))


def is_beyond(left: int, right: int, lefts: Words, rights: Words, to_left: int, to_right: int, until: int) -> bool:
    l_arrived, r_arrived = _stamp_at(lefts, 0, left), _stamp_at(rights, 0, right)
    met = l_arrived <= to_left and r_arrived <= to_right
    return not met and l_arrived <= until and r_arrived <= until


def _make_stamps(dice: Random) -> list[Any]:
    parts = [1 + size(dice) for _ in range(dice.randrange(1, 4))]
    n = size(dice)
    which = np.array([dice.randrange(len(parts)) for _ in range(n)], np.int32)
    where = np.array([dice.randrange(parts[part]) for part in which], np.int64)
    stamps = Words([word for rows in parts for word in _stamps(dice, rows, 1)])
    return [stamps, where, which, n, np.zeros(n, np.int32)]


def gather_stamps(stamps: Words, where: Any, which: Any, n: int, target: Any) -> None:
    target[:] = [_stamp_at(stamps, int(which[i]), int(where[i])) for i in range(n)]


def _make_equal(width: int) -> Callable[[Random], list[Any]]:
    def arguments(dice: Random) -> list[Any]:
        rows, n = (1 + size(dice), 1 + size(dice)), size(dice)
        contents = [
            np.array([dice.choice((0, 0, 0, 255)) for _ in range(some * width)], np.uint8) for some in rows
        ]
        return [*(positions(dice, n, some) for some in rows), n, *contents, width]

    return arguments


def _bytes_are_equal(left: int, right: int, lefts: Any, rights: Any, width: int) -> bool:
    one, other = (some[at * width : (at + 1) * width].tobytes() for some, at in ((lefts, left), (rights, right)))
    return bool(one == other)


def _make_equal_doubles(dice: Random) -> list[Any]:
    rows, n = (1 + size(dice), 1 + size(dice)), size(dice)
    return [*(positions(dice, n, some) for some in rows), n, *(doubles(dice, some) for some in rows)]


def _make_equal_texts(bits: int) -> Callable[[Random], list[Any]]:
    def arguments(dice: Random) -> list[Any]:
        rows, n = (1 + size(dice), 1 + size(dice)), size(dice)
        of_left, of_right = (texts(dice, some, bits) for some in rows)
        return [*(positions(dice, n, some) for some in rows), n, *of_left, *of_right]

    return arguments


def _texts_are_equal(left: int, right: int, offsets: Any, data: Any, other_offsets: Any, other_data: Any) -> bool:
    one = data[offsets[left] : offsets[left + 1]].tobytes()
    return bool(one == other_data[other_offsets[right] : other_offsets[right + 1]].tobytes())


# Gathering


def _make_concatenation(dice: Random) -> list[Any]:
    parts = [integers(dice, size(dice), np.uint8) for _ in range(dice.randrange(4))]
    sizes = np.array([len(part) for part in parts], np.int64)
    return [len(parts), Words(parts), sizes, np.zeros(int(sizes.sum()), np.uint8)]


def concatenate(_: int, parts: Words, __: Any, target: Any) -> None:
    target[:] = np.concatenate([np.zeros(0, np.uint8), *parts])


def _make_spread(type_: Any) -> Callable[[Random], list[Any]]:
    def arguments(dice: Random) -> list[Any]:
        values, n = integers(dice, 1 + size(dice), type_), size(dice)
        return [values, positions(dice, n, len(values)).astype(np.int32), n, np.zeros(n, type_)]

    return arguments


def spread(values: Any, places: Any, n: int, found: Any) -> None:
    found[:] = [values[places[i]] for i in range(n)]


def _plain(value: Any) -> int:
    return int(value)


def _at(values: Any, at: int) -> int:
    return int(values[at])


def _kept_only(found: int) -> int:
    return found


_INTEGERS = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}
_SPREAD = {8: np.uint8, 32: np.uint32, 64: np.uint64}
_VALUES = {"integers": (lambda dice, n: integers(dice, n, np.int64), _at), "decimals": (wides, wide),
           "naturals": (lambda dice, n: integers(dice, n, np.uint64), _at)}  # fmt: skip

KERNELS: dict[str, Kernel] = {
    "mix_words": Kernel("wn", lambda dice: [(some := codes(dice, size(dice))), len(some)], mix_words),
    **{
        f"fold_integers_{bits}": Kernel(
            "wrn",
            _make_fold(lambda dice, n, type_=type_: integers(dice, n, type_)),  # type: ignore[misc]
            _folded(lambda value: int(value) % WORD),
        )
        for bits, type_ in _INTEGERS.items()
    },
    "fold_doubles": Kernel("wrn", _make_fold(doubles), _folded(word_of_double)),
    "fold_strided": Kernel("wrnn", _make_strided, fold_strided),
    **{f"fold_texts_{bits}": Kernel("wrrnn", _make_texts(bits, 40), fold_texts, counts=True) for bits in (32, 64)},
    **{f"xxh64_of_texts_{bits}": Kernel("wrrn", _make_texts(bits), xxh64_of_texts) for bits in (32, 64)},
    "xxh64_of_64_bits": Kernel("wrn", _make_fold(codes), _xxh64("<Q", _plain)),
    "xxh64_of_32_bits": Kernel("wrn", _make_fold(lambda d, n: integers(d, n, np.uint32)), _xxh64("<I", _plain)),
    "xxh64_of_doubles": Kernel("wrn", _make_fold(doubles), _xxh64("<Q", word_of_double)),
    **{f"add_places_of_{name}": Kernel("wrnr", _make_places(make), _add_places(at)) for name, (make, at) in _VALUES.items()},
    "add_places_of_doubles": Kernel("wrnr", _make_places_of_doubles, add_places_of_doubles),
    **{
        f"near_enough_{name}": Kernel("rrrrnrw", _make_near(make, 2 if name == "decimals" else 1), _near(at))
        for name, (make, at) in _VALUES.items()
    },
    "near_enough_doubles": Kernel("rrrrnrw", _make_near_doubles, near_doubles),
    "sort_codes": Kernel("rrnwwww", _make_sort, sort_codes, counts=True, scratch=(0, 1)),
    "merge_codes": Kernel("rrsnswwwww", _make_merge, merge_codes, scratch=(0, 1)),
    "match": Kernel("rnrnuuwwwn", _make_match, match, counts=True, in_pieces=True),
    "match_first": Kernel("rnrnuuwwwn", _make_match, lambda *a: only_first(match(*a)), counts=True, in_pieces=True),
    "index_codes": Kernel("rnsw", _make_index, index_codes),
    "match_in_index": Kernel("rrnrnrsuuswwwn", _make_match_in_index, match_in_index, counts=True, in_pieces=True),
    "count_between": Kernel("rrnrnrsw", _make_count_between, count_between),
    "keep_unmet": Kernel("wwnrr", _make_unmet(3, 0), _kept(is_unmet), counts=True, only_first=_kept_only),
    "keep_beyond": Kernel("wwnrrnnn", _make_unmet(1, 3), _kept(is_beyond), counts=True, only_first=_kept_only),
    "gather_stamps": Kernel("rrrnw", _make_stamps, gather_stamps),
    "keep_equal_bytes": Kernel(
        "wwnrrn", lambda dice: _make_equal(dice.choice((8, 16, 32)))(dice), _kept(_bytes_are_equal), counts=True,
        only_first=_kept_only,
    ),
    "keep_equal_doubles": Kernel(
        "wwnrr", _make_equal_doubles, _kept(lambda i, j, a, b: word_of_double(a[i]) == word_of_double(b[j])),
        counts=True, only_first=_kept_only,
    ),
    **{
        f"keep_equal_texts_{bits}": Kernel(
            "wwnrrrr", _make_equal_texts(bits), _kept(_texts_are_equal), counts=True, only_first=_kept_only
        )
        for bits in (32, 64)
    },
    "concatenate": Kernel("srrw", _make_concatenation, concatenate),
    **{f"spread_{bits}": Kernel("rrnw", _make_spread(type_), spread) for bits, type_ in _SPREAD.items()},
    "plan_columns": Kernel("", some_rows, by_itself=gathered),
    "gather_columns": Kernel("", some_rows, by_itself=gathered),
    "fold_pairs": Kernel("", some_folds, by_itself=fold_pairs),
    "fold_runs": Kernel("", some_folds, by_itself=fold_runs),
    "fold_many": Kernel("", some_folds, by_itself=fold_many),
}  # fmt: skip
