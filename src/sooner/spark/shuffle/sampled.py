"""Rows of an input that is a sample of itself: prepared for the sums of an estimate, and tagged, before the shuffle.

A tag must be the same whenever a task runs again, and tags of a task must not say what is in its rows. Where rows come
in random order they are dealt tags in turn, and each task begins with another; else all rows of a block have one: of a
row group where the source reads these in random order, or of a batch.
"""

import base64
import pickle
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from sooner.estimation.preparation import Preparation
from sooner.estimation.tags import MOST_TAGS, InBlocks, InTurn, Tagging
from sooner.spark.shuffle.this_batch import batch_of_this_task

if TYPE_CHECKING:
    from sooner.sources.sampling import Sampling  # a step needs none of what else is there

MANY_ROWS: Final = 32 * MOST_TAGS  # of so many that are dealt tags in turn, each tag has about as many
Prepare = Callable[[pa.RecordBatch], tuple[pa.RecordBatch, pa.RecordBatch]]


@dataclass(frozen=True)
class Sampled:
    preparation: Preparation
    sampling: "Sampling"
    memory_bytes: int  # of the join: with little of it a source gives smaller batches

    def in_this_task(self) -> Prepare:
        """What makes rows and tallies of the rows of a chunk, one chunk after the other."""
        context = TaskContext.get()
        batch, task = batch_of_this_task(), 0 if context is None else context.partitionId()
        if self.sampling == "blocks":
            return self.of_block(batch)
        begun = zlib.crc32(f"{batch}-{task}".encode())

        def prepare(rows: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.RecordBatch]:
            nonlocal begun
            tagging = _dealt(begun, rows.num_rows)
            begun += rows.num_rows
            kept, tallies = self.preparation.prepared(rows, tagging)
            return kept, tallies

        return prepare

    def of_block(self, number: int) -> Prepare:
        """The same for chunks that are all of one block."""

        def prepare(rows: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.RecordBatch]:
            kept, tallies = self.preparation.prepared(rows, InBlocks([number % MOST_TAGS], [rows.num_rows]))
            return kept, tallies

        return prepare

    def to_text(self) -> str:
        return base64.b64encode(pickle.dumps(self)).decode()

    @staticmethod
    def from_text(text: str) -> "Sampled":
        """The value that `to_text` wrote in this program: an option of a source, as its class is."""
        sampled = pickle.loads(base64.b64decode(text))
        assert isinstance(sampled, Sampled)
        return sampled


def _dealt(begun: int, rows: int) -> Tagging:
    """Few rows are told apart by their tags one by one; for that, neighbours share one."""
    if rows >= MANY_ROWS:
        return InTurn(begun, rows)
    tags, sizes = np.unique(np.arange(begun, begun + rows) % MOST_TAGS, return_counts=True)
    return InBlocks(tags.tolist(), sizes.tolist())
