"""Stream rows that wait until all of the master has passed by: the queue of MESHJOIN (SSBJ sec. 2; MESHJOIN).

The master is read in a circle, block by block. A row that came when the scan stood at a block has met all of them when
it stands there again, and leaves. Rows that came at one place of the scan are a *chunk*; their ticks tell which it is,
so that rows of several chunks can lie in one sorted run.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np

from sooner.budget import Account
from sooner.kernels.array_types import Codes, Flags
from sooner.operators.enrich.answers import Answers
from sooner.operators.enrich.pieces import in_order
from sooner.operators.inputs import Input
from sooner.operators.pairs import Findings, Pairs
from sooner.runs.run import NEVER, STILL_HERE, Run, arrived_between, merge
from sooner.runs.store import SpilledRun, counted, remove_run, write_segments

LEAVING_SHARE: Final = 0.25  # of the rows have met all there is: then they leave memory


class Chunk(NamedTuple):
    tick: int  # at which the last of its rows came
    place: int  # blocks that had passed by then, since the scan began


class Waiting:
    """`rows` is the stream's input, with one partition."""

    def __init__(self, rows: Input, account: Account, answers: Answers, merge_bytes: int) -> None:
        self._rows = rows
        self._account = account
        self._answers = answers
        self._merge_bytes = merge_bytes
        self._chunks: list[Chunk] = []
        self._settled = NEVER  # rows up to this tick have met all there is
        self._left: list[_Left] = []  # for which there is no room, in the order in which they go on

    @property
    def runs(self) -> list[Run]:
        return list(self._rows.partitions[0].resident)

    @property
    def n_bytes(self) -> int:
        return self._rows.resident_bytes

    @property
    def n_rows(self) -> int:
        return self._rows.partitions[0].resident.n_rows

    @property
    def waiting_rows(self) -> int:
        """In memory or not, without those that have met all there is and are still here."""
        met = sum(int(_between(run, NEVER, self._settled).sum()) for run in self.runs)
        return self.n_rows - met + sum(run.n_rows for run in self._rows.partitions[0].spilled)

    @property
    def is_empty(self) -> bool:
        return not self._chunks

    @property
    def has_left(self) -> bool:
        """Whether there are more rows on disk."""
        return bool(self._left)

    def codes(self) -> Codes:
        """Of all rows that wait, in no order."""
        some = [arrived_between(run, self._settled, STILL_HERE).codes for run in self.runs]
        return np.concatenate([np.empty(0, np.uint64), *some])

    def add(self, run: Run, place: int) -> None:
        """These rows, for which there is room, have come with their tick as `arrived`."""
        resident = self._rows.partitions[0].resident
        resident.add(run)
        resident.merge_tiers(self._account.try_reserve, self._merge_bytes)
        if self._chunks and self._chunks[-1].place == place:
            self._chunks.pop()
        self._chunks.append(Chunk(run.newest, place))

    def met(self, master: Run) -> Iterator[Findings]:
        """Rows that wait meet a block of the master."""
        low, high = int(master.codes[0]), int(master.codes[-1]) + 1
        for run in self.runs:
            if len(part := run.between(low, high)):
                yield from self._answers.met(part, master, self._only_waiting)

    def _only_waiting(self, pairs: Pairs) -> Pairs:
        arrived = pairs.left.arrived
        if isinstance(arrived, int):
            return pairs if arrived > self._settled else pairs.only(pairs.at_left[:0], pairs.at_right[:0])
        waits = arrived[pairs.at_left] > self._settled
        return pairs if waits.all() else pairs.only(pairs.at_left[waits], pairs.at_right[waits])

    @property
    def oldest_place(self) -> int | None:
        """The place of the scan at which those came who wait longest."""
        return self._chunks[0].place if self._chunks else None

    def settle(self, place: int, cycle_blocks: int) -> Iterator[Findings]:
        """Rows for which so many blocks are a full circle leave; what comes out of them by themselves comes out."""
        until = self._settled
        while self._chunks and self._chunks[0].place + cycle_blocks <= place:
            until = self._chunks.pop(0).tick
        if until == self._settled:
            return
        for run in self.runs if self._answers.examines else ():
            yield from self._answers.settled(run, _between(run, self._settled, until))
        self._settled = until
        self._let_go()

    def _let_go(self) -> None:
        resident = self._rows.partitions[0].resident
        gone = sum(int(_between(run, NEVER, self._settled).sum()) for run in resident)
        if gone < LEAVING_SHARE * resident.n_rows:
            return
        before = resident.n_bytes
        resident.reduce(lambda run: arrived_between(run, self._settled, STILL_HERE))
        self._account.release(before - resident.n_bytes)

    def spill(self, place: int, piece_bytes: int) -> None:
        """All rows go to disk as they are, and go on when there is room again."""
        self._write(self.runs, _Left(0, place, tuple(self._chunks), self._settled), piece_bytes)
        partition = self._rows.partitions[0]
        self._account.release(partition.resident.n_bytes)
        partition.resident.clear()
        self._chunks, self._settled = [], NEVER

    def spill_new(self, run: Run, place: int, piece_bytes: int) -> None:
        """These rows have come, and wait on disk until it is their turn."""
        self._write([run], _Left(0, place, (Chunk(run.newest, place),), NEVER), piece_bytes)

    def _write(self, runs: Sequence[Run], left: "_Left", piece_bytes: int) -> None:
        partition, store = self._rows.partitions[0], self._rows.store
        for run in in_order(runs, piece_bytes):
            [segment] = write_segments(store, [store.encode(run)])
            partition.spilled.append(SpilledRun(partition.new_number(), 0, (segment,)))
            self._left.append(left._replace(number=partition.spilled[-1].number))

    def go_on(self) -> int:
        """Nobody waits in memory: the next rows from disk do, and the scan stands where it stood for them."""
        left, partition = self._left[0], self._rows.partitions[0]
        [spilled] = [run for run in partition.spilled if run.number == left.number]
        run = merge([run for part in spilled.segments for run in self._rows.store.read(part, part.blocks)])
        run = self._answers.followed(replace(run, departed=STILL_HERE, met_disk=NEVER))
        self._account.reserve(run.n_bytes)
        partition.resident.add(run)
        partition.spilled.remove(spilled)
        remove_run(self._rows.store, spilled)
        self._left.pop(0)
        self._chunks, self._settled = list(left.chunks), left.settled
        return left.place

    def forget(self) -> None:
        """Nobody waits any more."""
        resident = self._rows.partitions[0].resident
        self._account.release(resident.n_bytes)
        resident.clear()

    def to_plain(self) -> dict[str, Any]:
        left = [[one.number, one.place, one.chunks, one.settled] for one in self._left]
        return {"chunks": self._chunks, "settled": self._settled, "left": left}

    def load_plain(self, data: dict[str, Any]) -> None:
        self._chunks = _chunks(data["chunks"])
        self._settled = counted(data["settled"])
        self._left = [
            _Left(counted(number), counted(place), tuple(_chunks(chunks)), counted(settled))
            for number, place, chunks, settled in data["left"]
        ]


class _Left(NamedTuple):
    """Rows on disk that wait as others do in memory, for a scan that stands elsewhere."""

    number: int  # of their run
    place: int
    chunks: tuple[Chunk, ...]
    settled: int


def _chunks(saved: Sequence[Any]) -> list[Chunk]:
    return [Chunk(*map(counted, chunk)) for chunk in saved]


def _between(run: Run, after: int, until: int) -> Flags:
    """Which rows came after one tick, and not after another."""
    arrived = np.broadcast_to(np.asarray(run.arrived), len(run))
    came: Flags = (arrived > after) & (arrived <= until)
    return came
