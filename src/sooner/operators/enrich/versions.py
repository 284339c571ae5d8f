"""Which rows of a master that changes are true now: of each row the newest version, unless that says that it is gone.

A change is a row like others, with a version; it may come before or after those that it replaces, or again. Of two rows
of one version the one that is there wins over the one that is gone, and else their content decides, so that nothing
depends on the order in which they came.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sooner.errors import InvalidJoin
from sooner.kernels.array_types import Codes, Flags
from sooner.kernels.arrays import to_arrow, to_numpy
from sooner.kernels.content_order import hash_of_content
from sooner.kernels.value_codes import as_integers, code_values
from sooner.operators.enrich.as_of import has_order
from sooner.runs.run import Run

GONE: Final = pa.field("gone", pa.int8())  # the last column of rows that are kept


@dataclass(frozen=True)
class Versioning:
    """The columns that say which row of the master it is, which version of it, and, in changes, whether it is gone."""

    identity: tuple[str, ...]
    version: str
    deleted: str | None = None

    def stored(self, master: pa.Schema, changes: Sequence[pa.Schema]) -> pa.Schema:
        """The columns of rows as they are kept. A master may have no versions: then any change is newer."""
        unknown = [one.field(self.version) for one in changes if self.version not in master.names]
        return pa.schema([*master, *unknown, GONE], master.metadata)

    def of_master(self, batch: pa.RecordBatch, stored: pa.Schema) -> pa.RecordBatch:
        """Rows of the master as they are kept."""
        unknown = [pa.nulls(batch.num_rows, stored.field(at).type) for at in range(batch.num_columns, len(stored) - 1)]
        gone = to_arrow(np.zeros(batch.num_rows, np.int8))
        return pa.RecordBatch.from_arrays([*batch.columns, *unknown, gone], schema=stored)

    def of_changes(self, batch: pa.RecordBatch, stored: pa.Schema) -> pa.RecordBatch:
        """Rows of changes as they are kept."""
        gone = to_arrow(np.zeros(batch.num_rows, np.int8))
        if self.deleted is not None:
            gone = batch.column(self.deleted).cast(pa.int8()).fill_null(0)
        columns = [_like(batch.column(field.name), field) for field in list(stored)[:-1]]
        return pa.RecordBatch.from_arrays([*columns, gone], schema=stored)

    def require_order(self, stored: pa.Schema) -> None:
        """Refuse versions of which it cannot be told which is newer."""
        if not has_order(type_ := stored.field(self.version).type):
            raise InvalidJoin(f"version={self.version!r} is {type_}; give a column of numbers, dates or times.")

    def newest_of(self, batches: Sequence[pa.RecordBatch]) -> int | float | None:
        """The highest version among these, in the units of its type; NaN is none."""
        highest = [pc.max(_numbers(batch.column(self.version))).as_py() for batch in batches]
        return max((one for one in highest if one is not None and not math.isnan(one)), default=None)


def _numbers(versions: pa.Array) -> pa.Array:
    if pa.types.is_floating(versions.type):
        return versions.cast(pa.float64())
    return versions if pa.types.is_integer(versions.type) else to_arrow(as_integers(versions.drop_null()))


def _like(column: pa.Array, field: pa.Field) -> pa.Array:
    try:
        return column if column.type == field.type else column.cast(field.type)
    except pa.ArrowException as error:
        raise InvalidJoin(
            f"column {field.name!r} of the changes is {column.type} and {field.type} in the master, and {error}; cast "
            "it before."
        ) from error


def newest(run: Run, versioning: Versioning, *, also_gone: bool) -> Run:
    """Of each row the newest version that is here; of rows that are gone only the word of it, if anybody needs that."""
    gone = to_numpy(run.rows.column(run.rows.num_columns - 1)) != 0
    identities = hash_of_content([run.rows.column(name) for name in versioning.identity])
    versions, _ = code_values(run.rows, versioning.version, run.rows.schema.field(versioning.version).type)
    order = np.lexsort((~gone, versions, identities, run.codes))
    last = _last_of_each(run.codes[order], identities[order])
    chosen = _by_content_where_equal(run, order, last, (run.codes, identities, versions, gone))
    kept = np.sort(chosen if also_gone else chosen[~gone[chosen]])
    return run if len(kept) == len(run) else run.take(kept)


def _last_of_each(codes: Codes, identities: Codes) -> Flags:
    differs = (codes[1:] != codes[:-1]) | (identities[1:] != identities[:-1])
    return np.append(differs, True)


def _by_content_where_equal(
    run: Run, order: np.ndarray[tuple[int], np.dtype[np.int64]], last: Flags, keys: tuple[np.ndarray, ...]
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The last of each, where those before it differ from it; else the one of them whose content comes last."""
    chosen = order[last]
    ties = np.ones(max(len(order) - 1, 0), np.bool_)
    for key in keys:
        ties &= key[order[1:]] == key[order[:-1]]
    if ties.any():
        contents = hash_of_content(run.rows.columns)
        order = np.lexsort((contents, ~keys[3], *keys[2::-1]))
        chosen = order[last]
    return chosen
