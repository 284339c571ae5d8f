"""Random schedules for steps of a Spark join, each from one number: what arrives when, and what must come out."""

import itertools
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from join_steps import Arriving, Pairs, as_pairs
from queries import nested_loop
from sooner.kernels.ranges import Near
from sooner.sides import LEFT, RIGHT, opposite
from sooner.spark.shuffle.row_kinds import SETTLING

SPECIAL_FLOATS = (float("nan"), 0.0, -0.0, float("inf"), 1.5)
KEYS: dict[str, tuple[Callable[[int], tuple[Any, ...]], list[pa.DataType], list[pa.DataType]]] = {
    "integers": (lambda n: (n,), [pa.int64()], [pa.int64()]),
    "int and long": (lambda n: (n - 3,), [pa.int32()], [pa.int64()]),
    "texts": (lambda n: ("Ü" * (n % 11) + str(n),), [pa.string()], [pa.string()]),
    "composite": (lambda n: (n % 5, f"{n}"), [pa.int64(), pa.string()], [pa.int32(), pa.string()]),
    "floats": (lambda n: (SPECIAL_FLOATS[n] if n < 5 else n / 4,), [pa.float64()], [pa.float32()]),
    "decimals": (lambda n: (Decimal(n) / 4,), [pa.decimal128(12, 2)], [pa.decimal128(20, 5)]),
}
# The first column may be so far apart, and the others must be equal.
RANGES: dict[str, tuple[float, float]] = {
    "integers": (-2, 2),
    "int and long": (1, 4),
    "composite": (-1, 1),
    "floats": (-0.25, 0.5),
    "decimals": (-0.5, -0.25),
}


@dataclass(frozen=True)
class StepSchedule:
    """Both sides in steps. Values are nested now and then, and null now and then."""

    kind: str
    steps: list[Arriving]
    memory_bytes: int
    near: Near | None = None

    @property
    def compared(self) -> list[str]:
        return [f"k{i}" for i in range(len(KEYS[self.kind][1]))]

    @property
    def keys(self) -> list[str]:
        """Those that must be equal."""
        return self.compared if self.near is None else self.compared[1:]

    @property
    def left(self) -> pa.Table:
        return pa.concat_tables([step.left for step in self.steps])

    @property
    def right(self) -> pa.Table:
        return pa.concat_tables([step.right for step in self.steps])

    def expected(self, how: str = "inner", ended: tuple[bool, bool] = (True, True)) -> Pairs:
        """Nested loops, by Spark's rules for keys; what matches nothing is certain when the other side has ended."""
        met = np.array(self._met(), np.int64).reshape(-1, 2)
        if how in ("semi", "anti"):
            matched = np.unique(met[:, LEFT])
            found = matched if how == "semi" else np.setdiff1d(self._certain(LEFT, ended), matched)
            return np.sort(as_pairs(found, np.full(len(found), -1)))
        found = [as_pairs(met[:, LEFT], met[:, RIGHT])]
        if how in ("left", "full"):
            alone = np.setdiff1d(self._certain(LEFT, ended), met[:, LEFT])
            found.append(as_pairs(alone, np.full(len(alone), -1)))
        if how in ("right", "full"):
            alone = np.setdiff1d(self._certain(RIGHT, ended), met[:, RIGHT])
            found.append(as_pairs(np.full(len(alone), -1), alone))
        return np.sort(np.concatenate(found))

    def _met(self) -> list[tuple[int, int]]:
        if self.near is None:
            return list(nested_loop(self.left, self.right, self.keys, self.keys))
        low, high = RANGES[self.kind]
        lefts, rights = (
            [[row[name] for name in self.compared] for row in table.to_pylist()] for table in (self.left, self.right)
        )
        return [
            (i, j)
            for (i, (a, *equal)), (j, (b, *other)) in itertools.product(enumerate(lefts), enumerate(rights))
            if None not in (a, b, *equal) and equal == other and low <= (0 if a == b else b - a) <= high
        ]

    def _certain(self, side: int, ended: tuple[bool, bool]) -> Pairs:
        """The numbers of rows of which it is certain whether they match: all, or those without a key."""
        rows = (self.left, self.right)[side].to_pylist()
        keyless = [None in [row[key] for key in self.compared] or self._is_near_nothing(row) for row in rows]
        return np.flatnonzero(np.array(keyless, np.bool_) | ended[opposite(side)])

    def _is_near_nothing(self, row: dict[str, Any]) -> bool:
        return self.near is not None and row[self.near.left] != row[self.near.left]

    def require_values(self, results: list[pa.RecordBatch]) -> None:
        """Each result has the values of the two rows that it names."""
        if not results:
            return
        joined = pa.Table.from_batches(results)
        for table, number in ((self.left, "a"), (self.right, "b")):
            if number not in joined.column_names:
                continue
            rows = table.take(joined.column(number))
            for name in table.column_names:
                if name not in self.compared:
                    assert joined.column(name).equals(rows.column(name)), name


def step_schedule(seed: int, *, ranged: bool = False) -> StepSchedule:
    dice = random.Random(seed)
    kind = dice.choice(list(RANGES if ranged else KEYS))
    domain = dice.choice([6, 60, 600])
    largest = dice.choice([40, 120, 300])
    nested = dice.random() < 0.4
    numbers = Counter[str]()

    def rows(side: int, n_rows: int, hot: bool) -> pa.Table:
        make, *types = KEYS[kind]
        made = [make(7 if hot and dice.random() < 0.8 else int(domain * dice.random() ** 2)) for _ in range(n_rows)]
        columns = {f"k{i}": keys_of([key[i] for key in made], type_) for i, type_ in enumerate(types[side])}
        name = "ab"[side]
        columns[name] = pa.array(range(numbers[name], numbers[name] + n_rows), pa.int64())
        numbers[name] += n_rows
        columns[f"note_{name}"] = pa.array([dice.choice([None, "x", "yy" * 9]) for _ in range(n_rows)], pa.string())
        if nested:
            some = [dice.choice([None, [], [1, None], [0.5]]) if dice.random() < 0.2 else [2.0] for _ in range(n_rows)]
            columns[f"list_{name}"] = pa.array(some, pa.list_(pa.float64()))
            columns[f"struct_{name}"] = pa.array(
                [{"x": i % 3, "y": None if dice.random() < 0.05 else "t"} for i in range(n_rows)],
                pa.struct([("x", pa.int32()), ("y", pa.string())]),
            )
        return pa.table(columns)

    def keys_of(values: list[Any], type_: pa.DataType) -> pa.Array:
        """One in thirty is null; what lies under a null is left to chance."""
        return pa.array(values, type_, mask=np.array([dice.random() < 1 / 30 for _ in values], np.bool_))

    def step() -> Arriving:
        if dice.random() < 0.2:
            return Arriving(rows(0, 0, False), rows(1, 0, False))
        hot = dice.random() < 0.15
        return Arriving(*(rows(side, dice.choice([0, 1, largest // 3, largest]), hot) for side in (0, 1)))

    steps = [step() for _ in range(dice.randrange(6, 13))]
    if dice.random() < 0.4:
        steps = with_one_side_ending_early(steps, dice.randrange(len(steps)), dice.randrange(2))
    steps = [settling_now_and_then(s, dice) for s in steps]
    near = Near("k0", "k0", RANGES[kind]) if ranged else None
    return StepSchedule(kind, steps, dice.choice([2**13, 2**14, 2**15]), near)


def settling_now_and_then(step: Arriving, dice: random.Random) -> Arriving:
    return replace(step, settling=dice.choice(SETTLING)) if dice.random() < 0.3 else step


def with_one_side_ending_early(steps: list[Arriving], last: int, side: int) -> list[Arriving]:
    """The side has no rows after the step `last`, which says that it has ended."""
    ended = (side == LEFT, side == RIGHT)
    early: list[Arriving] = []
    for number, step in enumerate(steps):
        if number > last:
            name = "left" if side == LEFT else "right"
            step = replace(step, **{name: getattr(step, name).slice(0, 0)})
        early.append(replace(step, ended=ended) if number >= last else step)
    return early
