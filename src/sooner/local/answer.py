"""The whole answer of a query: the forms in which it can be had, and where it can go."""

import os
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Final, NoReturn, TypeAlias

import pyarrow as pa

from sooner.errors import InvalidCall
from sooner.extras import require

if TYPE_CHECKING:
    import pandas
    import polars

    from sooner.sinks.delta_sink import Mode
    from sooner.sinks.sink import Sink


Batches: TypeAlias = Generator[pa.RecordBatch, None, None]

# What other libraries call it: PySpark, DuckDB, Polars, pandas and Arrow.
_OURS: Final = {
    **dict.fromkeys(("collect", "fetchall", "to_pylist", "to_dicts", "rows"), "to_table().to_pylist()"),
    **dict.fromkeys(("toPandas", "df", "fetchdf"), "to_pandas()"),
    **dict.fromkeys(("pl", "toPolars"), "to_polars()"),
    **dict.fromkeys(("arrow", "toArrow", "read_all", "fetch_arrow_table", "fetchone"), "to_table()"),
    **dict.fromkeys(("show", "limit", "take", "first"), "head(n)"),
    **dict.fromkeys(("columns", "dtypes"), "schema"),
    **dict.fromkeys(("write_parquet", "sink_parquet"), "to_parquet(path)"),
    **dict.fromkeys(("write_csv", "sink_csv"), "to_csv(path)"),
    **dict.fromkeys(("count", "shape"), "to_table().num_rows"),
}


class Answer:
    """Something that is a table in the end."""

    if not TYPE_CHECKING:  # types know all names that there are

        def __getattr__(self, name: str) -> NoReturn:
            """Names of other libraries lead to ours."""
            cure = f"; here that is {_OURS[name]}" if name in _OURS else ""
            raise AttributeError(f"{type(self).__name__} has no {name!r}{cure}", name=name, obj=self)

    def to_table(self) -> pa.Table:
        """The whole answer, when it is complete."""
        raise NotImplementedError

    def _whole(self) -> tuple[pa.Schema, Batches]:
        """Its columns, and its rows as they are found; an error if they end before they are all there."""
        table = self.to_table()
        return table.schema, (batch for batch in table.to_batches())

    def to_arrow(self) -> pa.Table:
        """The same as `to_table`, by the name that it has in Polars."""
        return self.to_table()

    def to_pandas(self) -> "pandas.DataFrame":
        """The whole answer, when it is complete, as a DataFrame of pandas."""
        require("pandas", f"{type(self).__name__}.to_pandas()")
        return self.to_table().to_pandas()

    def to_polars(self) -> "polars.DataFrame":
        """The whole answer, when it is complete, as a DataFrame of Polars."""
        require("polars", f"{type(self).__name__}.to_polars()")
        import polars

        # Not polars.DataFrame(self): what goes wrong on the way would come out as an error of Polars.
        frame = polars.from_arrow(self.to_table())
        assert isinstance(frame, polars.DataFrame)
        return frame

    def write(self, to: "str | os.PathLike[str] | Sink") -> int:
        """Write the whole answer as it is found; how many rows there were.

        to: a path that ends in .parquet, .csv, .tsv, .jsonl or .arrow (.csv.gz and the like are packed), or a `Sink`.

        A file that is there is replaced when the new one is whole. If the query fails or is stopped, the rows so far
        are in a valid file beside it, whose name has `_partial-` in front, and the error says so.

        >>> import pyarrow as pa, sooner, tempfile
        >>> numbers, names = pa.table({"k": [1, 2]}), pa.table({"k": [1, 2], "name": ["Ada", "Alan"]})
        >>> sooner.join(numbers, names, on="k").write(tempfile.mkdtemp() + "/joined.csv")
        2
        """
        from sooner.sinks.sink import Sink  # here, because many answers go nowhere

        if isinstance(to, str | os.PathLike):
            return self._write_file(to)
        if isinstance(to, type) or not isinstance(to, Sink):
            raise InvalidCall(
                f"to={to!r} is no place to write to; give a path, or a sink: an object with write_rows(rows), which "
                "gets a pyarrow.RecordBatchReader"
            )
        return self._write(*self._whole(), to)

    def to_parquet(self, path: str | os.PathLike[str]) -> int:
        """Write the whole answer to a Parquet file; how many rows there were. See `write`."""
        return self._write_file(path, ".parquet")

    def to_csv(self, path: str | os.PathLike[str]) -> int:
        """Write the whole answer to a CSV file, packed if its name says so; how many rows there were. See `write`."""
        return self._write_file(path, ".csv")

    def to_delta(self, path: str | os.PathLike[str], *, mode: "Mode" = "error") -> int:
        """Write the whole answer to a Delta table, all of it or nothing; how many rows there were.

        mode: "append" to a table that is there, or "overwrite" it; "error" is to refuse it.
        """
        from sooner.sinks.delta_sink import delta_sink

        sink = delta_sink(path, mode)
        return self._write(*self._whole(), sink)

    def _write_file(self, path: str | os.PathLike[str], ending: str | None = None) -> int:
        from sooner.sinks.file_sink import file_sink

        schema, rows = self._whole()
        return self._write(schema, rows, file_sink(path, schema, ending))

    def _write(self, schema: pa.Schema, rows: Batches, sink: "Sink") -> int:
        """What goes wrong with the rows comes out as it is, whatever a sink makes of it."""
        counted = _Counted(rows)
        try:
            sink.write_rows(pa.RecordBatchReader.from_batches(schema, iter(counted)))
        except BaseException as error:
            if counted.error is None or counted.error is error:
                raise
            raise counted.error from error
        finally:
            rows.close()  # which ends a query that is not needed any more
        return counted.n_rows


class _Counted:
    def __init__(self, rows: Batches) -> None:
        self.n_rows = 0
        self.error: BaseException | None = None
        self._rows = rows

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            for batch in self._rows:
                self.n_rows += batch.num_rows
                yield batch
        except GeneratorExit:
            raise
        except BaseException as error:
            self.error = error
            raise
