"""The compiled loops that there are: for each, random arguments, and the same in plain Python.

Arguments are arrays, numbers and `Words`. The letters of `kinds` are `n` for a number, `s` for a short and `u` for an
unsigned one, `r` for an array that is read and `w` for one that is written.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from fuzz.code_kernels import (
    add_places,
    add_places_of_doubles,
    fold_strided,
    fold_texts,
    folded,
    make_fold,
    make_near,
    make_near_doubles,
    make_places,
    make_places_of_doubles,
    make_strided,
    make_texts,
    mix_words,
    near,
    near_doubles,
    word_of_double,
    xxh64,
    xxh64_of_texts,
)
from fuzz.counting_kernels import (
    IN_SCHEDULES,
    a_schedule,
    counted,
    in_order,
    regions,
    some_leaving,
    some_regions,
)
from fuzz.fences import Fences
from fuzz.kernel_arguments import WORD, codes, doubles, integers, size, wide, wides
from fuzz.kernel_structures import (
    add_exact,
    blocks_of_rows,
    columns_of_rows,
    fold_many,
    fold_pairs,
    fold_runs,
    gathered,
    some_folds,
    some_numbers,
    some_plain_rows,
    some_rows,
)
from fuzz.row_kernels import (
    bytes_are_equal,
    concatenate,
    count_between,
    gather_stamps,
    index_codes,
    is_beyond,
    is_unmet,
    kept,
    make_concatenation,
    make_count_between,
    make_equal,
    make_equal_doubles,
    make_equal_texts,
    make_index,
    make_match,
    make_match_in_index,
    make_merge,
    make_sort,
    make_spread,
    make_stamps,
    make_unmet,
    match,
    match_in_index,
    merge_codes,
    only_first,
    sort_codes,
    spread,
    texts_are_equal,
)


@dataclass(frozen=True)
class Kernel:
    kinds: str
    make: Callable[[Random], list[Any]]
    reference: Callable[..., Any] = lambda *_: None
    in_pieces: bool = False  # pairs, as many at once as there is room for
    scratch: tuple[int, ...] = ()  # arrays that are written, of which nobody asks what is in them
    only_first: Callable[[int], int] | None = None  # how much of each array says something
    by_itself: Callable[[list[Any], Fences], None] | None = None  # where arguments are structures of pointers


def _plain(value: Any) -> int:
    return int(value)


def _at(values: Any, at: int) -> int:
    return int(values[at])


def _kept_only(found: int) -> int:
    return found


_INTEGERS = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}
_SPREAD = {8: np.uint8, 32: np.uint32, 64: np.uint64}
_VALUES = {"integers": (lambda dice, n: integers(dice, n, np.int64), _at), "decimals": (wides, wide),
           "naturals": (lambda dice, n: integers(dice, n, np.uint64), _at)}  # fmt: skip

KERNELS: dict[str, Kernel] = {
    "mix_words": Kernel("wn", lambda dice: [(some := codes(dice, size(dice))), len(some)], mix_words),
    **{
        f"fold_integers_{bits}": Kernel(
            "wrn",
            make_fold(lambda dice, n, type_=type_: integers(dice, n, type_)),  # type: ignore[misc]
            folded(lambda value: int(value) % WORD),
        )
        for bits, type_ in _INTEGERS.items()
    },
    "fold_doubles": Kernel("wrn", make_fold(doubles), folded(word_of_double)),
    "fold_strided": Kernel("wrnn", make_strided, fold_strided),
    **{f"fold_texts_{bits}": Kernel("wrrnn", make_texts(bits, 40), fold_texts) for bits in (32, 64)},
    **{f"xxh64_of_texts_{bits}": Kernel("wrrn", make_texts(bits), xxh64_of_texts) for bits in (32, 64)},
    "xxh64_of_64_bits": Kernel("wrn", make_fold(codes), xxh64("<Q", _plain)),
    "xxh64_of_32_bits": Kernel("wrn", make_fold(lambda d, n: integers(d, n, np.uint32)), xxh64("<I", _plain)),
    "xxh64_of_doubles": Kernel("wrn", make_fold(doubles), xxh64("<Q", word_of_double)),
    **{
        f"add_places_of_{name}": Kernel("wrnr", make_places(make), add_places(at))
        for name, (make, at) in _VALUES.items()
    },
    "add_places_of_doubles": Kernel("wrnr", make_places_of_doubles, add_places_of_doubles),
    **{
        f"near_enough_{name}": Kernel("rrrrnrw", make_near(make, 2 if name == "decimals" else 1), near(at))
        for name, (make, at) in _VALUES.items()
    },
    "near_enough_doubles": Kernel("rrrrnrw", make_near_doubles, near_doubles),
    "sort_codes": Kernel("rrnwwww", make_sort, sort_codes, scratch=(0, 1)),
    "merge_codes": Kernel("rrsnwwwwww", make_merge, merge_codes, scratch=(0, 1, 2)),
    "match": Kernel("rnrnuuwwwn", make_match, match, in_pieces=True),
    "match_first": Kernel("rnrnuuwwwn", make_match, lambda *a: only_first(match(*a)), in_pieces=True),
    "index_codes": Kernel("rnussw", make_index, index_codes),
    "match_in_index": Kernel("rrnrnrussuuswwwn", make_match_in_index, match_in_index, in_pieces=True),
    "count_between": Kernel("rrnrnrussw", make_count_between, count_between),
    "keep_unmet": Kernel("wwnrr", make_unmet(3, 0), kept(is_unmet), only_first=_kept_only),
    "keep_beyond": Kernel("wwnrrnnn", make_unmet(1, 3), kept(is_beyond), only_first=_kept_only),
    "gather_stamps": Kernel("rrrnw", make_stamps, gather_stamps),
    "keep_equal_bytes": Kernel(
        "wwnrrn", lambda dice: make_equal(dice.choice((8, 16, 32)))(dice), kept(bytes_are_equal),
        only_first=_kept_only,
    ),
    "keep_equal_doubles": Kernel(
        "wwnrr", make_equal_doubles, kept(lambda i, j, a, b: word_of_double(a[i]) == word_of_double(b[j])),
        only_first=_kept_only,
    ),
    **{
        f"keep_equal_texts_{bits}": Kernel(
            "wwnrrrr", make_equal_texts(bits), kept(texts_are_equal), only_first=_kept_only
        )
        for bits in (32, 64)
    },
    "concatenate": Kernel("srrw", make_concatenation, concatenate),
    **{f"spread_{bits}": Kernel("rrnw", make_spread(type_), spread) for bits, type_ in _SPREAD.items()},
    "plan_columns": Kernel("", some_rows, by_itself=gathered),
    "gather_columns": Kernel("", some_rows, by_itself=gathered),
    **{
        name: Kernel("", some_plain_rows, by_itself=columns_of_rows)
        for name in ("slice_columns", "choose_columns", "bytes_of_columns", "weigh_texts")
    },
    **{
        name: Kernel("", some_plain_rows, by_itself=blocks_of_rows)
        for name in ("plan_blocks", "write_blocks", "read_block")
    },
    "add_exact": Kernel("", some_numbers, by_itself=add_exact),
    "fold_pairs": Kernel("", some_folds, by_itself=fold_pairs),
    "fold_runs": Kernel("", some_folds, by_itself=fold_runs),
    "fold_many": Kernel("", some_folds, by_itself=fold_many),
    "count_in_order": Kernel("", some_leaving, by_itself=in_order),
    "count_regions": Kernel("", some_regions, by_itself=regions),
    **{f"count_{what}": Kernel("", a_schedule, by_itself=counted) for what in IN_SCHEDULES},
}  # fmt: skip
