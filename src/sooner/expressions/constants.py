"""Numbers and truths that kernels work with. Given as Python's, they would load pandas (`kernels/python_values.py`)."""

from typing import Final

import pyarrow as pa

from sooner.kernels.python_values import constant

TRUE: Final = constant(True, pa.bool_())
FALSE: Final = constant(False, pa.bool_())
UNKNOWN: Final = constant(None, pa.bool_())


def whole(number: int) -> pa.Scalar:
    return constant(number, pa.int64())


def real(number: float) -> pa.Scalar:
    return constant(float(number), pa.float64())


ZERO: Final = whole(0)
ONE: Final = whole(1)
