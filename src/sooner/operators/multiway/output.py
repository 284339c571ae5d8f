"""Which columns a join of many inputs gives, what they are called, and from which input each is taken.

Columns come in the order of the inputs. Columns that are compared and have one name come once, by the first input that
has them. Others of one name are told apart by the names of their inputs; so are those that are near each other.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

from sooner.errors import InvalidJoin
from sooner.operators.multiway.graph import Graph


class OutputColumn(NamedTuple):
    field: pa.Field
    input: int
    column: int


def output_columns(graph: Graph, schemas: Sequence[pa.Schema]) -> list[OutputColumn]:
    repeated = _repeated_keys(graph)
    own = [
        OutputColumn(field, which, at)
        for which, schema in enumerate(schemas)
        for at, field in enumerate(schema)
        if (which, field.name) not in repeated
    ]
    names = told_apart([one.field.name for one in own], [graph.inputs[one.input] for one in own])
    return [one._replace(field=one.field.with_name(name)) for one, name in zip(own, names, strict=True)]


def told_apart(columns: Sequence[str], inputs: Sequence[str]) -> list[str]:
    """The names of columns, with those of their inputs behind where several have one name."""
    counts = Counter(columns)
    names = [name if counts[name] == 1 else f"{name}_{of}" for name, of in zip(columns, inputs, strict=True)]
    for name, count in Counter(names).items():
        if count > 1:
            raise InvalidJoin(f"The result would have {count} columns named {name!r}; rename one of them before.")
    return names


def _repeated_keys(graph: Graph) -> set[tuple[int, str]]:
    """Key columns that an earlier input gives by the same name."""
    repeated = set()
    for attribute in graph.attributes:
        seen: set[tuple[int, str]] = set()
        for which, columns in sorted(attribute.columns):
            for place, name in enumerate(columns):
                if (place, name) in seen:
                    repeated.add((which, name))
                seen.add((place, name))
    return repeated
