"""Rows counted by key and rows kept one by one, led through the same random schedule: they must tell the same."""

from dataclasses import dataclass

import numpy as np

from sooner.kernels.counting import CountedArrays, CountedRows, KeyCounts

PARTITIONS, KEYS, ROW_BYTES = 3, 4, 10
SHAPE = (2, PARTITIONS, KEYS)


def arrays(*, ages: bool, regions: bool) -> CountedArrays:
    by_place = ("arrived", "resident", "resident_bytes", "forgotten", "spilled", "met_disk")
    return CountedArrays(
        KeyCounts.of_nothing(*SHAPE),
        **{name: np.zeros(SHAPE[:2], np.int64) for name in by_place},
        joined=np.zeros(SHAPE, np.bool_) if regions else None,
        joins=np.zeros(SHAPE, np.int64) if regions else None,
        first_group=np.zeros(SHAPE, np.int64) if ages else None,
        last_group=np.zeros(SHAPE, np.int64) if ages else None,
        unmet_with_disk=np.zeros(SHAPE[:2]),
        bounds=np.full((*SHAPE[:2], 2), (1, 2), np.uint64) if regions else None,
        region_joins=np.zeros((*SHAPE[:2], 3), np.int64) if regions else None,
        **{name: np.zeros(PARTITIONS) for name in ("compared", "matched", "selectivity")},
        codes=np.tile(np.arange(KEYS, dtype=np.uint64), (PARTITIONS, 1)),
    )


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
    rows = CountedRows(known, ROW_BYTES)
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
                [totals] = rows.leave(np.array([side * PARTITIONS + p]), leaving[None].astype(np.int64), told, 0)
                assert tuple(totals) == expected
                known.spilled[side, p] += expected[1]
                known.resident[side, p] -= expected[1]
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
