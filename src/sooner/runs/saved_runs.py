"""Rows in memory, written down so that another process can go on with them.

`RewrittenRuns` writes all of them each time it is asked, for a state that is saved now and then. `MappedRuns` is for a
state that is saved after every step: a run is immutable, so it is written once, to the state's own filesystem, and a
copy in shared memory of this node is what the next step maps, whichever process that is.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

import pyarrow as pa
import xxhash

from sooner.runs.files import RunFiles
from sooner.runs.run import NEVER, STILL_HERE, Run, merge
from sooner.runs.shared_memory import SharedMemory
from sooner.runs.store import EncodedBlock, RunStore, Segment


class SavedRuns(Protocol):
    """Writes resident runs of one side to files, and reads them back."""

    def save(self, runs: Sequence[Run]) -> list[Segment]:
        """Where each run is written, by now."""

    def load(self, saved: dict[str, Any]) -> Run:
        """A run that was saved, by this or an earlier process; `saved` is where, as plain data."""


class RewrittenRuns:
    """Each save writes everything; what is loaded is in memory again, and its file is gone."""

    def __init__(self, store: RunStore) -> None:
        self._store = store

    def save(self, runs: Sequence[Run]) -> list[Segment]:
        """A file for each run, so that each can go by itself."""
        return [_write(self._store, [self._store.encode(run)])[0] for run in runs]

    def load(self, saved: dict[str, Any]) -> Run:
        """The rows, as they were."""
        written = self._store.from_plain(saved)
        run = merge(list(self._store.read(written, written.blocks)))
        self._store.remove(written)
        return replace(run, departed=STILL_HERE, met_disk=NEVER)


class MappedRuns:
    """Each run is written once, as one block, and read from this node's copy of that block if there is one."""

    def __init__(self, files: RunFiles, copies: SharedMemory) -> None:
        self._files = files
        self._copies = copies
        self._written: dict[int, tuple[Run, Segment]] = {}  # by the identity of the run, which it keeps alive
        self._to_copy: list[tuple[Run, Segment, pa.Buffer | memoryview]] = []

    def save(self, runs: Sequence[Run]) -> list[Segment]:
        """One file for all runs that are new."""
        known = {id(run): self._written[id(run)] for run in runs if id(run) in self._written}
        new = [run for run in runs if id(run) not in known]
        blocks = [self._files.encode(run) for run in new]
        places = _write(self._files, blocks) if new else []
        self._written = known | {id(run): (run, place) for run, place in zip(new, places, strict=True)}
        self._to_copy += [(run, place, block.content) for run, place, [block] in zip(new, places, blocks, strict=True)]
        return [self._written[id(run)][1] for run in runs]

    def load(self, saved: dict[str, Any]) -> Run:
        """The run, mapped; a copy that is gone is made again from the file."""
        written = self._files.from_plain(saved)
        run = self._from_copy(written)
        if run is None:
            [content] = self._files.contents(written, written.blocks)
            run = self._files.decode(content)
            self._to_copy.append((run, written, content))
        self._written[id(run)] = (run, written)
        return run

    def _from_copy(self, written: Segment) -> Run | None:
        """None if there is no copy, or if it is not what was put there."""
        [block] = written.blocks
        copy = self._copies.get(_name(written))
        if copy is None:
            return None
        if copy.size != block.n_bytes or xxhash.xxh3_64_intdigest(copy) != block.checksum:
            self._copies.forget(_name(written))
            return None
        return self._files.decode(copy)

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


def _write(store: RunStore, runs: Sequence[Sequence[EncodedBlock]]) -> list[Segment]:
    places = []
    with store.writer() as writer:
        for blocks in runs:
            writer.append(blocks)
            places.append(writer.end_segment())
    return places
