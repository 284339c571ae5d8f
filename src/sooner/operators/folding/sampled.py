"""Sums over a join of many inputs, of which one comes last and in random order: what it has matched so far is a sample.

All other inputs are read as wholes first. Then each row of the sampled one meets all that it ever will when it comes,
and its results are those of one row of a random sample, however many inputs they are joined of: the rectangle of an
estimate, of which one side is complete. One of the others, the *guide*, may come in step with the sampled one instead:
what rows of the sample can match comes right before them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sooner.budget import Account
from sooner.estimation.preparation import TAG
from sooner.estimation.reckoning import Reckoning, Rectangle
from sooner.estimation.tags import MOST_TAGS, Tags, rows_by_tags, tallied
from sooner.estimation.workings import Workings
from sooner.kernels.arrays import to_numpy
from sooner.kernels.folding import Sums
from sooner.operators.folding.evaluated import evaluated, factors_of
from sooner.operators.folding.folds import (
    Counts,
    bytes_of_cell,
    groups_of,
    load_sums,
    power_of_two,
    share_of,
    sums_of,
    sums_to_plain,
)
from sooner.operators.folding.gathered import GatheredValues
from sooner.operators.folding.join import without_tallies
from sooner.operators.folding.room import FEWEST_TAGS, GROWING, SMALL_BYTES, Room
from sooner.operators.folding.running_groups import GroupWorkings
from sooner.operators.inputs import Input, Storage
from sooner.operators.operator import Means, Operator, OperatorPlan, Port
from sooner.operators.order import Order
from sooner.phases import Phase
from sooner.policies.view import Surroundings, View
from sooner.progress import Progress
from sooner.sides import LEFT, SIDES

Numbers = npt.NDArray[Any]


class SampledFolds:
    """Sums of joined rows by groups and, in each, by tags of the sampled input.

    Of very many groups they are *in one*, without tags, as those of `Folds`.
    """

    def __init__(self, workings: GroupWorkings, inputs: int, sampled: int, room: Room) -> None:
        self.workings = workings.sums
        self._gathered = [GatheredValues(one) for one in workings.gathered]
        self.room = room
        self.groups = [groups_of(self.workings, side) for side in SIDES]  # joined rows count as the left
        self.changes = 0  # as long as they are as many, an estimate is what it was
        self.tallies: Counts = np.zeros((inputs, MOST_TAGS + 1), np.int64)
        self.is_a_sample = True  # whether all that rows so far of the sampled input match is in the sums
        self._sampled = sampled
        self._n_tags = MOST_TAGS
        self._sums = sums_of(
            self.workings, 1, (MOST_TAGS, 1)
        )  # the parts of a group by tags are groups of their own here

    @property
    def n_groups(self) -> int:
        """That have come; at least one."""
        return max(len(self.groups[LEFT]), 1)

    def came(self, which: int, tags: Tags) -> None:
        """These tallies have come."""
        self.tallies[which] += tallied(tags)
        self.changes += which == self._sampled

    def rows_came(self, which: int, n_rows: int) -> None:
        """Of an input that is read as a whole."""
        self.tallies[which, -1] += n_rows

    def add(self, batch: pa.RecordBatch) -> None:
        """Joined rows."""
        found = evaluated(self.workings, self.groups[LEFT], batch)
        if found is None:
            return
        self._make_room()
        parts = to_numpy(found.rows.column(TAG)) & np.int32(self._n_tags - 1)
        if found.groups is not None:
            parts = parts + found.groups * np.int32(self._n_tags)
        all_alike = np.zeros(found.rows.num_rows, np.int32)
        factors = factors_of(self.workings, found.values, (all_alike, all_alike), parts)
        self._sums.fold_pairs(*factors, None, None)
        for one in self._gathered:
            one.add(found.rows, found.groups)
        self.changes += not self.is_a_sample  # rows that came before are met now

    def reckoning(self, sizes: Sequence[int | None], confidence: float, *, exact: bool) -> Reckoning:
        """Of inputs with so many rows. As long as it is no sample, it has figures so far."""
        sums, n_tags = self._sums, self._n_tags
        while n_tags > 1 and not (self.is_a_sample or exact):
            sums, n_tags = _halved(sums, n_tags), n_tags // 2
        rows = rows_by_tags(self.tallies[self._sampled], n_tags)
        share = share_of(rows, sizes[self._sampled]) if self.is_a_sample else None
        rectangle = Rectangle(_by_tags(sums, n_tags), (rows, np.ones(1)), (share, 1.0))
        return Reckoning(self.workings, [rectangle], confidence, exact=exact)

    def gathered(self) -> dict[str, Sequence[object]]:
        """What no sums tell, by its name: the values of all groups so far."""
        return {one.name: one.values(self.n_groups) for one in self._gathered}

    def _make_room(self) -> None:
        most_bytes = self.room.for_tags_bytes
        while self._n_tags > FEWEST_TAGS and self._n_bytes > min(SMALL_BYTES, most_bytes):
            self._halve_tags()
        if self._n_bytes > most_bytes:
            while self._n_tags > 1:
                self._halve_tags()
        self.room.require(self._bytes_in_one + sum(one.n_bytes for one in self._gathered), self.n_groups)
        self._sums.grow((power_of_two(self.n_groups) * self._n_tags, 1))

    def _halve_tags(self) -> None:
        self._sums = _halved(self._sums, self._n_tags)
        self._n_tags //= 2

    @property
    def _n_bytes(self) -> int:
        return bytes_of_cell(self.workings) * power_of_two(self.n_groups) * self._n_tags

    @property
    def _bytes_in_one(self) -> int:
        return self._n_bytes * GROWING if self._n_tags == 1 else 0

    def to_plain(self) -> dict[str, Any]:
        return {
            "groups": self.groups[LEFT].to_plain(),
            "n_tags": self._n_tags,
            "sums": sums_to_plain(self._sums),
            "tallies": self.tallies.tolist(),
            "gathered": [one.to_plain() for one in self._gathered],
        }

    def load_plain(self, data: dict[str, Any]) -> None:
        self.groups[LEFT].load_plain(data["groups"])
        self._n_tags = data["n_tags"]
        room = power_of_two(self.n_groups) * self._n_tags, 1
        self._sums = load_sums(sums_of(self.workings, 1, room), data["sums"])
        self.tallies = np.array(data["tallies"], np.int64)
        for one, saved in zip(self._gathered, data["gathered"], strict=True):
            one.load_plain(saved)
        self.room.take(self._bytes_in_one)


def _halved(sums: Sums, n_tags: int) -> Sums:
    """Parts of groups whose tags differ by half of their number are one."""
    half = n_tags // 2
    firsts = sums.rearranged(lambda array: _of_parts(_of_groups(array, n_tags)[:, :half]), 1)
    firsts.add(sums.rearranged(lambda array: _of_parts(_of_groups(array, n_tags)[:, half:]), 1))
    return firsts


def _by_tags(sums: Sums, n_tags: int) -> Sums:
    """The same, with parts of groups as cells of so many left tags, and one right tag."""
    return sums.rearranged(lambda array: np.moveaxis(_of_groups(array, n_tags)[:, :, :, :, 0], 1, 3), n_tags)


def _of_groups(array: Numbers, n_tags: int) -> Numbers:
    """[group, tag, ...]"""
    return array.reshape(len(array) // n_tags, n_tags, *array.shape[1:])


def _of_parts(array: Numbers) -> Numbers:
    """[group and tag, ...], in memory of its own"""
    return array.reshape(array.shape[0] * array.shape[1], *array.shape[2:]).copy()


class SampledJoin(Operator[SampledFolds]):
    """After each call it gives what has been folded by then.

    Rows of the sampled input come with tallies. They wait until all others have ended, and so do those of the guide.
    """

    def __init__(
        self,
        join: Operator[pa.RecordBatch],
        sampled: int,
        workings: GroupWorkings,
        means: Means,
        guide: int | None = None,
    ) -> None:
        self._join = join
        self._sampled = sampled
        self._in_step = {sampled, guide}
        room = Room(means.account, means.memory_bytes or means.account.share_bytes)
        self.folds = SampledFolds(workings, len(join.inputs), sampled, room)

    @property
    def inputs(self) -> Sequence[Input]:
        return self._join.inputs

    @property
    def phase(self) -> Phase:
        return self._join.phase

    @property
    def account(self) -> Account:
        return self._join.account

    @property
    def worked_bytes(self) -> int:
        return self._join.worked_bytes

    def port(self, which: int) -> Port:
        others_end = all(one.ended for at, one in enumerate(self.inputs) if at not in self._in_step)
        return self._join.port(which) if which not in self._in_step or others_end else "blocked"

    def arrive(self, rows: Sequence[Sequence[pa.RecordBatch]], now: float) -> Iterator[SampledFolds]:
        """Fold what these rows make with what is in memory, and take them in."""
        for some in self._in_steps(rows):
            kept = [self._kept(which, batches) for which, batches in enumerate(some)]
            yield from self._folded(self._join.arrive(kept, now))

    def end(self, which: int) -> None:
        self._join.end(which)

    def has_work(self, around: Surroundings) -> bool:
        return self._join.has_work(around)

    def work(self, quantum_bytes: int, around: Surroundings) -> Iterator[SampledFolds]:
        return self._folded(self._join.work(quantum_bytes, around))

    def view(self, around: Surroundings) -> View:
        return self._join.view(around)

    def progress(self) -> Progress:
        return self._join.progress()

    def snapshot(self) -> dict[str, Any]:
        return {"join": self._join.snapshot(), "folds": self.folds.to_plain()}

    def restore(self, data: dict[str, Any]) -> None:
        self.folds.load_plain(data["folds"])
        self._join.restore(data["join"])

    def interrupt(self) -> None:
        self._join.interrupt()

    def close(self) -> None:
        self._join.close()
        self.folds.room.account.close()

    def _in_steps(self, rows: Sequence[Sequence[pa.RecordBatch]]) -> Iterator[list[Sequence[pa.RecordBatch]]]:
        """Of a sample that has waited long, as much at once as came before: so there is an estimate soon."""
        step, n_rows = [list(batches) if which != self._sampled else [] for which, batches in enumerate(rows)], 0
        for batch in rows[self._sampled]:
            step[self._sampled].append(batch)
            n_rows += batch.num_rows
            is_whole = batch.num_rows and batch.column(TAG)[-1].as_py() < 0
            if is_whole and n_rows >= self.folds.tallies[self._sampled].sum():
                yield list(step)
                step, n_rows = [[] for _ in rows], 0
        yield list(step)

    def _kept(self, which: int, batches: Sequence[pa.RecordBatch]) -> list[pa.RecordBatch]:
        if which != self._sampled:
            self.folds.rows_came(which, sum(batch.num_rows for batch in batches))
            return list(batches)
        kept = []
        for batch in batches:
            rows, tallies = without_tallies(batch)
            self.folds.came(which, tallies)
            kept += [rows] if rows.num_rows else []
        return kept

    def _folded(self, results: Iterator[pa.RecordBatch]) -> Iterator[SampledFolds]:
        for batch in results:
            self.folds.add(batch)
        on_disk = any(partition.spilled for one in self.inputs for partition in one.partitions)
        # Rows of others that lie there were not met, nor what comes of rows between two joins.
        self.folds.is_a_sample = not (on_disk or self._join.progress().spilled_bytes)
        yield self.folds


@dataclass(frozen=True)
class SampledPlan:
    join: OperatorPlan[pa.RecordBatch]
    sampled: int
    of_rows: GroupWorkings  # of joined rows
    guide: int | None = None  # the input that comes in step with the sampled one: what its rows can match before them

    @property
    def workings(self) -> Workings:
        return self.of_rows.sums

    @property
    def algorithm(self) -> object:
        return getattr(self.join, "algorithm", "")  # a scan has none

    def order(self, schemas: Sequence[pa.Schema]) -> Order:
        return self.join.order(schemas)

    def output(self, schemas: Sequence[pa.Schema]) -> pa.Schema:
        self.join.output(schemas)
        return pa.schema([])

    def make(self, names: Sequence[str], schemas: Sequence[pa.Schema], storage: Storage, means: Means) -> SampledJoin:
        join = self.join.make(names, schemas, storage, means)
        return SampledJoin(join, self.sampled, self.of_rows, means, self.guide)
