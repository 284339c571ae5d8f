"""The named algorithms for plans of joins: what leaves memory, and which join works on disk while rows come."""

from dataclasses import dataclass, field
from typing import Final

from sooner.errors import InvalidJoin
from sooner.named_algorithms import ALGORITHMS, Algorithm
from sooner.operators.statistics.observing import Ewma, Maintenance
from sooner.policies.flush.never import Never as FlushNever
from sooner.policies.plan_view import PlanReactPolicy
from sooner.policies.plans.contribution import Contribution
from sooner.policies.plans.each_for_itself import EachForItself
from sooner.policies.plans.global_score import GlobalScore
from sooner.policies.plans.state_manager import StateManager
from sooner.policies.react.never import Never as ReactNever
from sooner.policies.view import RoomPolicy

# Of joins whose plan says what leaves memory, and what is done on disk before the end.
DIRECTED: Final = Algorithm("directed", FlushNever(), ReactNever(), "does what its plan says")


@dataclass(frozen=True)
class PlanAlgorithm:
    name: str
    room: RoomPolicy
    react: PlanReactPolicy | None = None  # None: each join does what its own algorithm says
    of_joins: Algorithm = DIRECTED
    sees_groups: bool = True  # whether its policies look at groups
    maintenance: Maintenance = field(default_factory=Ewma)
    every_seconds: float = 1.0  # the paper's 5 s are for sources that take minutes


PLAN_ALGORITHMS: Final = {
    algorithm.name: algorithm
    for algorithm in (
        PlanAlgorithm("agf", GlobalScore(), StateManager()),
        PlanAlgorithm("state_spill", Contribution()),
    )
}


def plan_algorithm(name: str) -> PlanAlgorithm:
    """One of the table, or a two-way algorithm for each join by itself."""
    if name in PLAN_ALGORITHMS:
        return PLAN_ALGORITHMS[name]
    algorithm = ALGORITHMS.get(name)
    if algorithm is None or algorithm.waits != "never" or algorithm.sees != "partitions":
        raise InvalidJoin(
            f"algorithm={name!r} is not one for a plan of joins; there are {', '.join(map(repr, PLAN_NAMES))}."
        )
    return PlanAlgorithm(name, EachForItself(algorithm.flush), of_joins=algorithm, sees_groups=False)


PLAN_NAMES: Final = (
    *PLAN_ALGORITHMS,
    *(one.name for one in ALGORITHMS.values() if one.waits == "never" and one.sees == "partitions"),
)
