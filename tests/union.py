"""A distinct union of any number of inputs under a budget: a key comes out when it is seen for the first time.

It is the smallest operator that keeps the whole contract, and here to show that the two-way join is not special.

A row in memory stands for its key, and no key is in memory twice. When memory is full, all of it goes to disk. From
then on a new key of that partition may be on disk: it is open, and stamped with the tick at which it came (`arrived`,
which is NEVER for a key that came out at once). `work` sweeps the codes of a partition and decides what came before the
sweep began; how far it is belongs to the state.

Beside the budget it uses the rows of one input and partition once more while they leave memory, and when it works a
slab of SLAB_BYTES and a block of each run. Runs are never merged, so there are as many as there were flushes.
"""

import itertools
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from sooner.budget import Account
from sooner.errors import InvalidCall
from sooner.kernels.array_types import Codes, Flags
from sooner.kernels.codes import code_rows
from sooner.kernels.gathering import as_one
from sooner.kernels.keys import plan_keys
from sooner.operators.events import Arrived, Event, Flushed, Scanned
from sooner.operators.inputs import Input, Partition, Storage
from sooner.operators.operator import Means, Operator
from sooner.operators.order import Order
from sooner.operators.shell import Shell
from sooner.operators.statistics.arrivals import Statistics, read_only
from sooner.phases import Phase
from sooner.policies.view import Surroundings, View
from sooner.progress import Progress
from sooner.runs.block_index import Block
from sooner.runs.run import NEVER, Run, merge
from sooner.runs.slabs import ALL_CODES, slabs
from sooner.runs.store import RunStore, Segment, SpilledRun, remove_run

SLAB_BYTES: Final = 2**20
UNSEEN: Final = ("received_rows", "forgotten_rows")  # by policies
MERGE_BYTES: Final = 2**20  # in memory, of runs that become one

Read = tuple[RunStore, Segment, Sequence[Block]]  # these blocks of a segment


@dataclass(frozen=True)
class UnionPlan:
    """The key is one column of this name and one type in every input, of at most 8 bytes, so that codes are exact."""

    on: str

    def order(self, schemas: Sequence[pa.Schema]) -> Order:
        """The same for each input."""
        types = self.output(schemas).types
        return Order([lambda batch: code_rows(batch, [self.on], types)] * len(schemas))

    def output(self, schemas: Sequence[pa.Schema]) -> pa.Schema:
        """The key alone."""
        for schema in schemas:
            keys = plan_keys(schemas[0], schema, [self.on], [self.on])
            if not keys.exact or schema.field(self.on).type != schemas[0].field(self.on).type:
                raise InvalidCall(
                    f"The key {self.on!r} of a union must have one type in all inputs, of at most 8 bytes."
                )
        return pa.schema([schemas[0].field(self.on)])

    def make(
        self, names: Sequence[str], schemas: Sequence[pa.Schema], storage: Storage, means: Means
    ) -> "DistinctUnion":
        """The operator itself."""
        return DistinctUnion(storage.inputs(self.order(schemas), names, schemas), self.on, means)


@dataclass
class Sweep:
    """Of one partition. What came up to `decided` is out, and below `code` also what came up to `tick`."""

    decided: int = NEVER
    tick: int = NEVER
    code: int = 0
    newest: int = NEVER  # when the last open key came

    @property
    def is_over(self) -> bool:
        return self.newest <= self.decided

    def is_out(self, run: Run) -> Flags:
        arrived = np.broadcast_to(np.asarray(run.arrived), len(run))
        return (arrived <= self.decided) | ((arrived <= self.tick) & (run.codes < np.uint64(self.code)))

    def reach(self, code: int) -> None:
        if code < ALL_CODES:
            self.code = code
        else:
            self.decided, self.code = self.tick, 0


class DistinctUnion(Operator[pa.RecordBatch]):
    worked_bytes = 0

    def __init__(self, inputs: Sequence[Input], on: str, means: Means) -> None:
        self._inputs = inputs
        self._on = on
        self._account = means.account
        self._shell = Shell(means.listener)
        self._n_partitions = len(inputs[0].partitions)
        self._sweeps = [Sweep() for _ in range(self._n_partitions)]
        self._statistics = Statistics(len(inputs), self._n_partitions)

    @property
    def inputs(self) -> Sequence[Input]:
        return self._inputs

    @property
    def phase(self) -> Phase:
        return self._shell.phase

    @property
    def account(self) -> Account:
        return self._account

    def arrive(self, rows: Sequence[Sequence[pa.RecordBatch]], now: float) -> Iterator[pa.RecordBatch]:
        """A key that is not in memory comes out at once, unless it may be on disk."""
        return self._shell.exclusively(self._arrive(rows, now))

    def _arrive(self, rows: Sequence[Sequence[pa.RecordBatch]], now: float) -> Iterator[pa.RecordBatch]:
        self._shell.breathe()
        self._shell.require("arriving", "reactive")
        n_rows = tuple(sum(batch.num_rows for batch in batches) for batches in rows)
        if not any(n_rows):
            return
        self._shell.enter("arriving")
        self._shell.advance()
        both = zip(self._inputs, rows, strict=True)
        arrived = [one.sorted(self._only_keys(one, batches)).runs for one, batches in both]
        places = itertools.product(range(self._n_partitions), range(len(self._inputs)))
        new = [(p, which, run) for p, which in places if (run := self._new_keys(arrived, which, p)) is not None]
        self._make_room(sum(run.n_bytes for _, _, run in new))
        for which, runs in enumerate(arrived):
            self._statistics.rows_received(which, n_rows[which], now)
            self._statistics.arrived_rows[which] += [0 if run is None else len(run) for run in runs]
        for p, which, run in new:
            self._inputs[which].partitions[p].resident.add(run)
            self._inputs[which].partitions[p].resident.merge_tiers(self._account.try_reserve, MERGE_BYTES)
            self._count(which, p)
            self._sweeps[p].newest = max(self._sweeps[p].newest, run.newest)
            if run.arrived == NEVER:
                yield self._result(run.rows.select([self._on]))
        self._report(Arrived(self._shell.tick, n_rows, compared=0))

    def end(self, which: int) -> None:
        """After the last of them what is open is decided, and all is forgotten."""
        self._inputs[which].ended = True
        if all(one.ended for one in self._inputs):
            self._shell.enter("clean-up")

    def has_work(self, around: Surroundings) -> bool:
        """In a silence, if a key is open."""
        if self.phase in ("clean-up", "done"):
            return self.phase == "clean-up"
        return (around.silent or around.settling) and self._first_open() is not None

    def work(self, quantum_bytes: int, around: Surroundings) -> Iterator[pa.RecordBatch]:
        """Decide open keys, from the lowest code up, partition after partition."""
        return self._shell.exclusively(self._work(quantum_bytes, around))

    def _work(self, quantum_bytes: int, around: Surroundings) -> Iterator[pa.RecordBatch]:
        self._shell.breathe()
        if not self.has_work(around):
            return
        if self.phase != "clean-up":
            self._shell.enter("reactive")
        spent_bytes = 0
        while (p := self._first_open()) is not None:
            high, read = self._next_slab(p, quantum_bytes)
            cost = sum(block.n_bytes for _, _, blocks in read for block in blocks)
            if spent_bytes and spent_bytes + cost > quantum_bytes:
                return
            self._shell.breathe()
            self._shell.advance()
            yield from self._decide(p, high, read)
            spent_bytes += cost
            self.worked_bytes += cost
            self._report(Scanned(self._shell.tick, 0, p, len(read), cost))
        if self.phase == "clean-up":
            self._forget()
            self._shell.enter("done")

    def view(self, around: Surroundings) -> View:
        statistics = self._statistics
        counts = {name: read_only(getattr(statistics, name)) for name in Statistics.SAVED if name not in UNSEEN}
        ended = tuple(one.ended for one in self._inputs)
        return View(tick=self._shell.tick, ended=ended, around=around, recent_rows=statistics.recent.rows, **counts)

    def progress(self) -> Progress:
        """It compares no pairs of rows; instead of them, partitions without an open key are counted."""
        over = float(sum(sweep.is_over for sweep in self._sweeps))
        return self._statistics.progress(self.phase, self._account, float(self._n_partitions), over)

    def snapshot(self) -> dict[str, Any]:
        return {
            **self._shell.to_plain(),
            "inputs": [one.to_plain() for one in self._inputs],
            "sweeps": [asdict(sweep) for sweep in self._sweeps],
            "statistics": self._statistics.to_plain(),
        }

    def restore(self, data: dict[str, Any]) -> None:
        self._shell.load_plain(data)
        self._sweeps = [Sweep(**sweep) for sweep in data["sweeps"]]
        self._statistics.load_plain(data["statistics"])
        for one, saved in zip(self._inputs, data["inputs"], strict=True):
            one.load_plain(saved, self._account)
        for which, p in self._places():
            self._count(which, p)
        self._make_room(0)

    def check_invariants(self) -> None:
        assert sum(one.resident_bytes for one in self._inputs) == self._account.used_bytes
        for p in range(self._n_partitions):
            codes = [run.codes for one in self._inputs for run in one.partitions[p].resident]
            assert all((some[:-1] < some[1:]).all() for some in codes), "a run is not sorted, or has a key twice"
            in_memory = np.concatenate([np.empty(0, np.uint64), *codes])
            assert len(np.unique(in_memory)) == len(in_memory), "a key is in memory twice"
            on_disk = any(one.partitions[p].spilled for one in self._inputs)
            assert on_disk or self._sweeps[p].is_over, "a key is open that is certainly not on disk"
        for which, p in self._places():
            resident_bytes = self._inputs[which].partitions[p].resident.n_bytes
            assert self._statistics.resident_bytes[which, p] == resident_bytes

    def interrupt(self) -> None:
        self._shell.interrupt()

    # Rows that arrive and leave

    def _only_keys(self, one: Input, batches: Sequence[pa.RecordBatch]) -> list[pa.RecordBatch]:
        """Without the other columns: which of several rows with a key is kept would be left to chance."""
        if not any(batch.num_rows for batch in batches):
            return []
        rows = as_one(batches)
        columns = [rows[f.name] if f.name == self._on else pa.nulls(rows.num_rows, f.type) for f in one.schema]
        return [pa.RecordBatch.from_arrays(columns, schema=one.schema)]

    def _new_keys(self, arrived: Sequence[Sequence[Run | None]], which: int, p: int) -> Run | None:
        """A row for each key that is not in memory, nor among those that arrive by an earlier input."""
        run = arrived[which][p]
        if run is None:
            return None
        earlier = [other.codes for runs in arrived[:which] if (other := runs[p]) is not None]
        known = earlier + [other.codes for one in self._inputs for other in one.partitions[p].resident]
        first = np.diff(run.codes, prepend=~run.codes[:1]) != 0
        new = run.take(np.flatnonzero(first & ~_among(run.codes, known)))
        on_disk = any(one.partitions[p].spilled for one in self._inputs)
        return replace(new, arrived=self._shell.tick if on_disk else NEVER) if len(new) else None

    def _make_room(self, needed_bytes: int) -> None:
        """What is known of the new keys stays true: what leaves memory is not among them."""
        if self._account.free_bytes < needed_bytes:
            self._spill()
        self._account.reserve(needed_bytes)

    def _spill(self) -> None:
        """All that is in memory, to a file for each input; memory changes when all of it is safe."""
        written: list[tuple[int, int, SpilledRun]] = []
        with ExitStack() as files:
            for which, one in enumerate(self._inputs):
                if not one.resident_bytes:
                    continue
                writer = files.enter_context(one.store.writer())
                for p, partition in enumerate(one.partitions):
                    if len(partition.resident):
                        writer.append(one.store.encode(merge(list(partition.resident))))
                        written.append((which, p, SpilledRun(partition.new_number(), 0, (writer.end_segment(),))))
        for which, p, spilled in written:
            partition = self._inputs[which].partitions[p]
            self._account.release(partition.resident.n_bytes)
            partition.resident.clear()
            partition.spilled.append(spilled)
            self._count(which, p)
            self._shell.report(Flushed(self._shell.tick, which, p, spilled.n_rows, spilled.n_bytes))

    # Open keys

    def _first_open(self) -> int | None:
        return next((p for p, sweep in enumerate(self._sweeps) if not sweep.is_over), None)

    def _next_slab(self, p: int, quantum_bytes: int) -> tuple[int, list[Read]]:
        """The code up to which the sweep goes next, and what it reads for that."""
        sweep = self._sweeps[p]
        if sweep.code == 0:
            sweep.tick = self._shell.tick
        segments = [
            (one.store, part) for one in self._inputs for run in one.partitions[p].spilled for part in run.segments
        ]
        indexes = [part.blocks for _, part in segments]
        high = next(slabs(indexes, max(1, min(SLAB_BYTES, quantum_bytes)), sweep.code)).high
        both = zip(segments, indexes, strict=True)
        return high, [(*place, blocks) for place, index in both if (blocks := index.between(sweep.code, high))]

    def _decide(self, p: int, high: int, read: Sequence[Read]) -> Iterator[pa.RecordBatch]:
        """Of the keys in these codes, each that came before the sweep is out when this is done."""
        sweep = self._sweeps[p]
        runs = [run for one in self._inputs for run in one.partitions[p].resident]
        runs += [run for store, segment, blocks in read for run in store.read(segment, blocks)]
        parts = [run.between(sweep.code, high) for run in runs]
        known = [part.codes[sweep.is_out(part)] for part in parts]
        for part in parts:
            due = np.flatnonzero(~sweep.is_out(part) & (part.arrived <= sweep.tick) & ~_among(part.codes, known))
            if len(due):
                known.append(part.codes[due])
                yield self._result(part.take(due).rows.select([self._on]))
        sweep.reach(high)

    def _forget(self) -> None:
        for which, p in self._places():
            one = self._inputs[which]
            forgotten, one.partitions[p] = one.partitions[p], Partition()
            self._account.release(forgotten.resident.n_bytes)
            for run in forgotten.spilled:
                remove_run(one.store, run)
            self._count(which, p)

    # The rest

    def _places(self) -> Iterator[tuple[int, int]]:
        return itertools.product(range(len(self._inputs)), range(self._n_partitions))

    def _count(self, which: int, p: int) -> None:
        partition = self._inputs[which].partitions[p]
        self._statistics.count_resident(which, p, partition.resident.n_rows, partition.resident.n_bytes)
        self._statistics.count_spilled(which, p, partition.spilled)

    def _result(self, keys: pa.RecordBatch) -> pa.RecordBatch:
        self._statistics.results += keys.num_rows
        return keys

    def _report(self, event: Event) -> None:
        """What an action was, and how far it came."""
        self._shell.report(event)
        self._shell.report_reached(self._statistics)


def _among(codes: Codes, others: Sequence[Codes]) -> Flags:
    return np.isin(codes, np.concatenate([np.empty(0, np.uint64), *others]))
