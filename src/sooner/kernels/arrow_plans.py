"""Arrow's own plans. `pyarrow.acero` would load pandas; what it is made of does not, and does the same."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa


def projected(expression: Any, table: pa.Table) -> pa.Array:
    """What an expression of `pyarrow.compute` is for each row."""
    acero = _acero()
    found = _run(table, "project", acero.ProjectNodeOptions([expression], ["found"])).column(0)
    return pa.concat_arrays(found.chunks) if found.num_chunks else pa.nulls(0, found.type)


def grouped(table: pa.Table, by: Sequence[str], *aggregates: tuple[str, str]) -> pa.Table:
    """A row for each group: what it is by, and columns with an aggregate (`min`, `max`) of their values."""
    asked = [(name, f"hash_{function}", None, name) for name, function in aggregates]
    return _run(table, "aggregate", _acero().AggregateNodeOptions(asked, list(by)))


def _run(table: pa.Table, node: str, options: Any) -> pa.Table:
    acero = _acero()
    nodes = [acero.Declaration("table_source", acero.TableSourceNodeOptions(table)), acero.Declaration(node, options)]
    return acero.Declaration.from_sequence(nodes).to_table(use_threads=False)


def _acero() -> Any:
    try:
        import pyarrow._acero as acero
    except ImportError:
        import pyarrow.acero as acero
    return acero
