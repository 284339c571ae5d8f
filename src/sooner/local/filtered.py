"""Inputs of which only some rows take part, and of those some columns."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from sooner.errors import InvalidJoin
from sooner.expressions.arrow_conditions import from_arrow
from sooner.expressions.checking import Typed, condition
from sooner.expressions.reading import parse
from sooner.queries.rows import filtered
from sooner.sources.at_rest import resting_rows
from sooner.sources.chosen_columns import only_columns
from sooner.sources.source import Source, close_source, n_rows_of


class FilteredSource:
    """Rows for which conditions hold, and of them some columns by other names."""

    def __init__(
        self,
        source: Source,
        filters: Sequence[Typed],
        names: Sequence[tuple[str, str]],
        watch: Callable[[pa.RecordBatch], None] | None = None,
    ) -> None:
        """`watch` is shown what is left before it is given."""
        wanted = {name for name, _ in names} | {column for one in filters for column in one.columns}
        self._source = only_columns(source, [name for name in source.schema.names if name in wanted])
        self._filters = filters
        self._watch = watch
        self._names = [name for name, _ in names]
        self.name = source.name
        self.n_rows = None if filters else n_rows_of(source)
        self.resting_rows = None if filters else resting_rows(source)
        self.schema = pa.schema([source.schema.field(name).with_name(to) for name, to in names])

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows of the source that are left."""
        for batch in self._source.batches():
            kept = filtered(batch, self._filters)
            if kept.num_rows:
                left = pa.RecordBatch.from_arrays([kept.column(name) for name in self._names], schema=self.schema)
                if self._watch is not None:
                    self._watch(left)
                yield left

    def close(self) -> None:
        """Close the source."""
        close_source(self._source)


def filtered_sources(sources: Sequence[Source], names: Sequence[str], where: Mapping[str, Any] | None) -> list[Source]:
    """Inputs with the condition that was given for each, by its name, if there is one."""
    if where is None:
        return list(sources)
    if not isinstance(where, Mapping) or where.keys() - set(names):
        known = ", ".join(map(repr, names))
        raise InvalidJoin(f"where={where!r} must give a condition for some of {known}, by their names.")
    return [
        _where(source, where[name], f"where[{name!r}]") if name in where else source
        for name, source in zip(names, sources, strict=True)
    ]


def _where(source: Source, given: Any, what: str) -> Source:
    node = parse(given, what) if isinstance(given, str) else from_arrow(given, source.schema, what)
    same_names = [(name, name) for name in source.schema.names]
    return FilteredSource(source, [condition(node, source.schema, what)], same_names)
