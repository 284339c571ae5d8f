"""A join in several partitions without Spark: readers place rows, the pacemaker gives pulses, steps go on."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from join_steps import PACKS, QUERY, Pairs, as_pairs, cut_and_shuffled, pairs_in, plan_of, versions_of
from sooner.operators.two_way.plan import INPUTS, TwoWayPlan
from sooner.sides import LEFT, SIDES
from sooner.spark.dataflow.pacemaker import PulseReader
from sooner.spark.joins.meeting_places import placements
from sooner.spark.shuffle.hot_keys import HOT_KEYS, Spreading
from sooner.spark.shuffle.packing import Packing
from sooner.spark.shuffle.row_kinds import MARK, PULSE, kind_of, place_of
from sooner.spark.shuffle.shared_columns import KIND, WORD, share_columns
from sooner.spark.step.layout import partition_directory
from sooner.spark.step.plan import StepPlan
from sooner.spark.step.standing import JoinProgress, read_progress
from sooner.spark.step.step import Attempt, run_step

UNION = pa.schema([(KIND, pa.int64()), ("c0", pa.binary()), (WORD, pa.string())])
Sent = list[tuple[int, bytes]]  # kinds and packs


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
    ended: int = 0  # a bit for each side, as the pacemaker would say it
    most_spilled_rows: int = 0

    def __post_init__(self) -> None:
        self._reader = PulseReader(self.plan.state, self.plan.partitions, INPUTS, spreads=self.plan.spreads)
        self._offset = self._reader.initialOffset()
        assert isinstance(self.plan.operator, TwoWayPlan)
        self._schemas = [schema for schema in self.plan.packed if schema is not None]
        self._placed = placements(self.plan.operator, self._schemas, self.plan.partitions)

    def batch(self, tables: Sequence[pa.Table], dice: np.random.Generator, attempts: int = 1) -> Pairs:
        """One batch, of which each partition makes so many attempts, which must be equivalent."""
        pulses, self._offset = self._reader.read(self._offset)
        said = [words for _, _, words, *_ in pulses]
        sent = [one for side, table in enumerate(tables) for one in self._sent(side, table)]
        found: list[pa.RecordBatch] = []
        for place in range(self.plan.partitions):
            union = self._union(sent, said, place)
            results = self._attempt([union])
            first = self._meaning(place)
            found += results
            for _ in range(1, attempts):
                again = self._attempt(cut_and_shuffled(union, int(dice.integers(2**31))))
                assert np.array_equal(pairs_in(again), pairs_in(results)), "another attempt gives other rows"
                assert self._meaning(place) == first, "another attempt gives another state"
        self.version += 1
        self.results += found
        self.most_spilled_rows = max(self.most_spilled_rows, self.progress().total.spilled_rows)
        return pairs_in(found)

    def progress(self) -> JoinProgress:
        progress = read_progress(self.plan.state, self.plan.partitions)
        assert progress is not None
        return progress

    def finish(self, dice: np.random.Generator) -> Pairs:
        """Both sides end; all that ever came out."""
        self.ended = 3
        for _ in range(100):
            self.batch([schema.empty_table() for schema in self._schemas], dice)
            if self.progress().total.phase == "done":
                return pairs_in(self.results)
        raise AssertionError("the join does not come to its end")

    def _attempt(self, union: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
        return list(run_step(self.plan, Attempt(self.version, QUERY), iter(union)))

    def _meaning(self, place: int) -> tuple[Any, ...]:
        """What a version says of hot keys, without names of files."""
        said = versions_of(self.plan, place).load(self.version)[1][HOT_KEYS]
        handed_over = {key: sum(piece["n_rows"] for piece in pieces) for key, pieces in said["handed_over"].items()}
        return said["heavy"], said["hot"], handed_over

    def _sent(self, side: int, table: pa.Table) -> Sent:
        schema, placement = self._schemas[side], self._placed[side]
        packing = Packing(schema, tuple(schema.names), schema, placement)
        places_of = Spreading(partition_directory(self.plan.state, 0), side).in_batch(self.version, placement)
        sent: Sent = []
        for rows in table.combine_chunks().to_batches():
            complete = None if placement.keeps_keyless else placement.complete(rows)
            packs = packing.cut(places_of, rows if complete is None else rows.filter(pa.array(complete)))
            sent += [(kind_of(side, place.as_py()), pack.as_py()) for place, pack in zip(*packs.columns, strict=True)]
        return sent

    def _union(self, sent: Sent, said: Sequence[str], place: int) -> pa.RecordBatch:
        rows = [(kind, pack, None) for kind, pack in sent if place_of(kind) == place]
        pulse = [(kind_of(PULSE, place, 0, self.ended), None, words) for words in said or [None]]
        columns = zip(*rows, (kind_of(MARK, place), None, None), *pulse, strict=True)
        arrays = [pa.array(column, one.type) for column, one in zip(columns, UNION, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=UNION)


def expected(left: pa.Table, right: pa.Table, how: str) -> Pairs:
    """By a dictionary of the right's keys."""
    rights: dict[Any, list[int]] = defaultdict(list)
    for key, number in _keyed(right, "b"):
        if key is not None:
            rights[key].append(number)
    if how in ("semi", "anti"):
        alone = [number for key, number in _keyed(left, "a") if (key in rights) is (how == "semi")]
        return np.sort(as_pairs(np.array(alone, np.int64), np.full(len(alone), -1)))
    return np.sort(np.array([*_rows_of(left, right, rights, how)], np.int64).reshape(-1))


def _rows_of(left: pa.Table, right: pa.Table, rights: dict[Any, list[int]], how: str) -> Iterator[Any]:
    for key, number in _keyed(left, "a"):
        others = rights.get(key, []) or ([-1] if how in ("left", "full") else [])
        yield from (as_pairs(np.int64(number), np.int64(other)) for other in others)  # type: ignore[arg-type]
    if how in ("right", "full"):
        keys = {key for key, _ in _keyed(left, "a") if key is not None}
        yield from (
            as_pairs(np.int64(-1), np.int64(number))  # type: ignore[arg-type]
            for key, number in _keyed(right, "b")
            if key not in keys
        )


def _keyed(table: pa.Table, number: str) -> Iterator[tuple[Any, int]]:
    return zip(table.column("k").to_pylist(), table.column(number).to_pylist(), strict=True)
