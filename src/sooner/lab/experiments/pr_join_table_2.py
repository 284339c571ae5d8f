"""PR-Join table 2: early result rates, as multiples of c = |A||B|M / ((|A|+|B|)^2 F T) (sec. 3.2.5 and 4.4).

As in the paper F is 1.2, a page takes the same time wherever it is read or written, and one thing is done at a time.
There is 64 times as much input as memory holds, so that PR-Join has five rounds of joins, and no stop constraint. SMS
and DBO have no hash tables, and F times the room for rows. Of hash ripple join `sooner` has none; the model has it.

A rate is what came out while the input was read from so many times the memory to so many. For PR-Join's j-th joins that
is from 2^j to 2^(j+1) times, when all partitions have theirs; the paper's figures are lower bounds of it.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from sooner.lab.claims import Read
from sooner.lab.experiment import Claim, Experiment, Histories, Reading
from sooner.lab.experiments.pr_join import EVEN, MB_OF_GB, PrJoinRace, experiment
from sooner.lab.experiments.pr_join_claims import rate_between, seconds_to_end
from sooner.lab.experiments.pr_join_model import (
    block_ripple_rate,
    dbo_rate,
    pr_join_rate,
    sms_rate,
    step,
    symmetric_hash_rate,
)

MEMORIES: Final = 64
FUDGE: Final = 1.2
ROWS_MB: Final = 20 * MB_OF_GB / MEMORIES
ROUNDS: Final = 5
NEAR: Final = 0.05
NEAR_OF_FEW: Final = 0.2  # there are some 120 results as long as all fits into memory: two standard deviations
READ_TOGETHER: Final = "settings: DBO reads one side after the other, here both are read together; then it is 0.8 c"
RACES: Final = {
    "pr_join": PrJoinRace("pr_join", EVEN, "in turn", stops="never", rows_mb=ROWS_MB),
    "ripple": PrJoinRace("ripple", EVEN, "in turn", rows_mb=ROWS_MB),
    "sms": PrJoinRace("sms", EVEN, "in turn", rows_mb=FUDGE * ROWS_MB),
    "dbo": PrJoinRace("dbo", EVEN, "in turn", rows_mb=FUDGE * ROWS_MB),
}


def _rate(name: str, first: float, last: float, holds: Callable[[float], bool]) -> Read:
    """In units of c, while the input was read from so many times the memory to so many."""

    def read(histories: Histories) -> Reading:
        history = histories[name]
        rate = rate_between(history, first / MEMORIES, last / MEMORIES) / _c(history.total_results)
        return Reading(rate, rate, "{:.2f}", "holds" if holds(rate) else "does not hold", " c")

    return read


def _c(results: float) -> float:
    costs = RACES["ripple"].costs(results)
    return costs.unit_rate / EVEN.read_seconds


def _near(expected: float, tolerance: float = NEAR) -> Callable[[float], bool]:
    return lambda rate: abs(rate / expected - 1) <= tolerance


def _claims() -> tuple[Claim, ...]:
    costs = RACES["pr_join"].costs(1.0)
    c = _c(1.0)
    ripples = [block_ripple_rate(costs, k) / c for k in (1, 2, 3, 4, 5)]
    claims = [
        Claim(
            "Symmetric hash join, as long as all fits into memory",
            f"{symmetric_hash_rate(costs) / c:.0f} c (ours: within 20%, of some 120 results)",
            _rate("dbo", 0, 1, _near(1.0, NEAR_OF_FEW)),
        ),
        Claim(
            "Block ripple join, its first five ripples",
            f"{', '.join(f'{rate:.2f}' for rate in ripples)} c, together 1.40 c (ours: within 5%)",
            _rate("ripple", 1, 6, _near(1.4)),
        ),
    ]
    without_hash_tables = replace(costs, memory_pages=FUDGE * ROWS_MB, fudge=FUDGE)
    for name, shown, rate in (("sms", "SMS", sms_rate), ("dbo", "Two-way DBO", dbo_rate)):
        expected = rate(without_hash_tables) / c
        measured = _rate(name, 8, MEMORIES, _near(expected))
        claims.append(Claim(shown, f"{expected:.1f} c (ours: within 5%)", measured, READ_TOGETHER))
    for j in range(1, ROUNDS + 1):
        bound = pr_join_rate(costs, *step(1.0, j, stagger=0)) / c
        at_least = _rate("pr_join", 2**j, 2 ** (j + 1), lambda rate, bound=bound: rate >= bound)  # type: ignore[misc]
        claims.append(
            Claim(
                f"PR-Join, gamma = 1, while each partition has its join number {j}", f"at least {bound:.1f} c", at_least
            )
        )
    return tuple(claims)


def _experiment() -> Experiment:
    measurements = tuple(map(seconds_to_end, RACES))
    return experiment("table-2", "early result rates", {**RACES}, _claims(), measurements, __name__)


EXPERIMENTS: Final = (_experiment(),)
