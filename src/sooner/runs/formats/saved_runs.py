"""Rows in memory, written down so that another process can go on with them.

`RewrittenRuns` writes all of them each time it is asked, for a state that is saved now and then. `MappedRuns` is for a
state that is saved after every step: a run is immutable, so it is written once, to the state's own filesystem, and a
copy in shared memory of this node is what the next step maps, whichever process that is.
"""

import base64
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa
import xxhash

from sooner.kernels.array_types import Flags
from sooner.runs.custody.shared_memory import SharedMemory
from sooner.runs.formats.files import RunFiles
from sooner.runs.run import NEVER, STILL_HERE, Run, merge
from sooner.runs.store import RunStore, Segment, write_segments

MATCHED: Final = "matched"
JOINED: Final = "joined"


class SavedRuns(Protocol):
    """Writes resident runs of one side to files, and reads them back."""

    def save(self, runs: Sequence[Run]) -> list[dict[str, Any]]:
        """Where each run is written by now, as plain data."""

    def load(self, saved: dict[str, Any], *, followed: bool = False, joins: bool = False) -> Run:
        """A run that was saved, by this or an earlier process; with or without word of matches, and with join bits."""


class RewrittenRuns:
    """Each save writes everything; what is loaded is in memory again, and its file is gone."""

    def __init__(self, store: RunStore) -> None:
        self._store = store

    def save(self, runs: Sequence[Run]) -> list[dict[str, Any]]:
        """A file for each run, so that each can go by itself."""
        return [
            write_segments(self._store, [self._store.encode(run)])[0].to_plain() | _joins_to_plain(run) for run in runs
        ]

    def load(self, saved: dict[str, Any], *, followed: bool = False, joins: bool = False) -> Run:
        """The rows, as they were."""
        written = self._store.from_plain(saved)
        run = merge(list(self._store.read(written, written.blocks)))
        self._store.remove(written)
        bits = _flags_from_plain(saved, JOINED, len(run)) if joins else None
        run = replace(run, departed=STILL_HERE, met_disk=NEVER, joined=bits)
        return run.followed() if followed else run


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
        told = (_flags_to_plain(MATCHED, run.matched) | _joins_to_plain(run) for run in runs)
        return [self._written[id(run)][1].to_plain() | flags for run, flags in zip(runs, told, strict=True)]

    def load(self, saved: dict[str, Any], *, followed: bool = False, joins: bool = False) -> Run:
        """The run, mapped; a copy that is gone is made again from the file."""
        written = self._files.from_plain(saved)
        copy = self._copy_of(written)
        content = next(self._files.contents(written, written.blocks)) if copy is None else copy
        run = self._files.decode(content)
        matched = _flags_from_plain(saved, MATCHED, len(run)) if followed else run.matched
        if followed or joins:
            run = replace(run, matched=matched, joined=_flags_from_plain(saved, JOINED, len(run)) if joins else None)
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


def _joins_to_plain(run: Run) -> dict[str, Any]:
    """Rows of equal code may change places on their way; what is asked is whether any of them has joined."""
    if run.joined is None or not run.joined.any():
        return {}
    starts = np.flatnonzero(np.append(True, run.codes[1:] != run.codes[:-1]))
    by_code = np.logical_or.reduceat(run.joined, starts)
    return _flags_to_plain(JOINED, np.repeat(by_code, np.diff(np.append(starts, len(run)))))


def _flags_to_plain(name: str, flags: Flags | None) -> dict[str, Any]:
    """A bit for each row, unless none is set."""
    if flags is None or not flags.any():
        return {}
    return {name: base64.b64encode(np.packbits(flags).tobytes()).decode()}


def _flags_from_plain(saved: dict[str, Any], name: str, n_rows: int) -> Flags:
    if name not in saved:
        return np.zeros(n_rows, np.bool_)
    bits = np.frombuffer(base64.b64decode(saved[name]), np.uint8)
    return np.unpackbits(bits, count=n_rows).astype(np.bool_)


def _name(written: Segment) -> str:
    return f"{written.file}.{written.blocks[0].offset}"
