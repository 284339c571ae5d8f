"""A directory for spilled runs that is private to the user and does not outlive the query."""

import tempfile
from pathlib import Path

from sooner.errors import InvalidJoin, SoonerError
from sooner.runs.custody.private_directory import PrivateDirectory


class SpillDirectory:
    def __init__(self, parent: str | Path | None) -> None:
        try:
            self._directory = PrivateDirectory("spill", parent)
        except OSError as error:
            where = parent if parent is not None else tempfile.gettempdir()
            raise InvalidJoin(
                f"spill_dir={str(where)!r} cannot take files: {error.strerror}; give a directory that you can write to."
            ) from error

    @property
    def path(self) -> str:
        return str(self._directory.path)

    def require_own_process(self) -> None:
        """A forked child may drop or stop its copy of a query. Read on, it would change its parent's files."""
        if not self._directory.is_ours:
            raise SoonerError("The query belongs to the process that made it; in a forked child, call join again.")

    def remove(self) -> None:
        self._directory.remove()
