"""Algorithms that are wrong in one way, as a proof that claims can fail: each claim is seen to fail with one of them.

A mutant changes what an algorithm decides and never which pairs are results: answers stay exact, but come too late.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from sooner.named_algorithms import Algorithm
from sooner.policies.flush.all import All
from sooner.policies.flush.rate_optimal import RateOptimal, arrival_chances
from sooner.policies.flush.regions import Regions
from sooner.policies.react.never import Never
from sooner.policies.view import MIDDLE, EvictUpTo, FlushPolicy, JoinView, RegionsView, Together

MUCH: Final = 2**40  # results, more than any region has had


@dataclass(frozen=True)
class Reversed:
    """The last choice of a policy first, where it chooses whole partitions."""

    policy: FlushPolicy

    def choose(self, view: JoinView, needed_bytes: int) -> Iterable[Together]:
        return [*self.policy.choose(view, needed_bytes)][::-1]


class LikeliestFirst:
    """RPJ's flush the wrong way round: what is most likely to meet a new arrival leaves."""

    def choose(self, view: JoinView, needed_bytes: int) -> Iterable[Together]:
        meeting = arrival_chances(view)[::-1]
        for place in np.argsort(-meeting.ravel(), kind="stable").tolist():
            victim, partition = divmod(place, meeting.shape[1])
            resident_bytes = int(view.resident_bytes[victim, partition])
            if resident_bytes:
                yield [EvictUpTo(victim, partition, min(needed_bytes, resident_bytes))]
                needed_bytes = max(1, needed_bytes - resident_bytes)


class BestRegionFirst:
    """DINER's flush the wrong way round: from the region that joins most."""

    def choose(self, view: JoinView, needed_bytes: int) -> Iterable[Together]:
        assert view.regions is not None
        return Regions().choose(replace(view, regions=upside_down(view.regions)), needed_bytes)


def upside_down(regions: RegionsView) -> RegionsView:
    """The region that joins most seems to join least."""
    return RegionsView(regions.rows, regions.rows**2 * MUCH // (regions.joins + 1))


class WithoutTheMiddle:
    """DINER with two regions: the middle one is lost, and its rows leave when the others have none."""

    def choose(self, view: JoinView, needed_bytes: int) -> Iterable[Together]:
        assert view.regions is not None
        joins = view.regions.joins.copy()
        joins[..., MIDDLE] = MUCH
        regions = RegionsView(view.regions.rows, joins)
        return Regions().choose(replace(view, regions=regions), needed_bytes)


def with_reversed_flush(algorithm: Algorithm) -> Algorithm:
    match algorithm.flush:
        case RateOptimal():
            flush: FlushPolicy = LikeliestFirst()
        case Regions():
            flush = BestRegionFirst()
        case _:
            flush = Reversed(algorithm.flush)
    return replace(algorithm, flush=flush)


def with_two_regions(algorithm: Algorithm) -> Algorithm:
    return replace(algorithm, flush=WithoutTheMiddle())


def with_flush_of_all(algorithm: Algorithm) -> Algorithm:
    return replace(algorithm, flush=All())


def idle_in_silence(algorithm: Algorithm) -> Algorithm:
    return replace(algorithm, react=Never())
