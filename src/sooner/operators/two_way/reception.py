"""Rows that arrive: what they meet in memory, what comes out of it, and which of them are kept."""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from sooner.kernels.array_types import Positions
from sooner.kernels.matching import EQUAL, first_matches
from sooner.operators.ledgers.ledger import OnArrival
from sooner.operators.pairs import PAIRS_AT_ONCE, Findings, Pairs, singles_of
from sooner.operators.state.state import LEAVING_SHARE, JoinState
from sooner.operators.sweeping.parts import Workbench
from sooner.operators.two_way.collecting import Collector
from sooner.operators.two_way.ended_side import EndedSide, in_one_piece
from sooner.parallel import ALONE, Crew
from sooner.runs.resident import FANOUT, UNPROBED_FANOUT
from sooner.runs.run import Run
from sooner.sides import LEFT, RIGHT, SIDES, opposite


class Reception:
    """`reserve` makes room in memory for so many bytes, and takes them."""

    def __init__(
        self,
        state: JoinState,
        on_arrival: OnArrival,
        collector: Collector[Any],
        bench: Workbench,
        crew: Crew,
        reserve: Callable[[int], None],
    ) -> None:
        self._state = state
        self._on_arrival = on_arrival
        self._statistics = state.statistics
        self._kind = state.kind
        self._collector = collector
        self._merge_bytes = bench.divided(crew.workers).merge_bytes
        self._whole_merge_bytes = bench.merge_bytes
        self._reserve = reserve
        self._ended_side: EndedSide | None = None
        self._met_by_ended_side = 0  # rows, before it was in one piece
        self._counting = threading.Lock()

    def works(self, batches: Sequence[Sequence[pa.RecordBatch]], crew: Crew) -> Sequence[Iterator[Findings]]:
        """What is to be done with these rows, once the tick at which they arrive has begun; there is room for them."""
        ended = self._in_one_piece([sum(batch.num_rows for batch in some) for some in batches])
        if ended is not None:
            return [self._meet(ended, batch) for batch in batches[opposite(ended.side)]]
        works = self._admissions(batches, crew)
        return [chain.from_iterable(works)] if crew is ALONE else works

    def tidy_up(self, crew: Crew) -> None:
        """After all of it. Not while findings wait to become results, which would keep what was merged."""
        if self._ended_side is not None:
            self._ended_side.note_matches()
        list(crew.in_order(self._merge_tiers, range(self._state.n_partitions)))

    def let_go_of_ended_side(self) -> None:
        """It is not needed as one piece."""
        if self._ended_side is not None:
            self._state.account.release(self._ended_side.n_bytes)
            self._ended_side = None

    def _admissions(self, batches: Sequence[Sequence[pa.RecordBatch]], crew: Crew) -> Sequence[Iterator[Findings]]:
        """Sort these rows and make room for those that are kept; what is to be done with them in each partition."""
        state = self._state
        arrived = list(crew.in_order(lambda side: state.inputs[side].sorted(batches[side]), SIDES))
        arrivals = [self._followed(side, some.runs) for side, some in enumerate(arrived)]
        keyless = [(side, some.keyless) for side, some in enumerate(arrived) if side in self._kind.unmatched]
        reserved = 0
        while (kept := self._bytes_to_keep(arrivals)) > reserved:  # what leaves memory for it can make it more
            self._reserve(kept - reserved)
            reserved = kept
        admissions = [self._admit(p, runs) for p, runs in enumerate(zip(*arrivals, strict=True))]
        return [*(singles_of(side, *rows) for side, rows in keyless if rows is not None), *admissions]

    def _followed(self, side: int, runs: Sequence[Run | None]) -> Sequence[Run | None]:
        runs = [None if run is None else self._state.inputs[side].followed(run) for run in runs]
        if self._state.inputs[side].follows_joins:
            runs = [None if run is None else run.with_join_bits() for run in runs]
        return runs

    def _note_joins(self, p: int, pairs: Findings) -> None:
        """For algorithms that look at regions and join bits (DINER sec. 3.2, Algorithm 1, lines 9 and 11)."""
        if (regions := self._statistics.regions) is None or not isinstance(pairs, Pairs):
            return
        for side, run, positions in ((LEFT, pairs.left, pairs.at_left), (RIGHT, pairs.right, pairs.at_right)):
            regions.count_joins(side, p, run.codes[positions])
            if run.joined is not None:
                run.joined[positions] = True

    def _note_existence(self, p: int, left: Run, matched: Positions) -> None:
        """Where only that matters which left rows match, the codes of those stand for both sides."""
        if (regions := self._statistics.regions) is not None:
            for side in SIDES:
                regions.count_joins(side, p, left.codes[matched])

    def _bytes_to_keep(self, arrivals: Sequence[Sequence[Run | None]]) -> int:
        runs = ((side, p, run) for side, some in enumerate(arrivals) for p, run in enumerate(some) if run is not None)
        return sum(run.n_bytes for side, p, run in runs if not self._on_arrival.is_met_at_once(side, p))

    def _admit(self, p: int, runs: Sequence[Run | None]) -> Iterator[Findings]:
        """New rows of one partition meet the other side's rows in memory, and are in memory themselves from then on."""
        for side, arrived in enumerate(runs):
            if arrived is not None:
                run = replace(arrived, arrived=self._state.shell.tick)
                yield from self._admit_pairs(p, side, run) if self._kind.pairs else self._admit_alone(p, side, run)

    def _admit_pairs(self, p: int, side: int, run: Run) -> Iterator[Findings]:
        others = self._on_arrival.met_on_arrival(side, p)
        matches = 0
        for other in others:
            left, right = (run, other) if side == LEFT else (other, run)
            for pairs in self._collector.pairs_of(left, right):
                matches += len(pairs)
                self._note_joins(p, pairs)
                yield pairs
        self._statistics.rows_compared(p, len(run) * sum(map(len, others)), matches)
        yield from self._keep(side, p, run)

    def _admit_alone(self, p: int, side: int, run: Run) -> Iterator[Findings]:
        """Left rows that match come out or not, and are gone: those that come as well as those that were there."""
        others = self._on_arrival.met_on_arrival(side, p)
        matches = 0
        for other in others:
            left, right = (run, other) if side == LEFT else (other, run)
            assert left.matched is not None
            for matched in self._state.existence.look(LEFT, left, right, left.matched):
                matches += len(matched)
                self._note_existence(p, left, matched)
                if self._kind.matched:
                    yield from singles_of(LEFT, left, matched)
        self._statistics.rows_compared(p, len(run) * sum(map(len, others)), matches)
        yield from self._keep(side, p, run)

    def _keep(self, side: int, p: int, run: Run) -> Iterator[Findings]:
        """What has met all that it can match is decided, and not kept; nor is what has done its part."""
        state, statistics = self._state, self._statistics
        statistics.rows_arrived(side, p, len(run))
        if self._on_arrival.is_met_at_once(side, p):
            statistics.forgotten_rows[side, p] += len(run)
            if side in self._kind.unmatched:
                yield from singles_of(side, run, run.unmatched())
            return
        kept = run
        if not self._kind.pairs and len(wanted := self._worth_keeping(side, p, run)) < len(run):
            kept = run.take(wanted)
            state.account.release(run.n_bytes - kept.n_bytes)
            statistics.forgotten_rows[side, p] += len(run) - len(kept)
        if not len(kept):
            return
        state.inputs[side].partitions[p].resident.add(kept)
        state.count_resident(side, p)
        if side in self._kind.examined:
            statistics.undecided_rows[side, p] += len(kept)

    def _worth_keeping(self, side: int, p: int, run: Run) -> Positions:
        """Where there are no pairs: left rows without a match, and of the right each key once, as far as codes tell.

        What another right row of a key could match, the one that is in memory has met, or will. They must be the same
        in all that they have, or it would be left to chance what is kept.
        """
        if side == LEFT:
            return run.unmatched()
        existence, columns = self._state.existence, self._state.inputs[RIGHT].schema
        if existence.only_matching is not None or existence.reach != EQUAL or len(columns) > 1:
            return np.arange(len(run))
        new = np.append(True, run.codes[1:] != run.codes[:-1])
        for other in self._state.inputs[RIGHT].partitions[p].resident:
            for at, _ in first_matches(run.codes, other.codes, PAIRS_AT_ONCE):
                new[at] = False
        return np.flatnonzero(new)

    def _in_one_piece(self, rows: Sequence[int]) -> EndedSide | None:
        """The side that has ended, if all rows that come meet all of it at once, and are so many that it pays.

        Rows of it may come all the same: other partitions hand them over.
        """
        state = self._state
        side = next((side for side in SIDES if state.inputs[side].ended), None)
        if side == LEFT and not self._kind.pairs:
            return None  # its rows leave one by one
        if (
            side is None
            or rows[side]
            or not all(self._on_arrival.is_met_at_once(opposite(side), p) for p in range(state.n_partitions))
        ):
            self.let_go_of_ended_side()
        elif self._ended_side is None:
            self._met_by_ended_side += rows[opposite(side)]
            if self._met_by_ended_side >= self._statistics.resident_rows[side].sum():
                self._ended_side = in_one_piece(state, side, self._whole_merge_bytes)
        return self._ended_side

    def _meet(self, ended: EndedSide, batch: pa.RecordBatch) -> Iterator[Findings]:
        """New rows that are not kept meet the side that has ended."""
        side, kind = opposite(ended.side), self._kind
        rows, wanted = ended.coded(batch)
        if kind.pairs:
            yield from ended.met_by(rows, wanted, self._collector.pairs_by_index)
            if side in kind.unmatched:
                yield from singles_of(side, rows, rows.unmatched())
        else:
            matched = ended.matched_by(rows, wanted, self._state.existence)
            yield from singles_of(LEFT, rows, np.flatnonzero(matched if kind.matched else ~matched))
        with self._counting:
            self._statistics.rows_forgotten(side, ended.counts(rows, wanted))

    def _merge_tiers(self, p: int) -> None:
        state = self._state
        if not self._kind.pairs:
            state.let_matched_go(LEFT, p, at_least=LEAVING_SHARE)
        for side in SIDES:
            terms = (
                state.account.try_reserve,
                self._merge_bytes,
                FANOUT if self._on_arrival.is_probed(p) else UNPROBED_FANOUT,
            )
            state.inputs[side].partitions[p].resident.merge_tiers(*terms)
            state.count_resident(side, p)
