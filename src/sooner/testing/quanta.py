"""Work in small quanta: how much a call does, whether `has_work` tells the truth, and what settling means."""

from dataclasses import fields, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from sooner.kernels.matching import EQUAL
from sooner.operators.operator import Operator
from sooner.operators.order import Order
from sooner.policies.view import SETTLING, Surroundings
from sooner.runs.run import HELPER_BYTES, code_position
from sooner.testing.dice import LONG_RUNS
from sooner.testing.schedules import Arrive, Schedule, Work, draw_schedule
from sooner.testing.subject import Row, Subject, require_same
from sooner.testing.trial import BLOCK_BYTES, Trial

QUANTUM_BYTES: Final = 3_000


def schedule_of_small_quanta(subject: Subject, seed: int) -> Schedule:
    """Long runs in one partition, and quanta that are a small part of it; in the end all is settled before it ends."""
    schedule = draw_schedule(subject, seed, LONG_RUNS)
    drawn = schedule.with_ends_last([]).steps
    ends = schedule.with_ends_last(range(len(subject.schemas))).steps[len(drawn) :]
    return replace(
        schedule,
        steps=(*drawn, Work(SETTLING), *ends),
        quantum_bytes=QUANTUM_BYTES,
        partitions=1,
        flush_fraction=0.4,
    )


class QuantaTrial(Trial):
    """Looks at each call of `has_work` and of `work`."""

    _did_before = True

    def has_work(self, around: Surroundings) -> bool:
        """As the operator says; if not, then `work` does nothing, and of what was to settle nothing is open."""
        if super().has_work(around):
            return True
        before = _standing(self.operator, around)
        results = super().work(around)
        assert not results, f"`has_work` said no, and `work` gave {results[0]}"
        changed = _changes(before, _standing(self.operator, around))
        assert not changed, f"`has_work` said no, and `work` changed {changed}"
        if around.settling:
            require_same(self.found, self.answer())
        return False

    def work(self, around: Surroundings) -> list[Row]:
        """A call of `work`, which does something, but not too much."""
        worked, step_bytes = self.operator.worked_bytes, self._most_in_a_step()
        before, has_work = _standing(self.operator, around), super().has_work(around)
        results = super().work(around)
        worked = self.operator.worked_bytes - worked
        most = max(self.schedule.quantum_bytes, step_bytes)
        assert worked <= most, (
            f"a call of `work` with a quantum of {self.schedule.quantum_bytes} bytes did {worked} bytes, "
            f"and no single step can have more than {step_bytes}"
        )
        did = bool(results) or bool(_changes(before, _standing(self.operator, around)))
        assert did or not has_work or self._did_before, "`has_work` said yes, and `work` did nothing, twice"
        self._did_before = did  # one that only finds out that a task has come to its end may look idle
        return results

    def _most_in_a_step(self) -> int:
        """What a code reaches, and a block of each run in a partition: read, and written again.

        Where codes of a match may differ, a slab reaches beyond both its ends.
        """
        runs = int(np.max(self.operator.view(SETTLING).spilled_runs.sum(axis=0), initial=0))
        most = 2 * self.largest_block_bytes * (runs + self._bytes_in_reach // BLOCK_BYTES + 1)
        return most if self._order.reach == EQUAL else self.schedule.quantum_bytes + 2 * most

    @cached_property
    def _order(self) -> Order:
        return self.subject.plan.order(self.subject.schemas)

    @cached_property
    def _bytes_in_reach(self) -> int:
        """What the rows in reach of a code weigh in the end, if it is the heaviest of each input."""
        n_bytes, either = 0, max(self._order.reach)
        batches = zip(*(step.rows for step in self.schedule.steps if isinstance(step, Arrive)), strict=True)
        for some, code in zip(batches, self._order.coders, strict=True):
            codes = np.sort(np.concatenate([code(batch)[0] for batch in some]))
            row_bytes = sum(batch.nbytes for batch in some) / max(len(codes), 1) + HELPER_BYTES
            ends = [code_position(codes, code + either + 1) for code in codes.tolist()]
            n_bytes += int(np.max(np.array(ends, np.int64) - np.searchsorted(codes, codes), initial=0) * row_bytes)
        return n_bytes


def _standing(operator: Operator[Any], around: Surroundings) -> dict[str, Any]:
    """All that can be seen of an operator without changing it."""
    view, progress = operator.view(around), operator.progress()
    seen = {field.name: getattr(view, field.name) for field in fields(view)}
    numbers = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in seen.items()}
    return numbers | {"worked_bytes": operator.worked_bytes, **progress.to_plain()}


def _changes(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    return [name for name in before if before[name] != after[name]]
