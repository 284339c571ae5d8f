"""Rows that need not be kept: those of the last input that is open, if they can match nothing that is on disk.

When all other inputs have ended, a row meets all that it ever will when it comes, but for what is on disk. Of a
neighbour whose rows lie there in the order of the attribute that both have, it is known which codes are there, by its
blocks. So of a join that nearly fits the memory few rows of the largest input are written, as in a hybrid hash join.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from sooner.kernels.array_types import Codes, Flags
from sooner.kernels.gathering import gather
from sooner.kernels.matching import Reach
from sooner.operators.inputs import Input
from sooner.operators.multiway.accesses import Accesses
from sooner.operators.multiway.combining import Combining
from sooner.operators.multiway.comparing import reached
from sooner.operators.multiway.graph import Graph, Step
from sooner.operators.order import CodeRows
from sooner.runs.run import NEVER, Run


def with_codes(batch: pa.RecordBatch, code: CodeRows) -> Run:
    """Rows as they lie, without those that have no value to compare."""
    codes, wanted = code(batch)
    if wanted is None:
        return Run(codes, batch, NEVER)
    at = np.flatnonzero(wanted)
    return Run(codes[at], gather(batch, at), NEVER)


class CodesOnDisk:
    """Between which codes the rows of an input lie that are on disk."""

    def __init__(self, one: Input, reach: Reach) -> None:
        """`reach` is that of codes of another input to these."""
        self._reach = reach
        blocks = [run.segments[0].blocks for run in one.partitions[0].spilled]
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
        self, graph: Graph, inputs: Sequence[Input], accesses: Sequence[Accesses], combining: Combining
    ) -> None:
        self._graph = graph
        self._combining = combining
        self._inputs = inputs
        self._accesses = accesses
        self._known: dict[Step, tuple[int, CodesOnDisk]] = {}  # of an input with so many runs on disk

    @property
    def last(self) -> int | None:
        """The input whose rows may pass: all others have ended."""
        is_open = [which for which, one in enumerate(self._inputs) if not one.ended]
        return is_open[0] if len(is_open) == 1 else None

    def all_pass(self, which: int) -> bool:
        """Whether all rows of it do: no other has any on disk."""
        return not self._on_disk(which)

    def runs_on_disk(self, which: int) -> int:
        """Of all inputs but this."""
        return sum(len(self._inputs[at].partitions[0].spilled) for at in self._on_disk(which))

    def to_keep(self, which: int, run: Run) -> Run:
        """These rows without those that pass."""
        kept = np.zeros(len(run), np.bool_)
        for other in self._on_disk(which):
            attribute = self._graph.of_input(other)[0]  # in its order rows lie on disk
            if attribute not in self._graph.of_input(which):
                return run
            codes = self._accesses[which].codes_of(run, self._graph.of_input(which).index(attribute))
            kept |= self._codes_on_disk(Step(other, attribute, which)).may_have(codes, codes)
        return run if kept.all() else run.take(np.flatnonzero(kept))

    def _on_disk(self, which: int) -> list[int]:
        return [at for at, one in enumerate(self._inputs) if at != which and one.partitions[0].spilled]

    def _codes_on_disk(self, step: Step) -> CodesOnDisk:
        runs = len(self._inputs[step.input].partitions[0].spilled)
        if step not in self._known or self._known[step][0] != runs:
            self._known[step] = runs, CodesOnDisk(self._inputs[step.input], self._combining.reach(step))
        return self._known[step][1]
