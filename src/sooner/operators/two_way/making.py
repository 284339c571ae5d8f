"""Put a join together: which ledger its algorithm asks for, and what becomes of its pairs."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from sooner.how import INNER, Kind
from sooner.named_algorithms import Algorithm
from sooner.operators.deciding.existence import Existence
from sooner.operators.deciding.expiry import Expiry
from sooner.operators.inputs import Input
from sooner.operators.leaving.room import regions_of
from sooner.operators.ledgers.horizons import Horizons
from sooner.operators.ledgers.open_pairs import JoinStatistics
from sooner.operators.ledgers.stamps import Stamps
from sooner.operators.operator import Means
from sooner.operators.order import Order
from sooner.operators.pairs import Bundle
from sooner.operators.shell import Shell
from sooner.operators.state.state import JoinState
from sooner.operators.two_way.collecting import PairCollector, filters_of
from sooner.operators.two_way.evening_out import even_out_once
from sooner.operators.two_way.join import TwoWayJoin
from sooner.sides import LEFT

R = TypeVar("R")


def two_way_join(
    inputs: tuple[Input, Input],
    order: Order,
    algorithm: Algorithm,
    result_of: Callable[[Bundle], R],
    means: Means,
    kind: Kind = INNER,
    expiry: Expiry | None = None,
) -> TwoWayJoin[R]:
    """A join that gives rows, or whatever `result_of` makes of pairs of them."""
    statistics = statistics_of(inputs, algorithm, means)
    shell = Shell(means.listener)
    if algorithm.waits == "never":
        stamps = Stamps(inputs)
        state = state_of(inputs, order, algorithm, means, shell, statistics, stamps, kind, expiry)
        collector = PairCollector(order, stamps, filters_of(order, kind, shell.breathe), result_of)
        return TwoWayJoin(state, collector, stamps, algorithm, means)
    horizons = horizons_of(inputs, algorithm, statistics, shell)
    state = state_of(inputs, order, algorithm, means, shell, statistics, horizons, kind, expiry)
    collector = PairCollector(order, horizons, filters_of(order, kind, shell.breathe), result_of)
    evens_out = algorithm.partitions == "from the first rows"
    after_arrival = partial(even_out_once, state, horizons) if evens_out else None
    return TwoWayJoin(state, collector, horizons, algorithm, means, after_arrival)


def statistics_of(inputs: tuple[Input, Input], algorithm: Algorithm, means: Means) -> JoinStatistics:
    partitions = len(inputs[LEFT].partitions)
    return JoinStatistics(partitions, regions_of(algorithm, partitions, means))


def horizons_of(
    inputs: tuple[Input, Input], algorithm: Algorithm, statistics: JoinStatistics, shell: Shell
) -> Horizons:
    """The ledger of a join of growing rectangles (PR-Join sec. 4; block ripple join, GRACE and others)."""
    horizons = Horizons(inputs, statistics, keeps_rights=algorithm.waits == "once memory was full, of the right")
    if algorithm.waits == "always":
        horizons.begin_waiting(shell.tick)
    return horizons


def state_of(
    inputs: tuple[Input, Input],
    order: Order,
    algorithm: Algorithm,
    means: Means,
    shell: Shell,
    statistics: JoinStatistics,
    ledger: Stamps | Horizons,
    kind: Kind = INNER,
    expiry: Expiry | None = None,
) -> JoinState:
    existence = Existence(order.reach, order.only_matching, shell.breathe)
    splits_codes = algorithm.splits != "no code"
    told = shell, statistics, ledger, existence, kind, expiry
    return JoinState(inputs, means.account, *told, splits_codes=splits_codes)
