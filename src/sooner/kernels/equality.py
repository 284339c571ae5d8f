"""Of pairs with equal codes, those with equal keys: texts and keys of several columns can collide."""

from typing import Final

import pyarrow as pa

from sooner.kernels.array_types import Positions
from sooner.kernels.arrays import text_layout
from sooner.kernels.columns import Named, layout_of
from sooner.kernels.gathering import gather
from sooner.kernels.keys import KeyPlan, decoded, keys_in_common_type, values_equal
from sooner.kernels.native import address, buffer_address, loop, prototypes

_keep_equal_bytes: Final = loop(prototypes.keep_equal_bytes)
_keep_equal_doubles: Final = loop(prototypes.keep_equal_doubles)
_keep_equal_texts: Final = {bits: loop(prototypes.keep_equal_texts, bits) for bits in (32, 64)}


def only_equal(
    left: Named, right: Named, keys: KeyPlan, at_left: Positions, at_right: Positions
) -> tuple[Positions, Positions]:
    """Those of these pairs of rows whose keys are equal. The arrays are used up."""
    for left_name, right_name, kind in zip(keys.left, keys.right, keys.types, strict=True):
        columns = decoded(left.column(left_name)), decoded(right.column(right_name))
        if lie_comparably(*columns) and columns[0].type == kind:
            at_left, at_right = only_equal_values(*columns, at_left, at_right)
        else:
            equal = values_equal(
                _in_common_type(columns[0], at_left, left_name, kind),
                _in_common_type(columns[1], at_right, right_name, kind),
            )
            at_left, at_right = at_left[equal], at_right[equal]
    return at_left, at_right


def lie_comparably(left: pa.Array, right: pa.Array) -> bool:
    """Whether values can be compared where they lie: texts, or numbers of one width, none of them null."""
    if left.type != right.type or left.null_count or right.null_count:
        return False
    layout = layout_of(left.type)
    return layout == "texts" or (isinstance(layout, int) and (layout == 8 or not pa.types.is_floating(left.type)))


def only_equal_values(
    left: pa.Array, right: pa.Array, at_left: Positions, at_right: Positions
) -> tuple[Positions, Positions]:
    """Those of these pairs whose values are equal, of columns that lie comparably. The arrays are used up."""
    kept = _keep_equal(left, right, at_left, at_right)
    return at_left[:kept], at_right[:kept]


def _in_common_type(column: pa.Array, positions: Positions, name: str, kind: pa.DataType) -> pa.Array:
    picked = gather(pa.RecordBatch.from_arrays([column], [name]), positions)
    [key] = keys_in_common_type(picked, [name], [kind])
    return key


def _keep_equal(left: pa.Array, right: pa.Array, at_left: Positions, at_right: Positions) -> int:
    pairs = len(at_left), address(at_left), address(at_right), len(at_left)
    if layout_of(left.type) == "texts":
        lefts, rights = text_layout(left), text_layout(right)
        texts = [(address(side.offsets), buffer_address(side.data)) for side in (lefts, rights)]
        return _keep_equal_texts[lefts.bits](*pairs, *texts[0], *texts[1])
    width = left.type.bit_width // 8
    of_left, of_right = (buffer_address(column.buffers()[1], column.offset * width) for column in (left, right))
    if pa.types.is_floating(left.type):
        return _keep_equal_doubles(*pairs, of_left, of_right)
    return _keep_equal_bytes(*pairs, of_left, of_right, width)
