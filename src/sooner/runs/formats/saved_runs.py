"""Rows in memory, written down so that another process can go on with them.

`RewrittenRuns` writes all of them each time it is asked, for a state that is saved now and then. One that is saved
after every step has `mapped_runs`.
"""

import base64
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, Protocol

import numpy as np

from sooner.kernels.array_types import Flags
from sooner.runs.run import NEVER, STILL_HERE, Run, merge
from sooner.runs.store import RunStore, write_segments

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
            write_segments(self._store, [self._store.encode(run)])[0].to_plain() | joins_to_plain(run) for run in runs
        ]

    def load(self, saved: dict[str, Any], *, followed: bool = False, joins: bool = False) -> Run:
        """The rows, as they were."""
        written = self._store.from_plain(saved)
        run = merge(list(self._store.read(written, written.blocks)))
        self._store.remove(written)
        bits = flags_from_plain(saved, JOINED, len(run)) if joins else None
        run = replace(run, departed=STILL_HERE, met_disk=NEVER, joined=bits)
        return run.followed() if followed else run


def joins_to_plain(run: Run) -> dict[str, Any]:
    """Rows of equal code may change places on their way; what is asked is whether any of them has joined."""
    if run.joined is None or not run.joined.any():
        return {}
    starts = np.flatnonzero(np.append(True, run.codes[1:] != run.codes[:-1]))
    by_code = np.logical_or.reduceat(run.joined, starts)
    return flags_to_plain(JOINED, np.repeat(by_code, np.diff(np.append(starts, len(run)))))


def flags_to_plain(name: str, flags: Flags | None) -> dict[str, Any]:
    """A bit for each row, unless none is set."""
    if flags is None or not flags.any():
        return {}
    return {name: base64.b64encode(np.packbits(flags).tobytes()).decode()}


def flags_from_plain(saved: dict[str, Any], name: str, n_rows: int) -> Flags:
    if name not in saved:
        return np.zeros(n_rows, np.bool_)
    bits = np.frombuffer(base64.b64decode(saved[name]), np.uint8)
    return np.unpackbits(bits, count=n_rows).astype(np.bool_)
