"""Rows counted by key and rows kept one by one, led through the same random schedule: they must tell the same."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sooner.kernels.counting import CountedArrays, CountedRows, KeyCounts
from sooner.operators.ledgers.open_pairs import JoinStatistics

PARTITIONS, KEYS, ROW_BYTES, DISK_ROW_BYTES = 3, 4, 10, 9
SHAPE = (2, PARTITIONS, KEYS)
OPEN = {  # what the loops change when rows leave, by its name in statistics
    "arrived_rows": "arrived",
    "spilled_rows": "spilled",
    "spilled_bytes": "spilled_bytes",
    "spilled_runs": "spilled_runs",
    "unmet_with_disk": "unmet_with_disk",
    "unmet_on_disk": "unmet_on_disk",
    "whole_rows": "whole_rows",
}


def arrays(*, ages: bool, regions: bool, shape: tuple[int, int, int] = SHAPE) -> CountedArrays:
    _, partitions, keys = shape
    by_place = ("arrived", "resident", "resident_bytes", "forgotten", "spilled", "spilled_bytes", "spilled_runs")
    return CountedArrays(
        KeyCounts.of_nothing(*shape),
        **{name: np.zeros(shape[:2], np.int64) for name in (*by_place, "met_disk")},
        joined=np.zeros(shape, np.bool_) if regions else None,
        joins=np.zeros(shape, np.int64) if regions else None,
        first_group=np.zeros(shape, np.int64) if ages else None,
        last_group=np.zeros(shape, np.int64) if ages else None,
        unmet_with_disk=np.zeros(shape[:2]),
        bounds=np.full((*shape[:2], 2), (1, 2), np.uint64) if regions else None,
        region_joins=np.zeros((*shape[:2], 3), np.int64) if regions else None,
        **{name: np.zeros(partitions) for name in ("compared", "matched", "selectivity", "unmet_on_disk")},
        whole_rows=np.zeros(partitions, np.int64),
        codes=np.tile(np.arange(keys, dtype=np.uint64), (partitions, 1)),
    )


def counted(known: CountedArrays) -> CountedRows:
    return CountedRows(known, ROW_BYTES, DISK_ROW_BYTES)


def as_in_statistics(known: CountedArrays) -> JoinStatistics:
    """What is open by the product's own numbers, which the compiled loops repeat."""
    statistics = JoinStatistics(PARTITIONS)
    for name, ours in OPEN.items():
        getattr(statistics, name)[...] = getattr(known, ours)
    return statistics


@dataclass
class Row:
    side: int
    key: int
    came: int
    left: int = 0  # 0: it is in memory
    met_disk: int = 0

    @property
    def place(self) -> tuple[int, int, int]:
        return self.side, self.key % PARTITIONS, self.key // PARTITIONS

    def meets(self, other: "Row") -> bool:
        return self.side != other.side and self.key == other.key

    def has_not_met(self, on_disk: "Row") -> bool:
        """Whether that row had left when this one came, and this one has not been shown the disk since then."""
        same = self.side != on_disk.side and self.place[1] == on_disk.place[1]
        return same and bool(on_disk.left) and self.met_disk < self.came and on_disk.left < self.came


class SpilledRun(NamedTuple):
    n_rows: int
    n_bytes: int


class RowByRow:
    """What `CountedRows` does, with every row kept."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def in_memory(self, side: int, p: int) -> list[Row]:
        return [row for row in self.rows if not row.left and row.place[:2] == (side, p)]

    def arrive(self, keys: list[np.ndarray], kept: np.ndarray, tick: int) -> int:
        results = 0
        for side in (0, 1):
            new = [Row(side, key, tick) for key in keys[side].tolist()]
            results += sum(row.meets(other) for row in new for other in self.rows if not other.left)
            self.rows += [row for row in new if kept[row.place[:2]]]
        return results

    def meet_disk(self, side: int, p: int, tick: int) -> int:
        rows = self.in_memory(side, p)
        results = sum(row.meets(one) and row.has_not_met(one) for row in rows for one in self.rows)
        for row in rows:
            row.met_disk = tick
        return results

    def leave(self, side: int, p: int, leaving: np.ndarray, tick: int) -> tuple[int, int, int]:
        going = []
        for key, rows in enumerate(leaving.tolist()):
            going += [row for row in self.in_memory(side, p) if row.place[2] == key][:rows]
        unmet = sum(row.has_not_met(one) for row in going for one in self.rows)
        for row in going:
            row.left = tick
        return len({row.key for row in going}), len(going), unmet


def follow(seed: int, *, ages: bool) -> None:
    """Let rows come, leave and meet the disk at random; what is counted is what every row tells."""
    rng = np.random.default_rng(seed)
    known, every = arrays(ages=ages, regions=False), RowByRow()
    rows = counted(known)
    for tick in range(1, 120):
        side, p = (int(rng.integers(most)) for most in SHAPE[:2])
        match rng.integers(4):
            case 0:
                expected = every.meet_disk(side, p, tick)
                assert rows.meet_disk(side, p) == expected
                known.met_disk[side, p] = tick
            case 1:
                memory = known.counts.memory[side, p]
                leaving = memory * rng.integers(0, 2, KEYS)
                if ages:  # else rows of a key leave together
                    some = rng.integers(0, memory + 1)
                    places = np.ravel_multi_index((side, p, np.arange(KEYS)), SHAPE)
                    leaving = np.array([rows.oldest(*one) if one[1] else 0 for one in zip(places, some, strict=True)])
                expected = every.leave(side, p, leaving, tick)
                told = np.zeros((5, KEYS), np.int64)
                statistics = as_in_statistics(known)
                [totals] = rows.leave(np.array([side * PARTITIONS + p]), leaving[None].astype(np.int64), told, 0)
                assert tuple(totals) == expected[:2]
                if expected[1]:
                    statistics.add_spilled(side, p, SpilledRun(expected[1], expected[1] * DISK_ROW_BYTES))
                    statistics.carry_over(side, p, expected[2])
                for name, ours in OPEN.items():
                    assert getattr(statistics, name).tolist() == getattr(known, ours).tolist()
                assert told[1, : expected[0]].tolist() == leaving[leaving > 0].tolist()
            case _:
                keys = [rng.integers(0, PARTITIONS * KEYS, rng.integers(6)).astype(np.int32) for _ in range(2)]
                kept = np.ones(SHAPE[:2], np.bool_)
                resident = known.resident.copy()
                came = np.array([np.bincount(some % PARTITIONS, minlength=PARTITIONS) for some in keys])
                expected = every.arrive(keys, kept, tick)
                compared = (came[0] * resident[1] + came[1] * (resident[0] + came[0])).sum()
                assert rows.arrive(*keys, kept, tick) == (expected, compared)
        for place in np.ndindex(2, PARTITIONS):
            assert known.resident[place] == len(every.in_memory(*place)) == known.counts.memory[place].sum()
            assert known.resident_bytes[place] == known.resident[place] * ROW_BYTES
