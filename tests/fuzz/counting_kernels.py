"""Loops that count rows by key, as the lab has them: random schedules, against every row kept by itself."""

from random import Random
from typing import Any

import numpy as np

from counted_rows import follow
from fuzz.family import require
from fuzz.fences import Fences
from sooner.kernels.counting import leave_in_order

IN_SCHEDULES = ("arrivals", "meeting_disk", "leaving", "oldest")


def a_schedule(dice: Random) -> list[Any]:
    return [dice.randrange(2**32), dice.random() < 0.5]


def counted(arguments: list[Any], fences: Fences) -> None:  # noqa: ARG001 - the arrays are those of the library
    seed, ages = arguments
    follow(seed, ages=ages)


def some_leaving(dice: Random) -> list[Any]:
    rows = [dice.choice((0, 0, 1, 7, 2**40)) for _ in range(dice.choice((1, 2, 9, 40)))]
    return [np.array(rows, np.int64), dice.randint(1, max(sum(rows), 1) + 2), dice.random() < 0.5]


def in_order(arguments: list[Any], fences: Fences) -> None:
    rows, wanted, downwards = arguments
    leaving, last, enough = leave_in_order(fences.place(rows)[1], wanted, downwards=downwards)
    expected, left = [0] * len(rows), wanted
    for key in reversed(range(len(rows))) if downwards else range(len(rows)):
        expected[key] = int(rows[key])
        if wanted < rows.sum() and left <= rows[key]:
            require((last, enough) == (key, left), "the last key that leaves is another")
            break
        left -= int(rows[key])
    else:
        require(last is None, "all keys leave, and one is the last")
    require(leaving.tolist() == expected, "other rows leave")
