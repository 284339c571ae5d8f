"""What is missing if only one input was too large for the memory: its rows are read back, and meet the others there.

All other rows are in memory, and none of them ever left. So what is missing are combinations of a row on disk with some
that came after it had left. Nothing is written for it, and it begins with the memory as it is.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from sooner.operators.inputs import Input
from sooner.operators.multiway.accesses import Accesses
from sooner.operators.multiway.combining import Combining
from sooner.operators.multiway.nested_loop import START, BlocksOf, position_of
from sooner.operators.multiway.results import Results
from sooner.runs.run import Run, merge


class ReadBack:
    """Of the one `which` is on disk. What came up to the `horizon` is out; a chunk of so many bytes is read at once."""

    def __init__(
        self,
        which: int,
        inputs: Sequence[Input],
        accesses: Accesses,
        combining: Combining,
        results: Results,
        horizon: int,
        chunk_bytes: int,
    ) -> None:
        self.which = which
        self.worked_bytes = 0
        self.position = START
        self._blocks = BlocksOf(inputs[which])
        self._others = [[] if at == which else list(one.partitions[0].resident) for at, one in enumerate(inputs)]
        self._accesses = accesses  # of what is read
        self._combining = combining
        self._results = results
        self._horizon = horizon
        self._chunk_bytes = chunk_bytes

    @property
    def is_done(self) -> bool:
        return self.position == self._blocks.end

    def work(self, quantum_bytes: int) -> Iterator[pa.RecordBatch]:
        until_bytes = self.worked_bytes + quantum_bytes
        while not self.is_done and self.worked_bytes < until_bytes:
            end = self._blocks.chunk(self.position, min(self._chunk_bytes, until_bytes - self.worked_bytes))
            read = list(self._blocks.read(self.position, end, None))
            yield from self._missing_of(merge([run for *_, run in read]))
            self._accesses.keep_only([])
            self.worked_bytes += sum(n_bytes for _, n_bytes, _ in read)
            self.position = end

    def _missing_of(self, run: Run) -> Iterator[pa.RecordBatch]:
        runs: list[Sequence[Run]] = [[run] if at == self.which else there for at, there in enumerate(self._others)]
        for found in self._combining.of(self.which, run, self._others):
            yield from self._results.missing(found, runs, self._horizon)

    def to_plain(self) -> dict[str, Any]:
        return {"which": self.which, "position": self.position}

    def load_plain(self, data: dict[str, Any]) -> None:
        self.position = position_of(data["position"])

    def close(self) -> None:
        """It holds nothing that is not the operator's."""
