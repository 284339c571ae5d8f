"""PR-Join figure 1 and table 2: early result rates and what the whole costs (sec. 1.1, 3.2.5 and 4.4).

Rates are multiples of c = |A||B|M / ((|A|+|B|)^2 F T). As in the paper F is 1.2, a page takes the same time wherever it
is read or written, and one thing is done at a time. There is 64 times as much input as memory holds, so that PR-Join
has five rounds of joins, and no stop constraint. SMS and DBO have no hash tables, and F times the room for rows. DBO
reads its inputs in turn, as much of each as half of the memory holds.

A rate is what came out while the input was read from so many times the memory to so many. For PR-Join's j-th joins that
is from 2^j to 2^(j+1) times, when all partitions have theirs; the paper's figures are lower bounds of it.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from sooner.lab.claims import ratio, seconds_to_end, within
from sooner.lab.experiment import Claim, Experiment, Histories, Quantity
from sooner.lab.experiments.pr_join import experiment
from sooner.lab.experiments.pr_join_claims import far_sooner, rate_between
from sooner.lab.history import History
from sooner.lab.races.pr_join import EVEN, EVERYTHING, HALF_THE_MEMORY, MB_OF_GB, NEVER_EARLY, PrJoinRace
from sooner.lab.races.pr_join_model import (
    block_ripple_rate,
    dbo_rate,
    hash_ripple_rate,
    pr_join_rate,
    sms_rate,
    step,
    symmetric_hash_rate,
)
from sooner.lab.tolerances import tolerance

TABLE_2: Final = "sec. 3.2.5, table 2"
FIGURE_1: Final = "sec. 1.1, fig. 1"
MEMORIES: Final = 64
FUDGE: Final = 1.2
ROWS_MB: Final = 20 * MB_OF_GB / MEMORIES
ROUNDS: Final = 5
RACES: Final = {
    "pr_join": PrJoinRace("pr_join", EVEN, "in turn", stops="never", rows_mb=ROWS_MB),
    "ripple": PrJoinRace("ripple", EVEN, "in turn", rows_mb=ROWS_MB),
    "hash_ripple": PrJoinRace("hash_ripple", EVEN, "in turn", rows_mb=ROWS_MB),
    "sms": PrJoinRace("sms", EVEN, "in turn", rows_mb=FUDGE * ROWS_MB),
    "dbo": PrJoinRace("dbo", EVEN, "in turn", rows_mb=FUDGE * ROWS_MB),
    "grace": PrJoinRace("grace", EVEN, "in turn", rows_mb=ROWS_MB),
}
MUTANTS: Final = (
    f"pr_join: {NEVER_EARLY}",
    f"ripple: {NEVER_EARLY}",
    *(f"{name}: {HALF_THE_MEMORY}" for name in ("ripple", "hash_ripple", "sms", "dbo")),
    *(f"{name}: {EVERYTHING}" for name in ("dbo", "hash_ripple")),
)


def _rate(name: str, first: float, last: float) -> Callable[[Histories], float]:
    """In units of c, while the input was read from so many times the memory to so many."""

    def value(histories: Histories) -> float:
        history = histories[name]
        return rate_between(history, first / MEMORIES, last / MEMORIES) / _c(history.total_results)

    return value


def _c(results: float) -> float:
    costs = RACES["ripple"].costs(results)
    return costs.unit_rate / EVEN.read_seconds


def _near(name: str, first: float, last: float, expected: float, named: str = "the model") -> Quantity:
    off = tolerance(named)
    least, most = expected * (1 - off), expected * (1 + off)
    what = f"results a second while from {first:g} to {last:g} times the memory is read"
    return within(what, _rate(name, first, last), "{:.2f}", " c", least, most, named)


def _claims() -> tuple[Claim, ...]:
    costs = RACES["pr_join"].costs(1.0)
    c = _c(1.0)
    ripples = [block_ripple_rate(costs, k) / c for k in (1, 2, 3, 4, 5)]
    claims = [
        Claim(
            TABLE_2,
            "Symmetric hash join, as long as all fits into memory",
            f"{symmetric_hash_rate(costs) / c:.0f} c",
            _near("sms", 0, 1, 1.0, "few results"),
        ),
        Claim(
            TABLE_2,
            "Block ripple join, its first five ripples",
            f"{', '.join(f'{rate:.2f}' for rate in ripples)} c, together 1.40 c",
            _near("ripple", 1, 6, 1.4),
        ),
        Claim(
            TABLE_2,
            "Hash ripple join",
            f"{hash_ripple_rate(costs) / c:.1f} c",
            _near("hash_ripple", 8, MEMORIES, hash_ripple_rate(costs) / c),
        ),
    ]
    without_hash_tables = replace(costs, memory_pages=FUDGE * ROWS_MB, fudge=FUDGE)
    for name, shown, rate in (("sms", "SMS", sms_rate), ("dbo", "Two-way DBO", dbo_rate)):
        expected = rate(without_hash_tables) / c
        claims.append(Claim(TABLE_2, shown, f"{expected:.1f} c", _near(name, 8, MEMORIES, expected)))
    for j in range(1, ROUNDS + 1):
        bound = pr_join_rate(costs, *step(1.0, j, stagger=0)) / c
        what = f"results a second while from {2**j} to {2 ** (j + 1)} times the memory is read"
        rate_of_round = _rate("pr_join", 2**j, 2 ** (j + 1))
        claims.append(
            Claim(
                "sec. 4.4, table 2",
                f"PR-Join, gamma = 1, while each partition has its join number {j}",
                f"at least {bound:.1f} c",
                within(what, rate_of_round, "{:.2f}", " c", bound, float("inf"), "none"),
            )
        )
    return tuple(claims)


def _table_2() -> Experiment:
    races = {name: race for name, race in RACES.items() if name != "grace"}
    measurements = tuple(map(seconds_to_end, races))
    return experiment("table-2", "early result rates", races, _claims(), measurements, MUTANTS, __name__)


def _early(history: History) -> float:
    """Results a second from when memory was full to the end of the input."""
    return rate_between(history, 1 / MEMORIES, 1.0)


def _more(name: str, other: str) -> Quantity:
    what = "results a second from when memory is full to the end of the input, as a multiple of the other's"
    least = 1 + tolerance("a tie")
    return within(what, ratio(_early, name, other), "{:.2f}", " times", least, float("inf"), "a tie")


def _figure_1() -> Experiment:
    """The design space: early rates and costs of the whole, with the machine of table 2."""
    cheap = (("hash_ripple", "Hash ripple join"), ("sms", "SMS"), ("dbo", "Two-way DBO"))
    claims = [
        claim
        for name, shown in cheap
        for claim in (
            Claim(FIGURE_1, f"{shown} costs far less than Ripple", "low", far_sooner(name, "ripple")),
            Claim(FIGURE_1, f"{shown} has a lower early rate than Ripple", "sacrificed", _more("ripple", name)),
        )
    ]
    claims += [
        Claim(FIGURE_1, "PR-Join has a higher early rate than Ripple", "higher", _more("pr_join", "ripple")),
        Claim(FIGURE_1, "PR-Join costs far less than Ripple", "low", far_sooner("pr_join", "ripple")),
    ]
    title = "the design space: early rates, and what the whole costs"
    return experiment("1", title, RACES, claims, tuple(map(seconds_to_end, RACES)), MUTANTS, __name__)


EXPERIMENTS: Final = (_figure_1(), _table_2())
