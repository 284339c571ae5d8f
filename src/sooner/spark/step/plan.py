"""An operator as the tasks get it: plain data, pickled by Spark with every batch."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from sooner.operators.operator import OperatorPlan
from sooner.spark.shuffle.shared_columns import SharedColumns

FRAMING_SHARE: Final = 16  # of the memory, one part in so many is for what files add to rows
MEMORY_IN_BLOCKS: Final = 64  # blocks of spilled runs are small beside the memory
LEAST_BLOCK_BYTES: Final = 16 * 2**10
MOST_BLOCK_BYTES: Final = 2**20
Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True)
class StepPlan:
    operator: OperatorPlan[Any]
    state: str
    inputs: tuple[str, ...]  # their names
    columns: tuple[tuple[str, ...], ...]  # of each input
    packed: tuple[pa.Schema | None, ...]  # of each input what is in its packs, if it comes in packs
    shared: SharedColumns
    memory_bytes: int  # of all partitions together
    partitions: int  # of the state
    identity: dict[str, Any]
    shared_memory: Path | None
    fallbacks: tuple[str, ...] = ()  # that are known before it runs
    retention: str = ""  # in words, if rows are forgotten by their time
    spreads: tuple[int, ...] = ()  # sides whose rows may be dealt out over all partitions, if their key is hot
    complete_rows: tuple[int | None, ...] = ()  # of each input, where it has ended as soon as so many have come
    trace: str | None = None  # a folder
    tells: Callable[[dict[str, Any], int], pa.RecordBatch] | None = None  # a row of what is told, in place of results
    then: Task | None = None  # what the task does with its results, instead of giving them to Spark
    tasks: int | None = None  # in every batch, if there are fewer than partitions: then some do several

    @property
    def partitions_of_a_task(self) -> int:
        """At most."""
        return -(-self.partitions // (self.tasks or self.partitions))

    @property
    def partition_bytes(self) -> int:
        """What rows of one partition may take in shared memory."""
        return self.memory_bytes // self.partitions

    @property
    def rows_bytes(self) -> int:
        """The same without what files add to rows."""
        return self.partition_bytes - self.partition_bytes // FRAMING_SHARE

    @property
    def block_bytes(self) -> int:
        """What a block of a spilled run takes."""
        return min(max(self.partition_bytes // MEMORY_IN_BLOCKS, LEAST_BLOCK_BYTES), MOST_BLOCK_BYTES)

    def schemas(self, batch_schema: pa.Schema) -> list[pa.Schema]:
        """The columns of each input, in the types in which Spark sends them."""
        return [
            packed
            or pa.schema([(name, batch_schema.field(1 + at).type) for name, at in zip(names, places, strict=True)])
            for names, places, packed in zip(self.columns, self.shared.of_input, self.packed, strict=True)
        ]
