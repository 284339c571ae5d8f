"""What is checked: an operator, rows for its inputs, and the answer that it must give."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sooner.operators.operator import OperatorPlan
from sooner.testing.dice import Dice

Row = tuple[Any, ...]  # the values of a result, in the order of its columns
DrawRows = Callable[[Dice, int, int, int], pa.RecordBatch]


@dataclass(frozen=True)
class Subject:
    """An operator to be checked.

    draw_rows: `draw_rows(dice, which_input, n_rows, first_number)` gives so many rows for an input, and uses no other
        source of chance than the dice. They are a `random.Random`; `dice.keys(n)` are keys as the schedule wants them:
        few or many, with nulls, with one that is hot. `first_number` is how many rows of the input came before.
    answer: from all rows of each input to the rows of the answer, each as often as it must come out. Written without a
        thought of speed, and without the code that it is to check.
    certain: what is certain while inputs are open, from their rows and whether each has ended; by default the answer
        for the rows so far.
    spills: whether memory is scarce, little more than what arrives at once; otherwise it is plenty.
    row_bytes_beside: what it keeps in memory beside each row, such as indexes, at most.
    may_need_its_memory: whether, in the middle of something, it may refuse to go on with less memory than it had.
    least_rows_in_memory: if the operator needs room for more rows than arrive at once.
    rows_of: the rows that a result adds to those found before, if results are no batches of rows.
    counts_rows: how many rows of a batch count as arrived; by default all.
    invariants: raises an AssertionError if the state of the operator is not what it must be between calls.
    meaning: a snapshot without what may differ between equivalent ones, if that is more than names of files.
    """

    name: str
    plan: OperatorPlan[Any]
    schemas: tuple[pa.Schema, ...]
    draw_rows: DrawRows
    answer: Callable[[Sequence[pa.Table]], Counter[Row]]
    certain: Callable[[Sequence[pa.Table], Sequence[bool]], Counter[Row]] | None = None
    spills: bool = True
    row_bytes_beside: int = 0
    may_need_its_memory: bool = False
    least_rows_in_memory: int = 0
    rows_of: Callable[[Any, Counter[Row]], list[Row]] | None = None
    counts_rows: Callable[[pa.RecordBatch], int] = len
    invariants: Callable[[Any], None] = lambda operator: None  # noqa: ARG005
    meaning: Callable[[dict[str, Any]], dict[str, Any]] = lambda plain: plain


def rows_of(batch: pa.RecordBatch) -> list[Row]:
    """The rows of a result, as tuples that can be compared and counted."""
    return list(zip(*(column.to_pylist() for column in batch.columns), strict=True))


def require_same(found: Counter[Row], expected: Counter[Row]) -> None:
    """Raise an AssertionError that says what is missing and what came too often."""
    if found == expected:
        return
    missing, beyond = expected - found, found - expected
    complaints = []
    if missing:
        complaints.append(f"{missing.total()} rows of the answer are missing, such as {next(iter(missing))}")
    if beyond:
        complaints.append(f"{beyond.total()} rows came that should not, or too often, such as {next(iter(beyond))}")
    raise AssertionError("; ".join(complaints))
