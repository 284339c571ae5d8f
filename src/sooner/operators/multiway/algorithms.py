"""The named algorithms for many inputs: what leaves memory, and what is done in a silence."""

from dataclasses import dataclass
from typing import Final, Literal

from sooner.named_algorithms import ALGORITHMS, Algorithm
from sooner.policies.flush.build_side_stays import BuildSideStays
from sooner.policies.multi_view import MultiFlushPolicy
from sooner.policies.multiway.buckets import Buckets
from sooner.policies.multiway.regions import RegionsOfAttributes
from sooner.policies.react.nested_loop import ReactiveNestedLoop
from sooner.policies.react.never import Never

# Of the joins of a chain: what is to be looked for comes first, and ends.
HYBRID_HASH: Final = Algorithm("hybrid hash", BuildSideStays(), Never(), "rows that look for others are kept last")


@dataclass(frozen=True)
class MultiAlgorithm:
    name: str
    flush: MultiFlushPolicy
    react: ReactiveNestedLoop | None  # None: nothing is done before the inputs end
    sees: Literal["buckets", "regions"]  # what its flush policy is told of rows in memory
    order: Literal["hashes", "values"]  # of the codes of attributes that have an order and fit 64 bits
    of_two: Algorithm | None = None  # the algorithm for two inputs that it is a generalisation of


MULTI_ALGORITHMS: Final = {
    algorithm.name: algorithm
    for algorithm in (
        MultiAlgorithm(
            "miner",
            RegionsOfAttributes(),
            ReactiveNestedLoop(),
            sees="regions",
            order="values",
            of_two=ALGORITHMS["diner"],
        ),
        MultiAlgorithm("mjoin", Buckets(), None, sees="buckets", order="hashes"),
    )
}
