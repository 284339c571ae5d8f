"""The two sides of a join, by number."""

from typing import Final

LEFT: Final = 0
RIGHT: Final = 1
SIDES: Final = (LEFT, RIGHT)


def opposite(side: int) -> int:
    return 1 - side
