"""The rows of one input as they come: an operator that joins nothing and keeps nothing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sooner.budget import Account
from sooner.operators.events import Arrived
from sooner.operators.inputs import Input, Storage
from sooner.operators.operator import Means, Operator
from sooner.operators.order import Order
from sooner.operators.shell import Shell
from sooner.operators.statistics.arrivals import Statistics
from sooner.operators.whole_inputs import view_of
from sooner.phases import Phase
from sooner.policies.view import Surroundings, View
from sooner.progress import Progress


class Scan(Operator[pa.RecordBatch]):
    worked_bytes = 0

    def __init__(self, inputs: Sequence[Input], means: Means) -> None:
        self._inputs = inputs
        self._account = means.account
        self._shell = Shell(means.listener)
        self._statistics = Statistics(len(inputs), 1)

    @property
    def inputs(self) -> Sequence[Input]:
        return self._inputs

    @property
    def account(self) -> Account:
        return self._account

    @property
    def phase(self) -> Phase:
        return self._shell.phase

    def arrive(self, rows: Sequence[Sequence[pa.RecordBatch]], now: float) -> Iterator[pa.RecordBatch]:
        """Rows go out as they came."""
        return self._shell.exclusively(self._arrive(rows[0], now))

    def _arrive(self, batches: Sequence[pa.RecordBatch], now: float) -> Iterator[pa.RecordBatch]:
        self._shell.breathe()
        self._shell.require("arriving")
        n_rows = sum(batch.num_rows for batch in batches)
        if not n_rows:
            return
        self._shell.advance()
        self._statistics.rows_received(0, n_rows, now)
        self._statistics.arrived_rows[0] += n_rows
        for batch in batches:
            if batch.num_rows:
                self._statistics.results += batch.num_rows
                yield batch
        self._shell.report(Arrived(self._shell.tick, (n_rows,), compared=0))
        self._shell.report_reached(self._statistics)

    def end(self, which: int) -> None:
        self._inputs[which].ended = True
        self._shell.enter("clean-up")

    def has_work(self, around: Surroundings) -> bool:  # noqa: ARG002 - there is none but to end
        return self.phase == "clean-up"

    def work(self, quantum_bytes: int, around: Surroundings) -> Iterator[pa.RecordBatch]:  # noqa: ARG002 - none
        """Nothing is left to do."""
        return self._shell.exclusively(self._work())

    def _work(self) -> Iterator[pa.RecordBatch]:
        self._shell.breathe()
        if self.phase == "clean-up":
            self._shell.enter("done")
        yield from ()

    def view(self, around: Surroundings) -> View:
        return view_of(self._statistics, self._inputs, self._shell.tick, around)

    def progress(self) -> Progress:
        return self._statistics.progress(self.phase, self._account, 1.0, 1.0)

    def snapshot(self) -> dict[str, Any]:
        return {
            **self._shell.to_plain(),
            "inputs": [one.to_plain() for one in self._inputs],
            "statistics": self._statistics.to_plain(),
        }

    def restore(self, data: dict[str, Any]) -> None:
        self._shell.load_plain(data)
        self._statistics.load_plain(data["statistics"])
        for one, saved in zip(self._inputs, data["inputs"], strict=True):
            one.load_plain(saved, self._account)

    def interrupt(self) -> None:
        self._shell.interrupt()


@dataclass(frozen=True)
class ScanPlan:
    def order(self, schemas: Sequence[pa.Schema]) -> Order:
        """All rows are alike."""
        return Order([lambda batch: (np.zeros(batch.num_rows, np.uint64), None)] * len(schemas), is_spread=False)

    def output(self, schemas: Sequence[pa.Schema]) -> pa.Schema:
        return schemas[0]

    def make(self, names: Sequence[str], schemas: Sequence[pa.Schema], storage: Storage, means: Means) -> Scan:
        return Scan(storage.inputs(self.order(schemas), names, schemas), means)
