"""What a family of cases is, and what is wrong with one."""

from collections.abc import Iterator
from random import Random
from typing import Protocol, TypeVar

C = TypeVar("C")


class Wrong(AssertionError):  # noqa: N818 - it is the answer that is
    """Something is not as it was promised."""


class Family(Protocol[C]):
    name: str

    def case(self, seed: int) -> C:
        """Follows from the seed alone."""

    def check(self, case: C) -> None:
        """Raises what is wrong with it."""

    def shown(self, case: C) -> str:
        """For people to read."""

    def smaller(self, case: C) -> Iterator[C]:
        """Cases with less in them, which may be wrong for the same reason."""


def dice_of(family: str, seed: int) -> Random:
    return Random(f"{family} {seed}")


def require(holds: bool, sentence: str) -> None:
    if not holds:
        raise Wrong(sentence)
