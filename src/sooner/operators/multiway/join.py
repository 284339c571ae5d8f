"""A join of many inputs in one operator: what arrives meets all that is in memory, and the rest comes from disk.

A combination comes out when the last of its rows arrives, if all others are in memory then. Which those are follows
from the stamps of rows. What is missing of the rows on disk is found by a `NestedLoop` in silences, if the algorithm
has one; and all that is missing by a `Chain` when the inputs have ended, or when all is to be settled before. While the
chain works its inputs are blocked.

Beside the budget it uses `scratch_bytes`, for runs that are merged, rows that leave, and what the loop has in memory;
and the rows of one call.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from sooner.budget import Account
from sooner.kernels.arrays import to_numpy
from sooner.kernels.gathering import gather, gather_from
from sooner.kernels.sorting import Places
from sooner.operators.events import Arrived, Event, Looped, Scanned
from sooner.operators.inputs import Input, Storage
from sooner.operators.multiway.accesses import Accesses
from sooner.operators.multiway.chain import STAMPS, Chain, named
from sooner.operators.multiway.combining import Combinations, Combining, picked
from sooner.operators.multiway.graph import Graph
from sooner.operators.multiway.leaving import Leaving
from sooner.operators.multiway.nested_loop import NestedLoop
from sooner.operators.multiway.output import OutputColumn
from sooner.operators.operator import Means, Operator, Port
from sooner.operators.pairs import PAIRS_BYTES
from sooner.operators.shell import Shell
from sooner.operators.statistics.arrivals import Counts, Statistics
from sooner.operators.whole_inputs import count_in_memory, count_whole, view_of
from sooner.phases import Phase
from sooner.policies.react.nested_loop import ReactiveNestedLoop
from sooner.policies.view import Surroundings, View
from sooner.progress import Progress
from sooner.runs.run import NEVER, Run, Stamp, Ticks
from sooner.runs.store import counted, remove_run
from sooner.sides import LEFT

FEW_ROWS: Final = 1024  # of a run, which are moved sooner than looked into by all attributes of all inputs


class MultiJoin(Operator[pa.RecordBatch]):
    worked_bytes = 0

    def __init__(
        self,
        graph: Graph,
        inputs: Sequence[Input],
        accesses: Sequence[Accesses],
        combining: Combining,
        leaving: Leaving,
        loop: NestedLoop,
        react: ReactiveNestedLoop | None,
        columns: Sequence[OutputColumn],
        statistics: Statistics,
        storage: Storage,
        means: Means,
        shell: Shell,
        scratch_bytes: int,
    ) -> None:
        self._graph = graph
        self._inputs = inputs
        self._accesses = accesses
        self._combining = combining
        self._leaving = leaving
        self._loop = loop
        self._react = react
        self._columns = columns
        self._schema = pa.schema([column.field for column in columns])
        self._storage = storage
        self._means = means
        self._shell = shell
        self._scratch_bytes = scratch_bytes
        self._statistics = statistics
        self._newest = NEVER  # when the last rows came
        self._horizon = NEVER  # all combinations of rows that came up to then are out
        self._chain: Chain | None = None
        for one in inputs:
            one.follows_joins = leaving.regions is not None

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
        self._loop.let_go()
        runs = [self._sorted(one, batches) for one, batches in zip(self._inputs, rows, strict=True)]
        passing = self._passing
        if passing is not None:
            self._leaving.forget(passing)
        kept = [(which, run) for which, run in enumerate(runs) if run is not None and which != passing]
        self._leaving.reserve(sum(self._leaving.weight(which, run) for which, run in kept))
        self._shell.enter("arriving")
        self._shell.advance()
        new = [None if run is None else replace(run, arrived=self._shell.tick) for run in runs]
        for which, run in enumerate(new):
            if run is not None:
                yield from self._met(which, run, new[:which])
        self._take_up({which: run for which, run in enumerate(new) if run is not None and which != passing})
        for which, count in enumerate(n_rows):
            self._statistics.rows_received(which, count, now)
            self._statistics.arrived_rows[which] += 0 if new[which] is None else len(new[which] or ())
        self._newest = self._shell.tick
        self._report(Arrived(self._shell.tick, n_rows, compared=0))

    @property
    def _passing(self) -> int | None:
        """The input whose rows meet all that they can when they come, so that none of them is kept: all others have
        ended, and are in memory.
        """
        is_open = [which for which, one in enumerate(self._inputs) if not one.ended]
        if len(is_open) > 1 or any(one.partitions[0].spilled for one in self._inputs if one.ended):
            return None
        return next(iter(is_open), None)

    @staticmethod
    def _sorted(one: Input, batches: Sequence[pa.RecordBatch]) -> Run | None:
        [run] = one.sorted([batch for batch in batches if batch.num_rows]).runs
        if run is None or not len(run):
            return None
        return run.with_join_bits() if one.follows_joins else run

    def _met(self, which: int, run: Run, earlier: Sequence[Run | None]) -> Iterator[pa.RecordBatch]:
        """What these rows make with all that is in memory, and with what came in the same call by inputs before it."""
        others = [list(one.partitions[0].resident) for one in self._inputs]
        for there, one in zip(others, earlier, strict=False):
            there += [] if one is None else [one]
        runs: list[Sequence[Run]] = [[run] if at == which else there for at, there in enumerate(others)]
        for found in self._combining.of(which, run, others):
            self._shell.breathe()
            self._note_joins(found, runs)
            yield from self._results(found, runs)

    def _note_joins(self, found: Combinations, runs: Sequence[Sequence[Run]]) -> None:
        """For algorithms that look at regions and join bits: rows are credited with results of the whole join."""
        if (regions := self._leaving.regions) is None:
            return
        for which, places in found.items():
            for number, run in enumerate(runs[which]):
                at = places.positions if len(runs[which]) == 1 else places.positions[places.parts == number]
                times: Counts | None = None
                if len(at) > len(run):  # a row may have thousands of results
                    counts = np.bincount(at)
                    at = np.flatnonzero(counts)
                    times = counts[at]
                if run.joined is not None:
                    run.joined[at] = True
                for place in range(self._accesses[which].n_attributes):
                    regions.count_joins(which, place, self._accesses[which].of(run, place).of_rows[at], times)

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

    def _take_up(self, runs: Mapping[int, Run]) -> None:
        """There is room for these rows and their indexes."""
        for which, run in runs.items():
            self._inputs[which].partitions[0].resident.add(run)
        terms = self.account.try_reserve, self._scratch_bytes * 3 // 4
        for one in self._inputs:
            resident = one.partitions[0].resident
            if one.ended:
                resident.become_one(*terms)
            else:
                resident.merge_tiers(*terms, few_rows=FEW_ROWS)
        for which, accesses in enumerate(self._accesses):
            accesses.keep_only(list(self._inputs[which].partitions[0].resident))

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
        if self._chain is not None or (around.settling and (self._is_open or self._loop.is_in_the_middle)):
            return True
        return self._react is not None and self._react.wants_to_work(around) and self._loop.is_open

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
        elif self._loop.is_in_the_middle or (self.phase != "clean-up" and not around.settling):
            yield from self._go_round(quantum_bytes)
        elif self._is_open and any(one.resident_bytes for one in self._inputs):
            before = int(self._statistics.spilled_bytes.sum())
            self._leaving.evict_some(quantum_bytes)
            self.worked_bytes += int(self._statistics.spilled_bytes.sum()) - before
        elif self._is_open:
            self._chain = self._new_chain()
        else:
            self._forget()
            self._shell.enter("done")
        self._shell.report_reached(self._statistics)

    def _new_chain(self) -> Chain:
        return Chain(self._graph, self._inputs, self._loop.joined, self._horizon, self._storage, self._means)

    def _go_round(self, quantum_bytes: int) -> Iterator[pa.RecordBatch]:
        """A piece of the nested loop."""
        before = self._loop.worked_bytes
        for found, runs in self._loop.work(quantum_bytes):
            self._shell.breathe()
            arrived, departed = (
                chosen.reduce([_stamps_of(places, [getattr(run, stamp) for run in runs[which]])
                               for which, places in found.items()])
                for stamp, chosen in (("arrived", np.maximum), ("departed", np.minimum))
            )  # fmt: skip
            is_new = np.flatnonzero((arrived > departed) & (arrived > self._horizon))
            if len(is_new):
                yield from self._results({which: picked(places, is_new) for which, places in found.items()}, runs)
        n_bytes = self._loop.worked_bytes - before
        self.worked_bytes += n_bytes
        self._shell.report(Looped(self._shell.tick, 0, self._loop.outer, len(self._inputs), n_bytes))

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
            self._loop.all_is_joined()

    def _new_of(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Of combinations those that did not come out when the last of their rows came, nor by an earlier chain, nor by
        the loop.
        """
        arrived, departed, is_looped = (to_numpy(rows.column(names[LEFT])) for names in STAMPS)
        is_new = (arrived > departed) & (arrived > self._horizon) & (is_looped == 0)
        fields = [
            named(column.input, self._inputs[column.input].schema.field(column.column).name) for column in self._columns
        ]
        columns = [rows.column(name) for name in fields]
        batch = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        return batch if is_new.all() else gather(batch, np.flatnonzero(is_new))

    def _forget(self) -> None:
        for which, one in enumerate(self._inputs):
            partition = one.partitions[0]
            self._leaving.forget(which)
            spilled, partition.spilled = partition.spilled, []
            for run in spilled:
                remove_run(one.store, run)
        self._count()

    # What is told, and the state

    def view(self, around: Surroundings) -> View:
        return view_of(self._statistics, self.inputs, self._shell.tick, around)

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
            "regions": None if self._leaving.regions is None else self._leaving.regions.to_plain(),
            "loop": self._loop.to_plain(),
            "statistics": self._statistics.to_plain(),
            "newest": self._newest,
            "horizon": self._horizon,
            "chain": None if self._chain is None else self._chain.to_plain(),
        }

    def restore(self, data: dict[str, Any]) -> None:
        self._shell.load_plain(data)
        self._statistics.load_plain(data["statistics"])
        self._combining.load_plain(data["combining"])
        if self._leaving.regions is not None:
            self._leaving.regions.load_plain(data["regions"])
        self._newest, self._horizon = counted(data["newest"]), counted(data["horizon"])
        for which, (one, saved) in enumerate(zip(self._inputs, data["inputs"], strict=True)):
            one.load_plain(saved, self.account)
            self.account.take(self._accesses[which].row_bytes * one.partitions[0].resident.n_rows)
        if self.account.free_bytes < 0:
            self._leaving.evict_all()
        self._loop.load_plain(data["loop"])
        if (saved := data["chain"]) is not None:
            self._chain = self._new_chain()
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
        count_whole(self._statistics, self.inputs)

    def _report(self, event: Event) -> None:
        count_in_memory(self._statistics, self.inputs)
        self._shell.report(event)
        self._shell.report_reached(self._statistics)


def _stamps_of(places: Places, stamps: Sequence[Stamp]) -> Ticks:
    """The stamps of rows in several runs."""
    chosen = np.empty(len(places.positions), np.int32)
    for number, stamp in enumerate(stamps):
        here = slice(None) if len(stamps) == 1 else np.flatnonzero(places.parts == number)
        chosen[here] = stamp if isinstance(stamp, int) else stamp[places.positions[here]]
    return chosen
