"""Rows of two schemas in one: few columns, and each side gets its own back."""

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import types as T  # noqa: N812

from sooner.sides import LEFT, RIGHT
from sooner.spark.shuffle.row_kinds import PULSE, kind_of
from sooner.spark.shuffle.shared_columns import as_one_batch, quoted, share_columns


def schema(*types: T.DataType) -> T.StructType:
    return T.StructType([T.StructField(f"c{i}", type_) for i, type_ in enumerate(types)])


LONG, TEXT, FLOAT = T.LongType(), T.StringType(), T.DoubleType()


def test_columns_of_equal_type_share_a_place() -> None:
    shared = share_columns(schema(LONG, TEXT, LONG), schema(TEXT, LONG, FLOAT))
    assert shared.types == (LONG, TEXT, LONG, FLOAT)
    assert shared.of_input == ((0, 1, 2), (1, 0, 3))


def test_a_side_never_uses_a_place_twice() -> None:
    shared = share_columns(schema(LONG), schema(LONG, LONG, LONG))
    assert shared.of_input == ((0,), (0, 1, 2))


def test_types_that_differ_inside_do_not_share() -> None:
    some, other = T.ArrayType(LONG, True), T.ArrayType(TEXT, True)
    assert len(share_columns(schema(some, T.DecimalType(10, 2)), schema(other, T.DecimalType(10, 3))).types) == 4


def test_each_side_gets_its_own_rows() -> None:
    shared = share_columns(schema(LONG, TEXT), schema(TEXT, FLOAT))
    kinds = np.array([kind_of(LEFT, 3), kind_of(RIGHT, 3), kind_of(PULSE, 3, 7), kind_of(LEFT, 3)])
    batch = pa.record_batch(
        [kinds, pa.array([1, None, None, 2]), pa.array(["a", "b", None, None]), pa.array([None, 0.5, None, None])],
        names=["kind", "c0", "c1", "c2"],
    )
    assert shared.rows_of(batch, kinds, LEFT).to_pylist() == [{"0": 1, "1": "a"}, {"0": 2, "1": None}]
    assert shared.rows_of(batch, kinds, RIGHT).to_pylist() == [{"0": "b", "1": 0.5}]


NESTED = pa.array([[1], [2, 3], []])
MANY_TYPES = {
    "numbers": pa.array([1, 2, 3]),
    "texts": pa.array(["a", "", "ccc"]),
    "flags": pa.array([True, False, True]),
    "lists": NESTED,
    "structs": pa.array([{"x": 1}, {"x": 2}, {"x": None}]),
    "nothing": pa.nulls(3),
}


@pytest.mark.parametrize("kind", MANY_TYPES)
def test_a_column_weighs_the_same_whether_nulls_of_others_came_with_it_or_not(kind: str) -> None:
    """What a batch weighs decides what leaves memory, and so must not depend on how rows were cut and mixed."""
    column = MANY_TYPES[kind]
    plain = pa.table([column], ["0"])
    mixed = pa.concat_arrays([column, pa.nulls(2, column.type)])
    filtered = pa.table([mixed], ["0"]).filter(pa.array([True] * 3 + [False] * 2))
    target = pa.schema([("column", column.type)])
    one, other, cut = (as_one_batch([table], target) for table in (plain, filtered, plain.slice(0, 3)))
    assert one.equals(other)
    assert one.nbytes == other.nbytes == cut.nbytes
    parts = as_one_batch([plain.slice(0, 1), plain.slice(1)], target)
    assert parts.equals(one)
    assert parts.nbytes == one.nbytes


def test_nothing_at_all_is_an_empty_batch() -> None:
    target = pa.schema([("k", pa.int64()), ("v", pa.list_(pa.int32()))])
    empty = pa.table([pa.array([], pa.int64()), pa.array([], pa.list_(pa.int32()))], ["0", "1"])
    assert as_one_batch([empty, empty], target).num_rows == 0
    assert as_one_batch([empty], target).schema == target


def test_names_are_quoted_as_spark_wants_them() -> None:
    assert quoted("a.b `c`") == "`a.b ``c```"
