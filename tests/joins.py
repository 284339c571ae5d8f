"""Two-way joins by hand: rows go in as keys and numbers, pairs of numbers come out."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from run_building import files_in
from schedules import ROW_BYTES, SCHEMA, RowPairs, row_numbers
from sooner.budget import Budget
from sooner.how import KINDS
from sooner.kernels.keys import plan_keys
from sooner.named_algorithms import ALGORITHMS, Algorithm
from sooner.operators.inputs import Input
from sooner.operators.operator import MakeRoom, Means
from sooner.operators.order import by_hashes, by_values, equal_ranges
from sooner.operators.two_way.join import TwoWayJoin
from sooner.operators.two_way.making import two_way_join
from sooner.policies.view import SILENT, JoinView, Surroundings, Task
from sooner.sides import LEFT, RIGHT, SIDES

# They differ from another one only in which partition they choose: what is done with it is tried with that other.
VARIANTS = {"hmj_all", "hmj_smallest", "hmj_largest", "rpj_md", "rpj_dd", "random"}
DISTINCT = [name for name in ALGORITHMS if name not in VARIANTS]
OTHER_JOINS = [how for how in KINDS if how != "inner"]
PLENTY = 10**6
WHOLE_TASK = 2**62


def new_join(
    directory: Path | str,
    algorithm: str | Algorithm = "rpj",
    budget_rows: int = PLENTY,
    partitions: int = 1,
    schema: pa.Schema = SCHEMA,
    budget_bytes: int | None = None,
    block_bytes: int = 200,
    result_of: Any = None,
    room: MakeRoom | None = None,
    budget: Budget | None = None,
    owner: str = "join",
    share: int | None = None,
    how: str = "inner",
    order: Literal["hashes", "values"] = "hashes",
    **others: Any,
) -> TwoWayJoin[Any]:
    """A join of rows with the columns `key` and `row` on both sides; a budget that is given is shared with others."""
    keys = plan_keys(schema, schema, ["key"], ["key"])
    coded, bounds = by_values(keys) if order == "values" else by_hashes(keys), equal_ranges(partitions)
    left, right = (
        Input(str(side), schema, coded.coders[side], files_in(directory, schema, block_bytes), bounds) for side in SIDES
    )
    chosen = ALGORITHMS[algorithm] if isinstance(algorithm, str) else algorithm
    budget = budget or Budget(budget_rows * ROW_BYTES if budget_bytes is None else budget_bytes)
    means = Means(budget.account(owner, share), room=room, **others)
    return two_way_join((left, right), coded, chosen, result_of or row_numbers, means, KINDS[how])


def rows(keys: Sequence[int | None], numbers: Iterable[int] | None = None) -> pa.RecordBatch:
    named = range(len(keys)) if numbers is None else numbers
    return pa.record_batch([pa.array(keys, pa.int64()), pa.array(list(named), pa.int64())], schema=SCHEMA)


def arrive(
    join: TwoWayJoin[Any], left: pa.RecordBatch | None, right: pa.RecordBatch | None, now: float = 0
) -> RowPairs:
    """What comes out when these rows come in."""
    lefts, rights = ([] if batch is None else [batch] for batch in (left, right))
    return flat(join.arrive([lefts, rights], now))


def flat(results: Iterator[RowPairs]) -> RowPairs:
    return [pair for pairs in results for pair in pairs]


def end(join: TwoWayJoin[Any]) -> RowPairs:
    """End both sides, and clean up."""
    join.end(LEFT)
    join.end(RIGHT)
    pairs: RowPairs = []
    while join.phase != "done":
        pairs += flat(join.work(WHOLE_TASK, SILENT))
    return pairs


def perform(join: TwoWayJoin[Any], task: Task) -> RowPairs:
    """This task, whatever the react policy of the join would choose."""
    own, join._algorithm = join._algorithm, replace(join._algorithm, react=Obedient(task))
    found = react(join)
    join._algorithm = own
    return found


@dataclass(frozen=True)
class Obedient:
    """A react policy that does as it is told."""

    task: Task

    def choose(self, view: JoinView) -> Task | None:  # noqa: ARG002 - the contract
        return self.task


def react(join: TwoWayJoin[Any], around: Surroundings = SILENT) -> RowPairs:
    """One task of disk work, if there is any."""
    return flat(join.work(WHOLE_TASK, around))
