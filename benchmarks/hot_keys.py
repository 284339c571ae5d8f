"""A key with half of the rows of one side, beside keys that all have as many: process time over four workers.

    python benchmarks/hot_keys.py --json results.json

Readers pack rows, the pacemaker finds hot keys and partitions make their steps, all as on Spark but one after the other
in this process, which takes the process time of each. A batch takes as long as its slowest reader and then its slowest
partition: that is how long four workers would take that have nothing else to do. There are two shapes:

- *foreign key*: facts with a key of 200,000, each of which a dimension has once. Half of the facts have one key.
- *a tenth*: that key has a tenth of the thousand rows of the other side as well, and other keys one row. Each of the
  uniform keys has fifty rows, so that there are as many results. There are fewer facts if all pairs come out.

All facts match something, once the other side is there; `home` is without spreading.
"""

import argparse
import itertools
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from report import write_report
from spark_join import claim

from sooner.how import KINDS
from sooner.named_algorithms import ALGORITHMS
from sooner.operators.two_way.plan import INPUTS, TwoWayPlan
from sooner.sides import LEFT, SIDES
from sooner.spark.dataflow.inflow import PACKS
from sooner.spark.dataflow.pacemaker import PulseReader
from sooner.spark.joins.meeting_places import placements
from sooner.spark.shuffle.hot_keys import Spreading
from sooner.spark.shuffle.packing import Packing
from sooner.spark.shuffle.row_kinds import MARK, PULSE, kind_of, place_of
from sooner.spark.shuffle.shared_columns import KIND, WORD, share_columns
from sooner.spark.step.plan import StepPlan
from sooner.spark.step.state_directory import partition_directory
from sooner.spark.step.step import Attempt, run_step

PARTITIONS = 4
BATCHES = 24
FACTS, FACTS_WITH_MANY_PAIRS = 500_000, 50_000  # in a batch
SHAPES = ("foreign key", "a tenth")
KEYS = 200_000
HOT_SHARE = 0.5
HOT_KEY = 31_337
TENTH_ROWS, TENTH_HOT = 1_000, 100  # of the other side
TENTH_KEYS = 20  # uniform keys of fifty rows each: half of the facts find a hundred, or all find fifty
OTHER_KEYS = np.arange(TENTH_ROWS - TENTH_HOT) + TENTH_KEYS  # beside the hot one
MEMORY_BYTES = 2**30
ROUNDS = 3
BAR = 1.3
HOWS = ("inner", "left", "semi", "anti", "full")
SCHEMAS = [pa.schema([("k", pa.int64()), (name, pa.int64())]) for name in ("fact", "dimension")]
UNION = pa.schema([(KIND, pa.int64()), ("c0", pa.binary()), (WORD, pa.string())])
Keys = Literal["uniform", "hot"]


@dataclass(frozen=True)
class Shape:
    name: str
    keys: Keys
    rows: int  # of facts in a batch

    def facts(self, batch: int) -> pa.RecordBatch:
        dice = np.random.default_rng(batch)
        if self.name == "foreign key":
            keys = dice.integers(0, KEYS, self.rows)
        else:
            keys = dice.choice(np.arange(TENTH_KEYS) if self.keys == "uniform" else OTHER_KEYS, self.rows)
        if self.keys == "hot":
            keys = np.where(dice.random(self.rows) < HOT_SHARE, HOT_KEY, keys)
        return record(LEFT, keys, batch * self.rows)

    def dimension(self) -> pa.RecordBatch:
        if self.name == "foreign key":
            keys = np.arange(KEYS)
        elif self.keys == "uniform":
            keys = np.arange(TENTH_ROWS) % TENTH_KEYS
        else:
            keys = np.append(np.full(TENTH_HOT, HOT_KEY), OTHER_KEYS)
        return record(1 - LEFT, np.random.default_rng(7).permutation(keys), 0)


def record(side: int, keys: np.ndarray[Any, np.dtype[np.int64]], first: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [pa.array(keys), pa.array(np.arange(first, first + len(keys)))], schema=SCHEMAS[side]
    )


def plan_of(folder: Path, how: str, spreads: bool) -> StepPlan:
    operator = TwoWayPlan(("k",), ("k",), ("_left", "_right"), ALGORITHMS["rpj"], KINDS[how])
    return StepPlan(
        operator=operator,
        state=str(folder / "state"),
        inputs=INPUTS,
        columns=tuple(tuple(schema.names) for schema in SCHEMAS),
        packed=tuple(SCHEMAS),
        shared=share_columns(PACKS, PACKS, words=True),
        memory_bytes=MEMORY_BYTES,
        partitions=PARTITIONS,
        identity={"algorithm": "rpj"},
        shared_memory=folder / "shared-memory",
        spreads=() if not spreads else SIDES if KINDS[how].pairs else (LEFT,),
    )


@dataclass
class Workers:
    """One reader and one partition each; `seconds` are those of each batch."""

    plan: StepPlan
    seconds: list[float] = field(default_factory=list)
    results: int = 0

    def __post_init__(self) -> None:
        self._pacemaker = PulseReader(self.plan.state, PARTITIONS, INPUTS, spreads=self.plan.spreads)
        self._offset = self._pacemaker.initialOffset()
        assert isinstance(self.plan.operator, TwoWayPlan)
        self._placed = placements(self.plan.operator, SCHEMAS, PARTITIONS)
        told_in = partition_directory(self.plan.state, 0)
        self._spreading = [Spreading(told_in, side) if self.plan.spreads else None for side in SIDES]

    def batch(self, inputs: Sequence[pa.RecordBatch], ended: int) -> None:
        version = len(self.seconds)
        pulses, self._offset = self._pacemaker.read(self._offset)
        said = [(kind_of(PULSE, 0, settling, ended), words) for _, settling, words, *_ in pulses]
        shares = [[part_of(rows, share) for rows in inputs] for share in range(PARTITIONS)]
        read = [process_seconds(self._packed, rows, version) for rows in shares]
        sent = list(itertools.chain(*(packs for _, packs in read)))
        steps = [process_seconds(self._step, version, place, sent, said) for place in range(PARTITIONS)]
        self.results += sum(rows for _, rows in steps)
        self.seconds.append(max(took for took, _ in read) + max(took for took, _ in steps))

    def _packed(self, inputs: Sequence[pa.RecordBatch], version: int) -> list[tuple[int, bytes]]:
        found: list[tuple[int, bytes]] = []
        for side, rows in enumerate(inputs):
            packing = Packing(SCHEMAS[side], tuple(SCHEMAS[side].names), SCHEMAS[side], self._placed[side])
            spreading, placement = self._spreading[side], self._placed[side]
            places_of = placement.places if spreading is None else spreading.in_batch(version, placement)
            packed = packing.cut(places_of, rows) if rows.num_rows else None
            for place, pack in () if packed is None else zip(*map(pa.Array.to_pylist, packed.columns), strict=True):
                found.append((kind_of(side, place), pack))
        return found

    def _step(
        self, version: int, place: int, sent: Sequence[tuple[int, bytes]], said: Sequence[tuple[int, str]]
    ) -> int:
        rows = [(kind, pack, None) for kind, pack in sent if place_of(kind) == place]
        beats = [(kind + kind_of(0, place), None, words) for kind, words in said]
        columns = zip(*rows, *beats, (kind_of(MARK, place), None, None), strict=True)
        arrays = [pa.array(column, one.type) for column, one in zip(columns, UNION, strict=True)]
        union = pa.RecordBatch.from_arrays(arrays, schema=UNION)
        return sum(batch.num_rows for batch in run_step(self.plan, Attempt(version, "query"), iter([union])))


def part_of(rows: pa.RecordBatch, share: int) -> pa.RecordBatch:
    bounds = [len(rows) * at // PARTITIONS for at in (share, share + 1)]
    return rows.slice(bounds[0], bounds[1] - bounds[0])


def process_seconds(do: Any, *arguments: Any) -> tuple[float, Any]:
    began = time.process_time()
    found = do(*arguments)
    return time.process_time() - began, found


def run(shape: Shape, how: str, spreads: bool) -> Workers:
    """The dimension comes with the first third of the facts, or the few rows of it with the first, and ends."""
    with tempfile.TemporaryDirectory() as folder:
        workers = Workers(plan_of(Path(folder), how, spreads))
        dimension, nothing = shape.dimension(), record(1 - LEFT, np.empty(0, np.int64), 0)
        ends = BATCHES // 3
        comes = ends if shape.name == "foreign key" else 1
        for batch in range(BATCHES):
            bounds = [len(dimension) * min(at, comes) // comes for at in (batch, batch + 1)]
            rows = dimension.slice(bounds[0], bounds[1] - bounds[0])
            workers.batch([shape.facts(batch), rows], ended=2 * (batch >= ends))
        no_facts = record(LEFT, np.empty(0, np.int64), 0)
        for _ in range(2):
            workers.batch([no_facts, nothing], ended=3)
        return workers


def measured(shape: str, how: str) -> dict[str, Any]:
    """Medians of several rounds, in turn."""
    rows = FACTS_WITH_MANY_PAIRS if shape == "a tenth" and KINDS[how].pairs else FACTS
    uniform, hot = Shape(shape, "uniform", rows), Shape(shape, "hot", rows)
    ways = {"uniform": (uniform, True), "hot, spread": (hot, True), "hot, home": (hot, False)}
    rounds = [{way: run(made, how, spreads) for way, (made, spreads) in ways.items()} for _ in range(ROUNDS)]
    seconds = {way: statistics.median(sum(one[way].seconds) for one in rounds) for way in ways}
    results = {way: rounds[0][way].results for way in ways}
    assert results["hot, spread"] == results["hot, home"], results
    ratios = {way: seconds[way] / seconds["uniform"] for way in ("hot, spread", "hot, home")}
    return {"seconds": seconds, "results": results, "times_uniform": ratios}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    series: dict[str, Any] = {}
    claims = []
    for shape in SHAPES:
        for how in HOWS:
            found = series[f"{shape}, {how}"] = measured(shape, how)
            what = f"half of the rows have one key ({shape}, {how}): time in that of uniform keys"
            spread = found["times_uniform"]["hot, spread"]
            claims.append(claim(what, spread, BAR, at_least=False))
    if arguments.json is not None:
        write_report(arguments.json, "hot_keys", "Hot keys on four partitions", claims, series)


if __name__ == "__main__":
    main()
