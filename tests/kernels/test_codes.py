"""Codes of rows: a pure function of the key's values, uniform in their high bits, and the same forever."""

from __future__ import annotations

import itertools
import struct
import tracemalloc
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from pair_masks import keys_equal
from sooner.kernels.array_types import Codes
from sooner.kernels.codes import code_rows
from sooner.kernels.keys import common_type, plan_keys

SIGNED_TYPES = [
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float16(), pa.float32(), pa.float64()),
    *(pa.decimal32(5, 1), pa.decimal64(12, 2), pa.decimal128(30, 3), pa.decimal256(50, 4)),
]
UNSIGNED_TYPES = [pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
UNITS_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
SECONDS_PER_DAY = 86_400
WORD = 2**64 - 1

texts = st.lists(st.one_of(st.none(), st.text(max_size=40)), max_size=30)


def codes_of(array: pa.Array) -> Codes:
    return code_rows(pa.record_batch({"k": array}), ["k"], [common_type(array.type, array.type)])[0]


def validity_of(array: pa.Array) -> list[bool] | None:
    _, complete = code_rows(pa.record_batch({"k": array}), ["k"], [common_type(array.type, array.type)])
    return None if complete is None else complete.tolist()


def assert_same_keys(left: pa.Array, right: pa.Array) -> None:
    """Equal values must have equal codes, be found equal, and be complete on both sides or on neither."""
    left_batch, right_batch = pa.record_batch({"a": left}), pa.record_batch({"b": right})
    plan = plan_keys(left_batch.schema, right_batch.schema, ["a"], ["b"])
    left_codes, left_complete = code_rows(left_batch, plan.left, plan.types)
    right_codes, right_complete = code_rows(right_batch, plan.right, plan.types)
    present = left.is_valid().to_numpy(zero_copy_only=False)
    for complete in (left_complete, right_complete):
        assert (present if complete is None else complete).tolist() == present.tolist()
    assert left_codes[present].tolist() == right_codes[present].tolist()
    assert keys_equal(left_batch, right_batch, plan).tolist() == present.tolist()


def mixed(word: int) -> int:
    """The finaliser of splitmix64 on Python's integers."""
    word = (word + 0x9E3779B97F4A7C15) & WORD
    word = ((word ^ word >> 30) * 0xBF58476D1CE4E5B9) & WORD
    word = ((word ^ word >> 27) * 0x94D049BB133111EB) & WORD
    return word ^ word >> 31


def slow_code_of_bytes(value: bytes) -> int:
    """The definition in the module docstring, one row and one word at a time."""
    if len(value) > 256:
        return mixed(xxhash.xxh3_64_intdigest(value))
    state = len(value) * 0x9E3779B97F4A7C15 & WORD
    for start in range(0, len(value), 8):
        state = mixed(state) if start else state
        state ^= int.from_bytes(value[start : start + 8].rjust(8, b"\0"), "little")
    return mixed(state)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        *itertools.product(SIGNED_TYPES, SIGNED_TYPES),
        *itertools.product(UNSIGNED_TYPES, SIGNED_TYPES + UNSIGNED_TYPES),
    ],
    ids=str,
)
def test_equal_numbers_have_equal_codes_in_every_pair_of_types(left: pa.DataType, right: pa.DataType) -> None:
    lowest = 0 if left in UNSIGNED_TYPES or right in UNSIGNED_TYPES else -128
    numbers = [*range(lowest, 128), None]
    assert_same_keys(number_array(numbers, left), number_array(numbers, right))


def number_array(numbers: list[int | None], type_: pa.DataType) -> pa.Array:
    if pa.types.is_decimal(type_):
        return pa.array([None if number is None else Decimal(number) for number in numbers], type_)
    if type_ == pa.float16():
        return pa.array([None if number is None else np.float16(number) for number in numbers], type_)
    return pa.array(numbers, type_)


@given(st.lists(st.integers(0, 2**63 - 1)))
def test_large_integers_meet_across_signs_and_decimals(numbers: list[int]) -> None:
    signed, unsigned = pa.array(numbers, pa.int64()), pa.array(numbers, pa.uint64())
    decimals = pa.array(map(Decimal, numbers), pa.decimal128(38, 5))
    for left, right in itertools.combinations((signed, unsigned, decimals), 2):
        assert_same_keys(left, right)


@given(texts)
def test_text_has_one_code_in_every_type_and_encoding(values: list[str | None]) -> None:
    plain = pa.array(values, pa.string())
    for type_ in (pa.string(), pa.large_string(), pa.string_view()):
        for array in in_every_encoding(pa.array(values, type_)):
            assert_same_keys(plain, array)


@given(st.lists(st.one_of(st.none(), st.binary(min_size=11, max_size=11)), max_size=30))
def test_bytes_have_one_code_in_every_type_and_encoding(values: list[bytes | None]) -> None:
    plain = pa.array(values, pa.binary())
    for type_ in (pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(11)):
        for array in in_every_encoding(pa.array(values, type_)):
            assert_same_keys(plain, array)


def in_every_encoding(array: pa.Array) -> list[pa.Array]:
    """The array, encoded by dictionary, by run ends, by run ends over a dictionary, and as a slice of each."""
    rows = len(array)
    padded = pa.concat_arrays([array.slice(0, 2), array, array.slice(0, 1)])
    positions = pa.array(np.arange(len(padded), dtype=np.int32))
    dictionary = pa.DictionaryArray.from_arrays(positions, padded)
    run_ends = pa.array(np.arange(1, len(padded) + 1, dtype=np.int32))
    encoded = [
        padded,
        dictionary,
        pa.RunEndEncodedArray.from_arrays(run_ends, padded),
        pa.RunEndEncodedArray.from_arrays(run_ends, dictionary),
    ]
    return [array, *(whole.slice(min(rows, 2), rows) for whole in encoded)]


def test_runs_of_several_rows_are_spread_over_their_rows() -> None:
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([3, 4, 9], pa.int32()), pa.array(["x", None, "y"]))
    assert_same_keys(pa.array(["x", None, "y", "y"]), runs.slice(2, 4))


def test_a_null_in_the_dictionary_is_a_null_in_its_rows() -> None:
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 0], pa.int8()), pa.array(["x", None]))
    assert validity_of(array) == [True, False, False, True]
    assert_same_keys(pa.array(["x", None, None, "x"]), array)


def test_an_extension_type_has_the_codes_of_its_storage() -> None:
    values = [b"0123456789abcdef", None]
    assert_same_keys(pa.array(values, pa.uuid()), pa.array(values, pa.binary(16)))


@pytest.mark.parametrize("left", UNITS_PER_SECOND)
@pytest.mark.parametrize("right", UNITS_PER_SECOND)
def test_moments_and_durations_meet_in_every_pair_of_units(left: str, right: str) -> None:
    seconds = [-SECONDS_PER_DAY, -1, 0, 1, 1_700_000_000, None]

    def counted(type_: pa.DataType) -> pa.Array:
        return pa.array([None if s is None else s * UNITS_PER_SECOND[type_.unit] for s in seconds], type_)

    assert_same_keys(counted(pa.timestamp(left)), counted(pa.timestamp(right)))
    assert_same_keys(counted(pa.timestamp(left, "UTC")), counted(pa.timestamp(right, "America/Lima")))
    assert_same_keys(counted(pa.duration(left)), counted(pa.duration(right)))


@given(st.lists(st.one_of(st.none(), st.integers(-100_000, 100_000))))
def test_days_meet_in_dates_and_midnights(days: list[int | None]) -> None:
    dates = pa.array(days, pa.int32()).cast(pa.date32())
    midnights = [dates.cast(pa.timestamp(unit)) for unit in UNITS_PER_SECOND]
    for left, right in itertools.product((dates, dates.cast(pa.date64())), (dates.cast(pa.date64()), *midnights)):
        assert_same_keys(left, right)


def test_times_of_day_meet_in_every_pair_of_units() -> None:
    types = [pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")]
    arrays = [pa.array([s * UNITS_PER_SECOND[type_.unit] for s in (0, 1, 86_399)], type_) for type_ in types]
    for left, right in itertools.product(arrays, arrays):
        assert_same_keys(left, right)


def test_booleans_have_two_codes() -> None:
    array = pa.array([True, False, None, True, False])
    assert_same_keys(array.slice(1), pa.array([False, None, True, False]))
    codes = codes_of(array)
    assert codes[0] == codes[3] != codes[1] == codes[4]


@given(st.lists(st.floats(width=32)))
def test_floats_of_any_width_meet(values: list[float]) -> None:
    assert_same_keys(pa.array(values, pa.float32()), pa.array(values, pa.float64()))


def test_every_nan_has_one_code_and_both_zeros_have_one_code() -> None:
    quiet, negative, signalling = 0x7FF8000000000001, 0xFFF8000000000000, 0x7FF0000000000001
    zeros = [0x0000000000000000, 0x8000000000000000]
    patterns = b"".join(struct.pack("<Q", bits) for bits in (quiet, negative, signalling, *zeros))
    array = pa.Array.from_buffers(pa.float64(), 5, [None, pa.py_buffer(patterns)])
    codes = codes_of(array)
    assert len(set(codes[:3].tolist())) == 1
    assert codes[3] == codes[4] != codes[0]


@given(st.lists(st.binary(max_size=70), min_size=1), st.sampled_from([0, 1, 255, 256, 257, 5000]))
def test_bytes_are_hashed_as_the_slow_definition_says(values: list[bytes], long: int) -> None:
    values = [*values, b"\xff" * long, values[0]]
    assert codes_of(pa.array(values)).tolist() == [slow_code_of_bytes(value) for value in values]


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 12, 16, 255, 256, 257])
def test_strings_of_one_length_have_the_codes_that_they_have_among_others(length: int) -> None:
    values = [bytes([65 + row]) * length for row in range(20)]
    alone = codes_of(pa.array(values)).tolist()
    assert alone == codes_of(pa.array([*values, b"another length " * 3])).tolist()[:-1]
    assert alone == [slow_code_of_bytes(value) for value in values]


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_integers_are_hashed_by_the_mixer_alone(values: list[int]) -> None:
    assert codes_of(pa.array(values, pa.int64())).tolist() == [mixed(value & WORD) for value in values]


def test_decimals_use_all_their_words() -> None:
    for bits, type_ in ((128, pa.decimal128(38, 0)), (256, pa.decimal256(76, 0))):
        powers = [2**exponent for exponent in range(bits - 12)]
        values = [*powers, *(-power for power in powers)]
        assert len(set(codes_of(pa.array(map(Decimal, values), type_)).tolist())) == len(values)


def test_strings_that_differ_only_in_zeros_length_or_one_byte_differ_in_their_codes() -> None:
    zeros = [b"\0" * length for length in range(300)]
    one_byte = [b"x" * at + b"y" + b"x" * (299 - at) for at in range(300)]
    short = [b"x" * at + b"y" + b"x" * (63 - at) for at in range(64)]
    values = [*zeros, *one_byte, *short]
    assert len(set(codes_of(pa.array(values)).tolist())) == len(values)


def test_a_million_structured_strings_collide_no_more_than_chance_allows() -> None:
    digits = np.arange(1_000_000)
    separated = pa.array([f"{n // 1000:03d}-----{n % 1000:03d}" for n in digits.tolist()])
    assert len(np.unique(codes_of(separated))) == len(digits)


def test_several_columns_are_combined_in_order() -> None:
    batch = pa.record_batch({"a": [1, 2, 1], "b": [2, 1, 2], "s": ["ab", "a", "ab"], "t": ["c", "bc", "c"]})
    types = {"a": pa.int64(), "b": pa.int64(), "s": pa.string(), "t": pa.string()}
    for columns in (["a", "b"], ["s", "t"], ["a", "s"], ["s", "a"], ["a", "b", "s", "t"]):
        codes, complete = code_rows(batch, columns, [types[column] for column in columns])
        assert complete is None
        assert codes[0] == codes[2] != codes[1]
    forth = code_rows(batch, ["a", "b"], [pa.int64()] * 2)[0]
    back = code_rows(batch, ["b", "a"], [pa.int64()] * 2)[0]
    assert forth[0] == back[1] != back[0]


def test_every_one_of_many_columns_counts() -> None:
    names = ["a", "b", "c", "d"]
    rows = [[0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    batch = pa.record_batch([pa.array(column) for column in zip(*rows, strict=True)], names=names)
    assert len(set(code_rows(batch, names, [pa.int64()] * 4)[0].tolist())) == len(rows)


def test_a_null_in_any_column_makes_the_key_incomplete() -> None:
    batch = pa.record_batch({"a": [1, None, 3, None], "b": ["x", "y", None, None], "c": [1, 2, 3, 4]})
    _, complete = code_rows(batch, ["a", "b", "c"], [pa.int64(), pa.string(), pa.int64()])
    assert complete is not None
    assert complete.tolist() == [True, False, False, False]
    _, complete = code_rows(batch, ["c"], [pa.int64()])
    assert complete is None


ALL_KINDS_OF_TYPES = [
    *(SIGNED_TYPES + UNSIGNED_TYPES),
    *(pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view()),
    *(pa.binary(3), pa.bool_(), pa.date32(), pa.date64(), pa.timestamp("s"), pa.timestamp("ns", "UTC")),
    *(pa.time32("s"), pa.time64("ns"), pa.duration("ms"), pa.dictionary(pa.int8(), pa.string()), pa.null()),
    *(pa.run_end_encoded(pa.int32(), pa.string()), pa.uuid()),
]


@pytest.mark.parametrize("type_", ALL_KINDS_OF_TYPES, ids=str)
def test_columns_of_nulls_and_columns_without_rows_are_no_trouble(type_: pa.DataType) -> None:
    nulls = pa.nulls(5, type_)
    assert len(codes_of(nulls)) == 5
    assert validity_of(nulls) == [False] * 5
    assert validity_of(nulls.slice(2)) == [False] * 3
    assert len(codes_of(nulls.slice(5))) == 0
    assert len(codes_of(pa.array([], type_))) == 0


def test_a_null_column_is_incomplete_beside_any_type() -> None:
    batch = pa.record_batch({"n": pa.nulls(2)})
    for type_ in (pa.int64(), pa.string(), pa.decimal256(50, 2), pa.bool_(), pa.null()):
        _, complete = code_rows(batch, ["n"], [type_])
        assert complete is not None
        assert complete.tolist() == [False, False]


def test_empty_strings_need_no_bytes_in_the_data_buffer() -> None:
    offsets = pa.py_buffer(np.zeros(4, dtype=np.int32))
    array = pa.Array.from_buffers(pa.string(), 3, [None, offsets, pa.py_buffer(b"")])
    assert_same_keys(array, pa.array(["", "", ""]))


def test_a_moment_beyond_the_common_type_never_matches() -> None:
    batch = pa.record_batch({"t": pa.array([10**12, 1, None], pa.timestamp("s"))})
    codes, complete = code_rows(batch, ["t"], [pa.timestamp("ns")])
    assert complete is not None
    assert complete.tolist() == [False, True, False]
    assert codes[1] == codes_of(pa.array([10**9], pa.timestamp("ns")))[0]


def test_codes_do_not_depend_on_how_rows_are_cut_into_batches() -> None:
    rows = 50_000
    generator = np.random.default_rng(7)
    strings = [None if n == 0 else "s" * int(n) for n in generator.integers(0, 60, rows)]
    whole = pa.record_batch({"i": pa.array(np.arange(rows)), "s": strings})
    types = [pa.int64(), pa.string()]
    codes, complete = code_rows(whole, ["i", "s"], types)
    assert complete is not None
    for start, stop in ((0, 1), (3, 20_000), (16_383, 16_385), (49_999, 50_000)):
        part_codes, part_complete = code_rows(whole.slice(start, stop - start), ["i", "s"], types)
        known = complete[start:stop]
        assert np.array_equal(known if part_complete is None else part_complete, known)
        assert part_complete is not None or known.all()
        assert part_codes[known].tolist() == codes[start:stop][known].tolist()


@pytest.mark.parametrize(
    "type_",
    [
        *(pa.int64(), pa.int8(), pa.float64(), pa.date32(), pa.timestamp("s")),
        *(pa.decimal128(20, 0), pa.decimal256(50, 0), pa.string(), pa.large_string()),
    ],
    ids=str,
)
def test_a_slice_has_the_codes_of_its_rows(type_: pa.DataType) -> None:
    storage = pa.int32() if type_ == pa.date32() else pa.int64()
    array = pa.array(range(100), storage).cast(type_)
    assert codes_of(array.slice(37, 20)).tolist() == codes_of(array).tolist()[37:57]


def test_the_batch_itself_is_not_changed() -> None:
    batch = pa.record_batch({"i": [1, 2, 3], "f": [0.5, -0.0, float("inf")], "s": ["a", "b", "c"]})
    before = batch.to_pydict()
    code_rows(batch, ["i", "f", "s"], [pa.int64(), pa.float64(), pa.string()])
    assert batch.to_pydict() == before


@pytest.mark.parametrize("kind", ["integers", "multiples of 2**32", "short strings", "strings", "floats", "pairs"])
def test_sixteen_equal_ranges_of_codes_hold_equally_many_keys(kind: str) -> None:
    numbers = np.arange(200_000)
    columns = {
        "integers": [pa.array(numbers)],
        "multiples of 2**32": [pa.array(numbers << 32)],
        "short strings": [pa.array(numbers).cast(pa.string())],
        "strings": [pa.array([f"customer#{number:09d}" for number in numbers.tolist()])],
        "floats": [pa.array(numbers.astype(np.float64))],
        "pairs": [pa.array(numbers % 400), pa.array(numbers // 400).cast(pa.string())],
    }[kind]
    names = [f"c{position}" for position in range(len(columns))]
    batch = pa.record_batch(columns, names=names)
    codes, _ = code_rows(batch, names, [column.type for column in columns])
    for shift in (60, 30, 0):  # the high bits choose the partition; the others may not be worse
        counts = np.bincount(((codes >> np.uint64(shift)) & np.uint64(15)).astype(np.int64), minlength=16)
        assert np.all(np.abs(counts - 12_500) <= 625), counts


def test_one_giant_string_among_short_ones_takes_memory_for_its_bytes_only() -> None:
    giant_bytes = 8_000_000
    array = pa.array([*(["short"] * 20_000), "g" * giant_bytes, *(["also short"] * 20_000)])
    tracemalloc.start()
    try:
        codes = codes_of(array)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert codes[20_000] == slow_code_of_bytes(b"g" * giant_bytes)
    assert codes[0] == slow_code_of_bytes(b"short")
    assert peak_bytes < giant_bytes + 8_000_000


GOLDEN_CODES = [
    (pa.array([1]), 10451216379200822465),
    (pa.array([1.5]), 15481881892811333770),
    (pa.array([True]), 10451216379200822465),
    (pa.array([19_782], pa.int32()).cast(pa.date32()), 15820024857312553229),
    (pa.array([Decimal("-12.34")], pa.decimal128(10, 2)), 1849960986588686581),
    (pa.array([Decimal("-12.34")], pa.decimal256(50, 2)), 6996667803465163134),
    (pa.array([""]), 16294208416658607535),
    (pa.array(["a key of a few words"]), 13650035910503144235),
    (pa.array(["long" * 100]), 969967415910175977),
]


@pytest.mark.parametrize(("array", "code"), GOLDEN_CODES, ids=lambda value: str(getattr(value, "type", "")))
def test_codes_stay_what_they_were_when_state_was_written(array: pa.Array, code: int) -> None:
    assert codes_of(array).tolist() == [code]


def test_codes_of_two_columns_stay_what_they_were() -> None:
    batch = pa.record_batch({"i": [1], "s": ["a key of a few words"]})
    assert code_rows(batch, ["i", "s"], [pa.int64(), pa.string()])[0].tolist() == [2937538949621860064]
