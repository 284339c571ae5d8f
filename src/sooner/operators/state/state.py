"""All that a two-way join knows: rows in memory and on disk, what has met, statistics, phase; saved as plain data."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from sooner.budget import Account
from sooner.how import Kind
from sooner.operators.deciding.existence import Existence
from sooner.operators.deciding.expiry import Expiry, Mark
from sooner.operators.inputs import Input
from sooner.operators.ledgers.ledger import Ledger, numbers_on_disk
from sooner.operators.ledgers.open_pairs import JoinStatistics
from sooner.operators.shell import Shell
from sooner.operators.state.looping import Loop
from sooner.operators.statistics.regions import rows_by_region
from sooner.policies.view import RegionsView
from sooner.runs.ledger import Rectangle
from sooner.runs.run import NEVER, STILL_HERE, Run, arrived_between
from sooner.runs.store import SpilledRun, counted, counts_of_each, remove_run
from sooner.sides import LEFT, SIDES, opposite

LEAVING_SHARE: Final = 0.25  # of rows in memory that nobody needs any more: then they leave it


class JoinState:
    """What varies between joins is given to it: the ledger says what has met, the kind which rows come out."""

    def __init__(
        self,
        inputs: tuple[Input, Input],
        account: Account,
        shell: Shell,
        statistics: JoinStatistics,
        ledger: Ledger,
        existence: Existence,
        kind: Kind,
        expiry: Expiry | None,
        *,
        splits_codes: bool,
    ) -> None:
        self.inputs = inputs
        self.account = account
        self.shell = shell
        self.statistics = statistics
        self.ledger = ledger
        self.existence = existence
        self.kind = kind
        self.expiry = expiry
        self.splits_codes = splits_codes  # whether some of the rows of a code may leave memory before the others
        for side in kind.examined:
            inputs[side].follows_matches = True
        for one in inputs:
            one.follows_joins = statistics.regions is not None and kind.pairs
        partitions = self.n_partitions
        self.next_to_clean = 0  # partitions before it were cleaned up, or are being so
        # [side][partition]: rows that came up to this tick came out if they match nothing (or something, as is wanted);
        # and runs on disk that have none but such
        self.decided = [[NEVER] * partitions for _ in SIDES]
        self.decided_runs: list[list[set[int]]] = [[set() for _ in range(partitions)] for _ in SIDES]
        self.loops: dict[int, Loop] = {}  # of partitions in which a nested loop has begun, and something is open

    @property
    def n_partitions(self) -> int:
        return len(self.inputs[LEFT].partitions)

    @property
    def ended(self) -> tuple[bool, ...]:
        return tuple(side.ended for side in self.inputs)

    def spilled(self, side: int, p: int) -> list[SpilledRun]:
        return self.inputs[side].partitions[p].spilled

    def run_numbers(self, p: int) -> Rectangle:
        """Of the runs on disk of either side."""
        return numbers_on_disk(self.inputs, p)

    def memory_met_disk(self, side: int, p: int, tick: int, up_to_code: int | None = None) -> None:
        """What was in memory at this tick has met what was on disk then: all of it, or below a code."""
        self.ledger.memory_met_disk(side, p, tick, up_to_code)
        self._count_unseen(side, p)

    def met_as_whole(self, p: int, runs: Rectangle, tick: int) -> None:
        """All that was there at a tick has met, in memory and in these runs."""
        self.ledger.met_as_whole(p, runs, tick)
        for side in SIDES:
            self._count_unseen(side, p)

    def _count_unseen(self, side: int, p: int) -> None:
        if self.shell.phase != "clean-up":  # then all of it is forgotten soon, and nobody decides by it
            self.statistics.met_disk(side, p, self.ledger.unseen_arrivals(side, p))

    def count_resident(self, side: int, p: int) -> None:
        """The statistics follow what is in memory."""
        resident = self.inputs[side].partitions[p].resident
        self.statistics.count_resident(side, p, resident.n_rows, resident.n_bytes)

    def seen_regions(self) -> RegionsView | None:
        """What a flush policy sees of regions, if it looks at them."""
        if (regions := self.statistics.regions) is None:
            return None
        rows = np.zeros_like(regions.joins)
        for side, p in np.ndindex(*rows.shape[:2]):
            codes = [run.codes for run in self.inputs[side].partitions[p].resident]
            rows[side, p] = rows_by_region(codes, *regions.bounds[side, p])
        return regions.view(rows)

    def renew_regions(self, side: int) -> None:
        """Rows of this side have left memory: regions are cut anew, so that each outer one has enough for a flush."""
        if (regions := self.statistics.regions) is None:
            return
        regions.begin_anew(side)
        for p, partition in enumerate(self.inputs[side].partitions):
            regions.cut_anew(side, p, [run.codes for run in partition.resident], partition.resident.n_bytes)

    def set_spilled(self, side: int, p: int, runs: list[SpilledRun]) -> None:
        self.inputs[side].partitions[p].spilled = runs
        self.statistics.count_spilled(side, p, runs)

    def replace_spilled(self, side: int, p: int, members: Sequence[int], merged: SpilledRun | None) -> None:
        """These runs on disk, by their numbers, are one now, or gone."""
        spilled, decided = self.spilled(side, p), self.decided_runs[side][p]
        kept = [run for run in spilled if run.number not in members]
        if merged is None:
            self.ledger.cells[p].forget(side, members)
        else:
            kept.insert(0, merged)
            self.ledger.cells[p].merge(side, members, merged.number)
            decided |= {merged.number} if decided.issuperset(members) else set()
        decided.difference_update(members)
        self.set_spilled(side, p, kept)
        for run in spilled:
            if run.number in members:
                remove_run(self.inputs[side].store, run)

    def forget_rows(self, side: int, p: int, numbers: Sequence[int], until: int) -> None:
        """Nobody needs these runs on disk, nor rows in memory that came up to a tick."""
        self._only(side, p, lambda run: arrived_between(run, until, STILL_HERE))
        self._forget_runs(side, p, numbers)

    def let_gone_go(self, side: int, p: int, at_least: float = 0) -> None:
        """Rows in memory that are gone leave it, if they are so large a share."""
        expiry = self.expiry
        if expiry is None or expiry.gone[side][p] is None:
            return
        resident = self.inputs[side].partitions[p].resident
        rows = sum(int(np.count_nonzero(expiry.gone_rows(side, p, run))) for run in resident)
        if not rows or rows < at_least * resident.n_rows:
            return
        self._only(side, p, lambda run: expiry.needed(side, p, run))

    def let_gone_runs_go(self, side: int, p: int) -> None:
        """Runs on disk of which all rows are gone."""
        assert self.expiry is not None
        gone = [run.number for run in self.spilled(side, p) if self.expiry.is_all_gone(side, p, run.newest)]
        self._forget_runs(side, p, gone)
        if gone and not self.spilled(side, p):
            self.statistics.nothing_to_meet(opposite(side), p)

    def newest_of(self, side: int, runs: Sequence[Run]) -> Mark | None:
        """The highest mark of all these rows, where somebody asks for it."""
        if self.expiry is None:
            return None
        newest: Mark = max(self.expiry.marks(side, run).max().item() for run in runs)
        return newest

    def let_matched_go(self, side: int, p: int, at_least: float = 0) -> None:
        """Rows in memory that are known to match leave it, if they are so large a share: nobody needs them any more."""
        resident = self.inputs[side].partitions[p].resident
        matched = sum(int(np.count_nonzero(run.matched)) for run in resident if run.matched is not None)
        if not matched or matched < at_least * resident.n_rows:
            return
        self._only(side, p, lambda run: run.take(run.unmatched()) if run.has_matched else run)

    def _only(self, side: int, p: int, needed: Callable[[Run], Run]) -> None:
        """Keep in memory what is needed of each run."""
        resident = self.inputs[side].partitions[p].resident
        n_rows, n_bytes = resident.n_rows, resident.n_bytes
        resident.reduce(needed)
        self.account.release(n_bytes - resident.n_bytes)
        self.count_resident(side, p)
        self.statistics.forgotten_rows[side, p] += n_rows - resident.n_rows

    def _forget_runs(self, side: int, p: int, numbers: Sequence[int]) -> None:
        """Remove these runs from disk."""
        rows = self.statistics.spilled_rows[side, p]
        if numbers:
            self.replace_spilled(side, p, numbers, None)
            self.statistics.forgotten_rows[side, p] += rows - self.statistics.spilled_rows[side, p]

    def forget(self, p: int) -> None:
        """Nobody needs the rows of this partition any more."""
        for side in SIDES:
            partition, spilled = self.inputs[side].partitions[p], self.spilled(side, p)
            self.account.release(partition.resident.n_bytes)
            partition.resident.clear()
            self.count_resident(side, p)
            self.set_spilled(side, p, [])
            self.decided_runs[side][p].clear()
            for run in spilled:
                remove_run(self.inputs[side].store, run)
        self.statistics.forget(p)

    def to_plain(self) -> dict[str, Any]:
        """All of it; rows in memory are written to run files, which it names."""
        return {
            **self.shell.to_plain(),
            **self.ledger.to_plain(),
            "next_to_clean": self.next_to_clean,
            "inputs": [side.to_plain() for side in self.inputs],
            "decided": self.decided,
            "decided_runs": [[sorted(numbers) for numbers in side] for side in self.decided_runs],
            "loops": [[p, *loop.to_plain()] for p, loop in sorted(self.loops.items())],
            "statistics": self.statistics.to_plain(),
            "expiry": None if self.expiry is None else self.expiry.to_plain(),
        }

    def load_plain(self, data: dict[str, Any]) -> None:
        """Go on from what was saved, once; this state must be new, and made with the same arguments."""
        self.shell.load_plain(data)
        self.statistics.load_plain(data["statistics"])
        self.ledger.load_plain(data)
        self.next_to_clean = counted(data["next_to_clean"])
        decided = zip(data["decided"], SIDES, strict=True)
        self.decided = [counts_of_each(ticks, self.n_partitions) for ticks, _ in decided]
        self.decided_runs = [
            [set(map(counted, numbers)) for numbers, _ in zip(runs, range(self.n_partitions), strict=True)]
            for runs, _ in zip(data["decided_runs"], SIDES, strict=True)
        ]
        self.loops = {p: Loop(*loop) for p, *loop in data["loops"]}
        if self.expiry is not None:
            self.expiry.load_plain(data["expiry"])
        for side in SIDES:
            self.inputs[side].load_plain(data["inputs"][side], self.account)
            for p in range(self.n_partitions):
                self.count_resident(side, p)  # rows may weigh less than before: files keep no bitmap without a null
