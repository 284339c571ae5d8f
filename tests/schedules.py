"""Short schedules for a two-way join, and DuckDB's answer; `sooner.testing` has those that hold it to its promises."""

import atexit
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from sooner.named_algorithms import Algorithm
from sooner.operators.pairs import Bundle, Singles
from sooner.policies.flush.balanced import Balanced
from sooner.policies.flush.random import Random
from sooner.policies.flush.rate_optimal import RateOptimal
from sooner.policies.react.best_rate import BestRate
from sooner.policies.react.merge import Merge
from sooner.runs.run import HELPER_BYTES
from sooner.sides import LEFT, SIDES

SCHEMA = pa.schema([("key", pa.int64()), ("row", pa.int64())])
ROW_BYTES = 8 + 8 + HELPER_BYTES  # the two columns, and what a run adds
PARTITIONS = 3
# Short schedules have few runs: only with a small fan-in do they need several passes.
PATIENT = [
    Algorithm("hmj with a fan-in of 2", Balanced(), Merge(fan_in=2)),
    Algorithm("rpj with a fan-in of 2", RateOptimal(tolerance=0), BestRate(fan_in=2)),
    Algorithm("random with a fan-in of 3", Random(), Merge(fan_in=3)),
]
_DATABASE = [duckdb.connect()]  # to open one takes longer than most joins here
atexit.register(lambda: _DATABASE.pop().close())  # one that is still open in the end makes DuckDB complain


@dataclass(frozen=True)
class Batch:
    """Keys that arrive together on each side; a key of None is null."""

    left: list[int | None]
    right: list[int | None]


@dataclass(frozen=True)
class Silence:
    """The sources are silent long enough for so many tasks."""

    tasks: int


@dataclass(frozen=True)
class Schedule:
    steps: list[Batch | Silence]
    budget_rows: int
    cut_after: int | None = None  # save and go on after so many steps


def dense_schedule(seed: int) -> Schedule:
    """A short schedule in which much happens: several keys in each partition, little memory, many flushes."""
    dice = random.Random(seed)

    def some_keys() -> list[int | None]:
        return [dice.randrange(12) for _ in range(dice.randrange(4, 10))]

    steps = [
        Silence(dice.randrange(1, 4)) if dice.random() < 0.3 else Batch(some_keys(), some_keys()) for _ in range(18)
    ]
    return Schedule(list(steps), budget_rows=dice.randrange(22, 40), cut_after=dice.choice([None, 3, 9]))


def wide_schedule(seed: int) -> Schedule:
    """Larger batches and more of them than hypothesis would make, from one number that names them all.

    Keys are skewed; a quarter of the steps are silences; memory holds a small part of the rows.
    """
    dice = random.Random(seed)
    domain = dice.choice([5, 40, 400])

    def some_keys() -> list[int | None]:
        n_rows = dice.choice([0, 10, 40, 90])
        return [None if dice.random() < 0.03 else int(domain * dice.random() ** 2) for _ in range(n_rows)]

    steps: list[Batch | Silence] = []
    for _ in range(dice.randrange(15, 25)):
        silent = dice.random() < 0.25
        steps.append(Silence(dice.choice([1, 5, 20])) if silent else Batch(some_keys(), some_keys()))
    return Schedule(steps, budget_rows=dice.randrange(190, 400), cut_after=dice.choice([None, None, 5]))


def batches_of(schedule: Schedule) -> tuple[list[pa.RecordBatch], list[pa.RecordBatch]]:
    """The batches of each side, with rows numbered."""
    both: tuple[list[pa.RecordBatch], list[pa.RecordBatch]] = ([], [])
    counts = [0, 0]
    for step in schedule.steps:
        for side in SIDES:
            keys = [] if isinstance(step, Silence) else (step.left, step.right)[side]
            rows = range(counts[side], counts[side] + len(keys))
            both[side].append(pa.record_batch([pa.array(keys, pa.int64()), pa.array(rows, pa.int64())], schema=SCHEMA))
            counts[side] += len(keys)
    return both


def oracle(schedule: Schedule) -> Counter[tuple[int, int]]:
    """DuckDB's answer, as numbers of left and right rows."""
    rows = joined_by_duckdb([pa.Table.from_batches(batches, SCHEMA) for batches in batches_of(schedule)])
    return Counter((left, right) for _, left, right in rows.elements())


def joined_by_duckdb(tables: Sequence[pa.Table]) -> Counter[tuple[int, int, int]]:
    """Each key with the numbers of a left and a right row that have it."""
    [database] = _DATABASE
    for name, table in zip("lr", tables, strict=True):
        database.register(name, table)
    return Counter(database.execute("select l.key, l.row, r.row from l join r on l.key = r.key").fetchall())


RowPairs = list[tuple[int, int]]


def row_numbers(bundle: Bundle) -> RowPairs:
    """Of a row by itself the other number is -1."""
    numbers: RowPairs = []
    for pairs in bundle:
        if isinstance(pairs, Singles):
            alone = pairs.run.rows.column("row").to_numpy()[pairs.at].tolist()
            numbers += [(number, -1) if pairs.side == LEFT else (-1, number) for number in alone]
            continue
        left = pairs.left.rows.column("row").to_numpy()[pairs.at_left].tolist()
        right = pairs.right.rows.column("row").to_numpy()[pairs.at_right].tolist()
        numbers += zip(left, right, strict=True)
    return numbers
