"""The simulated twin of `sooner.runs.files`: runs that count as spilled, and are kept as they are.

Nothing is encoded, so a run on this disk is as large as in memory, to the byte. The papers count pages of equal rows;
in real files the headers of many small runs would count as well, the more the smaller the scale.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from sooner.runs.block_index import Block
from sooner.runs.files import EncodedBlock, RunFiles, RunWriter, SpilledRun, spilled_run
from sooner.runs.run import Run


@dataclass(frozen=True, slots=True)
class KeptBlock(EncodedBlock):
    run: Run


class SimulatedRunFiles(RunFiles):
    def __init__(self) -> None:
        self._stored: dict[str, list[Run]] = {}
        self._runs_written = 0

    def encode(self, run: Run) -> list[EncodedBlock]:
        """One block, and nothing in it but the run itself."""
        first, last = int(run.codes[0]), int(run.codes[-1])
        return [KeptBlock(pa.py_buffer(b""), run.n_bytes, len(run), first, last, checksum=0, run=run)]

    def writer(self) -> "SimulatedRunWriter":
        return SimulatedRunWriter(self)

    def read(self, spilled: SpilledRun, blocks: Sequence[Block]) -> Iterator[Run]:
        """The rows of these blocks of a run, block by block."""
        return (self._stored[spilled.file][block.offset] for block in blocks)

    def remove(self, spilled: SpilledRun) -> None:
        del self._stored[spilled.file]

    def store(self, kept: Sequence[KeptBlock], number: int, level: int) -> SpilledRun:
        self._runs_written += 1
        name = str(self._runs_written)
        self._stored[name] = [block.run for block in kept]
        places = [_place(at, block) for at, block in enumerate(kept)]
        return spilled_run(name, number, level, places, sum(block.n_bytes for block in kept))


def _place(at: int, block: KeptBlock) -> Block:
    return Block(at, block.run.n_bytes, block.n_rows, block.first_code, block.last_code, block.checksum)


class SimulatedRunWriter(RunWriter):
    def __init__(self, files: SimulatedRunFiles) -> None:
        self._disk = files
        self._kept: list[KeptBlock] = []

    def __enter__(self) -> "SimulatedRunWriter":
        return self

    def append(self, blocks: Sequence[EncodedBlock]) -> None:
        """More rows of the present run."""
        self._kept += [block for block in blocks if isinstance(block, KeptBlock)]

    def end_run(self, number: int, level: int = 0) -> SpilledRun:
        """The present run is complete."""
        kept, self._kept = self._kept, []
        return self._disk.store(kept, number, level)

    def __exit__(self, *_: object) -> None:
        return None
