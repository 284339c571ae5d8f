"""Partitions as the cells of a grid with a dimension for each attribute of a join of many inputs.

A row goes to the coordinates that its attributes have, and is copied along the dimensions of those that it lacks. So
each combination of rows meets in exactly one cell, after one shuffle (Afrati, Ullman 2010; Beame, Koutris, Suciu 2013).
How many cells there are in each dimension, its *share*, is chosen so that as few rows are copied as can be. A small
input is thereby copied to many cells, as in a broadcast, and a large one hardly.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from operator import and_
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from sooner.kernels.array_types import Flags
from sooner.kernels.xxh64 import xxh64
from sooner.spark.shuffle.placing import can_be_placed, comparable, have_keys, keys_to_place
from sooner.spark.shuffle.shared_columns import quoted

Attributes = Sequence[int]  # that an input has
T = TypeVar("T")


@dataclass(frozen=True)
class Shares:
    """How many cells the grid has in each dimension."""

    of_attribute: tuple[int, ...]

    def copies(self, has: Attributes) -> int:
        """In how many cells a row is that has these attributes."""
        return prod(share for at, share in enumerate(self.of_attribute) if at not in has)


def fewest_copies(
    partitions: int, inputs: Sequence[Attributes], rows: Sequence[float], once: Sequence[int] = ()
) -> Shares | None:
    """The shares with which the fewest rows are sent, of inputs with so many rows; the first of several.

    Rows of the inputs in `once` must not be copied; None if some have to be.
    """
    n_attributes = 1 + max(at for has in inputs for at in has)

    def sent(shares: Shares) -> float:
        return sum(count * shares.copies(has) for count, has in zip(rows, inputs, strict=True))

    every = map(Shares, _factors(partitions, n_attributes))
    return min((one for one in every if all(one.copies(inputs[at]) == 1 for at in once)), key=sent, default=None)


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
    keeps_keyless: bool = False  # whether rows come along that have a null in what is compared

    @property
    def partitions(self) -> int:
        return prod(self.shares.of_attribute)

    @property
    def is_a_readers(self) -> bool:
        """Whether a reader can do as Spark does."""
        return can_be_placed(self.types)

    @property
    def types(self) -> tuple[pa.DataType, ...]:
        return tuple(type_ for types in self.types_of_keys for type_ in types)

    def of_rows(self, rows: DataFrame) -> tuple[DataFrame, Sequence[Column]]:
        """The rows that are wanted, and all cells of each."""

        def coordinate(names: Sequence[str], types: Sequence[pa.DataType], share: int) -> Column:
            keys = [comparable(name, type_) for name, type_ in zip(names, types, strict=True)]
            return F.pmod(F.xxhash64(*keys), F.lit(share))

        wanted = rows
        if not self.keeps_keyless:
            wanted = rows.where(reduce(and_, (F.col(quoted(name)).isNotNull() for name in self._names)))
        return wanted, [cell.cast("int") for cell in self._cells(coordinate, F.lit(0))]

    def places(self, rows: pa.RecordBatch) -> Sequence[npt.NDArray[np.int64]]:
        """The same cells of rows that have not reached Spark yet; with a null in an attribute, the first ones along
        it: whatever lies under a null.
        """

        def coordinate(names: Sequence[str], types: Sequence[pa.DataType], share: int) -> npt.NDArray[np.int64]:
            coordinates = xxh64(keys_to_place(rows, names, types)) % share
            if (complete := have_keys(rows, names)) is not None:
                coordinates[~complete] = 0
            return coordinates

        return self._cells(coordinate, np.zeros(rows.num_rows, np.int64))

    def complete(self, rows: pa.RecordBatch) -> Flags | None:
        """Which rows can match anything (None: all)."""
        return have_keys(rows, self._names)

    @property
    def _names(self) -> list[str]:
        return [name for names in self.keys for name in names or ()]

    def _cells(self, coordinate: Callable[[Sequence[str], Sequence[pa.DataType], int], T], corner: T) -> list[T]:
        """All cells of each row, if it has such coordinates. Along a dimension that it lacks it is everywhere."""
        cells: list[Any] = [corner]
        step = 1
        for names, types, share in zip(self.keys, self.types_of_keys, self.shares.of_attribute, strict=True):
            along: Sequence[Any] = [coordinate(names, types, share)] if names and share > 1 else range(share)
            cells = [cell + at * step for cell in cells for at in along]
            step *= share
        return cells
