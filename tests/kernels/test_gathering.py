"""Gathering: what Arrow's own take gives, for all types, with and without nulls, of one batch or of several."""

import datetime
import decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from sooner.kernels.columns import Columns
from sooner.kernels.gathering import gather, gather_from, spread
from sooner.kernels.sorting import Places

TEXT = "one of each length, up to more than thirty-two bytes"
VALUES: dict[pa.DataType, list[object]] = {
    pa.int8(): [1, -2, 3],
    pa.uint16(): [1, 2, 65535],
    pa.int32(): [1, -2, 3],
    pa.float16(): [np.float16(1), np.float16(-0.0), np.float16(2.5)],
    pa.float64(): [1.5, float("inf"), -0.0],
    pa.bool_(): [True, False, True],
    pa.decimal128(38, 2): [decimal.Decimal("1.25"), decimal.Decimal("-3.50"), decimal.Decimal(0)],
    pa.decimal256(60, 0): [decimal.Decimal(1), decimal.Decimal(10**50), decimal.Decimal(-7)],
    pa.date32(): [datetime.date(2020, 1, 1), datetime.date(1900, 1, 1), datetime.date(2100, 1, 1)],
    pa.timestamp("us", "UTC"): [datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)] * 3,
    pa.month_day_nano_interval(): [pa.MonthDayNano([1, 2, 3]), pa.MonthDayNano([0, 0, 0]), pa.MonthDayNano([9, 9, 9])],
    pa.binary(3): [b"abc", b"\0\0\0", b"xyz"],
    pa.string(): [TEXT[:length] for length in range(len(TEXT))],
    pa.large_binary(): [TEXT[-length:].encode() for length in range(1, len(TEXT))],
    pa.null(): [None, None, None],
    pa.list_(pa.int64()): [[1], [], [2, 3]],
    pa.struct([("a", pa.string())]): [{"a": "x"}, {"a": None}, {"a": "z"}],
    pa.map_(pa.string(), pa.int64()): [[("a", 1)], [], [("b", 2)]],
}
N_ROWS = 3_000


def batch_of(seed: int, *, nulls: bool) -> pa.RecordBatch:
    """A slice of columns, so that none begins where its buffers do."""
    dice = np.random.default_rng(seed)
    columns = []
    for kind, values in VALUES.items():
        some = [values[i] for i in dice.integers(0, len(values), N_ROWS)]
        columns.append(pa.array([None if nulls and dice.random() < 0.3 else one for one in some], kind))
    return pa.record_batch(columns, [str(kind) for kind in VALUES]).slice(13)


@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("n_positions", [0, 1, 7, 500, 20_000])
def test_rows_of_one_batch(nulls: bool, n_positions: int) -> None:
    rows = batch_of(1, nulls=nulls)
    positions = np.random.default_rng(2).integers(0, rows.num_rows, n_positions)
    found = gather(rows, positions)
    found.validate(full=True)
    assert found == pc.take(rows, pa.array(positions)), "Arrow takes other rows"


@pytest.mark.parametrize("n_positions", [0, 7, 20_000])
def test_rows_of_several_batches_of_which_some_have_nulls(n_positions: int) -> None:
    parts = [batch_of(seed, nulls=seed == 2).slice(seed, 500 * seed) for seed in range(4)]
    positions = np.random.default_rng(2).integers(0, sum(part.num_rows for part in parts), n_positions)
    ends = np.cumsum([part.num_rows for part in parts])
    which = np.searchsorted(ends, positions, side="right").astype(np.int32)
    places = Places(positions - np.append(0, ends)[which], which)
    found = gather_from([Columns.of(part) for part in parts], places).rows
    found.validate(full=True)
    expected = pc.take(pa.Table.from_batches(parts), pa.array(positions)).combine_chunks()
    assert pa.Table.from_batches([found]).equals(expected), "Arrow takes other rows"


def test_a_column_without_nulls_left_has_no_bitmap() -> None:
    rows = pa.record_batch({"a": pa.array([1, None, 3])})
    assert gather(rows, np.array([0, 2])).column(0).buffers()[0] is None
    assert gather(rows, np.array([0, 1])).column(0).null_count == 1


def test_more_text_than_offsets_can_tell_is_refused() -> None:
    rows = pa.record_batch({"a": pa.array(["x" * 2**20])})
    with pytest.raises(pa.ArrowCapacityError, match="2 GB"):
        gather(rows, np.zeros(2**11, np.int64))


@pytest.mark.parametrize("type_", VALUES, ids=str)
@pytest.mark.parametrize("kind", [pa.int8(), pa.int32(), pa.uint16()])
@pytest.mark.parametrize("nulls", [False, True])
def test_the_values_of_a_dictionary_for_rows(type_: pa.DataType, kind: pa.DataType, nulls: bool) -> None:
    values = pa.array([VALUES[type_][0], *VALUES[type_]], type_)[1:]
    places = pa.array([2, None if nulls else 1, 0, 0, 1, 2, 2, 1, 0, 2], kind)[1:]
    assert spread(values, places).to_pylist() == values.take(places).to_pylist()
