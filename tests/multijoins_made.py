"""Joins of many inputs that tests lead by the hand: rows for them, and how they are given and worked on."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs

from multiway import STEP, STEPS_APART, column_of, graph_of_shape
from sooner.budget import Budget
from sooner.operators.events import Event
from sooner.operators.inputs import Storage
from sooner.operators.multiway.algorithms import MULTI_ALGORITHMS, MultiAlgorithm
from sooner.operators.multiway.join import MultiJoin
from sooner.operators.multiway.plan import MultiPlan
from sooner.operators.operator import Means, Operator
from sooner.policies.view import Surroundings
from sooner.runs.formats.files import RunFiles

MINER = replace(MULTI_ALGORITHMS["miner"], of_two=None)
CHAIN = ("a", "ab", "bc", "c")  # which attributes each input has: R1, R2, R3 and R4 of the paper
QUANTUM = 2**14


def schemas_of(shape: Sequence[str]) -> list[pa.Schema]:
    return [
        pa.schema([*((column_of(name, which), pa.int64()) for name in has), (f"row_{which}", pa.int64())])
        for which, has in enumerate(shape)
    ]


def made(
    directory: Path, plan: Any, schemas: Sequence[pa.Schema], memory_bytes: int, events: list[Event] | None = None
) -> Any:
    directory.mkdir(exist_ok=True)
    storage = Storage(1, lambda schema: RunFiles(pafs.LocalFileSystem(), str(directory), schema, block_bytes=1024))
    account = Budget(memory_bytes).account("the join")
    means = Means(account, listener=None if events is None else events.append)
    return plan.make([f"i{which}" for which in range(len(schemas))], schemas, storage, means)


def chain_of_four(
    directory: Path, memory_bytes: int, algorithm: MultiAlgorithm = MINER, chain: Sequence[str] = CHAIN
) -> MultiJoin:
    join = made(directory, MultiPlan(graph_of_shape(chain), algorithm), schemas_of(chain), memory_bytes)
    assert isinstance(join, MultiJoin)
    return join


def drawn(shape: Sequence[str], n_rows: Sequence[int], n_keys: int, seed: int = 0) -> list[pa.Table]:
    dice = np.random.default_rng(seed)

    def values(attribute: str, rows: int) -> pa.Array:
        return pa.array(dice.integers(0, n_keys, rows) * (STEP if attribute in STEPS_APART else 1))

    return [
        pa.table([*(values(attribute, rows) for attribute in has), pa.array(np.arange(rows))], schema=schema)
        for has, rows, schema in zip(shape, n_rows, schemas_of(shape), strict=True)
    ]


def arrive(join: Operator[Any], tables: Sequence[pa.Table], piece_rows: int = 50) -> Iterator[pa.RecordBatch]:
    """Pieces of all inputs together, until the longest is through."""
    for begin in range(0, max(map(len, tables)), piece_rows):
        yield from join.arrive([table.slice(begin, piece_rows).to_batches() for table in tables], begin / 1000)


def worked(join: Operator[Any], around: Surroundings, quantum_bytes: int = QUANTUM) -> Iterator[pa.RecordBatch]:
    while join.has_work(around):
        yield from join.work(quantum_bytes, around)


def rows_of(batches: Sequence[pa.RecordBatch]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for batch in batches for row in batch.to_pylist())
