"""Loops that count rows by key, as the lab has them: random schedules, against every row kept by itself."""

from random import Random
from typing import Any

import numpy as np

from counted_rows import arrays, follow
from counted_rows import counted as counted_rows
from fuzz.family import require
from fuzz.fences import Fences

IN_SCHEDULES = ("arrivals", "meeting_disk", "leaving", "oldest")


def a_schedule(dice: Random) -> list[Any]:
    return [dice.randrange(2**32), dice.random() < 0.5]


def counted(arguments: list[Any], fences: Fences) -> None:  # noqa: ARG001 - the arrays are those of the library
    seed, ages = arguments
    follow(seed, ages=ages)


def some_leaving(dice: Random) -> list[Any]:
    rows = [dice.choice((0, 0, 1, 7, 2**40)) for _ in range(dice.choice((1, 2, 9, 40)))]
    return [np.array(rows, np.int64), dice.randint(1, max(sum(rows), 1) + 2), dice.random() < 0.5]


def in_order(arguments: list[Any], fences: Fences) -> None:  # noqa: ARG001 - the arrays are those of the library
    rows, wanted, downwards = arguments
    known = arrays(ages=False, regions=False, shape=(2, 1, len(rows)))
    known.counts.memory[1, 0], known.resident[1, 0] = rows, rows.sum()
    [leaving] = counted_rows(known).in_order(np.array([1]), np.array([wanted]), np.array([downwards]))
    expected, left = [0] * len(rows), wanted
    for key in reversed(range(len(rows))) if downwards else range(len(rows)):
        expected[key] = int(rows[key])
        if (left := left - int(rows[key])) <= 0:
            break
    require(leaving.tolist() == expected, "other rows leave")


def some_regions(dice: Random) -> list[Any]:
    keys = dice.choice((1, 2, 9, 40))
    bounds = sorted(dice.randrange(keys + 1) for _ in range(2))
    return [np.array([dice.choice((0, 1, 7, 2**40)) for _ in range(keys)], np.int64), *bounds]


def regions(arguments: list[Any], fences: Fences) -> None:  # noqa: ARG001 - the arrays are those of the library
    rows, first, end = arguments
    known = arrays(ages=False, regions=True, shape=(2, 1, len(rows)))
    known.counts.memory[1, 0] = rows
    assert known.bounds is not None
    known.bounds[1, 0] = first, end
    expected = [int(some.sum()) for some in (rows[:first], rows[first : end + 1], rows[end + 1 :])]
    require(counted_rows(known).by_region()[1, 0].tolist() == expected, "rows are in other regions")
