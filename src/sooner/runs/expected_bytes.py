"""What rows will take in memory, told from their types before any of them is there."""

import math
from typing import Final

import pyarrow as pa

from sooner.runs.run import HELPER_BYTES

TEXT_BYTES: Final = 32  # that a value is taken to have whose type does not tell


def bytes_of_row(schema: pa.Schema) -> int:
    """What a row takes in memory, or about that where its types do not tell."""
    return HELPER_BYTES + sum(_bytes_of_value(field.type) for field in schema)


def _bytes_of_value(type_: pa.DataType) -> int:
    if pa.types.is_dictionary(type_):
        return _bytes_of_value(type_.value_type)  # which rows become
    try:
        return math.ceil(int(type_.bit_width) / 8)
    except ValueError:  # it has no width
        return TEXT_BYTES
