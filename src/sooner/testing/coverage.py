"""How often intervals hold: an aggregate is estimated again and again, from other random rows of the same tables.

Both inputs are read row for row in turn until the smaller one has ended, as they come in process. The answer is known,
so each interval either holds or does not; of intervals at 95% that should be 95 in 100.
"""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.fs as pafs

from sooner.asked.joins import equi_join
from sooner.budget import Budget
from sooner.estimation.estimate import Estimate
from sooner.estimation.groups import Key
from sooner.estimation.question import Aggregates, By, question_of
from sooner.estimation.reading_off import estimate_of
from sooner.estimation.reckoning import NOTHING, Value
from sooner.estimation.tags import MOST_TAGS, InBlocks, InTurn, Tagging
from sooner.estimation.workings import workings_of
from sooner.kernels.arrays import to_arrow
from sooner.operators.folding.join import FoldingJoin
from sooner.operators.folding.plan import FoldingPlan, joined_columns
from sooner.operators.inputs import Storage
from sooner.operators.operator import Means
from sooner.operators.two_way.plan import INPUTS
from sooner.policies.view import SILENT
from sooner.runs.formats.files import RunFiles

PLENTY_BYTES: Final = 2**30
BLOCK_BYTES: Final = 2**16
FIRST: Final[Literal["first"]] = "first"
Order = Literal["random rows", "random blocks", "sorted"]


@dataclass(frozen=True)
class Survey:
    """A question about two tables with a key `k`. Sorted rows are what no interval can hold for."""

    left: pa.Table
    right: pa.Table
    aggregates: Aggregates
    by: By = None
    where: str | None = None
    order: Order = "random rows"
    block_rows: int = 100
    memory_bytes: int = PLENTY_BYTES
    confidence: float = 0.95


@dataclass
class Hits:
    """Of one aggregate at one share that was read."""

    held: int = 0
    missed: int = 0
    none: int = 0  # no interval yet
    widths: list[float] = field(default_factory=list)  # half of them, over the value

    @property
    def share(self) -> float:
        """That held."""
        return self.held / max(self.held + self.missed, 1)

    def note(self, found: Value, truth: Value) -> None:
        if found.low is None or found.high is None or found.value is None or truth.value is None:
            self.none += 1
            return
        slack = 1e-9 * abs(float(truth.value))
        holds = float(found.low) - slack <= float(truth.value) <= float(found.high) + slack
        self.held += holds
        self.missed += not holds
        self.widths.append(found.relative_error or 0.0)

    def add(self, other: "Hits") -> None:
        self.held += other.held
        self.missed += other.missed
        self.none += other.none
        self.widths += other.widths


When = float | Literal["first"]  # a share that was read, or when there was an interval for the first time
Coverage = dict[tuple[When, str], Hits]


def coverage(survey: Survey, shares: Sequence[float], seeds: Sequence[int], jobs: int = 1) -> Coverage:
    """[share, aggregate]: how often intervals held, of all groups together; "first" is the first one of each group."""
    [truth] = estimates(survey, [1.0], 0)
    assert truth.exact
    found = _no_hits(shares, truth)
    if jobs == 1:
        return _added(found, (_of_seed(survey, shares, truth, seed) for seed in seeds))
    with ProcessPoolExecutor(jobs, get_context("spawn")) as processes:
        return _added(found, processes.map(partial(_of_seed, survey, shares, truth), seeds, chunksize=10))


def _of_seed(survey: Survey, shares: Sequence[float], truth: Estimate, seed: int) -> Coverage:
    found = _no_hits(shares, truth)
    seen: set[tuple[Key, str]] = set()
    for share, one in zip(shares, estimates(survey, shares, seed), strict=True):
        for key, group in truth.values.items():
            for name, value in group.items():
                here = one.values.get(key, {}).get(name, NOTHING)
                found[share, name].note(here, value)
                if here.low is not None and (key, name) not in seen:
                    seen.add((key, name))
                    found[FIRST, name].note(here, value)
    return found


def _no_hits(shares: Sequence[float], truth: Estimate) -> Coverage:
    whens: list[When] = [FIRST, *shares]
    return {(when, name): Hits() for name in truth.names for when in whens}


def _added(found: Coverage, more: Iterable[Coverage]) -> Coverage:
    for one in more:
        for where, hits in one.items():
            found[where].add(hits)
    return found


def estimates(survey: Survey, shares: Sequence[float], seed: int) -> Iterator[Estimate]:
    """When so much of both inputs together has come; of all of it, exact."""
    dice = np.random.default_rng(seed)
    tables = [_ordered(survey, table, dice) for table in (survey.left, survey.right)]
    sizes = [table.num_rows for table in tables]
    join = equi_join("k", None, None, None, "pr_join")
    schemas = [table.schema for table in tables]
    question = question_of(survey.aggregates, survey.by, survey.where, join.output(schemas))
    workings = workings_of(question, schemas, (("k",), ("k",)), joined_columns(join, schemas))
    plan = FoldingPlan(("k",), ("k",), join.algorithm, workings)
    prepared = [one.schema for one in workings.sides]
    with tempfile.TemporaryDirectory() as folder:
        storage = Storage(1, lambda schema: RunFiles(pafs.LocalFileSystem(), folder, schema, BLOCK_BYTES))
        means = Means(Budget(survey.memory_bytes).account("the survey"), expected_rows=sum(sizes))
        operator = plan.make(INPUTS, prepared, storage, means)
        read = [0, 0]
        for share in shares:
            until = _read_until(share, sizes)
            batches = [
                _prepared(survey, workings.sides[side], tables[side], read[side], until[side]) for side in (0, 1)
            ]
            read = until
            list(operator.arrive(batches, 0.0))
            yield _estimate(survey, operator, sizes, share)
        operator.close()


def _estimate(survey: Survey, operator: FoldingJoin, sizes: Sequence[int], share: float) -> Estimate:
    exact = share >= 1
    if exact:
        for side in (0, 1):
            operator.end(side)
        while operator.phase != "done":
            list(operator.work(2**30, SILENT))
    folds = operator.folds
    reckoning = folds.reckoning(sizes, survey.confidence, exact=exact)
    read = folds.tallies.sum(axis=1).tolist()
    return estimate_of(folds.workings, folds.groups, reckoning, read, sizes, 0.0, exact=exact)


def _read_until(share: float, sizes: Sequence[int]) -> list[int]:
    """Row for row in turn, until one has ended."""
    total = round(share * sum(sizes))
    smaller = min(total // 2, *sizes)
    at = int(sizes[1] < sizes[0])
    until = [0, 0]
    until[at], until[1 - at] = smaller, min(total - smaller, sizes[1 - at])
    until[at] = total - until[1 - at]
    return until


def _ordered(survey: Survey, table: pa.Table, dice: np.random.Generator) -> pa.RecordBatch:
    n_rows = table.num_rows
    if survey.order == "sorted":
        order: npt.NDArray[Any] = np.arange(n_rows)
    elif survey.order == "random rows":
        order = dice.permutation(n_rows)
    else:
        blocks = dice.permutation(-(-n_rows // survey.block_rows))
        order = (blocks[:, None] * survey.block_rows + np.arange(survey.block_rows)).ravel()
        order = order[order < n_rows]
    return table.take(to_arrow(order)).combine_chunks().to_batches()[0]


def _prepared(survey: Survey, preparation: Any, rows: pa.RecordBatch, begin: int, end: int) -> list[pa.RecordBatch]:
    if begin == end:
        return []
    tagging: Tagging = InTurn(begin, end - begin)
    if survey.order == "random blocks":
        blocks, sizes = np.unique(np.arange(begin, end) // survey.block_rows, return_counts=True)
        tagging = InBlocks((blocks % MOST_TAGS).tolist(), sizes.tolist())
    found: list[pa.RecordBatch] = preparation.prepared(rows.slice(begin, end - begin), tagging)
    return found
