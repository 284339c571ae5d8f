"""A Delta table of an answer, by the `deltalake` package: all rows in one transaction, or none."""

import os
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import pyarrow as pa

from sooner.errors import InvalidCall, SinkFailed
from sooner.extras import require

Mode: TypeAlias = Literal["error", "append", "overwrite"]


@dataclass(frozen=True)
class DeltaSink:
    """Writes rows to one table."""

    path: str
    mode: Mode

    def write_rows(self, rows: pa.RecordBatchReader) -> None:
        """Take all rows."""
        from deltalake import write_deltalake
        from deltalake.exceptions import DeltaError

        try:
            write_deltalake(self.path, rows, mode=self.mode)
        except DeltaError as error:
            raise SinkFailed(f"the Delta table {self.path} does not take the rows: {error}") from error


def delta_sink(path: str | os.PathLike[str], mode: Mode) -> DeltaSink:
    """A table that is there is refused now, unless the mode says what becomes of it."""
    require("deltalake", "to_delta()", "delta")
    from deltalake import DeltaTable

    if mode not in get_args(Mode):
        raise InvalidCall(f"mode={mode!r} must be 'error', 'append' or 'overwrite'")
    text = os.fspath(path)
    if mode == "error" and DeltaTable.is_deltatable(text):
        raise InvalidCall(f"path={text!r} is a Delta table already; say mode='append' or mode='overwrite'")
    return DeltaSink(text, mode)
