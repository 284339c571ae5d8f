"""Every operator and every algorithm passes the conformance suite, and what is broken does not."""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

from guarded import GuardedJoin, GuardedPlan
from joins import OTHER_JOINS, VARIANTS
from schedules import PATIENT
from sooner.budget import Account, Budget
from sooner.named_algorithms import ALGORITHMS, Algorithm, algorithm
from sooner.operators.inputs import Storage
from sooner.operators.operator import Means
from sooner.operators.scan import ScanPlan
from sooner.operators.two_way.join import TwoWayJoin
from sooner.operators.two_way.plan import TwoWayPlan
from sooner.policies.flush.largest import Largest
from sooner.policies.react.growth import Growth
from sooner.policies.react.merge import Merge
from sooner.policies.view import JoinView, Surroundings, Task, Together
from sooner.testing import (
    CHECKS,
    KINDS,
    SEEDS,
    Row,
    Subject,
    check_algorithm,
    check_operator,
    folding_subject,
    two_way_subject,
)
from sooner.testing.near import near_subject
from sooner.testing.two_way import SCHEMA, draw_numbered_rows, joined
from union import DistinctUnion, UnionPlan

GROWING = algorithm("xjoin", name="xjoin that grows", react=Growth(gamma=0.5))  # rows meet at once, and do not wait
EVERY_ALGORITHM = {one.name: one for one in (*ALGORITHMS.values(), *PATIENT, GROWING)}
NEVER_SPILLS = "symmetric_hash"
FOR_RANGES = ["symmetric_hash", "pmj", "xjoin", "hmj", "rpj", "diner", "pr_join", "hash_ripple"]
RANGES = [(-2, 2), (-500, 500), (1, 3), (0, 0), (None, 1), (-7, -2), (-(2**70), 2**70), (3, None), (-20, 20)]
JOINS = ["inner", *OTHER_JOINS, "inner"]
GROUPS = [0, 3, 0, 1_000, 0]
SAMPLING = ["pr_join", "ripple", "grace"]  # of which there are estimates
every_check = pytest.mark.parametrize("check", CHECKS)


def seed_for(number: int, check: str) -> int:
    """A subject meets all kinds of schedules in some check, and a check in some subject."""
    n_kinds = len(KINDS)
    return n_kinds * number + (number + list(CHECKS).index(check)) % n_kinds


def distinct_keys(tables: Sequence[pa.Table]) -> Counter[Row]:
    return Counter({(key,): 1 for table in tables for key in table["key"].to_pylist() if key is not None})


def union_of(n_inputs: int) -> Subject:
    name = f"the distinct union of {n_inputs}"
    told = name, UnionPlan("key"), (SCHEMA,) * n_inputs, draw_numbered_rows, distinct_keys
    return Subject(*told, invariants=DistinctUnion.check_invariants)


@every_check
def test_a_scan_keeps_the_contract(check: str) -> None:
    def rows_of(tables: Sequence[pa.Table]) -> Counter[Row]:
        return Counter(tuple(row.values()) for table in tables for row in table.to_pylist())

    subject = Subject("a scan", ScanPlan(), (SCHEMA,), draw_numbered_rows, rows_of, spills=False)
    CHECKS[check](subject, seed_for(0, check))


@pytest.mark.one_in(6)
@every_check
@pytest.mark.parametrize("name", EVERY_ALGORITHM)
def test_every_algorithm_keeps_the_contract(name: str, check: str) -> None:
    subject = two_way_subject(EVERY_ALGORITHM[name], spills=name != NEVER_SPILLS)
    CHECKS[check](subject, seed_for(list(EVERY_ALGORITHM).index(name), check))


@pytest.mark.long
@every_check
@pytest.mark.parametrize("name", EVERY_ALGORITHM)
def test_every_algorithm_keeps_the_contract_for_long(name: str, check: str) -> None:
    subject = two_way_subject(EVERY_ALGORITHM[name], spills=name != NEVER_SPILLS)
    for seed in range(100, 110):
        CHECKS[check](subject, seed)


def subject_of(name: str, how: str, number: int) -> Subject:
    """Every third has codes that collide."""
    return two_way_subject(EVERY_ALGORITHM[name], how=how, spills=name != NEVER_SPILLS, colliding=number % 3 == 0)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("how", OTHER_JOINS)
@pytest.mark.parametrize("name", [name for name in EVERY_ALGORITHM if name not in VARIANTS])
def test_every_join_with_every_algorithm_keeps_the_contract(name: str, how: str) -> None:
    """Some checks of each that is no variant of another; over all of them a join goes through all checks with all kinds
    of schedules.
    """
    number = list(EVERY_ALGORITHM).index(name) + 5 * OTHER_JOINS.index(how)
    for check in [*CHECKS][number % 6 :: 6]:
        CHECKS[check](subject_of(name, how, number), seed_for(number, check))


@pytest.mark.long
@every_check
@pytest.mark.parametrize("how", OTHER_JOINS)
@pytest.mark.parametrize("name", EVERY_ALGORITHM)
def test_every_join_with_every_algorithm_keeps_the_contract_for_long(name: str, how: str, check: str) -> None:
    for seed in range(200, 206):
        CHECKS[check](subject_of(name, how, seed), seed)


@pytest.mark.one_in(5)
@every_check
@pytest.mark.parametrize("name", ["xjoin", "rpj with a fan-in of 2"])
def test_codes_that_collide_are_no_excuse(name: str, check: str) -> None:
    CHECKS[check](two_way_subject(EVERY_ALGORITHM[name], colliding=True), seed_for(len(name), check))


def near_subject_of(name: str, number: int) -> Subject:
    """All joins, ranges, groups and places of values take their turns, each with a period of its own."""
    within = RANGES[number % len(RANGES)]
    how, groups, at_the_end = JOINS[number % len(JOINS)], GROUPS[number % len(GROUPS)], number % 11 < 4
    algorithm, spills = EVERY_ALGORITHM[name], name != NEVER_SPILLS
    return near_subject(algorithm, within, how=how, groups=groups, at_the_end=at_the_end, spills=spills)


@pytest.mark.one_in(6)
@every_check
@pytest.mark.parametrize("name", FOR_RANGES)
def test_ranges_keep_the_contract(name: str, check: str) -> None:
    number = len(CHECKS) * FOR_RANGES.index(name) + [*CHECKS].index(check)
    CHECKS[check](near_subject_of(name, number), number)


@pytest.mark.long
@every_check
@pytest.mark.parametrize("name", EVERY_ALGORITHM)
def test_ranges_keep_the_contract_for_long(name: str, check: str) -> None:
    first = 97 * [*EVERY_ALGORITHM].index(name) + 31 * [*CHECKS].index(check)
    for number in range(first, first + 12):
        CHECKS[check](near_subject_of(name, number), number)


@pytest.mark.one_in(6)
@every_check
@pytest.mark.parametrize("n_inputs", [1, 2, 3])
def test_a_union_of_any_number_of_inputs_keeps_the_contract(n_inputs: int, check: str) -> None:
    CHECKS[check](union_of(n_inputs), seed_for(n_inputs, check))


@pytest.mark.one_in(5)
@every_check
@pytest.mark.parametrize("name", SAMPLING)
def test_estimates_keep_the_contract(name: str, check: str) -> None:
    CHECKS[check](folding_subject(EVERY_ALGORITHM[name]), seed_for(SAMPLING.index(name), check))


@pytest.mark.long
@every_check
@pytest.mark.parametrize("name", SAMPLING)
def test_estimates_keep_the_contract_for_long(name: str, check: str) -> None:
    for seed in range(300, 330):
        CHECKS[check](folding_subject(EVERY_ALGORITHM[name]), seed)


def allowed_pairs(tables: Sequence[pa.Table]) -> Counter[Row]:
    left, right, allowed = tables
    keys = {*allowed["key"].to_pylist()}
    return Counter({row: count for row, count in joined([left, right]).items() if row[0] in keys})


@pytest.mark.one_in(5)
@every_check
@pytest.mark.parametrize("name", ["hmj", "rpj", "pr_join"])
def test_an_operator_with_another_inside_and_blocked_ports_keeps_the_contract(name: str, check: str) -> None:
    told = f"the join {name!r}, guarded by a third input", GuardedPlan("key", EVERY_ALGORITHM[name]), (SCHEMA,) * 3
    ways = draw_numbered_rows, allowed_pairs
    subject = Subject(*told, *ways, least_rows_in_memory=600, invariants=GuardedJoin.check_invariants)
    CHECKS[check](subject, seed_for(len(name), check))


def test_all_checks_of_an_algorithm_and_of_an_operator_in_one_call() -> None:
    check_algorithm(ALGORITHMS["rpj"], seeds=[4])
    check_algorithm(ALGORITHMS[NEVER_SPILLS], seeds=[4], spills=False)
    check_operator(union_of(2), seeds=[4])


# Policies that are broken


class Moody:
    """Has a state that nobody saves: whether it works depends on how often it was asked."""

    def __init__(self) -> None:
        self._dice = random.Random(1)

    def choose(self, view: JoinView) -> Task | None:
        return Merge().choose(view) if self._dice.random() < 0.5 else None


class Greedy:
    """Frees nothing, although it is asked to."""

    def choose(self, view: JoinView, needed_bytes: int) -> Iterable[Together]:  # noqa: ARG002 - the contract
        return []


@pytest.mark.parametrize(
    ("algorithm", "complaint"),
    [
        (Algorithm("moody", Largest(), Moody()), "'moody' fails the check 'determinism' with seed"),
        (Algorithm("greedy", Greedy(), Merge()), "'greedy' fails the check 'answer' with seed 0: BudgetTooSmall"),
    ],
    ids=["moody", "greedy"],
)
def test_a_broken_policy_is_caught(algorithm: Algorithm, complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        check_algorithm(algorithm, SEEDS)


# Operators that are broken, each in one way, and the check that finds it


class Join:
    """A sound join, of which others are broken."""

    def __init__(self, make: Callable[[Means], TwoWayJoin[pa.RecordBatch]], means: Means) -> None:
        self._sound = make(means)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sound, name)


class GivesTwice(Join):
    def arrive(self, rows: Sequence[Sequence[pa.RecordBatch]], now: float) -> Iterator[pa.RecordBatch]:
        for number, result in enumerate(self._sound.arrive(rows, now)):
            yield result
            if number == 0:
                yield result


class LosesResults(Join):
    def work(self, quantum_bytes: int, around: Surroundings) -> Iterator[pa.RecordBatch]:
        for number, result in enumerate(self._sound.work(quantum_bytes, around)):
            if number != 0:
                yield result


class ForgetsRowsOnRestore(Join):
    def restore(self, data: dict[str, Any]) -> None:
        for partition in data["inputs"][0]["partitions"]:
            partition["resident"] = []
        self._sound.restore(data)


class CountsTooLittle(Join):
    """Its budget is larger than what it was given."""

    def __init__(self, make: Callable[[Means], TwoWayJoin[pa.RecordBatch]], means: Means) -> None:
        self._given = means.account
        super().__init__(make, replace(means, account=Budget(means.account.share_bytes * 2).account("join")))

    @property
    def account(self) -> Account:
        shown = Budget(self._given.share_bytes).account("join")
        shown.take(self._state.account.used_bytes)
        return shown


class LooksAtTheOrderOfRows(Join):
    """What arrives first within a call is joined and forgotten."""

    def arrive(self, rows: Sequence[Sequence[pa.RecordBatch]], now: float) -> Iterator[pa.RecordBatch]:
        results = list(self._sound.arrive(rows, now))
        first = next((batch["row"][0] for batches in rows for batch in batches if batch.num_rows), None)
        yield from results if first is None or first.as_py() % 2 else reversed(results)
        self._state.shell.tick += 0 if first is None else first.as_py() % 2


class DoesAllAtOnce(Join):
    def work(self, quantum_bytes: int, around: Surroundings) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        return self._sound.work(2**62, around)


class SettlesTooSoon(Join):
    def has_work(self, around: Surroundings) -> bool:
        return self._sound.has_work(replace(around, settling=False))


class CannotBeInterrupted(Join):
    def interrupt(self) -> None:
        """Not now."""


class LeavesFiles(Join):
    def end(self, which: int) -> None:
        self._sound.end(which)
        if which == 0:
            self.snapshot()


BROKEN: dict[type[Join], str] = {
    GivesTwice: "prefix",
    LosesResults: "answer",
    ForgetsRowsOnRestore: "resume",
    CountsTooLittle: "budget",
    LooksAtTheOrderOfRows: "purity",
    DoesAllAtOnce: "quanta",
    SettlesTooSoon: "quanta",
    CannotBeInterrupted: "interrupt",
    LeavesFiles: "nothing left",
}


@dataclass(frozen=True)
class BrokenPlan(TwoWayPlan):
    join: type[Join] = Join

    def make(self, names: Sequence[str], schemas: Sequence[pa.Schema], storage: Storage, means: Means) -> Join:
        return self.join(partial(super().make, names, schemas, storage), means)


@pytest.mark.parametrize("kind", BROKEN, ids=lambda kind: kind.__name__)
def test_a_broken_operator_is_caught(kind: type[Join]) -> None:
    sound = two_way_subject(ALGORITHMS["hmj"])
    plan = BrokenPlan(("key",), ("key",), ("_left", "_right"), ALGORITHMS["hmj"], join=kind)
    broken = replace(sound, name=kind.__name__, plan=plan)
    check = BROKEN[kind]
    with pytest.raises(AssertionError, match=f"{kind.__name__} fails the check '{check}' with seed ") as failure:
        for seed in SEEDS:
            CHECKS[check](broken, seed)
    assert f"CHECKS['{check}'](subject, {seed})" in str(failure.value)
    assert isinstance(failure.value.__cause__, AssertionError), "it was not caught, it broke down"


def test_results_of_a_quantum_do_not_depend_on_the_order_of_rows() -> None:
    for seed in range(6):
        CHECKS["purity"](two_way_subject(ALGORITHMS["xjoin"], colliding=True), seed)
