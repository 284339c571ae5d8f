"""The simulated twin of `sooner.runs.files`: runs that count as spilled, and are kept as they are.

Nothing is encoded, so a run on this disk is as large as in memory, to the byte. The papers count pages of equal rows;
with real files the headers of many small runs would count as well, the more the smaller the scale.
"""

from collections.abc import Iterator

from sooner.runs.files import Block, RunFiles, RunWriter, SpilledRun, spilled_run
from sooner.runs.run import Run


class SimulatedRunFiles(RunFiles):
    def __init__(self) -> None:
        self._stored: dict[str, list[Run]] = {}
        self._written_runs = 0

    def writer(self) -> "SimulatedRunWriter":
        return SimulatedRunWriter(self)

    def read(self, spilled: SpilledRun, low: int = 0, high: int = 2**64) -> Iterator[Run]:
        """The rows with low <= code < high, piece by piece."""
        for piece, block in zip(self._stored[spilled.file], spilled.blocks, strict=True):
            if block.first_code < high and block.last_code >= low:
                yield piece.between(low, high)

    def remove(self, spilled: SpilledRun) -> None:
        del self._stored[spilled.file]

    def store(self, pieces: list[Run], number: int, level: int) -> SpilledRun:
        self._written_runs += 1
        name = str(self._written_runs)
        self._stored[name] = pieces
        return spilled_run(name, number, level, [_block(piece) for piece in pieces])


class SimulatedRunWriter(RunWriter):
    def __init__(self, files: SimulatedRunFiles) -> None:
        self._disk = files
        self._pieces: list[Run] = []

    def __enter__(self) -> "SimulatedRunWriter":
        return self

    def append(self, run: Run) -> None:
        """More rows of the present run."""
        self._pieces.append(run)

    def end_run(self, number: int, level: int = 0) -> SpilledRun:
        """The present run is complete."""
        pieces, self._pieces = self._pieces, []
        return self._disk.store(pieces, number, level)

    def __exit__(self, *_: object) -> None:
        return None


def _block(run: Run) -> Block:
    return Block(0, run.n_bytes, len(run), int(run.codes[0]), int(run.codes[-1]), checksum=0)
