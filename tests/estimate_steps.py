"""Steps of an estimate on Spark without Spark: rows in, what partitions say out, a state directory between them."""

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from join_steps import PACKS, QUERY, cut_and_shuffled
from sooner.asked.joins import equi_join
from sooner.estimation.estimate import Estimate
from sooner.estimation.question import question_of
from sooner.estimation.workings import Workings, workings_of
from sooner.operators.folding.plan import FoldingPlan, joined_columns
from sooner.operators.folding.together import Told, Wanted, estimated
from sooner.operators.two_way.plan import INPUTS
from sooner.sides import SIDES
from sooner.spark.joins.meeting_places import placements
from sooner.spark.shuffle.packing import PACK, PLACE, Packing
from sooner.spark.shuffle.row_kinds import MARK, PULSE, kind_of
from sooner.spark.shuffle.sampled import Sampled
from sooner.spark.shuffle.shared_columns import KIND, share_columns
from sooner.spark.step.estimates import told_row
from sooner.spark.step.plan import StepPlan
from sooner.spark.step.step import Attempt, run_step

Rows = Sequence[pa.RecordBatch]  # of both sides


@dataclass
class EstimateSteps:
    """An estimate of a join on `k`."""

    folder: Path
    schemas: Sequence[pa.Schema]
    aggregates: dict[str, Any]
    by: Sequence[str] = ()
    where: str | None = None
    memory_bytes: int = 2**22
    partitions: int = 2
    algorithm: str = "pr_join"
    total_rows: tuple[int | None, int | None] = (None, None)
    version: int = 0
    told: list[Told] = field(default_factory=list)

    def __post_init__(self) -> None:
        join = equi_join("k", None, None, None, self.algorithm)
        question = question_of(self.aggregates, list(self.by), self.where, join.output(self.schemas))
        keys = (join.left_on, join.right_on)
        self.workings: Workings = workings_of(question, self.schemas, keys, joined_columns(join, self.schemas))
        self.wanted = Wanted(self.workings, 0.95, self.total_rows)
        needed = [pa.schema([one.source.field(name) for name in one.needed]) for one in self.workings.sides]
        placed = placements(join, needed, self.partitions)
        self.packings = [
            Packing(needed[side], tuple(needed[side].names), needed[side], placed[side], None, sampled)
            for side, sampled in enumerate(Sampled(one, "rows", 2**30) for one in self.workings.sides)
        ]
        self.plan = StepPlan(
            operator=FoldingPlan(join.left_on, join.right_on, join.algorithm, self.workings),
            state=str(self.folder / "state"),
            inputs=INPUTS,
            columns=tuple(tuple(one.schema.names) for one in self.workings.sides),
            packed=tuple(one.schema for one in self.workings.sides),
            shared=share_columns(PACKS, PACKS),
            memory_bytes=self.memory_bytes,
            partitions=self.partitions,
            identity={"algorithm": self.algorithm},
            shared_memory=self.folder / "shared-memory",
            tells=told_row,
        )

    def step(self, rows: Rows, ended: bool = False) -> Estimate:
        """The next batch, in all partitions."""
        self.told = self.attempts(self.version, rows, ended)
        self.version += 1
        return self.estimate

    def end(self) -> Estimate:
        nothing = [schema.empty_table().combine_chunks() for schema in self.schemas]
        none = [pa.RecordBatch.from_pylist([], table.schema) for table in nothing]
        for _ in range(100):
            if (found := self.step(none, ended=True)).exact:
                return found
        raise AssertionError("the estimate does not come to its end")

    @property
    def estimate(self) -> Estimate:
        return estimated(self.wanted, self.told, 0.0)

    def attempts(self, version: int, rows: Rows, ended: bool = False, seed: int | None = None) -> list[Told]:
        """One in each partition; a seed delivers packs in another order."""
        packs = [pa.Table.from_batches(self.packings[side].packed(iter([rows[side]]))) if len(rows[side]) else None
                 for side in SIDES]  # fmt: skip
        found = []
        for place in range(self.partitions):
            [said] = run_step(self.plan, Attempt(version, QUERY), self._union(packs, place, ended, seed))
            found.append(json.loads(said.column(1)[0].as_py()))
        return found

    def _union(
        self, packs: Sequence[pa.Table | None], place: int, ended: bool, seed: int | None
    ) -> Iterator[pa.RecordBatch]:
        kinds = [kind_of(MARK, place), *([kind_of(PULSE, place, 0, 3)] if ended else [])]
        values: list[bytes | None] = [None] * len(kinds)
        for side, some in enumerate(packs):
            if some is not None:
                mine = some.column(PACK).filter(pa.compute.equal(some.column(PLACE), place)).to_pylist()
                kinds += [kind_of(side, place)] * len(mine)
                values += mine
        union = pa.RecordBatch.from_arrays([pa.array(kinds, pa.int64()), pa.array(values, pa.binary())], [KIND, "c0"])
        return iter([union] if seed is None else cut_and_shuffled(union, seed))


def slices(table: pa.Table, batches: int) -> list[pa.RecordBatch]:
    """Of about the same size."""
    [whole] = table.combine_chunks().to_batches()
    cuts = np.linspace(0, len(whole), batches + 1).astype(int).tolist()
    return [whole.slice(begin, end - begin) for begin, end in itertools.pairwise(cuts)]
