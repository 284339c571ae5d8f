"""Stream rows that are gathered while more of them come than can be answered one batch at a time.

A pass over the master costs nearly the same for many rows as for a few. So rows that miss the cache wait for each other
as long as others wait behind them, and are then answered from the lowest code to the highest, a quantum at a time, like
passengers of a lift: who comes to a pass before it has reached his code goes along, and others wait for the next. Once
passes have begun no row waits longer than a whole one, or half of one on the average, and whose code was passed soon
makes room.
"""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from sooner.budget import Account
from sooner.kernels.array_types import Codes
from sooner.operators.enrich.answers import Answers
from sooner.operators.enrich.pieces import in_order
from sooner.operators.inputs import Input
from sooner.runs.run import NEVER, STILL_HERE, Run, code_position, merge
from sooner.runs.slabs import ALL_CODES
from sooner.runs.store import SpilledRun, counted, remove_run, write_segments

LEAVING_SHARE: Final = 1 / 4  # of the rows of a pass are answered: then they leave memory
MOST_RUNS: Final = 8  # of those that are in a pass, and of those behind it; if there are more, the smallest become one


class Gathered:
    """`rows` is the stream's input, with one partition: first come runs of rows ahead of the pass, then the others."""

    def __init__(self, rows: Input, account: Account, answers: Answers, merge_bytes: int) -> None:
        self._rows = rows
        self._account = account
        self._answers = answers
        self._merge_bytes = merge_bytes
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
        in_memory = sum(map(len, [*self._ahead, *self._behind]))
        return in_memory + sum(run.n_rows for run in self._rows.partitions[0].spilled)

    def try_add(self, run: Run) -> bool:
        """Whether there was room for these rows."""
        if run.n_bytes > self._account.free_bytes:
            return False
        ahead, behind = [], [run]
        if self._in_pass:
            cut = code_position(run.codes, self._cursor)
            behind, ahead = [run.take(np.arange(cut))], [run.take(np.arange(cut, len(run)))]
        self._hold([*self._of_pass, *ahead], [*self._behind, *behind])
        return True

    def begin_pass(self) -> int:
        """Where the pass stands, which begins now if there is none."""
        if not self._in_pass:
            if not len(self._rows.partitions[0].resident):
                self._load()
            self._in_pass, self._cursor = len(self._behind), 0
        return self._cursor

    def codes_below(self, code: int) -> Codes:
        """Those that the pass asks for next, up to this one, sorted, each once."""
        return np.unique(np.concatenate([run.between(self._cursor, code).codes for run in self._of_pass]))

    def up_to(self, code: int) -> Run | None:
        """The rows of the pass below this code that were not given before. Who takes them answers them."""
        parts = [run.between(self._cursor, code) for run in self._of_pass]
        self._cursor = code
        if code == ALL_CODES:
            self._hold([], self._behind)
            self._cursor = 0
        else:
            n_rows, n_left = (sum(map(len, runs)) for runs in (self._of_pass, self._ahead))
            if n_rows - n_left > LEAVING_SHARE * n_rows:
                self._hold([run.take(np.arange(len(run))) for run in self._ahead], self._behind)
        some = [part for part in parts if len(part)]
        return merge(some) if some else None

    def spill(self, piece_bytes: int) -> None:
        """All rows that are not answered go to disk, so many bytes at a time."""
        partition, store = self._rows.partitions[0], self._rows.store
        left = [run for run in (*self._ahead, *self._behind) if len(run)]
        for run in in_order(left, piece_bytes):
            [segment] = write_segments(store, [store.encode(run)])
            partition.spilled.append(SpilledRun(partition.new_number(), 0, (segment,)))
        self._hold([], [])
        self._cursor = 0

    def _load(self) -> None:
        partition, store = self._rows.partitions[0], self._rows.store
        spilled = partition.spilled[0]
        rows = merge([run for part in spilled.segments for run in store.read(part, part.blocks)])
        self._hold([], [self._answers.followed(replace(rows, departed=STILL_HERE, met_disk=NEVER))])
        partition.spilled = partition.spilled[1:]
        remove_run(store, spilled)

    @property
    def _of_pass(self) -> list[Run]:
        return list(self._rows.partitions[0].resident)[: self._in_pass]

    @property
    def _ahead(self) -> list[Run]:
        return [run.between(self._cursor, ALL_CODES) for run in self._of_pass]

    @property
    def _behind(self) -> list[Run]:
        return list(self._rows.partitions[0].resident)[self._in_pass :]

    def _hold(self, of_pass: Sequence[Run], behind: Sequence[Run]) -> None:
        """These runs instead of those before; where there are many, fewer and larger ones."""
        groups = [self._fewer([run for run in runs if len(run)]) for runs in (of_pass, behind)]
        resident = self._rows.partitions[0].resident
        before = resident.n_bytes
        resident.clear()
        for run in itertools.chain(*groups):
            resident.add(run)
        self._in_pass = len(groups[0])
        self._account.release(before)
        self._account.take(resident.n_bytes)

    def _fewer(self, runs: list[Run]) -> list[Run]:
        if len(runs) <= MOST_RUNS:
            return runs
        smallest = sorted(runs, key=lambda run: run.n_bytes)[:MOST_RUNS]
        fit = [
            run
            for run, filled in zip(smallest, itertools.accumulate(run.n_bytes for run in smallest), strict=True)
            if filled <= self._merge_bytes
        ]
        if len(fit) < 2:
            return runs
        return [run for run in runs if not any(run is other for other in fit)] + [merge(fit)]

    def to_plain(self) -> dict[str, Any]:
        return {"in_pass": self._in_pass, "cursor": self._cursor}

    def load_plain(self, data: dict[str, Any]) -> None:
        self._in_pass, self._cursor = counted(data["in_pass"]), int(data["cursor"])
