"""The named algorithms: each is a flush policy and a react policy over the same runs and cells."""

import difflib
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from sooner.errors import InvalidJoin
from sooner.policies.flush.all import All
from sooner.policies.flush.all_but_first_rights import AllButFirstRights
from sooner.policies.flush.balanced import Balanced
from sooner.policies.flush.larger_side import LargerSide
from sooner.policies.flush.largest import Largest
from sooner.policies.flush.never import Never as FlushNever
from sooner.policies.flush.one_side import OneSide
from sooner.policies.flush.random import Random
from sooner.policies.flush.rate_optimal import RateOptimal
from sooner.policies.flush.regions import Regions
from sooner.policies.flush.smallest import Smallest
from sooner.policies.react.best_rate import BestRate
from sooner.policies.react.growth import Growth
from sooner.policies.react.memory_disk import LargestMemoryDisk
from sooner.policies.react.merge import Merge
from sooner.policies.react.nested_loop import ReactiveNestedLoop
from sooner.policies.react.never import Never as ReactNever
from sooner.policies.react.ripple import Ripple
from sooner.policies.view import FlushPolicy, ReactPolicy

# For editors, which complete what is spelled out; a test holds it to the table.
AlgorithmName = Literal[
    "symmetric_hash",
    "xjoin",
    "hmj",
    "hmj_all",
    "hmj_smallest",
    "hmj_largest",
    "pmj",
    "rpj",
    "rpj_md",
    "rpj_dd",
    "diner",
    "pr_join",
    "ripple",
    "hash_ripple",
    "sms",
    "dbo",
    "grace",
    "random",
]


# Rows that arrive wait for their partition to be joined as a whole. If only those of the right do, left rows meet the
# right rows that were there before.
Waits = Literal["never", "once memory was full", "once memory was full, of the right", "always"]
Flushes = Literal["a share of the memory", "what is needed"] | int  # or so many bytes


@dataclass(frozen=True)
class Algorithm:
    """Make your own: `sooner.join(..., algorithm=Algorithm("mine", flush=..., react=...))`.

    >>> import sooner
    >>> from sooner.policies.flush.smallest import Smallest
    >>> from sooner.policies.react.merge import Merge
    >>> sooner.Algorithm("mine", flush=Smallest("both sides"), react=Merge()).name
    'mine'
    """

    name: str
    flush: FlushPolicy
    react: ReactPolicy
    summary: str = ""
    flushes: Flushes = "a share of the memory"  # when it is full, at least
    order: Literal["hashes", "values"] = "hashes"  # in which rows are kept, of keys that have an order and fit 64 bits
    sees: Literal["partitions", "regions"] = "partitions"  # what its flush policy is told of rows in memory
    splits: Literal["no code", "codes by age"] = "no code"  # where a flush ends: in the middle of a code, or after it
    waits: Waits = "never"
    partitions: Literal["of equal ranges", "from the first rows"] = "of equal ranges"  # evened out, before rows wait


ALGORITHMS: Final = {
    algorithm.name: algorithm
    for algorithm in (
        Algorithm("symmetric_hash", FlushNever(), ReactNever(), "all in memory; never spills"),
        Algorithm(
            "xjoin",
            Largest(),
            LargestMemoryDisk(),
            "flush the largest partition; memory meets disk in silence",
            flushes="what is needed",
        ),
        Algorithm(
            "hmj", Balanced(), Merge(), "flush balanced pairs of partitions; merge runs in silence", "what is needed"
        ),
        Algorithm("hmj_all", All(), Merge(), "HMJ that flushes everything"),
        Algorithm(
            "hmj_smallest", Smallest("both sides"), Merge(), "HMJ that flushes the smallest pair", "what is needed"
        ),
        Algorithm("hmj_largest", Largest("both sides"), Merge(), "HMJ that flushes the largest pair", "what is needed"),
        Algorithm("pmj", All(), ReactNever(), "flush everything as sorted runs; merge at the end"),
        Algorithm("rpj", RateOptimal(), BestRate(), "flush what is least likely to match; disk work by best rate"),
        Algorithm("rpj_md", RateOptimal(), BestRate(tasks="memory-disk"), "RPJ with memory-disk tasks only"),
        Algorithm("rpj_dd", RateOptimal(), BestRate(tasks="disk-disk"), "RPJ with disk-disk tasks only"),
        Algorithm(
            "diner",
            Regions(),
            ReactiveNestedLoop(),
            "flush the values that join least; a nested loop over the disk in silence",
            order="values",
            sees="regions",
            splits="codes by age",
        ),
        Algorithm(
            "pr_join",
            LargerSide(),
            Growth(),
            "join a partition as a whole whenever it has doubled: random samples of the answer, at a growing rate",
            waits="once memory was full",
            partitions="from the first rows",
        ),
        Algorithm(
            "ripple",
            All(),
            Ripple(),
            "join a partition as a whole whenever as much of it is new as memory holds: block ripple join",
            waits="once memory was full",
        ),
        Algorithm(
            "hash_ripple",
            AllButFirstRights(),
            ReactNever(),
            "left rows meet the right rows that filled the memory first; the rest at the end: hash ripple join",
            waits="once memory was full, of the right",
        ),
        Algorithm(
            "sms", All(), ReactNever(), "SMS: runs of both sides that leave together met in memory; cells of PMJ"
        ),
        Algorithm(
            "dbo", OneSide(), ReactNever(), "two-way DBO: the sides leave in turn, each meets two runs of the other"
        ),
        Algorithm("grace", Largest(), ReactNever(), "partition all rows first, join at the end: GRACE", waits="always"),
        Algorithm("random", Random(), ReactNever(), "flush random partitions: the floor for clever policies"),
    )
}


def algorithms() -> tuple[str, ...]:
    """The names that `algorithm=` takes, beside "auto".

    >>> import sooner
    >>> "rpj" in sooner.algorithms()
    True
    """
    return tuple(ALGORITHMS)


def algorithm(name: AlgorithmName, /, **changes: Any) -> Algorithm:
    """The algorithm of this name, with other choices: `algorithm("pr_join", react=Growth(gamma=0.5))`.

    >>> import sooner
    >>> from sooner.policies.react.never import Never
    >>> type(sooner.algorithm("hmj", react=Never()).react).__name__
    'Never'
    """
    return replace(find_algorithm(name), **changes)


def find_algorithm(algorithm: str | Algorithm) -> Algorithm:
    if isinstance(algorithm, Algorithm):
        return algorithm
    if isinstance(algorithm, str) and algorithm in ALGORITHMS:
        return ALGORITHMS[algorithm]
    near = difflib.get_close_matches(str(algorithm), ALGORITHMS, n=3, cutoff=0.4)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"there are {', '.join(ALGORITHMS)}."
    raise InvalidJoin(f"algorithm={algorithm!r} is not known; {hint}")
