"""What columns are called inside of a plan, and which of them come out by what names.

Inside, all columns of all inputs have the names of their inputs in front, so that no two are alike. In the end columns
come in the order of the inputs, without those of semi and anti joins. Columns that a join compares and that have one
name come once: from the left, from the right if the left may be missing, or from the one that is there. Others of one
name are told apart by the names of their inputs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from sooner.errors import InvalidJoin
from sooner.kernels.keys import cast_without_loss, coalesced_type
from sooner.operators.multiway.output import told_apart


def named(input_name: str, column: str) -> str:
    return f"{input_name}.{column}"


@dataclass(frozen=True)
class OutputColumn:
    """A column of the results; `sources` are columns inside of the plan, of which the first that is there counts."""

    field: pa.Field
    sources: tuple[str, ...]


@dataclass(frozen=True)
class Projection:
    """`inside` are the schemas of the inputs with the names that they have inside of the plan."""

    inside: tuple[pa.Schema, ...]
    columns: tuple[OutputColumn, ...]

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([column.field for column in self.columns])

    def named(self, which: int, batches: Sequence[pa.RecordBatch]) -> list[pa.RecordBatch]:
        """Rows of an input, by the names inside."""
        schema = self.inside[which]
        return [pa.RecordBatch.from_arrays(batch.columns, schema=schema) for batch in batches if batch.num_rows]

    def of(self, results: pa.RecordBatch) -> pa.RecordBatch:
        arrays = [_first_of([results.column(name) for name in one.sources], one.field) for one in self.columns]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def _first_of(arrays: Sequence[pa.Array], field: pa.Field) -> pa.Array:
    if len(arrays) == 1:
        return arrays[0]
    return pc.coalesce(*(cast_without_loss(field.name, one, field.type, "cast one of them before.") for one in arrays))


def projection_of(
    inputs: Sequence[tuple[str, pa.Schema]],
    given: Sequence[str],
    shared: Sequence[tuple[str, str, str]],
    inside: pa.Schema,
) -> Projection:
    """`given` are the inputs whose columns come out, and `shared` pairs of columns inside that come as one, with which
    of them counts: "left", "right" or "either"; `inside` is the schema of the results of the root.
    """
    sources = {named(name, column): [named(name, column)] for name, schema in inputs for column in schema.names}
    comes_as = {column: column for column in sources}
    place = {column: at for at, column in enumerate(sources)}
    for left, right, counts in shared:
        first, other = comes_as[left], right
        if counts == "left" and place[right] < place[first]:  # inner joins in another order: they come as the inputs do
            first, other = right, first
        comes_as |= {column: first for column, comes in comes_as.items() if comes == other}
        if counts == "right":
            sources[first] = [right]
        elif counts == "either":
            sources[first].append(right)
        sources.pop(other, None)
    kept = [(name, column) for name, schema in inputs if name in given for column in schema.names]
    kept = [(name, column) for name, column in kept if named(name, column) in sources]
    names = told_apart([column for _, column in kept], [name for name, _ in kept])
    columns = [
        _column(final, [inside.field(one) for one in sources[named(name, column)]])
        for final, (name, column) in zip(names, kept, strict=True)
    ]
    renamed = [pa.schema([field.with_name(named(name, field.name)) for field in schema]) for name, schema in inputs]
    return Projection(tuple(renamed), tuple(columns))


def _column(name: str, fields: Sequence[pa.Field]) -> OutputColumn:
    type_ = fields[0].type
    for field in fields[1:]:
        common = coalesced_type(type_, field.type)
        if common is None:
            raise InvalidJoin(
                f"{fields[0].name} is {type_} and {field.name} is {field.type}: no type has all values of both, but a "
                "full join gives them in one column; cast one of them before, or rename it."
            )
        type_ = common
    nullable = all(field.nullable for field in fields)
    return OutputColumn(pa.field(name, type_, nullable), tuple(field.name for field in fields))
