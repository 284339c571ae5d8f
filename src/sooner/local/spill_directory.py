"""A directory for spilled runs that is private to the user and does not outlive the query."""

import shutil
import tempfile
import weakref
from pathlib import Path

from sooner.errors import InvalidJoin


class SpillDirectory:
    def __init__(self, parent: str | Path | None) -> None:
        try:
            self.path = tempfile.mkdtemp(prefix="sooner-", dir=parent)  # mode 0700
        except OSError as error:
            where = parent if parent is not None else tempfile.gettempdir()
            raise InvalidJoin(
                f"spill_dir={str(where)!r} cannot take files: {error.strerror}; give a directory that you can write to."
            ) from error
        # Also when the query is dropped unread, or the interpreter ends.
        self._remove = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def remove(self) -> None:
        self._remove()
