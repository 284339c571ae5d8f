"""Rows that need not be kept: those that can be in no result, and of the last input that is open those that can match
nothing that is on disk.

A row that matches nothing of a neighbour which has ended, and is in memory as a whole, is in no result, whatever comes:
of tables with conditions, few rows of the larger ones are left.

When all other inputs have ended, a row meets all that it ever will when it comes, but for what is on disk. So does one
of a *guided* input, whose rows come after all that they can match, though others are still to come. Of a
neighbour whose rows lie there in the order of the attribute that both have, it is known which codes are there, by its
blocks. So of a join that nearly fits the memory few rows of the largest input are written, as in a hybrid hash join.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from sooner.kernels.array_types import Codes, Flags
from sooner.kernels.columns import Columns
from sooner.kernels.gathering import gather
from sooner.kernels.looking_up import found
from sooner.kernels.matching import Reach
from sooner.operators.inputs import Input
from sooner.operators.multiway.accesses import Accesses
from sooner.operators.multiway.combining import Combining
from sooner.operators.multiway.comparing import reached
from sooner.operators.multiway.graph import Graph, Step
from sooner.operators.order import CodeRows
from sooner.runs.run import NEVER, Run
from sooner.runs.store import SpilledRun

SAMPLED: Final = 1024  # rows that tell of a neighbour how many have a match there;
MOST: Final = 0.9  # if more have one, to look for the others does not pay


def with_codes(batch: pa.RecordBatch, code: CodeRows) -> Run:
    """Rows as they lie, without those that have no value to compare."""
    codes, wanted = code(batch)
    if wanted is None:
        return Run(codes, Columns.of(batch), NEVER)
    at = np.flatnonzero(wanted)
    return Run(codes[at], Columns.of(gather(batch, at)), NEVER)


class CodesOnDisk:
    """Between which codes the rows of some runs of an input lie that are on disk."""

    def __init__(self, runs: Sequence[SpilledRun], reach: Reach) -> None:
        """`reach` is that of codes of another input to these."""
        self._reach = reach
        blocks = [run.segments[0].blocks for run in runs]
        firsts, lasts = (
            np.concatenate(codes)
            for codes in ([some.first_codes for some in blocks], [some.last_codes for some in blocks])
        )
        order = np.argsort(firsts)
        self._firsts: Codes = firsts[order]
        self._lasts: Codes = np.maximum.accumulate(lasts[order])  # of all that begin no later

    def may_have(self, lowest: Codes, highest: Codes) -> Flags:
        """Whether one is in reach of any code between two, of each of many."""
        lowest, highest = reached(lowest, highest, self._reach)
        begun = self._firsts.searchsorted(highest, side="right")
        there: Flags = (begun > 0) & (self._lasts[begun - 1] >= lowest)
        return there


class Passing:
    def __init__(
        self,
        graph: Graph,
        inputs: Sequence[Input],
        accesses: Sequence[Accesses],
        combining: Combining,
        guided: int | None,
    ) -> None:
        self._graph = graph
        self._combining = combining
        self._inputs = inputs
        self._accesses = accesses
        self._guided = guided
        self._known: dict[Step, tuple[list[int], CodesOnDisk]] = {}  # of the runs with these numbers

    def promising(self, which: int, run: Run) -> Run:
        """Those of these rows that may be in a result. Where most of the first few have a match in a neighbour, the
        others are not looked at.
        """
        for step in self.settled_beside(which):
            codes = self._accesses[which].codes_of(run, self._graph.of_input(which).index(step.attribute))
            if np.count_nonzero(self._in_memory(step, codes[:SAMPLED])) <= MOST * min(len(codes), SAMPLED):
                run = run.take(np.flatnonzero(self._in_memory(step, codes)))
        return run

    def settled_beside(self, which: int) -> list[Step]:
        """Neighbours that have ended, and of which nothing is on disk."""
        return [step for step in self._neighbours(which) if self._is_settled(step.input)]

    def beside_settled(self, which: int) -> list[int]:
        """The neighbours of such an input, of which it may be that few rows are still promising."""
        return [step.input for step in self._neighbours(which)] if self._is_settled(which) else []

    def _neighbours(self, which: int) -> list[Step]:
        return [
            Step(other, attribute, which)
            for attribute in self._graph.of_input(which)
            for other in self._graph.attributes[attribute].inputs
            if other != which
        ]

    def _is_settled(self, which: int) -> bool:
        return self._inputs[which].ended and not self._inputs[which].partitions[0].spilled

    def _in_memory(self, step: Step, codes: Codes) -> Flags:
        """Whether there is a row that each of these codes may match."""
        place, there = self._graph.of_input(step.input).index(step.attribute), np.zeros(len(codes), np.bool_)
        terms = len(codes), self._combining.reach(step)
        for run in self._inputs[step.input].partitions[0].resident:
            index = self._accesses[step.input].index_of(run, place)
            for which, _ in found(codes, None, index, *terms, only_first=True):
                there[which] = True
        return there

    @property
    def last(self) -> int | None:
        """The input whose rows may pass: all others have ended, or what its rows can match is there before them."""
        if self._guided is not None:
            return self._guided
        is_open = [which for which, one in enumerate(self._inputs) if not one.ended]
        return is_open[0] if len(is_open) == 1 else None

    def all_pass(self, which: int) -> bool:
        """Whether all rows of it do: no other has any on disk."""
        return not self._on_disk(which)

    def on_disk_beside(self, which: int) -> dict[int, list[int]]:
        """The numbers of the runs there of each other input: what `to_keep` goes by."""
        return {at: [run.number for run in runs] for at, runs in self._on_disk(which).items()}

    def to_keep(self, which: int, run: Run) -> Run:
        """These rows, which arrive, without those that pass."""
        return self._may_match(which, run, self._on_disk(which))

    def not_through(self, which: int, run: Run, newest: Sequence[int]) -> Run:
        """Of these rows, which never left memory, those of which a combination may be missing: one with a row that left
        before the last of another input came. `newest` is when that was, of each.
        """
        last_of_others = [max(one for at, one in enumerate(newest) if at != other) for other in range(len(newest))]
        left_early = {
            other: early
            for other, runs in self._on_disk(which).items()
            if (early := [one for one in runs if _departed(one) < last_of_others[other]])
        }
        return self._may_match(which, run, left_early)

    def _on_disk(self, which: int) -> dict[int, list[SpilledRun]]:
        """The runs of each other input that has any there."""
        return {
            at: one.partitions[0].spilled
            for at, one in enumerate(self._inputs)
            if at != which and one.partitions[0].spilled
        }

    def _may_match(self, which: int, run: Run, on_disk: Mapping[int, Sequence[SpilledRun]]) -> Run:
        """Those of these rows that match one of these runs, or one beyond a neighbour, as far as codes tell."""
        kept = np.zeros(len(run), np.bool_)
        for other, runs in on_disk.items():
            attribute = self._graph.of_input(other)[0]  # in its order rows lie on disk
            if attribute not in self._graph.of_input(which):
                return run
            codes = self._accesses[which].codes_of(run, self._graph.of_input(which).index(attribute))
            kept |= self._codes_on_disk(Step(other, attribute, which), runs).may_have(codes, codes)
        return run if kept.all() else run.take(np.flatnonzero(kept))

    def _codes_on_disk(self, step: Step, runs: Sequence[SpilledRun]) -> CodesOnDisk:
        numbers = [run.number for run in runs]
        if step not in self._known or self._known[step][0] != numbers:
            self._known[step] = numbers, CodesOnDisk(runs, self._combining.reach(step))
        return self._known[step][1]


def _departed(run: SpilledRun) -> int:
    """When its rows left memory, which they did together."""
    [segment] = run.segments
    return NEVER if segment.shared is None else segment.shared[0]
