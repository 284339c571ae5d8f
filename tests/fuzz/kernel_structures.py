"""Loops whose arguments are structures of many pointers: they are called as the library calls them, with arrays that
lie between fences.
"""

import itertools
import math
from contextlib import suppress
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from fuzz.family import require
from fuzz.fences import Fences
from fuzz.tables import column
from fuzz.values import FLAT, NESTED, raw_values
from sooner.kernels.columns import OTHER, TEXTS, Columns, layout_of
from sooner.kernels.folding import ABSENT, Factors, Operand, Sums, integers, integers_of_moments
from sooner.kernels.gathering import gather_from
from sooner.kernels.messages import Messages
from sooner.kernels.sizes import bytes_of_rows
from sooner.kernels.sorting import Places

TAGS = 4

# Columns


def some_rows(dice: Random) -> list[Any]:
    """Batches of one schema, and places in them."""
    plain = [kind for kind in (*FLAT, *NESTED) if kind.encode is None]
    kinds = dice.sample(plain, dice.randrange(1, 6))
    batches = []
    for _ in range(dice.randrange(1, 4)):
        rows, before = dice.choice((0, 1, 7, 30)), dice.choice((0, 0, 3, 9))
        arrays = [column(dice, kind, rows + before, 20, dice.choice((0.0, 0.3))) for kind in kinds]
        names = [str(at) for at in range(len(kinds))]
        batches.append(pa.RecordBatch.from_arrays(arrays, names).slice(before))
    places = [(part, at) for part, batch in enumerate(batches) for at in range(batch.num_rows)]
    chosen = [dice.choice(places) for _ in range(dice.choice((0, 1, 8, 40)))] if places else []
    return [batches, chosen]


def gathered(arguments: list[Any], fences: Fences) -> None:
    batches, chosen = arguments
    fenced = [_fenced(batch, fences) for batch in batches]
    positions = fences.place(np.array([at for _, at in chosen], np.int64))[1]
    parts = fences.place(np.array([part for part, _ in chosen], np.int32))[1]
    places = Places(positions, parts)
    found = gather_from([Columns.of(batch) for batch in fenced], places).arrays
    known = [[raw_values(batch.column(c)) for batch in batches] for c in range(batches[0].num_columns)]
    for array, of_parts in zip(found, known, strict=True):
        array.validate(full=True)
        expected = [of_parts[part][at] for part, at in chosen]
        require(raw_values(array) == expected, f"{array.type}: {raw_values(array)} instead of {expected}")
    require(fences.are_whole(), "it wrote beside its arrays")


def some_plain_rows(dice: Random) -> list[Any]:
    """A batch of columns that loops know, where to cut it into blocks, and some of its columns in any order."""
    kinds = dice.sample([kind for kind in FLAT if kind.encode is None and layout_of(kind.type) != OTHER], 4)
    rows, before = dice.choice((1, 2, 9, 40)), dice.choice((0, 3, 9))
    arrays = [column(dice, kind, rows + before, 20, dice.choice((0.0, 0.3))) for kind in kinds]
    batch = pa.RecordBatch.from_arrays(arrays, [str(at) for at in range(len(kinds))]).slice(before)
    ends = sorted({rows, *(dice.randrange(1, rows + 1) for _ in range(3))})
    chosen = tuple(dice.sample(range(len(kinds)), dice.randrange(1, 5)))
    return [batch, list(zip([0, *ends], ends, strict=False)), chosen, dice.randrange(2**32)]


def columns_of_rows(arguments: list[Any], fences: Fences) -> None:
    """Slices and choices of columns, and what they weigh."""
    batch, cuts, chosen, _ = arguments
    fenced = Columns.of(_fenced(batch, fences))
    gathered = gather_from([fenced], Places(np.arange(batch.num_rows)))
    for columns in (fenced, gathered):
        for begin, end in cuts:
            part = columns.slice(begin, end)
            _require_rows(gather_from([part], Places(np.arange(end - begin))), batch.slice(begin, end - begin))
            _require_rows(part, batch.slice(begin, end - begin))
            require(part.n_bytes == part.rows.nbytes, f"{part.n_bytes} bytes, not {part.rows.nbytes}")
            weights = np.broadcast_to(bytes_of_rows(part), end - begin).tolist()
            require(weights == _weights(part.rows), f"rows weigh {weights}, not {_weights(part.rows)}")
        some = gather_from([columns.only(chosen)], Places(np.arange(batch.num_rows)))
        _require_rows(some, batch.select(chosen))
    require(fences.are_whole(), "it wrote beside its arrays")


def _require_rows(columns: Columns, expected: pa.RecordBatch) -> None:
    columns.rows.validate(full=True)
    for found, array in zip(columns.arrays, expected.columns, strict=True):
        require(raw_values(found) == raw_values(array), f"{raw_values(found)} instead of {raw_values(array)}")


def _weights(rows: pa.RecordBatch) -> list[int]:
    weights = [0] * rows.num_rows
    for array in rows.columns:
        if layout_of(array.type) == TEXTS:
            sizes = [4 + len(one.as_buffer() or b"") for one in array]
        else:
            sizes = [max(array.type.bit_width // 8, 1)] * len(array)
        weights = [one + other for one, other in zip(weights, sizes, strict=True)]
    return weights


def blocks_of_rows(arguments: list[Any], fences: Fences) -> None:
    """What is written is read by Arrow, and read here as Arrow wrote it; what is damaged is refused, or harmless."""
    batch, cuts, _, seed = arguments
    schema = pa.schema([("code", pa.uint64()), ("arrived", pa.int32()), *batch.schema])
    messages, numbers = Messages(schema, 2), np.arange(batch.num_rows)
    helpers = [fences.place(numbers.astype(dtype))[1] for dtype in (np.uint64, np.int32)]
    written = messages.write(helpers, Columns.of(_fenced(batch, fences)), np.array(cuts, np.int64))
    for content, (begin, end) in zip(written, cuts, strict=True):
        rows = pa.ipc.read_record_batch(content, schema)
        rows.validate(full=True)
        theirs = rows.serialize()
        for one in (content, theirs):
            array = fences.place(np.frombuffer(one, np.uint8))[1]
            found, columns = messages.read(memoryview(array))
            require([one.tolist() for one in found] == [list(range(begin, end))] * 2, "other helpers")
            _require_rows(columns, batch.slice(begin, end - begin))
        for array, expected in zip(rows.columns[2:], batch.slice(begin, end - begin).columns, strict=True):
            require(raw_values(array) == raw_values(expected), "Arrow reads other rows")
        damaged = np.frombuffer(content, np.uint8).copy()
        dice = Random(seed)
        for _ in range(3):
            damaged[dice.randrange(messages._header.content.size)] = dice.randrange(256)
        with suppress(pa.ArrowException, OSError, ValueError):
            messages.read(memoryview(fences.place(damaged)[1]))
    require(fences.are_whole(), "it wrote beside its arrays")


def _fenced(batch: pa.RecordBatch, fences: Fences) -> pa.RecordBatch:
    """The same rows, whose buffers end where pages do that nothing may touch."""
    columns = [
        one if pa.types.is_nested(one.type) or pa.types.is_null(one.type) else _copy(one, fences)
        for one in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _copy(array: pa.Array, fences: Fences) -> pa.Array:
    type_, end = array.type, array.offset + len(array)
    sizes = [-(-end // 8), *_sizes_of_values(array, end)]
    buffers = []
    for buffer, size in zip(array.buffers(), sizes, strict=True):
        if buffer is None:
            buffers.append(None)
            continue
        content = np.frombuffer(buffer, np.uint8)[:size]
        where, placed = fences.place(content)
        buffers.append(pa.foreign_buffer(where, len(content), base=placed))
    return pa.Array.from_buffers(type_, len(array), buffers, null_count=array.null_count, offset=array.offset)


def _sizes_of_values(array: pa.Array, end: int) -> list[int]:
    type_ = array.type
    if pa.types.is_boolean(type_):
        return [-(-end // 8)]
    if type_ in (pa.string(), pa.binary(), pa.large_string(), pa.large_binary()):
        width = 4 if type_ in (pa.string(), pa.binary()) else 8
        offsets = np.frombuffer(array.buffers()[1], np.int32 if width == 4 else np.int64)
        return [(end + 1) * width, int(offsets[end])]
    return [end * type_.bit_width // 8]


# Sums


def some_folds(dice: Random) -> list[Any]:
    """Rows of both sides: codes, tags, groups and factors; and more of the right."""
    groups = dice.choice((1, 3)), dice.choice((1, 2))
    n_wholes, n_reals = dice.randrange(3), dice.randrange(3)
    left = _some_side(dice, dice.choice((0, 1, 5, 80)), groups[0], n_wholes, n_reals)
    rights = [_some_side(dice, dice.choice((0, 1, 5, 80)), groups[1], n_wholes, n_reals) for _ in range(3)]
    return [groups, n_wholes, n_reals, left, rights]


def _some_side(dice: Random, rows: int, groups: int, n_wholes: int, n_reals: int) -> dict[str, Any]:
    most = dice.choice((10, 2**40, 2**54))
    keys = dice.choice((1, 3, 1000))
    return {
        "codes": np.sort(np.array([dice.randrange(keys) for _ in range(rows)], np.uint64)),
        "tags": np.array([dice.randrange(64) for _ in range(rows)], np.int32),
        "groups": None if groups == 1 else np.array([dice.randrange(groups) for _ in range(rows)], np.int32),
        "wholes": [_factor(dice, rows, most) for _ in range(n_wholes)],
        "reals": [_factor(dice, rows, None) for _ in range(n_reals)],
        "ages": None if dice.random() < 0.5 else np.array([dice.randrange(3) for _ in range(rows)], np.uint8),
    }


def _factor(dice: Random, rows: int, most: int | None) -> Any:
    if dice.random() < 0.3:
        return None
    if most is None:
        known = [math.nan, math.inf, -math.inf, ABSENT][: dice.choice((0, 0, 1, 4))] + [ABSENT] * dice.randrange(2)
        some = [float(dice.randrange(-50, 50)) for _ in range(rows)]  # whose sums are exact
        return np.array([dice.choice(known) if known and dice.random() < 0.1 else one for one in some], np.float64)
    return np.array([dice.randint(-most, most) for _ in range(rows)], np.int64)


def _operand(side: dict[str, Any], fences: Fences) -> tuple[Operand, Any]:
    def placed(array: Any) -> Any:
        return None if array is None else fences.place(array)[1]

    lists = [[placed(one) for one in side[name]] for name in ("wholes", "reals")]
    factors = Factors(placed(side["tags"]), placed(side["groups"]), *lists)
    return Operand(placed(side["codes"]), factors), placed(side["ages"])


def _check_sums(sums: Sums, arguments: list[Any], pairs: list[tuple[dict[str, Any], int, dict[str, Any], int]]) -> None:
    """Of all groups, sums and tags, against a loop over pairs in Python."""
    groups, n_wholes, n_reals, *_ = arguments
    expected: dict[Any, Any] = {}
    for left, i, right, j in pairs:
        cell = (
            0 if left["groups"] is None else int(left["groups"][i]),
            0 if right["groups"] is None else int(right["groups"][j]),
            int(left["tags"][i]) % TAGS,
            int(right["tags"][j]) % TAGS,
        )
        for name, n in (("wholes", n_wholes), ("reals", n_reals)):
            for k in range(n):
                a, b = (1 if f[k] is None else f[k][at].item() for f, at in ((left[name], i), (right[name], j)))
                if not (_is_absent(a) or _is_absent(b)):
                    expected[name, k, cell] = expected.get((name, k, cell), 0) + a * b
    for cell in itertools.product(range(groups[0]), range(groups[1]), range(TAGS), range(TAGS)):
        at = (cell[0], cell[1]), cell[2:]
        for k in range(n_wholes):
            found = int(integers(sums.wholes[(*at[0], k, *at[1])]))
            require(found == expected.get(("wholes", k, cell), 0), f"sum {k} of {cell} is {found}")
        for k in range(n_reals):
            real = sums.reals[(*at[0], k, *at[1])]
            wanted = expected.get(("reals", k, cell), 0)
            same = real == wanted or (math.isnan(real) and math.isnan(wanted))
            require(same, f"sum {k} of reals of {cell} is {real}, not {wanted}")


def _is_absent(factor: int | float) -> bool:
    return isinstance(factor, float) and np.float64(factor).tobytes() == ABSENT.tobytes()


def _room(arguments: list[Any]) -> Sums:
    groups, n_wholes, n_reals, *_ = arguments
    return Sums(n_wholes, n_reals, TAGS, groups)


def _equal(left: dict[str, Any], right: dict[str, Any], *, aged: bool) -> list[Any]:
    pairs = []
    for i, j in itertools.product(range(len(left["codes"])), range(len(right["codes"]))):
        ages = [0 if not aged or side["ages"] is None else side["ages"][at] for side, at in ((left, i), (right, j))]
        if left["codes"][i] == right["codes"][j] and 2 not in ages and 0 in ages:
            pairs.append((left, i, right, j))
    return pairs


def fold_runs(arguments: list[Any], fences: Fences) -> None:
    *_, left, rights = arguments
    sums = _room(arguments)
    (lefts, left_ages), (others, right_ages) = _operand(left, fences), _operand(rights[0], fences)
    sums.fold_runs(lefts, others, (left_ages, right_ages))
    _check_sums(sums, arguments, _equal(left, rights[0], aged=True))


def fold_many(arguments: list[Any], fences: Fences) -> None:
    *_, left, rights = arguments
    sums = _room(arguments)
    others = [_operand(right, fences)[0] for right in rights]
    sums.fold_many(0, _operand(left, fences)[0], others)
    _check_sums(sums, arguments, [pair for right in rights for pair in _equal(left, right, aged=False)])


def fold_pairs(arguments: list[Any], fences: Fences) -> None:
    *_, left, rights = arguments
    sums = _room(arguments)
    pairs = _equal(left, rights[0], aged=False)
    where = [fences.place(np.array([pair[at] for pair in pairs], np.int64))[1] for at in (1, 3)]
    sums.fold_pairs(_operand(left, fences)[0].factors, _operand(rights[0], fences)[0].factors, where[0], where[1])
    _check_sums(sums, arguments, pairs)


# Moments


def some_numbers(dice: Random) -> list[Any]:
    """Two lots of numbers, whole or not, of any size."""
    whole = dice.random() < 0.5
    ends: tuple[Any, ...] = (2**63 - 1, -(2**63), 0, 1) if whole else (5e-324, -1.7e308, 1e-30, 1e200, -0.0, 3.5)
    lots = [[dice.choice(ends) for _ in range(dice.choice((0, 1, 9, 40)))] for _ in range(2)]
    return [np.array(lot, np.int64 if whole else np.float64) for lot in lots]


def add_exact(arguments: list[Any], fences: Fences) -> None:
    """Moments that were made apart, and then added: sums of numbers and of their squares."""
    lots = []
    for numbers in arguments:
        sums, rows = Sums(0, 0, 1, n_moments=1), len(numbers)
        tags = fences.place(np.zeros(rows, np.int32))[1]
        left, right = Factors(tags, None, [], [], [fences.place(numbers)[1]]), Factors(tags, None, [], [], [None])
        sums.fold_pairs(left, right, None, None)
        lots.append(sums)
    lots[0].add(lots[1])
    found = integers_of_moments(lots[0].moments)
    assert found is not None
    exact = [Fraction(number.item()) for numbers in arguments for number in numbers]
    unit, is_whole = Fraction(2) ** (64 * found[2]), arguments[0].dtype == np.int64
    for power, sums_found in ((1, found[0].sum() * unit), (2, found[1].sum() * unit**2)):
        lost = abs(sum(one**power for one in exact) - sums_found)
        allowed = 0 if is_whole else sum(abs(one**power) for one in exact) / 2**100  # beside far larger ones
        require(lost <= allowed, f"the sum of powers of {power} is wrong")
