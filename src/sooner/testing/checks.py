"""The checks: each holds one promise of the contract to account, on a schedule that follows from a seed."""

import functools
import random
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

import pyarrow as pa

from sooner.named_algorithms import Algorithm
from sooner.operators.operator import Interrupted, Operator
from sooner.policies.view import SILENT
from sooner.testing.dice import KINDS
from sooner.testing.meaning import first_difference
from sooner.testing.quanta import QuantaTrial, schedule_of_small_quanta
from sooner.testing.schedules import Work, draw_schedule
from sooner.testing.subject import Subject, require_same
from sooner.testing.trial import Trial, shuffled_and_cut
from sooner.testing.two_way import two_way_subject

Check = Callable[[Subject, int], None]
CHECKS: Final[dict[str, Check]] = {}  # by name
SEEDS: Final = range(len(KINDS))  # a schedule of each kind
CALLS_BETWEEN_SNAPSHOTS: Final = 7


def check_operator(subject: Subject, seeds: Iterable[int] = SEEDS) -> None:
    """Raise an AssertionError if this operator breaks a promise of the contract on one of these seeds."""
    for seed in seeds:
        for check in CHECKS.values():
            check(subject, seed)


def check_algorithm(algorithm: Algorithm, seeds: Iterable[int] = SEEDS, *, spills: bool = True) -> None:
    """Raise an AssertionError if the two-way join breaks a promise with the policies of this algorithm.

    `spills=False` is for an algorithm that lets nothing leave memory: it gets plenty of it.
    """
    for seed in seeds:
        for colliding in (False, True):
            check_operator(two_way_subject(algorithm, spills=spills, colliding=colliding), [seed])


def _check(name: str) -> Callable[[Check], Check]:
    """Under this name a check is among CHECKS; whatever goes wrong in it becomes a sentence with the seed."""

    def register(body: Check) -> Check:
        @functools.wraps(body)
        def check(subject: Subject, seed: int) -> None:
            try:
                body(subject, seed)
            except Exception as error:
                reason = str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
                raise AssertionError(
                    f"{subject.name} fails the check {name!r} with seed {seed}: {reason or 'an assertion of its own'}. "
                    f"Do it again with CHECKS[{name!r}](subject, {seed})."
                ) from error

        CHECKS[name] = check
        return check

    return register


@_check("answer")
def check_answer(subject: Subject, seed: int) -> None:
    """All results together are the answer, each once, in whichever order the inputs end; progress counts along."""
    schedule = draw_schedule(subject, seed)
    last_first = reversed(range(len(subject.schemas)))
    for one in (schedule, schedule.with_ends_last([*last_first])):
        with Trial(subject, one) as trial:
            for _ in trial.run():
                _require_counts(trial)
            require_same(trial.found, trial.answer())
            if trial.subject.rows_of is None:
                _require_schema(trial)


def _require_counts(trial: Trial) -> None:
    progress = trial.operator.progress()
    arrived = tuple(sum(map(trial.subject.counts_rows, batches)) for batches in trial.arrived)
    assert progress.arrived_rows == arrived, f"{arrived} rows arrived, and progress says {progress.arrived_rows}"
    found = trial.found.total()
    assert progress.results == found, f"{found} results came, and progress says {progress.results}"
    open_inputs = [one.name for one in trial.operator.inputs if not one.ended]
    cleaning = trial.operator.phase in ("clean-up", "done")
    assert cleaning is not bool(open_inputs), f"it is {trial.operator.phase}, and {open_inputs} have not ended"


def _require_schema(trial: Trial) -> None:
    """A row of the answer has a value for each column."""
    columns = len(trial.subject.plan.output(trial.subject.schemas))
    wrong = next((row for row in trial.found if len(row) != columns), None)
    assert wrong is None, f"the output has {columns} columns, and a result is {wrong}"


@_check("prefix")
def check_prefix(subject: Subject, seed: int) -> None:
    """At every moment what has come out is part of the answer."""
    with Trial(subject, draw_schedule(subject, seed)) as trial:
        left = trial.final_answer()
        for number, rows in enumerate(trial.run()):
            for row in rows:
                left[row] -= 1
                assert left[row] >= 0, f"call {number} gave {row}, which is not in the answer, or not so often"


class _ThriftyTrial(Trial):
    """The limit holds in the middle of a call as well."""

    def look(self, operator: Operator[pa.RecordBatch]) -> None:
        budget = operator.account.budget
        used, limit = budget.used_bytes, budget.limit_bytes
        assert used <= limit, f"{used} bytes are in memory, and {limit} may be"
        operator.progress()  # may be asked now, whatever it says


@_check("budget")
def check_budget(subject: Subject, seed: int) -> None:
    """Rows in memory stay within the budget, and the state is what it must be after every call; with two workers."""
    with _ThriftyTrial(subject, replace(draw_schedule(subject, seed), workers=2)) as trial:
        for _ in trial.run():
            trial.look(trial.operator)
            budget = trial.operator.account.budget
            peak, limit = budget.peak_bytes, budget.limit_bytes
            assert peak <= limit, f"{peak} bytes were in memory at once, and {limit} may be"
            resident = sum(one.resident_bytes for one in trial.operator.inputs)
            used = budget.used_bytes
            assert resident <= used, f"{resident} bytes are in memory, and only {used} are counted"
            trial.subject.invariants(trial.operator)
        require_same(trial.found, trial.answer())


@_check("determinism")
def check_determinism(subject: Subject, seed: int) -> None:
    """The same calls give the same results in the same order, and the same snapshots up to the names of files."""
    schedule = draw_schedule(subject, seed)
    with Trial(subject, schedule) as one, Trial(subject, schedule) as other:
        _go_together(one, other, in_order=True)


@_check("purity")
def check_purity(subject: Subject, seed: int) -> None:
    """The rows of a call in another order and in other batches: the same results, and an equivalent state."""
    schedule = draw_schedule(subject, seed)
    with Trial(subject, schedule) as one, Trial(subject, schedule, shuffled_and_cut(seed)) as other:
        _go_together(one, other, in_order=False)


def _go_together(one: Trial, other: Trial, *, in_order: bool) -> None:
    """Two trials of one schedule, call by call: they give the same, and get into the same states."""
    twin = other.run()
    number = -1
    for number, rows in enumerate(one.run()):
        again = next(twin, None)
        assert again is not None, f"it is done after {number} calls, and then again not"
        assert not in_order or rows == again, f"call {number} gave other results, or in another order, when made again"
        lost, new = Counter(rows) - Counter(again), Counter(again) - Counter(rows)
        assert not lost and not new, f"call {number} gave {[*lost][:3]} and then, made again, {[*new][:3]} instead"
        if number % CALLS_BETWEEN_SNAPSHOTS == 0:
            difference = first_difference(one.meaning(), other.meaning())
            assert difference is None, f"after call {number}, {difference}"
    assert next(twin, None) is None, f"it is done after {number + 1} calls, and then again not"


@_check("resume")
def check_resume(subject: Subject, seed: int) -> None:
    """A new operator goes on from a snapshot: cut after every call, or once, and then with another memory."""
    schedule, dice = draw_schedule(subject, seed), random.Random(seed)
    cleaning: list[bool] = []  # of each call
    with Trial(subject, schedule) as trial:
        for _ in trial.run():
            _cut(trial)
            cleaning.append(trial.operator.phase == "clean-up")
        require_same(trial.found, trial.answer())
    last_to_arrive = cleaning.index(True)
    for at in (dice.randrange(last_to_arrive), last_to_arrive + dice.randrange(cleaning.count(True))):
        with Trial(subject, schedule) as trial:
            for number, _ in enumerate(trial.run()):
                if number == at:
                    _cut(trial, int(dice.choice([1, 1.3]) * schedule.least_budget_bytes))
            require_same(trial.found, trial.answer())


def _cut(trial: Trial, budget_bytes: int | None = None) -> None:
    before = trial.operator.progress()
    trial.cut(budget_bytes)
    after, budget = trial.operator.progress(), trial.operator.account.budget
    assert budget.used_bytes <= budget.limit_bytes, "after a restore more is in memory than may be"
    for name in ("phase", "arrived_rows", "results"):
        was, is_now = getattr(before, name), getattr(after, name)
        assert was == is_now, f"{name} of its progress was {was!r}, and after a restore it is {is_now!r}"
    trial.subject.invariants(trial.operator)


@_check("quanta")
def check_quanta(subject: Subject, seed: int) -> None:
    """`work` stays within its quantum, does something if and only if there is work, and settles what has arrived."""
    with QuantaTrial(subject, schedule_of_small_quanta(subject, seed)) as trial:
        trial.run_to_its_end()
        require_same(trial.found, trial.answer())


@_check("interrupt")
def check_interrupt(subject: Subject, seed: int) -> None:
    """After `interrupt` a call ends with `Interrupted`, and what comes after it does not go on either."""
    schedule = draw_schedule(subject, seed)
    at = random.Random(seed).randrange(sum(not isinstance(step, Work) for step in schedule.steps))  # others are calls
    with Trial(subject, schedule) as trial:
        try:
            for number, _ in enumerate(trial.run()):
                if number == at:
                    trial.operator.interrupt()
        except Interrupted:
            pass
        else:
            raise AssertionError(f"it was interrupted after call {at}, and went on to its end")
        require_same(trial.found - trial.final_answer(), Counter())
        try:
            list(trial.operator.work(schedule.quantum_bytes, SILENT))
        except Exception:
            return
        raise AssertionError("a call raised Interrupted, and the next went on as if nothing had happened")


@_check("nothing left")
def check_nothing_left(subject: Subject, seed: int) -> None:
    """When it is done, nothing is in memory and no file is left, whether it was saved on the way or not."""
    schedule = draw_schedule(subject, seed)
    for every in (0, 3):
        with Trial(subject, schedule) as trial:
            for number, _ in enumerate(trial.run()):
                if every and number % every == 0:
                    trial.cut()
            used = trial.operator.account.budget.used_bytes
            assert used == 0, f"it is done, and {used} bytes of the memory are still taken"
            trial.operator.close()
            assert not trial.files(), f"it is done, and files are left: {trial.files()}"
