"""Estimates in steps: all partitions together say what one would, however often and in whatever order they run."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from estimate_steps import EstimateSteps, slices
from sooner.estimation.preparation import TAG
from sooner.estimation.tags import MOST_TAGS, tallied
from sooner.kernels.arrays import to_numpy
from sooner.spark.shuffle.packing import unpacked
from sooner.spark.shuffle.sampled import Sampled
from sooner.spark.step.estimates import read_estimate

IN_PIECES, TIGHT, PLENTY = 2**15, 2**17, 2**24
AGGREGATES = {
    "n": "count",
    "s": ("sum", "price * w"),
    "w": ("count", "w"),
    "a": ("avg", "w"),
    "d": ("stddev", "w + 1e15"),
}


def tables(seed: int, rows: int = 4000) -> tuple[pa.Table, pa.Table]:
    """Keys are texts, some of them null; so are some of the values."""
    dice = np.random.default_rng(seed)

    def some(values: list[object], often: int) -> list[object]:
        return [None if dice.integers(often) == 0 else value for value in values]

    def keys(n: int) -> list[object]:
        return some([f"key {number}" for number in (500 * dice.random(n) ** 2).astype(int)], 40)

    left = {
        "k": pa.array(keys(rows), pa.string()),
        "price": pa.array([Decimal(int(cents)) / 100 for cents in dice.integers(0, 10**7, rows)], pa.decimal128(12, 2)),
        "g": pa.array(some(list(dice.choice(["x", "y", "z"], rows)), 9), pa.string()),
    }
    few = rows // 4
    right = {
        "k": pa.array(keys(few), pa.string()),
        "w": pa.array(some(dice.integers(-5, 50, few).tolist(), 9), pa.int64()),
        "h": pa.array(dice.integers(0, 2, few), pa.int32()),
    }
    return pa.table(left), pa.table(right)


def expected(left: pa.Table, right: pa.Table) -> dict[tuple[object, ...], tuple[int, Decimal | None, int]]:
    """n, s and w of each group, where w > 0 is not false."""
    joined = left.join(right.filter(pa.compute.greater(right["w"], 0)), "k", join_type="inner")
    found: dict[tuple[object, ...], tuple[int, Decimal | None, int]] = {}
    for row in joined.to_pylist():
        n, total, n_w = found.get(key := (row["g"], row["h"]), (0, Decimal(0), 0))
        assert total is not None
        found[key] = n + 1, total + row["price"] * row["w"], n_w + 1
    return found


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("memory_bytes", "algorithm"), [(PLENTY, "pr_join"), (TIGHT, "pr_join"), (TIGHT, "grace")])
def test_attempts_in_any_order_say_the_same_and_the_end_is_exact(
    tmp_path: Path, memory_bytes: int, algorithm: str
) -> None:
    left, right = tables(1)
    steps = EstimateSteps(
        tmp_path, [left.schema, right.schema], AGGREGATES, ["g", "h"], "w > 0",
        memory_bytes=memory_bytes, partitions=3, algorithm=algorithm,
    )  # fmt: skip
    for number, rows in enumerate(zip(slices(left, 5), slices(right, 5), strict=True)):
        found = steps.step(rows)
        assert not found.exact
        assert found.rows == sum(len(slices(table, 5)[at]) for table in (left, right) for at in range(number + 1))
        steps.told = steps.attempts(number, rows, seed=number)
        again = steps.estimate
        assert [again["n"][key].value for key in again["n"]] == pytest.approx(
            [found["n"][key].value for key in again["n"]]
        )
        assert again.rows == found.rows
    found = steps.end()
    assert found.values.keys() == expected(left, right).keys()
    for key, (n, total, n_w) in expected(left, right).items():
        values = found.values[key]
        assert (values["n"].value, values["s"].value, values["w"].value) == (n, total, n_w)
    positive = left.join(right.filter(pa.compute.greater(right["w"], 0)), "k", join_type="inner")
    for row in (
        positive.group_by(["g", "h"]).aggregate([("w", "stddev", pa.compute.VarianceOptions(ddof=1))]).to_pylist()
    ):
        assert found.values[row["g"], row["h"]]["d"].value == pytest.approx(row["w_stddev"], rel=1e-12)
    assert read_estimate(steps.plan.state, 3, steps.wanted, 0.0) == found


def test_versions_say_what_the_steps_said(tmp_path: Path) -> None:
    left, right = tables(2)
    steps = EstimateSteps(
        tmp_path, [left.schema, right.schema], AGGREGATES, ["g"], memory_bytes=TIGHT, total_rows=(4000, 1000)
    )
    assert read_estimate(steps.plan.state, 2, steps.wanted, 0.0) is None
    for rows in zip(slices(left, 4), slices(right, 4), strict=True):
        found = steps.step(rows)
        assert read_estimate(steps.plan.state, 2, steps.wanted, 0.0) == found
    steps.attempts(steps.version, rows)  # the next batch is done in all partitions, and then lost in one
    (tmp_path / "state" / "partition-00001" / f"{steps.version:012}.json").unlink()
    assert read_estimate(steps.plan.state, 2, steps.wanted, 0.0) == found


@pytest.mark.one_in(3)
@pytest.mark.parametrize("memory_bytes", [PLENTY, TIGHT, IN_PIECES])
def test_intervals_hold_as_often_as_they_say(tmp_path: Path, memory_bytes: int) -> None:
    held, widths = [], []
    for seed in range(12):
        dice = np.random.default_rng(seed)
        left = pa.table({"k": dice.integers(0, 200, 3000), "v": dice.integers(0, 100, 3000)})
        right = pa.table({"k": dice.integers(0, 200, 1000)})
        folder = tmp_path / str(seed)
        folder.mkdir()
        steps = EstimateSteps(
            folder, [left.schema, right.schema], {"s": ("sum", "v")}, memory_bytes=memory_bytes, total_rows=(3000, 1000)
        )
        truth = sum(left.join(right, "k", join_type="inner")["v"].to_pylist())
        for rows in list(zip(slices(left, 6), slices(right, 6), strict=True))[:-1]:
            value = steps.step(rows)["s"]
            assert value.low is not None
            held.append(value.low <= truth <= value.high)
            widths.append((value.high - value.low) / truth)
    assert np.mean(held) > 0.85
    assert np.mean(np.reshape(widths, (-1, 5)), axis=0).argmin() == 4


def test_rows_of_a_block_have_one_tag_and_every_partition_knows_of_all(tmp_path: Path) -> None:
    """Of a source whose row groups come in random order, however many of them are in a batch."""
    left, right = tables(3)
    steps = EstimateSteps(tmp_path, [left.schema, right.schema], AGGREGATES, ["g"], partitions=2)
    made = steps.workings.sides[0]
    packing = replace(steps.packings[0], sampled=Sampled(made, "blocks", 2**30))
    blocks = [(number, iter([rows])) for number, rows in zip((3, MOST_TAGS + 8), slices(left, 2), strict=True)]
    packs = pa.Table.from_batches(packing.packed_blocks(iter(blocks)))
    for place in range(2):
        mine = packs.filter(pa.compute.equal(packs["place"], place))["pack"]
        tags = np.concatenate([to_numpy(rows.column(TAG)) for rows in unpacked(mine, made.schema)])
        assert set(tags[tags >= 0].tolist()) == {3, 8}
        assert {tag: count for tag, count in enumerate(tallied(tags).tolist()) if count} == {3: 2000, 8: 2000}


def test_very_many_groups_are_exact_in_the_end_and_nothing_is_said_before_if_rows_wait(tmp_path: Path) -> None:
    dice = np.random.default_rng(3)
    rows, keys = 30_000, 10_000
    left = pa.table({"k": dice.integers(0, keys, rows), "g": dice.integers(0, 10_000, rows), "v": np.arange(rows)})
    right = pa.table({"k": np.arange(keys), "w": dice.integers(0, 9, keys)})
    steps = EstimateSteps(
        tmp_path, [left.schema, right.schema], {"n": "count", "s": ("sum", "v * w")}, ["g"],
        memory_bytes=2**20, partitions=2, total_rows=(rows, keys),
    )  # fmt: skip
    said = [steps.step(some) for some in zip(slices(left, 3), slices(right, 3), strict=True)]
    assert said[-1].values == {}
    found = steps.end()
    joined = left.join(right, "k", join_type="inner")
    sums = pa.compute.multiply(joined["v"], joined["w"])
    wanted = joined.append_column("s", sums).group_by("g").aggregate([("s", "sum"), ("s", "count")]).to_pylist()
    assert {key: (one["n"].value, one["s"].value) for key, one in found.values.items()} == {
        (row["g"],): (row["s_count"], row["s_sum"]) for row in wanted
    }
