"""Partitions as the cells of a grid with a dimension for each attribute of a join of many inputs.

A row goes to the coordinates that its attributes have, and is copied along the dimensions of those that it lacks. So
each combination of rows meets in exactly one cell, after one shuffle (Afrati, Ullman 2010; Beame, Koutris, Suciu 2013).
How many cells there are in each dimension, its *share*, is chosen so that as few rows are copied as can be. A small
input is thereby copied to many cells, as in a broadcast, and a large one hardly.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from math import prod
from operator import and_

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from sooner.spark.shuffle.placing import comparable
from sooner.spark.shuffle.shared_columns import quoted

Attributes = Sequence[int]  # that an input has


@dataclass(frozen=True)
class Shares:
    """How many cells the grid has in each dimension."""

    of_attribute: tuple[int, ...]

    def copies(self, has: Attributes) -> int:
        """In how many cells a row is that has these attributes."""
        return prod(share for at, share in enumerate(self.of_attribute) if at not in has)


def fewest_copies(partitions: int, inputs: Sequence[Attributes], rows: Sequence[float]) -> Shares:
    """The shares with which the fewest rows are sent, of inputs with so many rows; the first of several."""
    n_attributes = 1 + max(at for has in inputs for at in has)

    def sent(shares: Shares) -> float:
        return sum(count * shares.copies(has) for count, has in zip(rows, inputs, strict=True))

    return min(map(Shares, _factors(partitions, n_attributes)), key=sent)


def _factors(number: int, many: int) -> Iterator[tuple[int, ...]]:
    """All ways to write a number as a product of so many; the first of them is largest first."""
    if many == 1:
        yield (number,)
        return
    for first in range(number, 0, -1):
        if number % first == 0:
            yield from ((first, *rest) for rest in _factors(number // first, many - 1))


@dataclass(frozen=True)
class GridPlacement:
    """The cells of an input's rows: by the columns of each attribute, or None where it lacks one."""

    keys: tuple[tuple[str, ...] | None, ...]
    types_of_keys: tuple[tuple[pa.DataType, ...], ...]
    shares: Shares
    is_a_readers = False  # as far as sources of ours can tell: Spark hashes and copies

    @property
    def types(self) -> tuple[pa.DataType, ...]:
        return tuple(type_ for types in self.types_of_keys for type_ in types)

    def of_rows(self, rows: DataFrame) -> tuple[DataFrame, Sequence[Column]]:
        """The rows that can match anything, and all cells of each."""
        has = [name for names in self.keys for name in names or ()]
        cells = [
            reduce(lambda cell, coordinate: cell + coordinate, coordinates, F.lit(0)).cast("int")
            for coordinates in product(*self._coordinates())
        ]
        return rows.where(reduce(and_, (F.col(quoted(name)).isNotNull() for name in has))), cells

    def _coordinates(self) -> Iterator[list[Column]]:
        """Along each dimension where a row is, or all places if it lacks the attribute; in steps of the grid."""
        step = 1
        for names, types, share in zip(self.keys, self.types_of_keys, self.shares.of_attribute, strict=True):
            if names is None:
                yield [F.lit(step * at) for at in range(share)]
            else:
                keys = [comparable(name, type_) for name, type_ in zip(names, types, strict=True)]
                yield [F.pmod(F.xxhash64(*keys), F.lit(share)) * step]
            step *= share
