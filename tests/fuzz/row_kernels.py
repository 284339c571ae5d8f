"""Loops over rows, in plain Python: sorting, matching, keeping and gathering them."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np

from fuzz.fences import Words
from fuzz.kernel_arguments import WORD, codes, doubles, flags, integers, ordered, positions, size, texts

# Sorting and matching


def make_sort(dice: Random) -> list[Any]:
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


def make_merge(dice: Random) -> list[Any]:
    bits = dice.choice((1, 2, 8, 33, 63, 64))
    above = 0 if bits == 64 else dice.randrange(2 ** (64 - bits)) << bits
    parts = [
        np.sort(np.array([above + dice.randrange(2**bits) for _ in range(size(dice))], np.uint64))
        for _ in range(dice.randrange(1, 5))
    ]
    sizes = np.array([len(part) for part in parts], np.int64)
    n = int(sizes.sum())
    scratch = [np.zeros(len(parts) + 1, np.int64), *(np.zeros(16 * n, np.uint8) for _ in range(2))]
    found = [np.zeros(n, np.uint64), np.zeros(n, np.int64), np.zeros(n, np.int32)]
    return [Words(parts), sizes, len(parts), n, *scratch, *found]


def merge_codes(parts: Any, *arguments: Any) -> None:
    *_, merged, where, which = arguments
    rows = sorted((int(code), part, at) for part, some in enumerate(parts) for at, code in enumerate(some))
    for i, (code, part, at) in enumerate(rows):
        merged[i], where[i], which[i] = code, at, part


def _reach(dice: Random) -> tuple[int, int]:
    return dice.choice(
        ((0, 0), (0, 0), (1, 1), (5, 5), (WORD - 1, 0), (0, WORD - 1), (WORD - 1, WORD - 1), (2**63, 2**63))
    )


def make_match(dice: Random) -> list[Any]:
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


def entries(dice: Random, in_order: Any) -> tuple[int, int, int]:
    """Which entry of an index a code belongs to: where they begin, how wide they are, and how many there are."""
    base = dice.choice((0, int(in_order[0]) if len(in_order) else 5))
    return base, dice.randrange(64), dice.randrange(1, 9)


def index_of(in_order: Any, base: int, shift: int, bits: int) -> list[int]:
    known = in_order.tolist()
    return [0, *(bisect_left(known, base + (high << shift)) for high in range(1, 2**bits)), len(known)]


def make_index(dice: Random) -> list[Any]:
    in_order = ordered(dice, size(dice))
    base, shift, bits = entries(dice, in_order)
    return [in_order, len(in_order), base, shift, bits, np.zeros(1 + 2**bits, np.uint32)]


def index_codes(in_order: Any, _: int, base: int, shift: int, bits: int, begins: Any) -> None:
    begins[:] = index_of(in_order, base, shift, bits)


def make_match_in_index(dice: Random) -> list[Any]:
    probes, others = codes(dice, dice.randrange(60)), ordered(dice, dice.randrange(60))
    of_entry = entries(dice, others)
    index = np.array(index_of(others, *of_entry), np.uint32)
    first = dice.choice((0, 1))
    of_probes = [probes, flags(dice, len(probes)), len(probes)]
    return [*of_probes, others, len(others), index, *of_entry, *_reach(dice), first, dice.choice((1, 2, 7, 5000))]


def match_in_index(
    probes: Any, wanted: Any, n: int, others: Any, n_others: int, *arguments: Any
) -> list[tuple[int, int]]:
    below, above, first = arguments[-3:]
    pairs = match(probes, n, others, n_others, below, above)
    pairs = [(i, j) for i, j in pairs if wanted is None or wanted[i]]
    return only_first(pairs) if first else pairs


def make_count_between(dice: Random) -> list[Any]:
    rows, bounds = codes(dice, size(dice)), ordered(dice, dice.randrange(40))
    of_entry = entries(dice, bounds)
    index = np.array(index_of(bounds, *of_entry), np.uint32)
    counts = np.zeros(len(bounds) + 1, np.int64)
    return [rows, flags(dice, len(rows)), len(rows), bounds, len(bounds), index, *of_entry, counts]


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


def make_unmet(count: int, horizons: int) -> Callable[[Random], list[Any]]:
    def arguments(dice: Random) -> list[Any]:
        rows = 1 + size(dice), 1 + size(dice)
        n = size(dice)
        where = [positions(dice, n, some) for some in rows]
        more = [dice.choice((0, 1, 2, 3, 2**31 - 1)) for _ in range(horizons)]
        return [*where, n, _stamps(dice, rows[0], count), _stamps(dice, rows[1], count), *more]

    return arguments


def kept(is_kept: Callable[..., bool]) -> Callable[..., int]:
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


def make_stamps(dice: Random) -> list[Any]:
    parts = [1 + size(dice) for _ in range(dice.randrange(1, 4))]
    n = size(dice)
    which = np.array([dice.randrange(len(parts)) for _ in range(n)], np.int32)
    where = np.array([dice.randrange(parts[part]) for part in which], np.int64)
    stamps = Words([word for rows in parts for word in _stamps(dice, rows, 1)])
    return [stamps, where, which, n, np.zeros(n, np.int32)]


def gather_stamps(stamps: Words, where: Any, which: Any, n: int, target: Any) -> None:
    target[:] = [_stamp_at(stamps, int(which[i]), int(where[i])) for i in range(n)]


def make_equal(width: int) -> Callable[[Random], list[Any]]:
    def arguments(dice: Random) -> list[Any]:
        rows, n = (1 + size(dice), 1 + size(dice)), size(dice)
        contents = [np.array([dice.choice((0, 0, 0, 255)) for _ in range(some * width)], np.uint8) for some in rows]
        return [*(positions(dice, n, some) for some in rows), n, *contents, width]

    return arguments


def bytes_are_equal(left: int, right: int, lefts: Any, rights: Any, width: int) -> bool:
    one, other = (some[at * width : (at + 1) * width].tobytes() for some, at in ((lefts, left), (rights, right)))
    return bool(one == other)


def make_equal_doubles(dice: Random) -> list[Any]:
    rows, n = (1 + size(dice), 1 + size(dice)), size(dice)
    return [*(positions(dice, n, some) for some in rows), n, *(doubles(dice, some) for some in rows)]


def make_equal_texts(bits: int) -> Callable[[Random], list[Any]]:
    def arguments(dice: Random) -> list[Any]:
        rows, n = (1 + size(dice), 1 + size(dice)), size(dice)
        of_left, of_right = (texts(dice, some, bits) for some in rows)
        return [*(positions(dice, n, some) for some in rows), n, *of_left, *of_right]

    return arguments


def texts_are_equal(left: int, right: int, offsets: Any, data: Any, other_offsets: Any, other_data: Any) -> bool:
    one = data[offsets[left] : offsets[left + 1]].tobytes()
    return bool(one == other_data[other_offsets[right] : other_offsets[right + 1]].tobytes())


# Gathering


def make_concatenation(dice: Random) -> list[Any]:
    parts = [integers(dice, size(dice), np.uint8) for _ in range(dice.randrange(4))]
    sizes = np.array([len(part) for part in parts], np.int64)
    return [len(parts), Words(parts), sizes, np.zeros(int(sizes.sum()), np.uint8)]


def concatenate(_: int, parts: Words, __: Any, target: Any) -> None:
    target[:] = np.concatenate([np.zeros(0, np.uint8), *parts])


def make_spread(type_: Any) -> Callable[[Random], list[Any]]:
    def arguments(dice: Random) -> list[Any]:
        values, n = integers(dice, 1 + size(dice), type_), size(dice)
        return [values, positions(dice, n, len(values)).astype(np.int32), n, np.zeros(n, type_)]

    return arguments


def spread(values: Any, places: Any, n: int, found: Any) -> None:
    found[:] = [values[places[i]] for i in range(n)]
