"""A join of many inputs in one operator: what arrives meets all that is in memory, and the rest comes at the end.

A combination comes out when the last of its rows arrives, if all others are in memory then. Which those are follows
from the stamps of rows, so all others are found by a `Chain` when the inputs have ended, or when all is to be settled
before. While that goes on its inputs are blocked.

What leaves memory when it is full is MJoin's (Viglas, Naughton, Burger; Bornea et al., sec. 5): with one attribute the
bucket that is largest over all inputs leaves as a whole; with several, rows of the input that has most in memory leave
by chance. Rows of an input leave first if all others have ended: no row will ask for them.

Beside the budget it uses `scratch_bytes`, for runs that are merged and rows that leave; and the rows of one call.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sooner.budget import Account
from sooner.errors import BudgetTooSmall
from sooner.kernels.array_types import Flags
from sooner.kernels.arrays import to_numpy
from sooner.kernels.gathering import gather, gather_from
from sooner.operators.events import Arrived, Event, Flushed, Scanned
from sooner.operators.inputs import Input, Storage
from sooner.operators.multiway.accesses import Accesses
from sooner.operators.multiway.chain import ARRIVED, DEPARTED, Chain, named
from sooner.operators.multiway.combining import Combinations, Combining
from sooner.operators.multiway.graph import Graph
from sooner.operators.multiway.output import OutputColumn
from sooner.operators.operator import Means, Operator, Port
from sooner.operators.pairs import PAIRS_BYTES
from sooner.operators.shell import Shell
from sooner.operators.statistics.arrivals import Statistics, read_only
from sooner.phases import Phase
from sooner.policies.view import Surroundings, View
from sooner.progress import Progress
from sooner.runs.run import NEVER, Run, merge
from sooner.runs.store import SpilledRun, counted, remove_run, write_segments
from sooner.sides import LEFT

BUCKET_BITS: Final = 6  # of codes
BUCKETS: Final = 2**BUCKET_BITS
UNSEEN: Final = ("received_rows", "forgotten_rows")  # by policies


class MultiJoin(Operator[pa.RecordBatch]):
    worked_bytes = 0

    def __init__(
        self,
        graph: Graph,
        inputs: Sequence[Input],
        accesses: Sequence[Accesses],
        combining: Combining,
        columns: Sequence[OutputColumn],
        storage: Storage,
        means: Means,
        shell: Shell,
        scratch_bytes: int,
    ) -> None:
        self._graph = graph
        self._inputs = inputs
        self._accesses = accesses
        self._combining = combining
        self._columns = columns
        self._schema = pa.schema([column.field for column in columns])
        self._storage = storage
        self._means = means
        self._shell = shell
        self._scratch_bytes = scratch_bytes
        self._statistics = Statistics(len(inputs), 1)
        self._newest = NEVER  # when the last rows came
        self._horizon = NEVER  # all combinations of rows that came up to then are out
        self._chain: Chain | None = None

    @property
    def inputs(self) -> Sequence[Input]:
        return self._inputs

    @property
    def phase(self) -> Phase:
        return self._shell.phase

    @property
    def account(self) -> Account:
        return self._means.account

    def port(self, which: int) -> Port:
        port = super().port(which)
        return "blocked" if port == "ready" and self._chain is not None else port

    # Rows that arrive

    def arrive(self, rows: Sequence[Sequence[pa.RecordBatch]], now: float) -> Iterator[pa.RecordBatch]:
        return self._shell.exclusively(self._in_scratch(self._arrive(rows, now)))

    def _arrive(self, rows: Sequence[Sequence[pa.RecordBatch]], now: float) -> Iterator[pa.RecordBatch]:
        self._shell.breathe()
        self._shell.require("arriving", "reactive")
        n_rows = tuple(sum(batch.num_rows for batch in batches) for batches in rows)
        if not any(n_rows):
            return
        runs = [self._sorted(one, batches) for one, batches in zip(self._inputs, rows, strict=True)]
        self._make_room(sum(self._weight(which, run) for which, run in enumerate(runs) if run is not None))
        self._shell.enter("arriving")
        self._shell.advance()
        new = [None if run is None else replace(run, arrived=self._shell.tick) for run in runs]
        for which, run in enumerate(new):
            if run is not None:
                yield from self._met(which, run, new[:which])
        self._take_up(new)
        for which, count in enumerate(n_rows):
            self._statistics.rows_received(which, count, now)
            self._statistics.arrived_rows[which] += 0 if new[which] is None else len(new[which] or ())
        self._newest = self._shell.tick
        self._report(Arrived(self._shell.tick, n_rows, compared=0))

    @staticmethod
    def _sorted(one: Input, batches: Sequence[pa.RecordBatch]) -> Run | None:
        [run] = one.sorted([batch for batch in batches if batch.num_rows]).runs
        return run if run is not None and len(run) else None

    def _met(self, which: int, run: Run, earlier: Sequence[Run | None]) -> Iterator[pa.RecordBatch]:
        """What these rows make with all that is in memory, and with what came in the same call by inputs before it."""
        others = [list(one.partitions[0].resident) for one in self._inputs]
        for there, one in zip(others, earlier, strict=False):
            there += [] if one is None else [one]
        for found in self._combining.of(which, run, others):
            self._shell.breathe()
            yield from self._results(found, [[run] if at == which else there for at, there in enumerate(others)])

    def _results(self, found: Combinations, runs: Sequence[Sequence[Run]]) -> Iterator[pa.RecordBatch]:
        row_bytes = sum(max(run.n_bytes / len(run) for run in there) for there in runs)
        n_rows, at_once = len(found[0].positions), max(int(PAIRS_BYTES / row_bytes), 1)
        for first in range(0, n_rows, at_once):
            some = slice(first, first + at_once)
            arrays: dict[OutputColumn, pa.Array] = {}
            for which, places in found.items():
                mine = [column for column in self._columns if column.input == which]
                if mine:
                    numbers = tuple(column.column for column in mine)
                    parts = None if places.parts is None else places.parts[some]
                    where = places._replace(positions=places.positions[some], parts=parts)
                    gathered = gather_from([run.columns.only(numbers) for run in runs[which]], where)
                    arrays.update(zip(mine, gathered, strict=True))
            batch = pa.RecordBatch.from_arrays([arrays[column] for column in self._columns], schema=self._schema)
            self._statistics.results += batch.num_rows
            yield batch

    def _take_up(self, runs: Sequence[Run | None]) -> None:
        """There is room for these rows and their indexes."""
        for which, run in enumerate(runs):
            if run is not None:
                resident = self._inputs[which].partitions[0].resident
                resident.add(run)
                resident.merge_tiers(self.account.try_reserve, self._scratch_bytes * 3 // 4)
                self._accesses[which].keep_only(list(resident))

    def _weight(self, which: int, run: Run) -> int:
        return run.n_bytes + self._accesses[which].row_bytes * len(run)

    # Rows that leave memory

    def _make_room(self, needed_bytes: int) -> None:
        if needed_bytes > self.account.free_bytes:
            goal_bytes = max(needed_bytes, int(self._means.flush_fraction * self.account.share_bytes))
            dice = np.random.default_rng(self._shell.tick)
            while self.account.free_bytes < goal_bytes and any(one.resident_bytes for one in self._inputs):
                victims = self._victims(dice)
                for which, buckets in victims.items():
                    self._evict(which, buckets)
        if not self.account.try_reserve(needed_bytes):
            raise BudgetTooSmall(
                f"{needed_bytes:,} bytes of rows and their indexes arrived at once, and {self.account.free_bytes:,} "
                "are free for them; raise `memory`."
            )

    def _victims(self, dice: np.random.Generator) -> dict[int, npt.NDArray[np.int64]]:
        """Which buckets of which inputs leave next."""
        sizes = np.array([self._bytes_of_buckets(which) for which in range(len(self._inputs))])
        if len(self._graph.attributes) == 1:
            largest = np.array([int(sizes.sum(axis=0).argmax())])
            return dict.fromkeys(np.flatnonzero(sizes[:, largest[0]]).tolist(), largest)
        useless = [which for which in range(len(sizes)) if sizes[which].any() and self._others_have_ended(which)]
        which = useless[0] if useless else int(sizes.sum(axis=1).argmax())
        there = np.flatnonzero(sizes[which])
        share = int(np.ceil(self._means.flush_fraction * BUCKETS))
        return {which: there if useless else dice.permutation(there)[:share]}

    def _others_have_ended(self, which: int) -> bool:
        return all(one.ended for at, one in enumerate(self._inputs) if at != which)

    def _bytes_of_buckets(self, which: int) -> npt.NDArray[np.float64]:
        sizes = np.zeros(BUCKETS)
        for run in self._inputs[which].partitions[0].resident:
            sizes += np.bincount(_bucket_of(run), minlength=BUCKETS) * (self._weight(which, run) / len(run))
        return sizes

    def _evict(self, which: int, buckets: npt.NDArray[np.int64]) -> None:
        """Rows in these buckets become a run on disk; memory changes when that is safe."""
        one, leaves = self._inputs[which], np.zeros(BUCKETS, np.bool_)
        leaves[buckets] = True
        partition = one.partitions[0]
        leaving = [part for run in partition.resident if len(part := run.take(np.flatnonzero(leaves[_bucket_of(run)])))]
        run = replace(merge(leaving), departed=self._shell.tick, met_disk=NEVER)
        [segment] = write_segments(one.store, [one.store.encode(run)])
        spilled = SpilledRun(partition.new_number(), 0, (segment,))
        before = sum(self._weight(which, run) for run in partition.resident)
        partition.resident.reduce(lambda run: _without(run, leaves))
        self._accesses[which].keep_only(list(partition.resident))
        self.account.release(before - sum(self._weight(which, run) for run in partition.resident))
        partition.spilled.append(spilled)
        self._count()
        self._shell.report(Flushed(self._shell.tick, which, 0, spilled.n_rows, spilled.n_bytes, spilled.number))

    def _evict_some(self, n_bytes: int) -> None:
        """About so many bytes of one input, and one bucket at least."""
        which = next(which for which, one in enumerate(self._inputs) if one.resident_bytes)
        sizes = self._bytes_of_buckets(which)
        there = np.flatnonzero(sizes)
        fits = int(sizes[there].cumsum().searchsorted(n_bytes, side="right"))
        self._evict(which, there[: max(fits, 1)])

    def _evict_all(self) -> None:
        for which, one in enumerate(self._inputs):
            if len(one.partitions[0].resident):
                self._evict(which, np.arange(BUCKETS))

    # What is not out yet

    def end(self, which: int) -> None:
        self._inputs[which].ended = True
        if all(one.ended for one in self._inputs):
            self._shell.enter("clean-up")

    @property
    def _is_open(self) -> bool:
        """Whether a combination may be missing: some rows were on disk when the last ones came."""
        return self._newest > self._horizon and any(one.partitions[0].spilled for one in self._inputs)

    def has_work(self, around: Surroundings) -> bool:
        if self.phase in ("clean-up", "done"):
            return self.phase == "clean-up"
        return self._chain is not None or (around.settling and self._is_open)

    def work(self, quantum_bytes: int, around: Surroundings) -> Iterator[pa.RecordBatch]:
        return self._shell.exclusively(self._in_scratch(self._work(quantum_bytes, around)))

    def _work(self, quantum_bytes: int, around: Surroundings) -> Iterator[pa.RecordBatch]:
        self._shell.breathe()
        if not self.has_work(around):
            return
        if self.phase != "clean-up":
            self._shell.enter("reactive")
        if self._chain is not None:
            yield from self._go_on(self._chain, quantum_bytes)
        elif self._is_open and any(one.resident_bytes for one in self._inputs):
            before = int(self._statistics.spilled_bytes.sum())
            self._evict_some(quantum_bytes)
            self.worked_bytes += int(self._statistics.spilled_bytes.sum()) - before
        elif self._is_open:
            self._chain = self._new_chain()
        else:
            self._forget()
            self._shell.enter("done")
        self._shell.report_reached(self._statistics)

    def _new_chain(self, numbers: Sequence[Sequence[int]] | None = None) -> Chain:
        there = [[run.number for run in one.partitions[0].spilled] for one in self._inputs]
        return Chain(self._graph, self._inputs, numbers or there, self._storage, self._means)

    def _go_on(self, chain: Chain, quantum_bytes: int) -> Iterator[pa.RecordBatch]:
        before = chain.worked_bytes
        for rows in chain.work(quantum_bytes):
            self._shell.breathe()
            if (result := self._new_of(rows)).num_rows:
                self._statistics.results += result.num_rows
                yield result
        n_bytes = chain.worked_bytes - before
        self.worked_bytes += n_bytes
        self._shell.report(Scanned(self._shell.tick, 0, 0, 1, n_bytes))
        if chain.is_done:
            chain.close()
            self._chain, self._horizon = None, self._newest

    def _new_of(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Of combinations those that did not come out when the last of their rows came, nor by an earlier chain."""
        arrived, departed = (to_numpy(rows.column(names[LEFT])) for names in (ARRIVED, DEPARTED))
        is_new = (arrived > departed) & (arrived > self._horizon)
        fields = [
            named(column.input, self._inputs[column.input].schema.field(column.column).name) for column in self._columns
        ]
        columns = [rows.column(name) for name in fields]
        batch = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        return batch if is_new.all() else gather(batch, np.flatnonzero(is_new))

    def _forget(self) -> None:
        for which, one in enumerate(self._inputs):
            partition = one.partitions[0]
            self.account.release(sum(self._weight(which, run) for run in partition.resident))
            partition.resident.clear()
            self._accesses[which].keep_only([])
            spilled, partition.spilled = partition.spilled, []
            for run in spilled:
                remove_run(one.store, run)
        self._count()

    # What is told, and the state

    def view(self, around: Surroundings) -> View:
        statistics = self._statistics
        counts = {name: read_only(getattr(statistics, name)) for name in Statistics.SAVED if name not in UNSEEN}
        ended = tuple(one.ended for one in self._inputs)
        return View(tick=self._shell.tick, ended=ended, around=around, recent_rows=statistics.recent.rows, **counts)

    def progress(self) -> Progress:
        """Of combinations it is not known how many are covered, but whether all are."""
        every = float(np.prod(self._statistics.received_rows.astype(np.float64)))
        in_memory = float(np.prod(self._statistics.resident_rows.sum(axis=1).astype(np.float64)))
        covered = min(in_memory, every) if self._is_open and self.phase != "done" else every
        return self._statistics.progress(self.phase, self.account, every, covered)

    def snapshot(self) -> dict[str, Any]:
        return {
            **self._shell.to_plain(),
            "inputs": [one.to_plain() for one in self._inputs],
            "combining": self._combining.to_plain(),
            "statistics": self._statistics.to_plain(),
            "newest": self._newest,
            "horizon": self._horizon,
            "chain": None if self._chain is None else self._chain.to_plain(),
        }

    def restore(self, data: dict[str, Any]) -> None:
        self._shell.load_plain(data)
        self._statistics.load_plain(data["statistics"])
        self._combining.load_plain(data["combining"])
        self._newest, self._horizon = counted(data["newest"]), counted(data["horizon"])
        for which, (one, saved) in enumerate(zip(self._inputs, data["inputs"], strict=True)):
            one.load_plain(saved, self.account)
            self.account.take(self._accesses[which].row_bytes * one.partitions[0].resident.n_rows)
        if self.account.free_bytes < 0:
            self._evict_all()
        if (saved := data["chain"]) is not None:
            self._chain = self._new_chain([[counted(number) for number in numbers] for numbers in saved["numbers"]])
            self._chain.load_plain(saved)
        self._count()

    def interrupt(self) -> None:
        self._shell.interrupt()
        if (chain := self._chain) is not None:
            chain.interrupt()

    def close(self) -> None:
        if self._chain is not None:
            self._chain.close()
        super().close()

    def _in_scratch(self, work: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with self.account.borrowed(self._scratch_bytes):
            yield from work

    def _count(self) -> None:
        for which, one in enumerate(self._inputs):
            partition = one.partitions[0]
            self._statistics.count_resident(which, 0, partition.resident.n_rows, partition.resident.n_bytes)
            self._statistics.count_spilled(which, 0, partition.spilled)

    def _report(self, event: Event) -> None:
        self._count()
        self._shell.report(event)
        self._shell.report_reached(self._statistics)


def _bucket_of(run: Run) -> npt.NDArray[np.int64]:
    return (run.codes >> np.uint64(64 - BUCKET_BITS)).astype(np.int64)


def _without(run: Run, leaves: Flags) -> Run:
    """A run without the rows of some buckets."""
    leaving = leaves[_bucket_of(run)]
    return run.take(np.flatnonzero(~leaving)) if leaving.any() else run
