"""Keys with a large share of the rows: found, spread over all partitions, and each pair comes out once."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sooner.spark.dataflow.finding_hot_keys
from hot_steps import PartitionedJoin, expected, spread_plan
from sooner.how import KINDS
from sooner.named_algorithms import ALGORITHMS
from sooner.sides import LEFT, RIGHT

SCHEMAS = (
    pa.schema([("k", pa.int64()), ("a", pa.int64())]),
    pa.schema([("k", pa.int64()), ("b", pa.int64())]),
)


@pytest.fixture(autouse=True)
def few_rows_are_hot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sooner.spark.dataflow.finding_hot_keys, "LEAST_ROWS", 20)


def rows_of(side: int, rows: int, hot_share: float, hot_key: int, begin: int, dice: np.random.Generator) -> pa.Table:
    keys = np.where(dice.random(rows) < hot_share, hot_key, dice.integers(0, 300, rows))
    null = dice.random(rows) < 0.02
    columns = [pa.array(keys, pa.int64(), mask=null), pa.array(np.arange(begin, begin + rows))]
    return pa.Table.from_arrays(columns, schema=SCHEMAS[side])


def run_schedule(folder: Path, how: str, algorithm: str, seed: int, *, attempts: int = 1) -> PartitionedJoin:
    """Random rows in random batches; the side with the hot key, and which side ends first and when, by dice."""
    dice = np.random.default_rng(seed)
    heavy = LEFT if how in ("semi", "anti") else int(dice.integers(2))
    memory = 2**30 if algorithm == "symmetric_hash" else int(dice.choice([2**13, 2**14, 2**22]))
    join = PartitionedJoin(spread_plan(SCHEMAS, folder, 3, how, algorithm, memory))
    ends = dice.integers(2, 12, 2)
    shares, came = [0.02, 0.02], [[], []]
    shares[heavy] = 0.5
    for batch in range(9):
        tables = []
        for side in (LEFT, RIGHT):
            n_rows = int(dice.integers(20, 160)) if batch < ends[side] else 0
            begin = sum(map(len, came[side]))
            tables.append(rows_of(side, n_rows, shares[side], 7 if seed % 2 else 12_345, begin, dice))
            came[side].append(tables[side])
        join.batch(tables, dice, attempts)
        join.ended |= sum((batch + 1 >= ends[side]) << side for side in (LEFT, RIGHT))
    found = join.finish(dice)
    left, right = (pa.concat_tables(some) for some in came)
    assert np.array_equal(found, expected(left, right, how)), f"{how} {algorithm} seed {seed}"
    return join


@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_each_pair_comes_out_once(tmp_path: Path, how: str, seed: int) -> None:
    join = run_schedule(tmp_path, how, "rpj", seed)
    print(how, seed, join.progress().hot_keys, join.busiest)
