"""What a flush policy sees of a join of many inputs, and what it may say."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from sooner.policies.view import CodesFrom, Numbers, RegionsView, View


@dataclass(frozen=True)
class MultiView(View):
    """Inputs have one partition each. What the algorithm does not look at is not there."""

    n_attributes: int
    buckets: Numbers | None = None  # [input, bucket]: bytes in memory, by the first attribute of the input
    regions: RegionsView | None = None  # [input, attribute, region], by the attribute's place among those of the input

    @property
    def useless(self) -> int | None:
        """The input whose rows in memory meet nothing that comes: all others have ended (DINER, footnote 1)."""
        return self.ended.index(False) if self.ended.count(False) == 1 else None


class EvictBuckets(NamedTuple):
    """Let all rows of an input in these buckets leave memory."""

    input: int
    buckets: Sequence[int]
    why: str = ""


class EvictRegion(NamedTuple):
    """Let rows of an input leave up to so many bytes, of one region by one of its attributes."""

    input: int
    attribute: int
    at_most_bytes: int
    codes_from: CodesFrom
    why: str = ""


class EvictInput(NamedTuple):
    """Let all rows of an input leave memory."""

    input: int
    why: str = ""


MultiEvict = EvictBuckets | EvictRegion | EvictInput


class MultiFlushPolicy(Protocol):
    def choose(self, view: MultiView, needed_bytes: int) -> Iterable[Sequence[MultiEvict]]:
        """Groups of evictions, best first; each group is done as a whole, and when enough is free the rest is not."""
