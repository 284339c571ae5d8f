"""Whether a query is running with a state, and which of its batches are done for certain.

The pacemaker holds a lock on a file of the state for as long as its process lives; where files cannot be locked, which
is so on all but local filesystems, nobody knows. And since Spark asks a source for news only when all batches in its
log are done, the pacemaker notes then which was the last.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from typing import Final

import pyarrow.fs as pafs

from sooner.errors import InvalidJoin
from sooner.runs.custody.private_files import OWNER_ONLY_FILE, make_directory
from sooner.runs.custody.whole_files import put
from sooner.spark.step.state_directory import open_state

_IN_USE: Final = "in-use"
_DONE: Final = "last-batch-done"
ENDING_SECONDS: Final = 5.0  # a process may take so long to learn that its query has ended
_LOOK_SECONDS: Final = 0.1
_held: Final[dict[str, int]] = {}  # files that this process has locked


def note_in_use(state: str) -> None:
    """For as long as this process lives, a query is running."""
    filesystem, path = open_state(state)
    if path not in _held and isinstance(filesystem, pafs.LocalFileSystem):
        with contextlib.suppress(OSError):  # not all mounts can lock
            make_directory(filesystem, path)
            file = _open(path)
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                os.close(file)  # it is tried again at every look
                raise
            _held[path] = file


@contextlib.contextmanager
def alone(state: str, seconds: float = ENDING_SECONDS) -> Iterator[None]:
    """A context in which no query uses the state; refused if one does, as far as that can be known."""
    filesystem, path = open_state(state)
    if not isinstance(filesystem, pafs.LocalFileSystem):
        yield
        return
    file = _open(path)
    try:
        until = time.monotonic() + seconds
        while not _locked(file):
            if time.monotonic() > until:
                raise InvalidJoin(f"A query is running with the state {state}: stop it first, then rescale.")
            time.sleep(_LOOK_SECONDS)
        yield
    finally:
        os.close(file)


def _open(path: str) -> int:
    return os.open(f"{path}/{_IN_USE}", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, OWNER_ONLY_FILE)


def _locked(file: int) -> bool:
    """Whether nobody else has it; so it is, as far as can be known, where files cannot be locked."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass  # not all mounts can lock
    return True


def note_done(state: str, batch: int) -> None:
    """All batches up to this one are in Spark's log as done."""
    filesystem, path = open_state(state)
    put(filesystem, f"{path}/{_DONE}", str(batch).encode())


def last_batch_done(state: str) -> int | None:
    """The last batch that is known to be done; others may be."""
    filesystem, path = open_state(state)
    try:
        with filesystem.open_input_stream(f"{path}/{_DONE}") as file:
            text = file.read()
    except FileNotFoundError:
        return None
    return int(text) if text.isdigit() else None
