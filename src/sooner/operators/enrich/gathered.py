"""Stream rows that are gathered while more of them come than can be answered one batch at a time.

A pass over the master costs nearly the same for many rows as for a few. So rows that miss the cache wait for each other
as long as others wait behind them, and are then answered in one *pass*, from the lowest code to the highest, a quantum
at a time. Rows that come meanwhile belong to the next pass: no row waits longer than two of them.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from sooner.budget import Account
from sooner.kernels.array_types import Codes
from sooner.operators.enrich.answers import Answers
from sooner.operators.enrich.pieces import in_order
from sooner.operators.inputs import Input
from sooner.runs.run import NEVER, STILL_HERE, Run, merge
from sooner.runs.slabs import ALL_CODES
from sooner.runs.store import SpilledRun, counted, remove_run, write_segments


class Gathered:
    """`rows` is the stream's input, with one partition."""

    def __init__(self, rows: Input, account: Account, answers: Answers) -> None:
        self._rows = rows
        self._account = account
        self._answers = answers
        self._in_pass = 0  # runs in memory, the first ones
        self._cursor = 0  # codes below are answered, of those

    @property
    def n_bytes(self) -> int:
        return self._rows.resident_bytes

    @property
    def is_empty(self) -> bool:
        return not (len(self._rows.partitions[0].resident) or self._rows.partitions[0].spilled)

    @property
    def n_rows(self) -> int:
        """That are not answered."""
        of_pass = sum(len(run.between(self._cursor, ALL_CODES)) for run in self._runs[: self._in_pass])
        spilled = sum(run.n_rows for run in self._rows.partitions[0].spilled)
        return of_pass + sum(map(len, self._runs[self._in_pass :])) + spilled

    def try_add(self, run: Run) -> bool:
        """Whether there was room for these rows."""
        if not self._account.try_reserve(run.n_bytes):
            return False
        self._rows.partitions[0].resident.add(run)
        return True

    def begin_pass(self) -> int:
        """Where the pass stands, which begins now if there is none."""
        if not self._in_pass:
            if not len(self._rows.partitions[0].resident):
                self._load()
            self._in_pass, self._cursor = len(self._runs), 0
        return self._cursor

    def codes_below(self, code: int) -> Codes:
        """Those that the pass asks for next, up to this one, sorted, each once."""
        return np.unique(np.concatenate([run.between(self._cursor, code).codes for run in self._runs[: self._in_pass]]))

    def up_to(self, code: int) -> Run | None:
        """The rows of the pass below this code that were not given before. Who takes them answers them."""
        parts = [run.between(self._cursor, code) for run in self._runs[: self._in_pass]]
        self._cursor = code
        some = [part for part in parts if len(part)]
        return merge(some) if some else None

    def end_pass(self) -> None:
        """All of it is answered."""
        self._drop(self._in_pass)
        self._in_pass = self._cursor = 0

    def spill(self, piece_bytes: int) -> None:
        """All rows that are not answered go to disk, so many bytes at a time."""
        partition, store = self._rows.partitions[0], self._rows.store
        runs = self._runs
        left = [run.between(self._cursor, ALL_CODES) for run in runs[: self._in_pass]] + runs[self._in_pass :]
        for run in in_order([run for run in left if len(run)], piece_bytes):
            [segment] = write_segments(store, [store.encode(run)])
            partition.spilled.append(SpilledRun(partition.new_number(), 0, (segment,)))
        self._drop(len(runs))
        self._in_pass = self._cursor = 0

    def _load(self) -> None:
        partition, store = self._rows.partitions[0], self._rows.store
        spilled = partition.spilled[0]
        rows = merge([run for part in spilled.segments for run in store.read(part, part.blocks)])
        run = self._answers.followed(replace(rows, departed=STILL_HERE, met_disk=NEVER))
        self._account.reserve(run.n_bytes)
        partition.resident.add(run)
        partition.spilled = partition.spilled[1:]
        remove_run(store, spilled)

    @property
    def _runs(self) -> list[Run]:
        return list(self._rows.partitions[0].resident)

    def _drop(self, first: int) -> None:
        resident, kept = self._rows.partitions[0].resident, self._runs[first:]
        before = resident.n_bytes
        resident.clear()
        for run in kept:
            resident.add(run)
        self._account.release(before - resident.n_bytes)

    def to_plain(self) -> dict[str, Any]:
        return {"in_pass": self._in_pass, "cursor": self._cursor}

    def load_plain(self, data: dict[str, Any]) -> None:
        self._in_pass, self._cursor = counted(data["in_pass"]), int(data["cursor"])
