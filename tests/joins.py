"""Two-way joins by hand: rows go in as keys and numbers, pairs of numbers come out."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from run_building import files_in
from schedules import ROW_BYTES, SCHEMA, RowPairs, row_numbers
from sooner.budget import Budget
from sooner.kernels.keys import plan_keys
from sooner.named_algorithms import ALGORITHMS, Algorithm
from sooner.operators.sorted_runs import coder
from sooner.operators.two_way.join import TwoWayJoin
from sooner.sides import LEFT, RIGHT, SIDES

PLENTY = 10**6


def new_join(
    directory: Path | str,
    algorithm: str | Algorithm = "rpj",
    budget_rows: int = PLENTY,
    partitions: int = 1,
    schema: pa.Schema = SCHEMA,
    budget_bytes: int | None = None,
    block_bytes: int = 200,
    **others: Any,
) -> TwoWayJoin[Any]:
    """A join of rows with the columns `key` and `row` on both sides."""
    keys = plan_keys(schema, schema, ["key"], ["key"])
    left, right = (files_in(directory, schema, block_bytes) for _ in SIDES)
    return TwoWayJoin(
        keys,
        (coder(keys, LEFT), coder(keys, RIGHT)),
        (left, right),
        ALGORITHMS[algorithm] if isinstance(algorithm, str) else algorithm,
        Budget(budget_rows * ROW_BYTES if budget_bytes is None else budget_bytes),
        partitions,
        **{"result_of": row_numbers} | others,
    )


def rows(keys: Sequence[int | None], numbers: Iterable[int] | None = None) -> pa.RecordBatch:
    named = range(len(keys)) if numbers is None else numbers
    return pa.record_batch([pa.array(keys, pa.int64()), pa.array(list(named), pa.int64())], schema=SCHEMA)


def arrive(
    join: TwoWayJoin[Any], left: pa.RecordBatch | None, right: pa.RecordBatch | None, now: float = 0
) -> RowPairs:
    """What comes out when these rows come in."""
    lefts, rights = ([] if batch is None else [batch] for batch in (left, right))
    return flat(join.arrive(lefts, rights, now))


def flat(results: Iterator[RowPairs]) -> RowPairs:
    return [pair for pairs in results for pair in pairs]


def end(join: TwoWayJoin[Any]) -> RowPairs:
    """End both sides, and clean up."""
    join.end(LEFT)
    join.end(RIGHT)
    pairs: RowPairs = []
    while join.phase != "done":
        pairs += flat(join.clean_up())
    return pairs
