"""The figures of groups at a moment: so far, or exact."""

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sooner.errors import InvalidJoin
from sooner.extras import require
from sooner.plain_text import plain_text

if TYPE_CHECKING:
    import pandas
    import polars


@dataclass(frozen=True)
class Figures:
    """A row for each group, with the columns of the select list; `figures["revenue"]` are the values of one.

    As long as they are not `exact`, they are those of the joined rows so far: counts, sums and maxima still grow.

    >>> import pyarrow as pa, sooner
    >>> orders = pa.table({"customer": [1, 2, 1], "amount": [10, 20, 30]})
    >>> customers = pa.table({"customer": [1, 2], "name": ["Ada", "Alan"]})
    >>> query = "SELECT name, MAX(amount) AS most FROM o JOIN c ON o.customer = c.customer GROUP BY name ORDER BY name"
    >>> groups = sooner.sql(query, {"o": orders, "c": customers})
    >>> groups.final()["most"]
    [30, 20]
    """

    table: pa.Table
    rows: int  # that were joined and counted
    seconds: float
    exact: bool

    def __getitem__(self, name: str) -> list[Any]:
        if name not in self.table.column_names:
            raise InvalidJoin(f"There is no column {name!r}; there are {', '.join(self.table.column_names)}.")
        values: list[Any] = self.table.column(name).to_pylist()
        return values

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> "pandas.DataFrame":
        require("pandas", "Figures.to_pandas()")
        return self.table.to_pandas()

    def to_polars(self) -> "polars.DataFrame":
        require("polars", "Figures.to_polars()")
        import polars

        frame = polars.from_arrow(self.table)
        assert isinstance(frame, polars.DataFrame)
        return frame

    @property
    def summary(self) -> str:
        said = "exact" if self.exact else "so far"
        return f"{said}: {self.table.num_rows:,} groups of {self.rows:,} joined rows, {self.seconds:.2f} s"

    def __str__(self) -> str:
        rows = [", ".join(f"{plain_text(k)} = {_cell(v)}" for k, v in row.items()) for row in self.table.to_pylist()]
        return "\n".join([self.summary, *rows])

    def _repr_html_(self) -> str:
        heads = "".join(f"<th>{escape(plain_text(name))}</th>" for name in self.table.column_names)
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(_cell(value))}</td>" for value in row.values()) + "</tr>"
            for row in self.table.to_pylist()
        )
        return (
            f"<div><strong>sooner</strong> {escape(self.summary)}"
            f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
        )


def _cell(value: object) -> str:
    if value is None:
        return "null"
    return f"{value:,.6g}" if isinstance(value, float) else plain_text(value)
