"""A trial: one operator goes through one schedule, in a directory of its own, one call at a time."""

import itertools
import json
import shutil
import tempfile
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs

from sooner.budget import Budget
from sooner.errors import BudgetTooSmall
from sooner.operators.events import Listener
from sooner.operators.inputs import Storage
from sooner.operators.operator import Means, Operator
from sooner.operators.ports import Batches, Doors
from sooner.policies.view import SILENT, Surroundings
from sooner.runs.formats.files import FileBlock, RunFiles
from sooner.runs.run import Run
from sooner.testing.meaning import meaning
from sooner.testing.schedules import Arrive, End, Schedule, Work
from sooner.testing.subject import Row, Subject, rows_of

BLOCK_BYTES: Final = 200  # so small that short runs have several
MOST_CALLS: Final = 100_000
Arrange = Callable[[pa.RecordBatch], Sequence[pa.RecordBatch]]


class Trial:
    """`arrange` says in which batches the rows of a call arrive; by default in one, or none if there are no rows."""

    def __init__(
        self,
        subject: Subject,
        schedule: Schedule,
        arrange: Arrange | None = None,
        listener: Listener | None = None,
    ) -> None:
        self.subject = subject
        self.schedule = schedule
        self._given: list[list[pa.RecordBatch]] = [[] for _ in subject.schemas]
        self._held: list[deque[Batches]] = [deque() for _ in subject.schemas]  # back from inputs that are blocked
        self._ended = [False for _ in subject.schemas]
        self.found: Counter[Row] = Counter()
        self.largest_block_bytes = 0
        self._arrange = arrange or (lambda batch: [batch] if batch.num_rows else [])
        self._listener = listener

    def __enter__(self) -> "Trial":
        self._directory = tempfile.TemporaryDirectory()
        try:
            self.operator = self._new_operator(self.schedule.budget_bytes)
        except BaseException:
            self._directory.cleanup()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.operator.close()
        self._directory.cleanup()

    def run(self) -> Iterator[list[Row]]:
        """The results of each call of the operator; between two of them its state is whole."""
        for number, step in enumerate(self.schedule.steps):
            match step:
                case Arrive(rows):
                    yield self.arrive(rows, number / 2)
                case End(which):
                    self._ended[which] = True
                    yield self._look()
                case Work(around, calls):
                    yield from self._several(around, MOST_CALLS if calls is None else calls)
        for _ in range(MOST_CALLS):
            if self.operator.phase == "done":
                return
            yield self.work(SILENT)
        raise AssertionError(f"it is not done after {MOST_CALLS} calls of `work` in the clean-up")

    def run_to_its_end(self) -> "Trial":
        """All calls; what came out is in `found`."""
        for _ in self.run():
            pass
        return self

    def arrive(self, rows: Sequence[pa.RecordBatch], now: float) -> list[Row]:
        for batches, batch in zip(self._given, rows, strict=True):
            batches.append(batch)
        doors = Doors(self.operator, self._held)
        return self._read(doors.arrive([self._arrange(batch) for batch in rows], now)) + self._look()

    def has_work(self, around: Surroundings) -> bool:
        return self.operator.has_work(around)

    def work(self, around: Surroundings) -> list[Row]:
        return self._read(self.operator.work(self.schedule.quantum_bytes, around)) + self._look()

    def cut(self, budget_bytes: int | None = None) -> None:
        """Save the operator, let it go, and go on with a new one, which may have another memory.

        Where less than it had may be too little, it has to say so, and to go on with what it had.
        """
        plain, directory = self.snapshot(), self._directory.name
        limit_bytes = self.operator.account.budget.limit_bytes
        if budget_bytes is None or budget_bytes >= limit_bytes or not self.subject.may_need_its_memory:
            self._go_on_from(plain, budget_bytes or limit_bytes)
            return
        with tempfile.TemporaryDirectory() as kept:
            shutil.copytree(directory, kept, dirs_exist_ok=True)
            try:
                self._go_on_from(plain, budget_bytes)
            except BudgetTooSmall:
                shutil.copytree(kept, directory, dirs_exist_ok=True)
                self._go_on_from(plain, limit_bytes)

    def _go_on_from(self, plain: dict[str, Any], budget_bytes: int) -> None:
        self.operator.close()
        self.operator = self._new_operator(budget_bytes)
        self.operator.restore(plain)

    def snapshot(self) -> dict[str, Any]:
        """As it is after it was written down and read again."""
        plain: dict[str, Any] = json.loads(json.dumps(self.operator.snapshot()))
        return plain

    def meaning(self) -> Any:
        """What it is up to whatever may differ."""
        return meaning(self.subject.meaning(self.snapshot()))

    @property
    def arrived(self) -> list[list[pa.RecordBatch]]:
        """What the operator has taken of each input; the rest is held back."""
        both = zip(self._given, self._held, strict=True)
        return [given[: len(given) - len(held)] for given, held in both]

    def _look(self) -> list[Row]:
        return self._read(Doors(self.operator, self._held).look(self._ended, len(self._given[0]) / 2))

    def tables(self) -> list[pa.Table]:
        """All that has arrived by now, of each input."""
        both = zip(self.arrived, self.subject.schemas, strict=True)
        return [pa.Table.from_batches(batches, schema) for batches, schema in both]

    def answer(self) -> Counter[Row]:
        """Of all that has arrived by now, as far as it is certain."""
        if self.subject.certain is None:
            return self.subject.answer(self.tables())
        return self.subject.certain(self.tables(), [one.ended for one in self.operator.inputs])

    def final_answer(self) -> Counter[Row]:
        """Of all that will ever arrive."""
        arrivals = [step.rows for step in self.schedule.steps if isinstance(step, Arrive)]
        both = zip(zip(*arrivals, strict=True), self.subject.schemas, strict=True)
        return self.subject.answer([pa.Table.from_batches(batches, schema) for batches, schema in both])

    def files(self) -> list[str]:
        return sorted(path.name for path in Path(self._directory.name).iterdir())

    def look(self, operator: Operator[pa.RecordBatch]) -> None:
        """Called with each result, in the middle of a call."""

    def _several(self, around: Surroundings, calls: int) -> Iterator[list[Row]]:
        for _ in range(calls):
            if not self.has_work(around):
                return
            yield self.work(around)
        if calls == MOST_CALLS:
            raise AssertionError(f"after {MOST_CALLS} calls of `work` there still is some to do")

    def _read(self, results: Iterator[Any]) -> list[Row]:
        rows: list[Row] = []
        for result in results:
            self.look(self.operator)
            rows += rows_of(result) if self.subject.rows_of is None else self.subject.rows_of(result, self.found)
        self.found.update(rows)
        return rows

    def _new_operator(self, budget_bytes: int) -> Operator[pa.RecordBatch]:
        schemas, schedule = self.subject.schemas, self.schedule
        names = [f"input {which}" for which in range(len(schemas))]
        storage = Storage(schedule.partitions, lambda schema: _WatchedFiles(self, schema))
        means = Means(
            Budget(budget_bytes).account("the operator"),
            workers=schedule.workers,
            flush_fraction=schedule.flush_fraction,
            crowd=schedule.crowd,
            listener=self._listener,
        )
        return self.subject.plan.make(names, schemas, storage, means)


class _WatchedFiles(RunFiles):
    """Run files of a trial, which learns how large their blocks are."""

    def __init__(self, trial: Trial, schema: pa.Schema) -> None:
        super().__init__(pafs.LocalFileSystem(), trial._directory.name, schema, BLOCK_BYTES)
        self._trial = trial

    def encode(self, run: Run, *, shares_stamps: bool = False) -> list[FileBlock]:
        """A run as blocks."""
        blocks = super().encode(run, shares_stamps=shares_stamps)
        self._trial.largest_block_bytes = max([self._trial.largest_block_bytes, *(b.content.size for b in blocks)])
        return blocks


def shuffled_and_cut(seed: int) -> Arrange:
    """The same rows in another order and in other batches, some of them empty."""
    dice = np.random.default_rng(seed)

    def arrange(batch: pa.RecordBatch) -> list[pa.RecordBatch]:
        shuffled = batch.take(pa.array(dice.permutation(batch.num_rows)))
        cuts = sorted([0, *dice.integers(0, batch.num_rows + 1, dice.integers(0, 5)).tolist(), batch.num_rows])
        return [shuffled.slice(begin, end - begin) for begin, end in itertools.pairwise(cuts)]

    return arrange
