"""What steps do with texts, by name."""

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from sooner.kernels.python_values import column_of, constant

Value = Any  # pa.Array or pa.Scalar
_NO_TEXT: Final = constant("", pa.string())


def _substring(value: Value, start: int, length: int | None) -> Value:
    """The part of a text from a place on, counted from 1."""
    stop = None if length is None else max(start - 1 + length, 0)
    return pc.utf8_slice_codeunits(value, max(start - 1, 0), stop=stop)


def _last(value: Value, length: int) -> Value:
    return pc.utf8_slice_codeunits(value, -length) if length else pc.utf8_slice_codeunits(value, 0, stop=0)


def _split_part(value: Value, delimiter: str, number: int) -> Value:
    """The n-th of the parts between delimiters; an empty text if there are not so many."""

    def part(text: str | None) -> str | None:
        if text is None:
            return None
        parts = text.split(delimiter) if delimiter else [text]
        return parts[number - 1] if number <= len(parts) else ""

    if isinstance(value, pa.Scalar):
        return constant(part(value.as_py()), value.type)
    return column_of([part(text) for text in value.to_pylist()], value.type)


def _joined(null_handling: str) -> Callable[..., Value]:
    def of(*parts: Value) -> Value:
        return pc.binary_join_element_wise(*parts, _NO_TEXT, null_handling=null_handling)

    return of


TEXT_KERNELS: Final[dict[str, Callable[..., Value]]] = {
    "upper": pc.utf8_upper,
    "lower": pc.utf8_lower,
    "reverse": pc.utf8_reverse,
    "length": lambda value: pc.cast(pc.utf8_length(value), pa.int64()),
    "substring": _substring,
    "left": lambda value, length: pc.utf8_slice_codeunits(value, 0, stop=length),
    "right": _last,
    "replace": lambda value, old, new: pc.replace_substring(value, old, new) if old else value,
    "split_part": _split_part,
    "trim": lambda value, characters=" ": pc.utf8_trim(value, characters),
    "ltrim": lambda value, characters=" ": pc.utf8_ltrim(value, characters),
    "rtrim": lambda value, characters=" ": pc.utf8_rtrim(value, characters),
    "lpad": lambda value, length, fill: pc.utf8_slice_codeunits(pc.utf8_lpad(value, length, fill), 0, stop=length),
    "rpad": lambda value, length, fill: pc.utf8_slice_codeunits(pc.utf8_rpad(value, length, fill), 0, stop=length),
    "starts_with": pc.starts_with,
    "ends_with": pc.ends_with,
    "contains": pc.match_substring,
    "regexp_matches": pc.match_substring_regex,
    "||": _joined("emit_null"),
    "concat": _joined("replace"),
}
