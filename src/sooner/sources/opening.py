"""Make a source of what users have at hand.

Opening reads the schema and no rows, except where a library runs its query as soon as a stream is asked for.

Not covered: two relations of the same DuckDB connection, where DuckDB streams them (from 2.0 on). It streams one result
per connection at a time; the second is refused with the cure, a cursor of its own.
"""

import inspect
import io
import itertools
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeGuard

import pyarrow as pa

from sooner.errors import InvalidCall, InvalidJoin
from sooner.sources.datasets import dataset_source, is_of
from sooner.sources.files import file_source, is_path
from sooner.sources.in_memory import StreamSource, TableSource
from sooner.sources.plain_columns import with_plain_columns
from sooner.sources.source import Source, close_source

_WELCOME = (
    "give an Arrow table, batch, reader or dataset, a frame of Polars or pandas, a relation of DuckDB or anything else "
    "with __arrow_c_stream__, the path of a file, a directory or a pattern, a list or generator of rows (dicts or "
    "dataclasses) or batches, or a sooner Source"
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
        or is_of(one, "pyarrow.dataset", "Scanner")
        or isinstance(one, Iterator | AsyncIterator)
        or (hasattr(type(one), "batches") and isinstance(one, Source))
    )
    if one is other and once:
        raise InvalidJoin(
            f"{name} and {its_name} are the same {type(one).__name__}, which can be read only once; open it twice, "
            "or read it into a table first."
        )


def _open(thing: Any, name: str) -> Source:
    if _is_source(thing):
        return thing
    if is_path(thing):
        return file_source(thing, name)
    if isinstance(thing, list | tuple):
        return _open_list(thing, name)
    if isinstance(thing, Iterator | AsyncIterator) and not (_is_stream(thing) or isinstance(thing, io.IOBase)):
        return _open_items(thing, name)
    if is_of(thing, "pyarrow.dataset", "Dataset"):
        return dataset_source(thing, name)
    if is_of(thing, "polars", "LazyFrame"):
        from sooner.sources.lazy_frames import LazyFrameSource

        return LazyFrameSource(name, thing)
    return _open_arrow(thing, name)


def _open_items(things: object, name: str) -> Source:
    from sooner.sources.iterables import rows  # here, because most queries have none

    return rows(things, name=name)


def _open_list(things: Sequence[object], name: str) -> Source:
    from sooner.sources.iterables import is_batch, is_row

    if paths := [one for one in things if is_path(one)]:
        if len(paths) < len(things):
            raise InvalidCall(f"{name} is a list of paths and other things; give a list of paths alone")
        return file_source(paths, name)
    for kind in (is_row, is_batch):
        if all(map(kind, things)):
            return _open_items(things, name)
    kinds = ", ".join(dict.fromkeys(type(one).__name__ for one in things))
    raise InvalidCall(f"{name} is a {type(things).__name__} of {kinds}; {_WELCOME}")


def _is_source(thing: object) -> TypeGuard[Source]:
    # The class is asked first: to look at `schema` makes a Polars LazyFrame work and warn.
    return hasattr(type(thing), "batches") and isinstance(thing, Source) and isinstance(thing.schema, pa.Schema)


def _is_stream(thing: object) -> bool:
    return hasattr(thing, "__arrow_c_stream__")


def _open_arrow(thing: Any, name: str) -> Source:
    if isinstance(thing, pa.Table):
        return TableSource(name, thing)
    if isinstance(thing, pa.RecordBatch):
        return TableSource(name, pa.Table.from_batches([thing]))
    if is_of(thing, "polars", "DataFrame") or is_of(thing, "pandas", "DataFrame"):  # here as a whole
        return TableSource(name, pa.table(thing))
    if is_of(thing, "pyarrow.dataset", "Scanner"):
        return StreamSource(name, thing.to_reader())
    try:
        if _is_stream(thing):
            return StreamSource(name, pa.RecordBatchReader.from_stream(thing))
        if is_of(thing, "pyspark.sql", "DataFrame"):  # of a PySpark before 4.2, which gives no streams
            return StreamSource(name, _stream_of_spark(thing))
        if hasattr(thing, "__arrow_c_array__"):
            return TableSource(name, pa.Table.from_batches([pa.record_batch(thing)]))
    except Exception as error:  # whatever the other library raises: nothing has been read yet
        if type(error).__name__ == "ResourceInUseException":  # of DuckDB
            raise InvalidCall(
                f"{name} is {_a(thing)} whose connection is giving another result, and DuckDB gives one at a time; "
                f"make {name} with a cursor of its own: cursor = connection.cursor(), then cursor.sql(...)."
            ) from error
        raise InvalidCall(f"{name} is {_a(thing)} that gives no stream of Arrow rows: {error}") from error
    raise InvalidCall(f"{name} is {_a(thing)}{_nearly(thing)}; {_WELCOME}")


def _stream_of_spark(frame: Any) -> pa.RecordBatchReader:
    """Spark begins when the first rows are asked for."""
    from pyspark.sql.pandas.types import to_arrow_schema

    def batches() -> Iterator[pa.RecordBatch]:
        yield from frame.toArrow().to_batches()

    return pa.RecordBatchReader.from_batches(to_arrow_schema(frame.schema), batches())


def _nearly(thing: object) -> str:
    """What makes it a source, if that is little."""
    if isinstance(thing, type):
        return f", {thing.__name__}, and not an object of it"
    if inspect.isroutine(thing):
        return ", and not what it returns: call it"
    if isinstance(thing, Mapping):
        return ", which may be a row or columns: pyarrow.table(...) makes a table of columns"
    if hasattr(type(thing), "batches"):
        lacks = [what for what in ("name", "schema") if not hasattr(thing, what)]
        its = "no " + " and no ".join(lacks) if lacks else f"a schema that is {_a(thing.schema)}"  # type: ignore[attr-defined]
        return f" with batches() and {its}; a sooner Source has a name, a schema (pyarrow.Schema) and batches()"
    if isinstance(thing, io.IOBase):
        return ", which is open; give its path"
    return ""


def _a(thing: object) -> str:
    kind = type(thing).__name__
    return f"an {kind}" if kind[:1].lower() in "aeiou" else f"a {kind}"
