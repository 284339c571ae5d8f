"""Numbers that were evaluated for joined rows, as what is added up: all of them count as the left's."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sooner.estimation.workings import Workings
from sooner.kernels.folding import Factors

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
