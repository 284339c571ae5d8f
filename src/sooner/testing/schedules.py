"""Schedules: what happens to an operator, and in which order, all of it from one seed."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from sooner.policies.view import BUSY, SETTLING, SILENT, Surroundings
from sooner.runs.run import HELPER_BYTES
from sooner.testing.dice import KINDS, Dice, Kind
from sooner.testing.subject import Subject

WHOLE_TASK: Final = 2**62  # bytes: any task is one quantum
LEAST_QUANTUM_BYTES: Final = 700
PLENTY: Final = 10**8
UNTIL_NOTHING_IS_LEFT: Final = None
FRAMING_BYTES: Final = 16  # of a column in a run: the last offset of a text, and what bitmaps are rounded to


@dataclass(frozen=True)
class Arrive:
    """These rows of each input arrive in one call; none of an input that has ended."""

    rows: tuple[pa.RecordBatch, ...]


@dataclass(frozen=True)
class Work:
    """So many calls of `work`, as long as there is any to do; or until none is left."""

    around: Surroundings
    calls: int | None = UNTIL_NOTHING_IS_LEFT


@dataclass(frozen=True)
class End:
    """An input has no more rows."""

    which: int


Step = Arrive | Work | End


@dataclass(frozen=True)
class Schedule:
    """Steps, and the means with which an operator goes through them. The clean-up follows by itself."""

    steps: tuple[Step, ...]
    budget_bytes: int
    least_budget_bytes: int  # with less memory a call could be refused
    quantum_bytes: int = WHOLE_TASK
    partitions: int = 3
    crowd: int | None = None
    flush_fraction: float = 0.1
    workers: int = 1

    def with_ends_last(self, order: Sequence[int]) -> "Schedule":
        """The same, but all inputs end after everything else, in this order."""
        steps = [step for step in self.steps if not isinstance(step, End)]
        return replace(self, steps=(*steps, *(End(which) for which in order)))


def draw_schedule(subject: Subject, seed: int, kind: Kind | None = None) -> Schedule:
    """A schedule for this subject. Neighbouring seeds have different kinds of rows, unless a kind is given."""
    dice = Dice.of(seed, kind or list(KINDS.values())[seed % len(KINDS)])
    steps = _draw_steps(subject, dice)
    partitions = dice.choice([1, 3, 3])
    least = max(_weight(subject, step.rows, partitions) for step in steps if isinstance(step, Arrive))
    least = max(least, subject.least_rows_in_memory * _heaviest_row(subject, steps))
    return Schedule(
        tuple(steps),
        budget_bytes=int(least * dice.uniform(1.05, 1.8)) if subject.spills else PLENTY,
        least_budget_bytes=least if subject.spills else PLENTY,
        quantum_bytes=_draw_quantum(subject, steps, dice),
        partitions=partitions,
        crowd=dice.choice([None, 2, 8]),
        flush_fraction=dice.choice([0.1, 0.1, 0.4]),
    )


def _draw_steps(subject: Subject, dice: Dice) -> list[Step]:
    n_inputs = len(subject.schemas)
    steps: list[Step] = []
    ended: list[int] = []
    given = [0] * n_inputs
    empty = dice.randrange(n_inputs) if dice.kind.an_empty_input else None
    ends = dice.sample(range(n_inputs), n_inputs)
    n_steps = dice.randint(*dice.kind.steps)
    for number in range(n_steps):
        steps.append(_arrive(subject, dice, given, {*ended, empty}) if dice.random() < 0.7 else _work(dice))
        if len(ended) < n_inputs - 1 and number > n_steps / 2 and dice.random() < 0.1:
            ended.append(ends[len(ended)])
            steps.append(End(ended[-1]))
    steps.append(Work(SILENT, dice.choice([3, 8])))  # a silence for certain, when much is on disk
    steps.append(_arrive(subject, dice, given, {*ended, empty}))
    for which in ends[len(ended) :]:
        steps.append(End(which))
        if dice.random() < 0.3:
            steps.append(_work(dice))
    return steps


def _arrive(subject: Subject, dice: Dice, given: list[int], without: set[int | None]) -> Arrive:
    batches = []
    for which in range(len(subject.schemas)):
        some = which not in without and dice.random() < 0.9
        n_rows = dice.choice(dice.kind.rows) if some else 0
        batches.append(subject.draw_rows(dice, which, n_rows, given[which]))
        given[which] += n_rows
    return Arrive(tuple(batches))


def _work(dice: random.Random) -> Work:
    """Mostly silences; sometimes work between two arrivals, sometimes all is to be settled."""
    draw = dice.random()
    if draw < 0.65:
        return Work(SILENT, dice.choice([1, 2, 5, 20]))
    if draw < 0.85:
        return Work(BUSY, dice.choice([1, 3]))
    return Work(SETTLING, dice.choice([1, 4, UNTIL_NOTHING_IS_LEFT]))


def _weight(subject: Subject, rows: Sequence[pa.RecordBatch], partitions: int) -> int:
    """What these rows take at most when they are in memory, however they are cut into runs."""
    columns = sum(len(schema) for schema in subject.schemas)
    n_rows, n_bytes = (sum(int(getattr(batch, name)) for batch in rows) for name in ("num_rows", "nbytes"))
    row_bytes = HELPER_BYTES + subject.row_bytes_beside + columns
    return n_bytes + row_bytes * n_rows + columns * partitions * FRAMING_BYTES


def _draw_quantum(subject: Subject, steps: Sequence[Step], dice: random.Random) -> int:
    """A whole task, or a smaller or larger part of all there is: enough for many cuts, and not for thousands."""
    all_bytes = sum(_weight(subject, step.rows, 1) for step in steps if isinstance(step, Arrive))
    return dice.choice([WHOLE_TASK, max(all_bytes // dice.choice([2, 5]), LEAST_QUANTUM_BYTES)])


def _heaviest_row(subject: Subject, steps: Sequence[Step]) -> int:
    batches = [batch for step in steps if isinstance(step, Arrive) for batch in step.rows if batch.num_rows]
    return max((-(-_weight(subject, [batch], 1) // batch.num_rows) for batch in batches), default=1)
