"""Joins that do not know of each other: who needs room takes it from its own rows, as a policy for one join chooses.

If it has too few of them, the join that has most in memory lets rows go, by the same policy.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sooner.policies.view import Evict, EvictAll, EvictUpTo, FlushPolicy, JoinView, Together, View


@dataclass(frozen=True)
class EachForItself:
    flush: FlushPolicy

    def choose(self, views: Mapping[str, View], asking: str, needed_bytes: int) -> Iterator[Together]:
        largest_first = sorted(views, key=lambda name: -int(views[name].resident_bytes.sum()))
        for name in (asking, *(other for other in largest_first if other != asking)):
            view = views[name]
            assert isinstance(view, JoinView), "a plan is of joins"
            if view.resident_rows.any():
                yield from self._of_one(name, view, needed_bytes)

    def _of_one(self, name: str, view: JoinView, needed_bytes: int) -> Iterator[Together]:
        together: list[Evict] = []
        for group in self.flush.choose(view, needed_bytes):
            together += [eviction._replace(operator=name) for eviction in group]
            if sum(_freed_by(view, eviction) for eviction in together) >= needed_bytes:
                break
        if together:
            yield together


def _freed_by(view: View, eviction: Evict) -> int:
    there = int(view.resident_bytes[eviction.input, eviction.partition])
    match eviction:
        case EvictAll():
            return there
        case EvictUpTo(at_most_bytes=at_most_bytes):
            return min(at_most_bytes, there)
    return 1  # of codes or moments it is not known here: one at a time
