"""A join of many inputs in one operator: what arrives meets all that is in memory, and the rest comes from disk.

A combination comes out when the last of its rows arrives, if all others are in memory then. Which those are follows
from the stamps of rows. What is missing of the rows on disk is found by a `NestedLoop` in silences, if the algorithm
has one; and all that is missing by a `Chain` when the inputs have ended, or when all is to be settled before. While the
chain works its inputs are blocked.

Beside the budget it uses `scratch_bytes`, for runs that are merged, rows that leave, and what the loop has in memory;
and the rows of one call.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from sooner.budget import Account
from sooner.errors import BudgetTooSmall
from sooner.operators.events import Arrived, Event, Looped, Scanned
from sooner.operators.inputs import Input, Storage
from sooner.operators.multiway.accesses import Accesses
from sooner.operators.multiway.chain import Chain, chained_of
from sooner.operators.multiway.combining import Combining
from sooner.operators.multiway.graph import Graph
from sooner.operators.multiway.leaving import Leaving
from sooner.operators.multiway.nested_loop import NestedLoop
from sooner.operators.multiway.output import OutputColumn
from sooner.operators.multiway.passing import Passing, with_codes
from sooner.operators.multiway.results import Results
from sooner.operators.operator import Means, Operator, Port
from sooner.operators.shell import Shell
from sooner.operators.statistics.arrivals import Statistics
from sooner.operators.two_way.join import ROWS_WORTH_THREADS
from sooner.operators.whole_inputs import count_in_memory, count_whole, view_of
from sooner.parallel import ALONE, Crew
from sooner.phases import Phase
from sooner.policies.react.nested_loop import ReactiveNestedLoop
from sooner.policies.view import Surroundings, View
from sooner.progress import Progress
from sooner.runs.run import NEVER, Run
from sooner.runs.store import counted, counts_of_each, remove_run

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
        guided: int | None,
    ) -> None:
        self._graph = graph
        self._inputs = inputs
        self._accesses = accesses
        self._combining = combining
        self._leaving = leaving
        self._loop = loop
        self._react = react
        self._passing = Passing(graph, inputs, accesses, combining, guided)
        self._results = Results(columns)
        self._storage = storage
        self._means = means
        self._crew = Crew(means.workers, means.account)
        self._shell = shell
        self._scratch_bytes = scratch_bytes
        self._statistics = statistics
        self._newest = [NEVER] * len(inputs)  # when the last rows of each came
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
        last = self._passing.last
        before = [[] if which == last else batches for which, batches in enumerate(rows)]
        if any(before):
            yield from self._take_in(before)
        if last is not None and n_rows[last]:
            yield from self._pass(last, rows[last])
        self._tidy_up()
        for which, count in enumerate(n_rows):
            self._statistics.rows_received(which, count, now)
            if count:
                self._newest[which] = self._shell.tick
        self._report(Arrived(self._shell.tick, n_rows, compared=0))

    def _take_in(self, rows: Sequence[Sequence[pa.RecordBatch]]) -> Iterator[pa.RecordBatch]:
        """They meet what is in memory, and stay there, if they can be in a result."""
        rows = [self._promising(which, batches) for which, batches in enumerate(rows)]
        runs = [self._sorted(one, batches) for one, batches in zip(self._inputs, rows, strict=True)]
        self._leaving.reserve(
            lambda: sum(self._leaving.weight(which, run) for which, run in enumerate(runs) if run is not None)
        )
        self._shell.enter("arriving")
        self._shell.advance()
        new = [None if run is None else replace(run, arrived=self._shell.tick) for run in runs]
        for which, run in enumerate(new):
            if run is not None:
                self._statistics.arrived_rows[which] += len(run)
                yield from self._met(which, run, new[:which])
        for which, run in enumerate(new):
            if run is not None:
                self._inputs[which].partitions[0].resident.add(run)

    def _promising(self, which: int, batches: Sequence[pa.RecordBatch]) -> Sequence[pa.RecordBatch]:
        if not self._passing.settled_beside(which):
            return batches
        code = self._inputs[which].code
        return [self._passing.promising(which, with_codes(batch, code)).rows for batch in batches]

    def _pass(self, which: int, batches: Sequence[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows of the last input meet all that they can in memory. Few of them are kept, if any: so they are looked up
        as they lie, and several threads may do it, from their codes on.
        """
        if self._passing.all_pass(which):
            self._leaving.forget(which)
        runs: list[Run | None] = [None] * len(batches)

        def run_of(number: int) -> Run:
            if (run := runs[number]) is None:
                run = runs[number] = with_codes(batches[number], self._inputs[which].code)
            return run

        kept = self._room_for(which, lambda: list(map(run_of, range(len(runs)))))
        self._shell.enter("arriving")
        self._shell.advance()
        others = [list(one.partitions[0].resident) for one in self._inputs]
        combinations = self._combining.prepared(which, others)

        def passed(number: int) -> Iterator[pa.RecordBatch]:
            if len(run := run_of(number)):
                together = [[run] if at == which else there for at, there in enumerate(others)]
                for found in combinations(run):
                    yield from self._results.of(found, together)

        crew = self._crew if sum(batch.num_rows for batch in batches) >= ROWS_WORTH_THREADS else ALONE
        yield from self._counted(crew.together([passed(number) for number in range(len(runs))]))
        self._statistics.arrived_rows[which] += sum(len(run) for run in runs if run is not None)
        if kept is not None:
            self._inputs[which].partitions[0].resident.add(replace(kept, arrived=self._shell.tick))

    def _room_for(self, which: int, runs: Callable[[], Sequence[Run]]) -> Run | None:
        """There is room in memory for those of these rows that have to be kept, which are none if nothing is on disk.
        What leaves to make it may be what some of them match.
        """
        kept: Run | None = None
        sought: dict[int, list[int]] = {}

        def needed_bytes() -> int:
            nonlocal kept, sought
            if sought != (on_disk := self._passing.on_disk_beside(which)):
                kept = self._sorted(self._inputs[which], [self._passing.to_keep(which, run).rows for run in runs()])
                sought = on_disk
            return 0 if kept is None else self._leaving.weight(which, kept)

        self._leaving.reserve(needed_bytes)
        return kept

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
            self._leaving.note_joins(found, runs)
            yield from self._counted(self._results.of(found, runs))

    def _tidy_up(self) -> None:
        """Merge runs in memory, and forget the indexes of those that are there no more."""
        terms = self.account.try_reserve, self._scratch_bytes * 3 // 4
        for one in self._inputs:
            resident = one.partitions[0].resident
            if one.ended:
                resident.become_one(*terms)
            else:
                resident.merge_tiers(*terms, few_rows=FEW_ROWS)
        self._leaving.forget_indexes()

    # What is not out yet

    def end(self, which: int) -> None:
        with self._leaving.weighed_anew():
            self._inputs[which].ended = True
        if all(one.ended for one in self._inputs):
            self._shell.enter("clean-up")
        elif len(self._inputs) > 2 and self._chain is None:  # of two, one stays as it is, as in DINER
            with self.account.borrowed(self._scratch_bytes):
                self._let_go_of_hopeless_rows(which)
            self._count()

    def _let_go_of_hopeless_rows(self, ended: int) -> None:
        """Those in memory beside an input that is known as a whole, and beside what becomes smaller by that."""
        settled, most_bytes = [ended], self._scratch_bytes * 3 // 4

        def promising(which: int, run: Run) -> Run:
            return run if run.n_bytes > most_bytes else self._passing.promising(which, run)

        while settled:
            beside = self._passing.beside_settled(settled.pop())
            settled += [which for which in beside if self._leaving.reduce(which, promising)]

    @property
    def _is_open(self) -> bool:
        """Whether a combination may be missing: some rows were on disk when the last came, and no input is without."""
        spilled = [bool(one.partitions[0].spilled) for one in self._inputs]
        has_rows = (there or one.resident_bytes for there, one in zip(spilled, self._inputs, strict=True))
        return max(self._newest) > self._horizon and any(spilled) and all(has_rows)

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
        elif self._is_open and (leaving := self._to_be_chained):
            self._send_to_disk(leaving[0], quantum_bytes)
        elif self._is_open:
            self._chain = self._new_chain()
        else:
            self._forget()
            self._shell.enter("done")
        self._shell.report_reached(self._statistics)

    @property
    def _to_be_chained(self) -> list[int]:
        """Inputs with rows in memory that the chain is to join: those that have others on disk, or all of them, if too
        little memory would be left for it. A single one on disk keeps its rows: they have met all there is.
        """
        chained = chained_of(self._graph, self._inputs)
        if len(chained) == 1:
            return []
        others = [which for which in range(len(self._inputs)) if which not in chained]
        if sum(map(self._leaving.weight_of, others)) > self.account.share_bytes // 2:
            chained += others
        return [which for which in chained if self._inputs[which].resident_bytes]

    def _send_to_disk(self, which: int, quantum_bytes: int) -> None:
        """Some rows of an input in memory; if nothing comes any more, without those that have met all there is."""
        resident = self._inputs[which].partitions[0].resident
        if self.phase == "clean-up":
            with self._leaving.weighed_anew():
                resident.reduce(lambda run: self._passing.not_through(which, run, self._newest))
            self._count()
        if len(resident):
            before_bytes = int(self._statistics.spilled_bytes.sum())
            self._leaving.evict_some(which, quantum_bytes)
            self.worked_bytes += int(self._statistics.spilled_bytes.sum()) - before_bytes

    def _new_chain(self, merges: bool | None = None) -> Chain:
        finding = self._combining, self._results, self._loop.joined, self._horizon
        return Chain(self._graph, self._inputs, *finding, self._storage, self._means, self._crew, merges=merges)

    def _go_round(self, quantum_bytes: int) -> Iterator[pa.RecordBatch]:
        """A piece of the nested loop."""
        before, joined = self._loop.worked_bytes, list(self._loop.joined)
        for found, runs in self._loop.work(quantum_bytes):
            self._shell.breathe()
            yield from self._counted(self._results.missing(found, runs, self._horizon))
        n_bytes = self._loop.worked_bytes - before
        self.worked_bytes += n_bytes
        met = self._loop.met_since(joined)
        self._shell.report(Looped(self._shell.tick, 0, self._loop.outer, len(self._inputs), n_bytes, met))

    def _go_on(self, chain: Chain, quantum_bytes: int) -> Iterator[pa.RecordBatch]:
        before = chain.worked_bytes
        yield from self._counted(chain.work(quantum_bytes))
        n_bytes = chain.worked_bytes - before
        self.worked_bytes += n_bytes
        self._shell.report(Scanned(self._shell.tick, 0, 0, 1, n_bytes))
        if chain.is_done:
            chain.close()
            self._chain, self._horizon = None, max(self._newest)
            self._loop.all_is_joined()

    def _counted(self, results: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in results:
            self._shell.breathe()
            self._statistics.results += batch.num_rows
            yield batch

    def _forget(self) -> None:
        for which in range(len(self._inputs)):
            self._leaving.forget(which)
        for one in self._inputs:  # rows in memory weigh less when nothing on disk may be looked up by them any more
            partition = one.partitions[0]
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
            "newest": list(self._newest),
            "horizon": self._horizon,
            "chain": None if self._chain is None else self._chain.to_plain(),
        }

    def restore(self, data: dict[str, Any]) -> None:
        self._shell.load_plain(data)
        self._statistics.load_plain(data["statistics"])
        self._combining.load_plain(data["combining"])
        if self._leaving.regions is not None:
            self._leaving.regions.load_plain(data["regions"])
        self._newest, self._horizon = counts_of_each(data["newest"], len(self._inputs)), counted(data["horizon"])
        for one, saved in zip(self._inputs, data["inputs"], strict=True):
            one.load_plain(saved, self.account)
        for which, one in enumerate(self._inputs):
            self.account.take(self._leaving.weight_of(which) - one.resident_bytes)  # indexes
        saved = data["chain"]
        if self.account.free_bytes < 0 and saved is not None:
            raise BudgetTooSmall(
                f"The state has {-self.account.free_bytes:,} bytes of rows in memory for which there is no room, while "
                "they are joined with those on disk; raise `memory` to what it was, until that is done."
            )
        if self.account.free_bytes < 0:
            self._leaving.evict_all()
        self._loop.load_plain(data["loop"])
        if saved is not None:
            self._chain = self._new_chain(merges=saved.get("merge") is not None)
            self._chain.load_plain(saved)
        self._count()

    def interrupt(self) -> None:
        self._shell.interrupt()
        if (chain := self._chain) is not None:
            chain.interrupt()

    def close(self) -> None:
        if self._chain is not None:
            self._chain.close()
        self._crew.dismiss()
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
