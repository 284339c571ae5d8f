"""A join in several partitions without Spark: readers place rows, the pacemaker gives pulses, steps go on."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from join_steps import PACKS, QUERY, Pairs, as_pairs, cut_and_shuffled, pairs_in, plan_of
from sooner.operators.two_way.plan import INPUTS, TwoWayPlan
from sooner.sides import LEFT, RIGHT, SIDES
from sooner.spark.dataflow.pacemaker import PulseReader
from sooner.spark.joins.meeting_places import placements
from sooner.spark.shuffle.hot_keys import Spreading
from sooner.spark.shuffle.packing import Packing
from sooner.spark.shuffle.row_kinds import MARK, PULSE, kind_of
from sooner.spark.shuffle.shared_columns import KIND, WORD, share_columns
from sooner.spark.step.plan import StepPlan
from sooner.spark.step.standing import JoinProgress, read_progress
from sooner.spark.step.state_directory import partition_directory
from sooner.spark.step.step import Attempt, run_step

UNION = pa.schema([(KIND, pa.int64()), ("c0", pa.binary()), (WORD, pa.string())])


def spread_plan(
    schemas: Sequence[pa.Schema], folder: Path, partitions: int, how: str, algorithm: str, memory_bytes: int
) -> StepPlan:
    plan = plan_of(*schemas, folder, algorithm=algorithm, memory_bytes=memory_bytes, how=how)
    return replace(
        plan,
        partitions=partitions,
        packed=tuple(schemas),
        shared=share_columns(PACKS, PACKS, words=True),
        spreads=(LEFT,) if how in ("semi", "anti") else SIDES,
    )


@dataclass
class PartitionedJoin:
    plan: StepPlan
    results: list[pa.RecordBatch] = field(default_factory=list)
    version: int = 0
    ended: int = 0  # a bit for each side, as notes would say it
    busiest: list[int] = field(default_factory=list)  # rows of the partition that gets most, in each batch

    def __post_init__(self) -> None:
        self._reader = PulseReader(self.plan.state, self.plan.partitions, INPUTS, spreads=self.plan.spreads)
        self._offset = self._reader.initialOffset()
        assert isinstance(self.plan.operator, TwoWayPlan)
        schemas = [schema for schema in self.plan.packed if schema is not None]
        self._placed = placements(self.plan.operator, schemas, self.plan.partitions)
        told_in = partition_directory(self.plan.state, 0)
        self._packings = [
            Packing(schema, tuple(schema.names), schema, self._placed[side], spreading=Spreading(told_in, side))
            for side, schema in enumerate(schemas)
        ]

    def batch(self, tables: Sequence[pa.Table], dice: np.random.Generator, attempts: int = 1) -> Pairs:
        """One batch, of which each partition makes so many attempts; results are those of the first."""
        _, self._offset = self._reader.read(self._offset)
        kinds, packs = self._placed_rows(tables)
        found: list[pa.RecordBatch] = []
        for place in range(self.plan.partitions):
            union = self._union(kinds, packs, place)
            for attempt in range(attempts):
                sent = [union] if attempts == 1 else cut_and_shuffled(union, int(dice.integers(2**31)))
                results = list(run_step(self.plan, Attempt(self.version, QUERY), iter(sent)))
                found += results if attempt == 0 else []
                assert attempt == 0 or np.array_equal(pairs_in(results), first), "another attempt gives other rows"
                first = pairs_in(results)
        self.version += 1
        self.results += found
        return pairs_in(found)

    def progress(self) -> JoinProgress:
        progress = read_progress(self.plan.state, self.plan.partitions)
        assert progress is not None
        return progress

    def _placed_rows(self, tables: Sequence[pa.Table]) -> tuple[list[int], list[bytes]]:
        kinds: list[int] = []
        packs: list[bytes] = []
        rows = np.zeros(self.plan.partitions, np.int64)
        for side, (packing, table) in enumerate(zip(self._packings, tables, strict=True)):
            places_of = packing.spreading.in_batch(self.version, self._placed[side])  # type: ignore[union-attr]
            for batch in table.combine_chunks().to_batches():
                if self._placed[side].keeps_keyless is False:
                    batch = packing._complete(batch)
                sent = packing._cut(places_of, batch)
                kinds += [kind_of(side, place) for place in sent.column(0).to_pylist()]
                packs += sent.column(1).to_pylist()
                for places in places_of(batch)[:1]:
                    rows += np.bincount(places, minlength=len(rows))
        self.busiest.append(int(rows.max()))
        return kinds, packs

    def _union(self, kinds: Sequence[int], packs: Sequence[bytes], place: int) -> pa.RecordBatch:
        ours = [at for at, kind in enumerate(kinds) if kind >> 8 & (2**24 - 1) == place]
        pulse = kind_of(PULSE, place, 0, self.ended)
        said = self._reader._row(self._offset, None)[2]
        columns = [
            [*(kinds[at] for at in ours), kind_of(MARK, place), pulse],
            [*(packs[at] for at in ours), None, None],
            [*(None for _ in ours), None, said],
        ]
        return pa.RecordBatch.from_arrays(
            [pa.array(c, f.type) for c, f in zip(columns, UNION, strict=True)], schema=UNION
        )

    def finish(self, dice: np.random.Generator) -> Pairs:
        """Both sides end; all that ever came out."""
        self.ended = 3
        nothing = [schema.empty_table() for schema in self.plan.packed if schema is not None]
        for _ in range(100):
            self.batch(nothing, dice)
            if self.progress().total.phase == "done":
                return pairs_in(self.results)
        raise AssertionError("the join does not come to its end")


def expected(left: pa.Table, right: pa.Table, how: str) -> Pairs:
    """By a dictionary of the right's keys."""
    rights: dict[Any, list[int]] = defaultdict(list)
    for key, number in zip(right["k"].to_pylist(), right["b"].to_pylist(), strict=True):
        if key is not None:
            rights[key].append(number)
    lefts = list(zip(left["k"].to_pylist(), left["a"].to_pylist(), strict=True))
    if how in ("semi", "anti"):
        alone = [number for key, number in lefts if (key in rights) is (how == "semi")]
        return np.sort(as_pairs(np.array(alone, np.int64), np.full(len(alone), -1)))
    return np.sort(np.fromiter(_rows_of(lefts, rights, right, how), np.int64))


def _rows_of(
    lefts: Sequence[tuple[Any, int]], rights: dict[Any, list[int]], right: pa.Table, how: str
) -> Iterator[int]:
    keys = {key for key, _ in lefts if key is not None}
    for key, number in lefts:
        others = rights.get(key, []) or ([-1] if how in ("left", "full") else [])
        yield from ((number + 1) << 32 | (other + 1) for other in others)
    if how in ("right", "full"):
        yield from (
            number + 1
            for key, number in zip(right["k"].to_pylist(), right["b"].to_pylist(), strict=True)
            if key not in keys
        )
