"""An input of an operator: what its rows look like, how they are coded, where they are, and whether more may come."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from sooner.budget import Account
from sooner.kernels.array_types import Codes, Flags
from sooner.kernels.gathering import as_one
from sooner.kernels.matching import EQUAL, Reach
from sooner.operators.order import Arrivals, CodeRows, Order, sorted_runs
from sooner.runs.formats.saved_runs import RewrittenRuns, SavedRuns
from sooner.runs.resident import ResidentRuns
from sooner.runs.run import Run
from sooner.runs.store import RunStore, SpilledRun, counted, run_from_plain


@dataclass
class Partition:
    """The rows of one input in one range of codes."""

    resident: ResidentRuns = field(default_factory=ResidentRuns)
    spilled: list[SpilledRun] = field(default_factory=list)
    next_number: int = 1

    def new_number(self) -> int:
        self.next_number += 1
        return self.next_number - 1


class Input:
    """`saved_runs` says how rows in memory are written down for a snapshot; by default all of them each time."""

    def __init__(
        self,
        name: str,
        schema: pa.Schema,
        code: CodeRows,
        store: RunStore,
        bounds: Codes,
        saved_runs: SavedRuns | None = None,
        overlap: Reach = EQUAL,
    ) -> None:
        self.name = name
        self.schema = schema
        self.code = code
        self.store = store
        self.bounds = bounds  # where partitions begin, but for the first
        self.overlap = overlap  # how far a row reaches beyond them, and is in the next one as well
        self.partitions = [Partition() for _ in range(len(bounds) + 1)]
        self.ended = False
        self.follows_matches = False  # whether it is noted of rows in memory that they have a match
        self.follows_joins = False  # whether it is noted of rows in memory that they have joined something lately
        self.certain_to_match: Callable[[pa.RecordBatch], Flags] | None = None  # of rows that come, by word of others
        self._saved_runs = saved_runs or RewrittenRuns(store)

    def sorted(self, batches: Sequence[pa.RecordBatch]) -> Arrivals:
        """These rows as a run for each partition that has any of them."""
        if not batches:
            return Arrivals([None] * len(self.partitions))
        return sorted_runs(as_one(batches), self.code, self.bounds, self.overlap)

    def followed(self, run: Run) -> Run:
        """These new rows; from now on it is noted which of them have a match, where somebody asks."""
        if not self.follows_matches:
            return run
        followed = run.followed()
        if self.certain_to_match is not None and followed.matched is not None:
            followed.matched[self.certain_to_match(run.rows)] = True
        return followed

    def rows_of_code(self, code: int) -> Iterator[pa.RecordBatch]:
        """All rows with this code, in memory and on disk; between calls of the operator."""
        for partition in self.partitions:
            segments = (segment for run in partition.spilled for segment in run.segments)
            on_disk = (self.store.read(segment, segment.blocks.between(code, code + 1)) for segment in segments)
            for run in chain(partition.resident, *on_disk):
                if len(found := run.between(code, code + 1)):
                    yield found.rows

    @property
    def resident_bytes(self) -> int:
        return sum(partition.resident.n_bytes for partition in self.partitions)

    def to_plain(self) -> dict[str, Any]:
        """All of it; rows in memory are written to run files, which it names."""
        written = iter(self._saved_runs.save(list(self._resident_runs())))
        return {
            "name": self.name,
            "ended": self.ended,
            "bounds": self.bounds.tolist(),
            "partitions": [
                {
                    "resident": [next(written) for _ in partition.resident],
                    "spilled": [run.to_plain() for run in partition.spilled],
                    "next_number": partition.next_number,
                }
                for partition in self.partitions
            ],
        }

    def load_plain(self, data: dict[str, Any], account: Account) -> None:
        """Go on from what was saved, once; this input must be new, and made with the same arguments."""
        self.ended = data["ended"]
        self.bounds = np.array(data["bounds"], np.uint64)
        for partition, saved in zip(self.partitions, data["partitions"], strict=True):
            for written in saved["resident"]:
                run = self._saved_runs.load(written, followed=self.follows_matches, joins=self.follows_joins)
                account.take(run.n_bytes)
                partition.resident.add(run)
            partition.spilled = [run_from_plain(self.store, run) for run in saved["spilled"]]
            partition.next_number = counted(saved["next_number"])

    def _resident_runs(self) -> Iterator[Run]:
        return (run for partition in self.partitions for run in partition.resident)


@dataclass(frozen=True)
class Storage:
    """Where an operator keeps rows. From it the operator makes its inputs, as many as it likes and in any order."""

    partitions: int  # of each input, if its order has any
    store: Callable[[pa.Schema], RunStore]
    saved_runs: Callable[[pa.Schema], SavedRuns] | None = None

    def inputs(self, order: Order, names: Sequence[str], schemas: Sequence[pa.Schema]) -> list[Input]:
        """Inputs whose rows are kept in this order."""
        bounds = order.bounds(self.partitions)
        made = []
        for which, (name, schema, code) in enumerate(zip(names, schemas, order.coders, strict=True)):
            saved = None if self.saved_runs is None else self.saved_runs(schema)
            made.append(Input(name, schema, code, self.store(schema), bounds, saved, order.overlap(which)))
        return made
