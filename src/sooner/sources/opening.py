"""Make a source of what users have at hand.

Opening reads the schema and no rows, except where a library runs its query as soon as a stream is asked for.

Not covered: two relations of the same DuckDB connection, where DuckDB streams them (from 2.0 on). It streams one result
per connection at a time; the second is refused with the cure, a cursor of its own.
"""

import itertools
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeGuard

import pyarrow as pa

from sooner.errors import InvalidCall, InvalidJoin
from sooner.sources.files import arrow_file, csv, dataset_source, is_dataset, parquet
from sooner.sources.in_memory import StreamSource, TableSource
from sooner.sources.parquet_batches import AnyPath
from sooner.sources.plain_columns import with_plain_columns
from sooner.sources.source import Source, close_source

_WELCOME = (
    "give an Arrow table, batch, reader or dataset, "
    "an object with __arrow_c_stream__ (as of Polars, DuckDB or pandas), "
    "a path to a .parquet, .csv, .arrow or .feather file, a directory or list of Parquet files, "
    "or a sooner Source"
)


def open_source(thing: object, name: str) -> Source:
    """Open anything that holds rows; `name` is what messages call it.

    >>> open_source(pa.table({"k": [1, 2]}), "left").schema.names
    ['k']
    """
    return with_plain_columns(_open(thing, name))


@contextmanager
def opened(things: Sequence[object], names: Sequence[str]) -> Iterator[list[Source]]:
    """All inputs of a query, by these names. If what follows is refused, they can be given again.

    What was opened here is let go then; a source of the user's own stays as it is.
    """
    require_streams_once(things, names)
    ours: list[Source] = []
    try:
        sources: list[Source] = []
        for thing, name in zip(things, names, strict=True):
            sources.append(open_source(thing, name))
            if not _is_source(thing):
                ours.append(sources[-1])
        yield sources
    except BaseException as error:
        for source in ours:
            close_source(source)
        if type(error) is InvalidCall:
            raise InvalidJoin(str(error)) from error
        raise


def require_streams_once(things: Sequence[object], names: Sequence[str]) -> None:
    """Refuse a stream that is given twice, by two names."""
    for (one, name), (other, its_name) in itertools.combinations(zip(things, names, strict=True), 2):
        _require_two_streams(one, name, other, its_name)


def _require_two_streams(one: object, name: str, other: object, its_name: str) -> None:
    """A stream can be read once: given twice, each side would get some of its rows."""
    once = (
        isinstance(one, pa.RecordBatchReader)
        or is_dataset(one, "Scanner")
        or (hasattr(type(one), "batches") and isinstance(one, Source))
    )
    if one is other and once:
        raise InvalidJoin(
            f"{name} and {its_name} are the same {type(one).__name__}, which can be read only once; open it twice, "
            "or read it into a table first."
        )


def _open(thing: object, name: str) -> Source:
    if _is_source(thing):
        return thing
    if isinstance(thing, str | os.PathLike):
        return _open_path(thing, name)
    if isinstance(thing, list | tuple) and all(isinstance(one, str | os.PathLike) for one in thing):
        return parquet(thing, name=name)
    if is_dataset(thing, "Dataset"):
        return dataset_source(thing, name)
    return _open_arrow(thing, name)


def _is_source(thing: object) -> TypeGuard[Source]:
    # The class is asked first: to look at `schema` makes a Polars LazyFrame work and warn.
    return hasattr(type(thing), "batches") and isinstance(thing, Source) and isinstance(thing.schema, pa.Schema)


def _open_path(path: AnyPath, name: str) -> Source:
    file = Path(path)
    if file.is_dir():
        return parquet(file, name=name)
    match file.suffix.lower():
        case ".parquet":
            return parquet(file, name=name)
        case ".csv":
            return csv(file, name=name)
        case ".arrow" | ".feather":
            return arrow_file(file, name=name)
    if not file.exists():
        raise InvalidCall(f"{name}: there is no file {path}")
    raise InvalidCall(
        f"{name}: {path} ends in {file.suffix!r}; a file ends in .parquet, .csv, .arrow or .feather, "
        "or open it yourself with sooner.sources"
    )


def _open_arrow(thing: Any, name: str) -> Source:
    if isinstance(thing, pa.Table):
        return TableSource(name, thing)
    if isinstance(thing, pa.RecordBatch):
        return TableSource(name, pa.Table.from_batches([thing]))
    if is_dataset(thing, "Scanner"):
        return StreamSource(name, thing.to_reader())
    try:
        if hasattr(thing, "__arrow_c_stream__"):
            return StreamSource(name, pa.RecordBatchReader.from_stream(thing))
        if hasattr(thing, "__arrow_c_array__"):
            return TableSource(name, pa.Table.from_batches([pa.record_batch(thing)]))
    except Exception as error:  # whatever the other library raises: nothing has been read yet
        if type(error).__name__ == "ResourceInUseException":  # of DuckDB
            raise InvalidCall(
                f"{name} is {_a(thing)} whose connection is giving another result, and DuckDB gives one at a time; "
                f"make {name} with a cursor of its own: cursor = connection.cursor(), then cursor.sql(...)."
            ) from error
        raise InvalidCall(f"{name} is {_a(thing)} that gives no stream of Arrow rows: {error}") from error
    raise InvalidCall(f"{name} is {_a(thing)}; {_WELCOME}")


def _a(thing: object) -> str:
    kind = type(thing).__name__
    return f"an {kind}" if kind[:1].lower() in "aeiou" else f"a {kind}"
