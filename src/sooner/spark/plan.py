"""A join as the tasks get it: plain data, pickled by Spark with every batch."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from sooner.named_algorithms import Algorithm
from sooner.spark.shuffle.shared_columns import SharedColumns


@dataclass(frozen=True)
class JoinPlan:
    state: str
    names: tuple[tuple[str, ...], tuple[str, ...]]  # of the columns of each side
    left_on: tuple[str, ...]
    right_on: tuple[str, ...]
    suffixes: tuple[str, str]
    shared: SharedColumns
    algorithm: Algorithm
    memory_bytes: int  # of all partitions together
    partitions: int
    identity: dict[str, Any]
    shared_memory: Path | None

    @property
    def partition_bytes(self) -> int:
        """What rows of one partition may take in shared memory."""
        return self.memory_bytes // self.partitions

    def schema(self, side: int, batch_schema: pa.Schema) -> pa.Schema:
        """The columns of one side, in the types in which Spark sends them."""
        types = [batch_schema.field(1 + position).type for position in self.shared.of_side[side]]
        return pa.schema(list(zip(self.names[side], types, strict=True)))
