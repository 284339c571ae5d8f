"""Rows in memory of a state that is saved after every step.

A run is immutable, so it is written once, to the state's own filesystem, and a copy in shared memory of this node is
what the next step maps, whichever process that is.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import xxhash

from sooner.runs.custody.shared_memory import SharedMemory
from sooner.runs.formats.files import RunFiles
from sooner.runs.formats.saved_runs import JOINED, MATCHED, flags_from_plain, flags_to_plain, joins_to_plain
from sooner.runs.run import Run
from sooner.runs.store import Segment, write_segments


class MappedRuns:
    """Each run is written once, as one block, and read from this node's copy of that block if there is one."""

    def __init__(self, files: RunFiles, copies: SharedMemory) -> None:
        self._files = files
        self._copies = copies
        self._written: dict[int, tuple[Run, Segment]] = {}  # by the identity of the run, which it keeps alive
        self._to_copy: list[tuple[Run, Segment, pa.Buffer | memoryview]] = []
        self.missed_bytes = 0  # of copies that were not there

    def save(self, runs: Sequence[Run]) -> list[dict[str, Any]]:
        """One file for all runs that are new; which rows have a match or joined changes, and is told beside it."""
        known = {id(run): self._written[id(run)] for run in runs if id(run) in self._written}
        new = [run for run in runs if id(run) not in known]
        blocks = [self._files.encode(replace(run, matched=None)) for run in new]
        places = write_segments(self._files, blocks) if new else []
        self._written = known | {id(run): (run, place) for run, place in zip(new, places, strict=True)}
        self._to_copy += [(run, place, block.content) for run, place, [block] in zip(new, places, blocks, strict=True)]
        told = (flags_to_plain(MATCHED, run.matched) | joins_to_plain(run) for run in runs)
        return [self._written[id(run)][1].to_plain() | flags for run, flags in zip(runs, told, strict=True)]

    def load(self, saved: dict[str, Any], *, followed: bool = False, joins: bool = False) -> Run:
        """The run, mapped; a copy that is gone is made again from the file."""
        written = self._files.from_plain(saved)
        copy = self._copy_of(written)
        content = next(self._files.contents(written, written.blocks)) if copy is None else copy
        run = self._files.decode(content)
        matched = flags_from_plain(saved, MATCHED, len(run)) if followed else run.matched
        if followed or joins:
            run = replace(run, matched=matched, joined=flags_from_plain(saved, JOINED, len(run)) if joins else None)
        if copy is None:
            self._to_copy.append((run, written, content))
            self.missed_bytes += memoryview(content).nbytes
        self._written[id(run)] = (run, written)
        return run

    def _copy_of(self, written: Segment) -> pa.Buffer | None:
        """None if there is no copy, or if it is not what was put there."""
        [block] = written.blocks
        copy = self._copies.get(_name(written))
        if copy is None:
            return None
        if copy.size != block.n_bytes or xxhash.xxh3_64_intdigest(copy) != block.checksum:
            self._copies.forget(_name(written))
            return None
        return copy

    @property
    def copy_names(self) -> set[str]:
        """The copies that the next step will look for."""
        return {_name(place) for _, place in self._written.values()}

    def copy(self) -> None:
        """Put what was saved, or had no copy, into shared memory."""
        self._copies.put(
            (_name(place), (content,)) for run, place, content in self._to_copy if id(run) in self._written
        )
        self._to_copy = []


def _name(written: Segment) -> str:
    return f"{written.file}.{written.blocks[0].offset}"
