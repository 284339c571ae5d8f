"""Steps of a Spark join without Spark: rows in, results out, a state directory between them."""

import base64
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.fs as pafs
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_type
from pyspark.sql.types import StructType

from sooner.how import KINDS
from sooner.kernels.ranges import Near
from sooner.named_algorithms import ALGORITHMS
from sooner.operators.two_way.plan import INPUTS, TwoWayPlan
from sooner.runs.formats.versions import Versions
from sooner.sides import LEFT, RIGHT, SIDES
from sooner.spark.joins.meeting_places import placements
from sooner.spark.shuffle.packing import PACK, PACKED_ROWS, PLACE, Packing
from sooner.spark.shuffle.row_kinds import MARK, PULSE, SETTLING, Settling, kind_of, of_copy, text_of_pulse
from sooner.spark.shuffle.shared_columns import KIND, WORD, share_columns
from sooner.spark.step.delivery import deliveries
from sooner.spark.step.layout import partition_directory, root_of
from sooner.spark.step.plan import StepPlan
from sooner.spark.step.step import Attempt, Step, run_step

QUERY = "the query"
PLENTY = 2**30
PACKS = StructType([PACKED_ROWS[PACK]])
Pairs = npt.NDArray[np.int64]  # sorted; each has the numbers of its two rows, see `as_pairs`


def plan_of(
    left: pa.Schema,
    right: pa.Schema,
    folder: Path,
    left_on: Sequence[str] = ("k",),
    right_on: Sequence[str] = ("k",),
    algorithm: str = "rpj",
    memory_bytes: int = 2**14,
    identity: dict[str, Any] | None = None,
    trace: str | None = None,
    how: str = "inner",
    near: Near | None = None,
    lateness: int | None = None,
    retention: timedelta | None = None,
) -> StepPlan:
    """A join of one partition."""
    keys, forgetting = (tuple(left_on), tuple(right_on)), (lateness, retention)
    operator = TwoWayPlan(*keys, ("_left", "_right"), ALGORITHMS[algorithm], KINDS[how], near, *forgetting)
    return StepPlan(
        operator=operator,
        state=str(folder / "state"),
        inputs=INPUTS,
        columns=(tuple(left.names), tuple(right.names)),
        packed=(None, None),
        shared=share_columns(from_arrow_schema(left), from_arrow_schema(right), times=operator.forgets),
        memory_bytes=PLENTY if algorithm == "symmetric_hash" else memory_bytes,
        partitions=1,
        identity=identity or {"algorithm": algorithm},
        shared_memory=folder / "shared-memory",
        trace=trace,
    )


def with_packs(plan: StepPlan, *sides: int) -> StepPlan:
    """The same join; rows of these sides come packed."""
    schemas = [_schema(plan, side) for side in SIDES]
    sent = [PACKS if side in sides else from_arrow_schema(schemas[side]) for side in SIDES]
    return replace(
        plan,
        packed=tuple(schemas[side] if side in sides else None for side in SIDES),
        shared=share_columns(*sent, words=plan.shared.words, times=plan.shared.times),
    )


@dataclass(frozen=True)
class Arriving:
    """What a batch brings to a partition."""

    left: pa.Table
    right: pa.Table
    ended: tuple[bool, bool] = (False, False)
    settling: Settling = "not now"
    left_copies: int = 0  # so many of the left's rows are in another partition as well
    newest: tuple[int | None, ...] = ()  # what a pulse says of the values of each side
    seconds: float = 0.0  # the time of the batch

    def batches(self, plan: StepPlan, place: int = 0, seed: int | None = None) -> Iterator[pa.RecordBatch]:
        """As Spark sends it; a seed puts rows in another order and cuts them elsewhere."""
        sent = [_as_sent(table, plan, side, seed) for side, table in enumerate((self.left, self.right))]
        columns = [pa.array(self._kinds(place, *map(len, sent)), pa.int64())]
        types = [pa.field("", pa.null())] * len(plan.shared.types)
        for side, table in enumerate(sent):
            for position, place_of_column in enumerate(plan.shared.of_input[side]):
                types[place_of_column] = table.schema.field(position)
        for position, column_field in enumerate(types):
            columns.append(pa.concat_arrays([*_parts(sent, plan, position, column_field.type)]))
        names = [KIND, *(f"c{position}" for position in range(len(types)))]
        if plan.shared.words:
            time = str(round(self.seconds * 10**6))
            said = [text_of_pulse(self.newest, []) if self._has_pulse else time, time]
            columns.append(pa.array([None] * (len(columns[0]) - 2) + said, pa.string()))
            names.append(WORD)
        union = pa.RecordBatch.from_arrays(columns, names)
        return iter([union] if seed is None else cut_and_shuffled(union, seed))

    @property
    def _has_pulse(self) -> bool:
        return any(self.ended) or self.settling != "not now" or bool(self.newest)

    def _kinds(self, place: int, n_left: int, n_right: int) -> list[int]:
        """There is a pulse if it has something to say."""
        copies = [kind_of(LEFT, of_copy(place))] * self.left_copies
        rows = [kind_of(LEFT, place)] * (n_left - len(copies)) + copies + [kind_of(RIGHT, place)] * n_right
        if not self._has_pulse:
            return [*rows, kind_of(MARK, place), kind_of(MARK, place)]
        ended = self.ended[LEFT] + 2 * self.ended[RIGHT]
        pulse = kind_of(PULSE, place, SETTLING.index(self.settling), ended)
        return [*rows, pulse, kind_of(MARK, place)]


def _as_sent(table: pa.Table, plan: StepPlan, side: int, seed: int | None) -> pa.Table:
    """The rows of a side, packed if they are; a seed cuts and packs them in another order."""
    schema = plan.packed[side]
    assert isinstance(plan.operator, TwoWayPlan)
    placement = placements(plan.operator, [_schema(plan, side) for side in SIDES], partitions=1)[side]
    rows = pa.RecordBatch.from_arrays(
        [pa.concat_arrays([pa.nulls(0, c.type), *c.chunks]) for c in table.columns], schema=table.schema
    )
    if schema is None:
        complete = None if placement.keeps_keyless else placement.complete(rows)
        return table if complete is None else table.filter(pa.array(complete))
    assert placement.is_a_readers
    packing = Packing(schema, tuple(schema.names), schema, placement)
    dice = np.random.default_rng(seed)
    pieces = [rows] if seed is None else cut(rows.take(pa.array(dice.permutation(len(rows)))), dice)
    packs = [pack for piece in pieces for pack in packing.packed(iter([piece]))]
    return pa.Table.from_batches(packs, pa.schema([(PLACE, pa.int32()), (PACK, pa.binary())])).select([PACK])


def _parts(sent: Sequence[pa.Table], plan: StepPlan, position: int, type_: pa.DataType) -> Iterator[pa.Array]:
    for side, table in enumerate(sent):
        if position in plan.shared.of_input[side]:
            column = table.column(plan.shared.of_input[side].index(position))
            yield pa.concat_arrays([pa.nulls(0, type_), *column.chunks])
        else:
            yield pa.nulls(len(table), type_)
    yield pa.nulls(2, type_)


def cut_and_shuffled(batch: pa.RecordBatch, seed: int) -> list[pa.RecordBatch]:
    """Through files and back, as rows come out of a shuffle: a piece without a null in a column has no bitmap there."""
    dice = np.random.default_rng(seed)
    shuffled = batch.take(pa.array(dice.permutation(batch.num_rows)))
    if dice.random() < 0.5:
        shuffled = shuffled.take(pa.array(np.argsort(shuffled.column(0).to_numpy(), kind="stable")))
    return cut(shuffled, dice)


def cut(batch: pa.RecordBatch, dice: np.random.Generator) -> list[pa.RecordBatch]:
    cuts = sorted({0, *dice.integers(0, batch.num_rows + 1, dice.integers(0, 6)).tolist(), batch.num_rows})
    return [through_ipc(batch.slice(begin, end - begin)) for begin, end in itertools.pairwise(cuts)]


def through_ipc(batch: pa.RecordBatch) -> pa.RecordBatch:
    with pa.BufferOutputStream() as sink:
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        return pa.ipc.open_stream(sink.getvalue()).read_next_batch()


def new_step(plan: StepPlan, version: int, arriving: Arriving, seed: int | None = None) -> Step:
    """An attempt that has read its parent, and no more."""
    with deliveries(plan, arriving.batches(plan, seed=seed)) as [delivery]:
        return Step(plan, Attempt(version, QUERY), delivery)


def run(
    plan: StepPlan, version: int, arriving: Arriving, seed: int | None = None, place: int = 0, query: str = QUERY
) -> list[pa.RecordBatch]:
    """An attempt from its begin to its end."""
    return list(run_step(plan, Attempt(version, query), arriving.batches(plan, place, seed)))


def pairs_in(results: Iterable[pa.RecordBatch]) -> Pairs:
    """Which rows have met, or come out alone, by the columns `a` of the left and `b` of the right."""
    found = [as_pairs(*(_numbers(batch, name) for name in "ab")) for batch in results]
    return np.sort(np.concatenate([np.empty(0, np.int64), *found]))


def as_pairs(left: npt.NDArray[np.int64], right: npt.NDArray[np.int64]) -> Pairs:
    """The numbers of both rows in one; -1 where there is none."""
    pairs: Pairs = (left + 1) << 32 | (right + 1)
    return pairs


def _numbers(batch: pa.RecordBatch, name: str) -> npt.NDArray[np.int64]:
    if name not in batch.schema.names:
        return np.full(batch.num_rows, -1)
    numbers: npt.NDArray[np.int64] = batch.column(name).fill_null(-1).to_numpy()
    return numbers


def same(some: Pairs, others: Pairs) -> bool:
    return bool(np.array_equal(some, others))


def versions_of(plan: StepPlan, place: int = 0) -> Versions:
    filesystem = pafs.LocalFileSystem()
    return Versions(filesystem, partition_directory(root_of(filesystem, plan.state), place))


def meaning(plan: StepPlan, version: int) -> dict[str, Any]:
    """A version without what may differ between attempts that are equivalent: names of files, places in them."""
    _, state = versions_of(plan).load(version)
    operator = state["operator"]
    for one in operator["inputs"]:
        for partition in one["partitions"]:
            partition["resident"] = [_meaning_of_segment(data) for data in partition["resident"]]
            partition["spilled"] = [_meaning_of_run(data) for data in partition["spilled"]]
    operator["cells"] = [sorted(cells) for cells in operator["cells"]]
    for task in operator["tasks"]:
        task["written"] = [[_meaning_of_segment(data) for data in side] for side in task.get("written", ())]
    return state


def _meaning_of_run(data: dict[str, Any]) -> tuple[Any, ...]:
    return data["number"], data["level"], [_meaning_of_segment(segment) for segment in data["segments"]]


def _meaning_of_segment(data: dict[str, Any]) -> tuple[Any, ...]:
    blocks = [(block[2], block[3], block[4]) for block in data.get("blocks", ())]
    matched = base64.b64decode(data.get("matched", ""))
    return data["n_rows"], data["n_bytes"], data.get("shared"), sum(byte.bit_count() for byte in matched), blocks


def summary_of(plan: StepPlan, version: int, place: int = 0) -> dict[str, Any]:
    header = versions_of(plan, place).header(version)
    assert header is not None
    return header.summary


@dataclass
class Lane:
    """A join that goes on from version to version."""

    plan: StepPlan
    version: int = 0
    results: list[pa.RecordBatch] = field(default_factory=list)

    def step(self, arriving: Arriving, seed: int | None = None) -> Pairs:
        found = run(self.plan, self.version, arriving, seed)
        self.results += found
        self.version += 1
        return pairs_in(found)

    def end(self) -> Pairs:
        """Both sides end; go on until all is done. All that ever came out."""
        for _ in range(100):
            self.step(nothing(self.plan, (True, True)))
            if summary_of(self.plan, self.version - 1)["progress"]["phase"] == "done":
                return pairs_in(self.results)
        raise AssertionError("the join does not come to its end")


def nothing(plan: StepPlan, ended: tuple[bool, bool] = (False, False), settling: Settling = "not now") -> Arriving:
    """A batch without rows."""
    left, right = (_schema(plan, side).empty_table() for side in SIDES)
    return Arriving(left, right, ended, settling)


def _schema(plan: StepPlan, side: int) -> pa.Schema:
    if (packed := plan.packed[side]) is not None:
        return packed
    types = [to_arrow_type(plan.shared.types[i]) for i in plan.shared.of_input[side]]
    return pa.schema(list(zip(plan.columns[side], types, strict=True)))
