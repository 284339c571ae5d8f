"""Numbers that were evaluated for joined rows, as what is added up: all of them count as the left's."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sooner.estimation.groups import Groups
from sooner.estimation.workings import Workings
from sooner.kernels.arrays import to_arrow, to_numpy
from sooner.kernels.folding import Factors
from sooner.sides import LEFT

Numbers = npt.NDArray[np.int32]


def factors_of(
    workings: Workings,
    values: Sequence[npt.NDArray[Any]],
    tags: tuple[Numbers, Numbers],
    groups: Numbers | None,
) -> tuple[Factors, Factors]:
    """Of both sides, where the right has nothing but its tags; `values` are those of the factors."""
    told = list(zip(workings.terms, workings.are_whole, strict=True))
    wholes, reals = (
        [None if at is None else values[at] for (at, _), is_whole in told if is_whole == kind] for kind in (True, False)
    )
    numbers = [None if at is None else values[at] for at, _ in workings.moments]
    left = Factors(tags[0], groups, wholes, reals, numbers)
    return left, Factors(tags[1], None, *([None] * len(some) for some in (wholes, reals, numbers)))


class Evaluated(NamedTuple):
    """Joined rows that count, the values of their factors, and their groups (None: all in one)."""

    rows: pa.RecordBatch
    values: list[npt.NDArray[Any]]
    groups: Numbers | None


def evaluated(workings: Workings, groups: Groups, batch: pa.RecordBatch) -> Evaluated | None:
    """What is wanted of these joined rows, which are all of the left; None if none of them counts."""
    preparation = workings.sides[LEFT]
    for one in preparation.filters:
        mask = one.mask(batch)
        batch = batch if mask.all() else batch.filter(to_arrow(mask))
    if not batch.num_rows:
        return None
    values = [to_numpy(factor.evaluate(batch)) for factor in preparation.factors]
    by = [one.evaluate(batch) for one in preparation.by]
    return Evaluated(batch, values, groups.numbers_of(by) if by else None)
