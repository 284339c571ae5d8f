"""What arrays of rows are made of; nothing but NumPy is loaded for these names."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Codes: TypeAlias = npt.NDArray[np.uint64]
Positions: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]
