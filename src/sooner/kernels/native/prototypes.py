"""The prototypes of the compiled loops, as `kernels.c` has them: their arguments by name and type, and what they give.

They are declared, not defined, so that calls are type-checked; a test compares them with the C source. A loop that is
there for several types, such as `fold_integers_8` and `fold_integers_64`, has one prototype without the type.
"""

# mypy: disable-error-code=empty-body

import ctypes
from typing import Annotated, NewType, TypeAlias

Address = NewType("Address", int)  # 0 is nothing
Int32: TypeAlias = Annotated[int, ctypes.c_int32]
Int64: TypeAlias = Annotated[int, ctypes.c_int64]
UInt64: TypeAlias = Annotated[int, ctypes.c_uint64]


def mix_words(words: Address, n: Int64) -> None: ...


def fold_integers(words: Address, values: Address, n: Int64) -> None: ...


def fold_doubles(words: Address, values: Address, n: Int64) -> None: ...


def fold_strided(words: Address, values: Address, stride: Int64, n: Int64) -> None: ...


def fold_texts(words: Address, offsets: Address, data: Address, n: Int64, longest: Int64) -> Int64: ...


def add_places_of(codes: Address, values: Address, n: Int64, line: Address) -> None: ...


def near_enough(
    left: Address, at_left: Address, right: Address, at_right: Address, n: Int64, bounds: Address, near: Address
) -> None: ...


def xxh64_of_64_bits(hashes: Address, values: Address, n: Int64) -> None: ...


def xxh64_of_32_bits(hashes: Address, values: Address, n: Int64) -> None: ...


def xxh64_of_doubles(hashes: Address, values: Address, n: Int64) -> None: ...


def xxh64_of_texts(hashes: Address, offsets: Address, data: Address, n: Int64) -> None: ...


def sort_codes(
    codes: Address, wanted: Address, n: Int64, rows: Address, spare: Address, sorted_codes: Address, order: Address
) -> Int64: ...


def merge_codes(
    codes: Address,
    n_codes: Address,
    n_parts: Int32,
    n: Int64,
    begins: Address,
    rows: Address,
    spare: Address,
    merged_codes: Address,
    positions: Address,
    parts: Address,
) -> None: ...


def match(
    probes: Address,
    n_probes: Int64,
    codes: Address,
    n_codes: Int64,
    below: UInt64,
    above: UInt64,
    state: Address,
    at_probe: Address,
    at_code: Address,
    room: Int64,
) -> Int64: ...


def match_first(
    probes: Address,
    n_probes: Int64,
    codes: Address,
    n_codes: Int64,
    below: UInt64,
    above: UInt64,
    state: Address,
    at_probe: Address,
    at_code: Address,
    room: Int64,
) -> Int64: ...


def index_codes(codes: Address, n: Int64, base: UInt64, shift: Int32, bits: Int32, begins: Address) -> None: ...


def match_in_index(
    probes: Address,
    wanted: Address,
    n_probes: Int64,
    codes: Address,
    n_codes: Int64,
    begins: Address,
    base: UInt64,
    shift: Int32,
    bits: Int32,
    below: UInt64,
    above: UInt64,
    only_first: Int32,
    state: Address,
    at_probe: Address,
    at_code: Address,
    room: Int64,
) -> Int64: ...


def count_between(
    codes: Address,
    wanted: Address,
    n: Int64,
    bounds: Address,
    n_bounds: Int64,
    begins: Address,
    base: UInt64,
    shift: Int32,
    bits: Int32,
    counts: Address,
) -> None: ...


def keep_unmet(at_left: Address, at_right: Address, n: Int64, left: Address, right: Address) -> Int64: ...


def keep_beyond(
    at_left: Address,
    at_right: Address,
    n: Int64,
    left: Address,
    right: Address,
    left_horizon: Int64,
    right_horizon: Int64,
    until: Int64,
) -> Int64: ...


def gather_stamps(sources: Address, positions: Address, parts: Address, n: Int64, target: Address) -> None: ...


def keep_equal_bytes(
    at_left: Address, at_right: Address, n: Int64, left: Address, right: Address, width: Int64
) -> Int64: ...


def keep_equal_doubles(at_left: Address, at_right: Address, n: Int64, left: Address, right: Address) -> Int64: ...


def keep_equal_texts(
    at_left: Address,
    at_right: Address,
    n: Int64,
    left_offsets: Address,
    left: Address,
    right_offsets: Address,
    right: Address,
) -> Int64: ...


def concatenate(n_parts: Int32, sources: Address, sizes: Address, target: Address) -> None: ...


def plan_columns(
    n_columns: Int32,
    layouts: Address,
    n_parts: Int32,
    batches: Address,
    positions: Address,
    parts: Address,
    n: Int64,
    sources: Address,
    spans: Address,
) -> Int64: ...


def gather_columns(
    n_columns: Int32,
    layouts: Address,
    n_parts: Int32,
    batches: Address,
    positions: Address,
    parts: Address,
    n: Int64,
    sources: Address,
    all_spans: Address,
    room: Address,
    nulls: Address,
    table: Address,
) -> None: ...


def slice_columns(n_columns: Int32, batch: Address, begin: Int64, n: Int64, table: Address) -> None: ...


def choose_columns(n_columns: Int32, batches: Address, numbers: Address, table: Address) -> None: ...


def bytes_of_columns(n_columns: Int32, layouts: Address, batch: Address) -> Int64: ...


def weigh_texts(n_columns: Int32, layouts: Address, batch: Address, weights: Address) -> None: ...


def plan_blocks(
    n_columns: Int32,
    layouts: Address,
    batch: Address,
    n_blocks: Int64,
    cuts: Address,
    message: Address,
    places: Address,
) -> Int64: ...


def write_blocks(
    n_columns: Int32,
    layouts: Address,
    batch: Address,
    n_blocks: Int64,
    cuts: Address,
    message: Address,
    places: Address,
    room: Address,
) -> None: ...


def read_block(
    n_columns: Int32,
    layouts: Address,
    n_helpers: Int32,
    content: Address,
    size: Int64,
    message: Address,
    spans: Address,
    nulls: Address,
    table: Address,
) -> Int64: ...


def spread(values: Address, places: Address, n: Int64, found: Address) -> None: ...


def add_exact(sums: Address, others: Address, n: Int64) -> None: ...


def fold_pairs(sums: Address, left: Address, right: Address, at_left: Address, at_right: Address, n: Int64) -> None: ...


def fold_runs(
    sums: Address,
    left_factors: Address,
    right_factors: Address,
    lefts: Address,
    left_ages: Address,
    n_lefts: Int64,
    rights: Address,
    right_ages: Address,
    n_rights: Int64,
) -> Int64: ...


def fold_many(sums: Address, side: Int32, one: Address, others: Address, n_others: Int64) -> Int64: ...


def count_arrivals(
    join: Address,
    lefts: Address,
    n_lefts: Int64,
    rights: Address,
    n_rights: Int64,
    kept: Address,
    groups: Address,
    tick: Int64,
    compared: Address,
) -> Int64: ...


def count_meeting_disk(join: Address, side: Int64, p: Int64) -> Int64: ...


def count_leaving(
    join: Address,
    places: Address,
    n_places: Int64,
    leaving: Address,
    groups: Address,
    left: Address,
    columns: Int64,
    totals: Address,
) -> Int64: ...


def count_oldest(join: Address, groups: Address, place: Int64, wanted: Int64) -> Int64: ...


def count_in_order(
    join: Address,
    groups: Address,
    places: Address,
    wanted: Address,
    downwards: Address,
    n_places: Int64,
    leaving: Address,
) -> None: ...


def count_regions(join: Address, rows: Address) -> None: ...
