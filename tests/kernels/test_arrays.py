"""Between NumPy and Arrow: the same values both ways, whatever part of a column it is, and no pandas on the way."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from sooner.kernels.arrays import to_arrow, to_flags, to_numpy

LENGTHS = (0, 1, 7, 8, 9, 64, 100)
NUMBERS = (np.uint64, np.int64, np.int32, np.int8, np.float64)


@pytest.mark.parametrize("dtype", [*NUMBERS, np.bool_])
@pytest.mark.parametrize("length", LENGTHS)
def test_a_column_has_the_values_of_the_array(dtype: type, length: int) -> None:
    values = (np.arange(length) * 7 % 5).astype(dtype)
    assert to_arrow(values).equals(pa.array(values))
    assert to_arrow(values[::2]).to_pylist() == values[::2].tolist()


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("length", LENGTHS)
def test_an_array_has_the_values_of_any_part_of_a_column(dtype: type, length: int) -> None:
    column = pa.array(np.arange(length + 3).astype(dtype))
    for part in (column, column.slice(3), column.slice(1, length)):
        assert to_numpy(part).tolist() == part.to_pylist()


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("nulls", [False, True])
def test_flags_are_set_where_any_part_of_a_column_is_true(length: int, nulls: bool) -> None:
    values = [None if nulls and row % 3 == 0 else row % 2 == 0 for row in range(length + 10)]
    column = pa.array(values, pa.bool_())
    for begin in (0, 1, 8, 9):
        part = column.slice(begin, length)
        assert to_flags(part).tolist() == [value is True for value in values[begin : begin + length]]


@pytest.mark.parametrize("key", ["pa.int64()", "pa.string()"])
def test_a_join_that_spills_does_without_pandas(key: str) -> None:
    """It is installed here, and would be loaded by most of PyArrow's own conversions."""
    program = f"""
import sys
import numpy as np
import pyarrow as pa
import sooner
from sooner.kernels.arrays import to_arrow

table = pa.table([to_arrow(np.arange(60_000)).cast({key})], ["key"])
query = sooner.join(table, table, on="key", memory="1MB")
rows, spilled = 0, False
for batch in query:
    rows += batch.num_rows
    spilled = spilled or query.progress.spilled_rows > 0
assert spilled, "the memory was not small enough"
assert rows == 60_000, rows
assert "pandas" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
