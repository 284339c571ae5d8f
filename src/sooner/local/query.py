"""A running join: iterate it for batches of results as they come."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from sooner.local.arguments import Settings
from sooner.local.rows import Rows
from sooner.local.running import Running
from sooner.operators.operator import OperatorPlan
from sooner.operators.two_way.plan import INPUTS
from sooner.plain_text import plain_text
from sooner.sources.source import Source, n_rows_together
from sooner.trace import Tracer


class Query(Running[pa.RecordBatch], Rows):
    """Iterate for `pyarrow.RecordBatch`es, or hand it to anything that reads an Arrow stream. Good for one reading.

    Leave a `with` block, call `stop()` or drop the query, and its threads and spill files are gone.

    >>> import pyarrow as pa, sooner
    >>> orders = pa.table({"customer": [1, 2, 1], "amount": [10, 20, 30]})
    >>> customers = pa.table({"customer": [1, 2], "name": ["Ada", "Alan"]})
    >>> with sooner.join(orders, customers, on="customer") as query:
    ...     sum(batch.num_rows for batch in query)
    3
    >>> query.progress.results
    3
    """

    def __init__(
        self,
        plan: OperatorPlan[pa.RecordBatch],
        sources: Sequence[Source],
        settings: Settings,
        names: Sequence[str] = INPUTS,
        trace: str | Path | Tracer | None = None,
        notes: Sequence[str] = (),
        last: int | None = None,
        what: str = "a query in process",
    ) -> None:
        """`notes` are what whoever put the plan together has to explain; `last` is the input that is to come last."""
        self.schema = plan.output([source.schema for source in sources])
        super().__init__(plan, sources, settings, names, trace, n_rows_together(sources), notes, last, what)

    def _found(self) -> Iterator[pa.RecordBatch]:
        return self._read_once()

    def __repr__(self) -> str:
        return f"<sooner.Query {self._how_far}>"

    def _repr_html_(self) -> str:
        """How far it is, and which columns it gives. Nothing is read for it."""
        from html import escape

        columns = [(escape(plain_text(field.name)), escape(plain_text(field.type))) for field in self.schema]
        rows = "".join(f"<tr><td>{name}</td><td>{type_}</td></tr>" for name, type_ in columns)
        return (
            f"<div><strong>sooner.Query</strong> {escape(self._how_far)}"
            f"<table><thead><tr><th>column</th><th>type</th></tr></thead><tbody>{rows}</tbody></table></div>"
        )
