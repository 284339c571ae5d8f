"""A running join: iterate it for batches of results as they come."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Self

import pyarrow as pa

from sooner.arguments import require_count
from sooner.extras import require
from sooner.local.arguments import Settings
from sooner.local.running import Running
from sooner.operators.operator import OperatorPlan
from sooner.operators.two_way.plan import INPUTS
from sooner.plain_text import plain_text
from sooner.sources.source import Source, n_rows_together
from sooner.trace import Tracing

if TYPE_CHECKING:
    import pandas
    import polars


class Query(Running[pa.RecordBatch]):
    """Iterate for `pyarrow.RecordBatch`es, or hand it to anything that reads an Arrow stream. Good for one reading.

    Leave a `with` block, call `stop()` or drop the query, and its threads and spill files are gone.
    """

    def __init__(
        self,
        plan: OperatorPlan[pa.RecordBatch],
        sources: Sequence[Source],
        settings: Settings,
        names: Sequence[str] = INPUTS,
        tracing: Tracing | None = None,
        notes: Sequence[str] = (),
        last: int | None = None,
    ) -> None:
        """`notes` are what whoever put the plan together has to explain; `last` is the input that is to come last."""
        self.schema = plan.output([source.schema for source in sources])
        super().__init__(plan, sources, settings, names, tracing, n_rows_together(sources), notes, last)
        self._change: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]] = iter

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self._change(self._read_once())

    def through(
        self, schema: pa.Schema, change: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
    ) -> Self:
        """This query, whose batches are changed as they come; they are of another schema then."""
        self.schema, self._change = schema, change
        return self

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def to_reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self.schema, iter(self))

    def to_table(self) -> pa.Table:
        """The whole answer, when it is complete."""
        return pa.Table.from_batches(iter(self), schema=self.schema)

    def to_pandas(self) -> "pandas.DataFrame":
        """The whole answer, when it is complete, as a DataFrame of pandas."""
        require("pandas", "Query.to_pandas()")
        return self.to_table().to_pandas()

    def to_polars(self) -> "polars.DataFrame":
        """The whole answer, when it is complete, as a DataFrame of Polars."""
        require("polars", "Query.to_polars()")
        import polars

        # Not polars.DataFrame(self): what goes wrong on the way would come out as an error of Polars.
        frame = polars.from_arrow(self.to_table())
        assert isinstance(frame, polars.DataFrame)
        return frame

    def head(self, n: int = 5) -> pa.Table:
        """The first n rows to come, as soon as they are there; then the query is stopped.

        There are fewer if the whole answer has fewer. Which rows come first depends on what arrives first.
        """
        require_count("n", n)
        batches: list[pa.RecordBatch] = []
        with self:
            results = iter(self)
            while n > 0 and (batch := next(results, None)) is not None:
                batches.append(batch.slice(0, n))
                n -= batches[-1].num_rows
        return pa.Table.from_batches(batches, schema=self.schema)

    def __repr__(self) -> str:
        return f"<sooner.Query {self.progress}>"

    def _repr_html_(self) -> str:
        """How far it is, and which columns it gives. Nothing is read for it."""
        from html import escape

        columns = [(escape(plain_text(field.name)), escape(plain_text(field.type))) for field in self.schema]
        rows = "".join(f"<tr><td>{name}</td><td>{type_}</td></tr>" for name, type_ in columns)
        return (
            f"<div><strong>sooner.Query</strong> {escape(str(self.progress))}"
            f"<table><thead><tr><th>column</th><th>type</th></tr></thead><tbody>{rows}</tbody></table></div>"
        )
