"""Which columns a join gives, what they are called, and how many rows come at once."""

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from joins import new_join, rows
from schedules import SCHEMA
from sooner.errors import InvalidJoin
from sooner.kernels.keys import plan_keys
from sooner.operators.pairs import PAIRS_AT_ONCE, PAIRS_BYTES
from sooner.operators.two_way.output import plan_output
from sooner.sides import LEFT, RIGHT, SIDES

ORDERS = pa.schema([("id", pa.int64()), ("customer", pa.int32()), ("note", pa.string())])
CUSTOMERS = pa.schema([("id", pa.int64()), ("name", pa.string()), ("note", pa.string())])


def names(
    left: pa.Schema, right: pa.Schema, left_on: list[str], right_on: list[str], suffixes: tuple[str, str] = ("_l", "_r")
) -> list[str]:
    return plan_output(left, right, plan_keys(left, right, left_on, right_on), suffixes).schema.names


def test_a_key_of_one_name_comes_once_and_other_shared_names_get_suffixes() -> None:
    assert names(ORDERS, CUSTOMERS, ["id"], ["id"]) == ["id", "customer", "note_l", "name", "note_r"]


def test_keys_of_different_names_both_come() -> None:
    found = names(ORDERS, CUSTOMERS, ["customer"], ["id"])
    assert found == ["id_l", "customer", "note_l", "id_r", "name", "note_r"]


def test_types_are_those_of_the_inputs_and_the_shared_key_is_the_lefts() -> None:
    left, right = (
        pa.schema([("k", pa.int32()), ("a", pa.float32())]),
        pa.schema([("k", pa.int64()), ("b", pa.date32())]),
    )
    plan = plan_output(left, right, plan_keys(left, right, ["k"], ["k"]), ("_l", "_r"))
    assert plan.schema.types == [pa.int32(), pa.float32(), pa.date32()]


def test_suffixes_that_make_two_columns_of_one_name_are_refused() -> None:
    with pytest.raises(InvalidJoin, match="several columns named 'note'"):
        names(ORDERS, CUSTOMERS, ["id"], ["id"], suffixes=("", ""))


def test_a_suffix_that_meets_another_column_is_refused() -> None:
    left = pa.schema([("k", pa.int64()), ("a", pa.int64()), ("a_l", pa.int64())])
    right = pa.schema([("k", pa.int64()), ("a", pa.int64())])
    with pytest.raises(InvalidJoin, match="'a_l'"):
        names(left, right, ["k"], ["k"])


@pytest.mark.parametrize("many", [LEFT, RIGHT])
def test_a_row_with_a_million_matches_gives_batches_of_bounded_size(tmp_path: Path, many: int) -> None:
    one = pa.record_batch([pa.array([7]), pa.array([0])], schema=SCHEMA)
    million = pa.record_batch([pa.repeat(7, 10**6), pa.array(range(10**6))], schema=SCHEMA)
    join = new_join(tmp_path, result_of=lambda bundle: sum(map(len, bundle)), budget_bytes=2**30)
    left, right = (million, one) if many == LEFT else (one, million)
    sizes = list(join.arrive([[left], [right]], 0.0))
    assert sum(sizes) == 10**6
    assert max(sizes) <= PAIRS_AT_ONCE


def test_few_pairs_of_several_runs_and_partitions_make_one_batch(tmp_path: Path) -> None:
    plan = plan_output(SCHEMA, SCHEMA, plan_keys(SCHEMA, SCHEMA, ["key"], ["key"]), ("_l", "_r"))
    join = new_join(tmp_path, result_of=lambda bundle: (len(bundle), plan.batch(bundle)), partitions=4)
    dice = np.random.default_rng(5)
    found: Counter[tuple[int, ...]] = Counter()
    arrived: tuple[list[tuple[int, int]], ...] = ([], [])
    for step in range(6):
        numbers = range(step * 40, step * 40 + 40)
        drawn = [list(zip(dice.integers(0, 50, 40).tolist(), numbers, strict=True)) for _ in SIDES]
        [(n_parts, batch)] = join.arrive([[rows(*zip(*some, strict=True))] for some in drawn], float(step))
        assert n_parts >= 4, "it was found in several pieces"
        found.update(zip(*(column.to_pylist() for column in batch.columns), strict=True))
        for side in SIDES:
            arrived[side].extend(drawn[side])
    assert found == Counter((key, a, b) for key, a in arrived[LEFT] for other, b in arrived[RIGHT] if key == other)


def test_a_bundle_has_no_more_pairs_and_bytes_than_a_batch_may(tmp_path: Path) -> None:
    heavy = pa.schema([("key", pa.int64()), ("text", pa.string())])
    batch = pa.record_batch([pa.array(range(600)), pa.array(["x" * 5_000] * 600)], schema=heavy)
    sizes = []
    join = new_join(
        tmp_path,
        partitions=8,
        schema=heavy,
        budget_bytes=2**30,
        result_of=lambda bundle: sizes.append((len(bundle), sum(pairs.n_bytes for pairs in bundle))),
    )
    list(join.arrive([[batch], [batch]], 0.0))
    assert sum(n_bytes for _, n_bytes in sizes) > 600 * 2 * 5_000
    assert max(n_bytes for _, n_bytes in sizes) <= PAIRS_BYTES
    assert max(n_parts for n_parts, _ in sizes) > 1
