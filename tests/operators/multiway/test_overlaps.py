"""When the rows came and left that a row may match, beside all pairs looked at one by one."""

import numpy as np
import pyarrow as pa
import pytest

from sooner.kernels.columns import Columns
from sooner.kernels.matching import EQUAL, Reach
from sooner.operators.multiway.overlaps import Bounds
from sooner.runs.run import NEVER, STILL_HERE, Run

ALL_CODES = 2**64 - 1
CODES = np.array([*range(200), ALL_CODES - 1, ALL_CODES], np.uint64)


def drawn(dice: np.random.Generator, rows: int) -> Run:
    codes = np.sort(dice.choice(CODES, rows))
    arrived = dice.integers(0, 1_000, rows, dtype=np.int32)
    departed = arrived + dice.integers(0, 1_000, rows, dtype=np.int32)
    return Run(codes, Columns.of(pa.record_batch({"row": np.arange(rows)})), arrived, departed)


@pytest.mark.parametrize("every", [1, 7, 500], ids="a range for {} codes".format)
@pytest.mark.parametrize("reach", [EQUAL, Reach(3, 5), Reach(2, ALL_CODES), Reach(ALL_CODES, 0)], ids=str)
def test_bounds_are_those_of_all_rows_within_reach(reach: Reach, every: int) -> None:
    """Of as many ranges as there are codes they are exact; of fewer they say less, and nothing that is wrong."""
    dice = np.random.default_rng(every)
    inner, outer = drawn(dice, 60), drawn(dice, 300)
    bounds = Bounds(CODES[1::every], reach)
    for some in np.split(np.arange(len(inner)), 3):
        bounds.add(inner.take(some))
    latest, earliest = bounds.of(outer.codes)
    for code, last_came, first_left in zip(outer.codes.tolist(), latest.tolist(), earliest.tolist(), strict=True):
        matching = [
            at for at, other in enumerate(inner.codes.tolist()) if code - reach.below <= other <= code + reach.above
        ]
        came = max((int(inner.arrived[at]) for at in matching), default=NEVER)  # type: ignore[index]
        left = min((int(inner.departed[at]) for at in matching), default=STILL_HERE)  # type: ignore[index]
        if every == 1:
            assert (last_came, first_left) == (came, left)
        assert last_came >= came and first_left <= left
