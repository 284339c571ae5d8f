"""From pairs and single rows to results: which columns a join gives, what they are called, and how they are gathered.

The columns are PySpark's: a key of one name on both sides comes once, and first; then those of the left, then those of
the right. A join of which a side may be missing gives such a key from the side that is there.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from sooner.errors import InvalidJoin
from sooner.how import INNER, Kind
from sooner.kernels.array_types import Positions
from sooner.kernels.columns import Columns
from sooner.kernels.gathering import gather_from
from sooner.kernels.keys import KeyPlan, cast_without_loss, coalesced_type
from sooner.kernels.sorting import Places
from sooner.operators.pairs import Bundle, Pairs, Singles
from sooner.sides import LEFT, RIGHT

_ONE_COLUMN: Final = "a full join gives the keys of both sides in one column"
_CURE: Final = "cast one of them before the join, or rename it and give left_on= and right_on="


class OutputColumn(NamedTuple):
    """A column of the results, and the column of either side that it is taken from: of the left, if that is there."""

    field: pa.Field
    left: int | None = None
    right: int | None = None


@dataclass(frozen=True)
class OutputPlan:
    columns: tuple[OutputColumn, ...]

    @cached_property
    def schema(self) -> pa.Schema:
        return pa.schema([column.field for column in self.columns])

    @cached_property
    def _of_left(self) -> tuple[int, ...]:
        return tuple(column.left for column in self.columns if column.left is not None)

    @cached_property
    def _of_right(self) -> tuple[int, ...]:
        return tuple(column.right for column in self.columns if column.right is not None)

    @cached_property
    def _of_right_alone(self) -> tuple[int, ...]:
        """Which columns of the right the results of pairs have: those that the left does not give."""
        return tuple(column.right for column in self.columns if column.left is None and column.right is not None)

    def batch(self, bundle: Bundle) -> pa.RecordBatch:
        if singles := [one for one in bundle if isinstance(one, Singles)]:
            return self._singles(singles)
        return self._pairs([one for one in bundle if isinstance(one, Pairs)])

    def _pairs(self, bundle: Sequence[Pairs]) -> pa.RecordBatch:
        lefts, rights = [pairs.left.columns for pairs in bundle], [pairs.right.columns for pairs in bundle]
        left = _gathered(lefts, self._of_left, [pairs.at_left for pairs in bundle])
        right = _gathered(rights, self._of_right_alone, [pairs.at_right for pairs in bundle])
        return self._assembled([next(right if column.left is None else left) for column in self.columns])

    def _singles(self, bundle: Sequence[Singles]) -> pa.RecordBatch:
        side, n_rows = bundle[0].side, sum(map(len, bundle))
        wanted = self._of_left if side == LEFT else self._of_right
        there = _gathered([one.run.columns for one in bundle], wanted, [one.at for one in bundle])
        sources = [column.left if side == LEFT else column.right for column in self.columns]
        return self._assembled(
            [
                pa.nulls(n_rows, column.field.type) if source is None else next(there)
                for source, column in zip(sources, self.columns, strict=True)
            ]
        )

    def _assembled(self, arrays: Sequence[pa.Array]) -> pa.RecordBatch:
        both = zip(arrays, self.schema, strict=True)
        cast = [one if one.type == field.type else _coalesced(one, field) for one, field in both]
        return pa.RecordBatch.from_arrays(cast, schema=self.schema)


def _coalesced(array: pa.Array, field: pa.Field) -> pa.Array:
    return cast_without_loss(field.name, array, field.type, f"{_ONE_COLUMN}; {_CURE}.")


def _gathered(runs: Sequence[Columns], numbers: tuple[int, ...], at: Sequence[Positions]) -> Iterator[pa.Array]:
    if not numbers:
        return iter(())
    return iter(gather_from([columns.only(numbers) for columns in runs], _places(at)).arrays)


def _places(positions: Sequence[Positions]) -> Places:
    if len(positions) == 1:
        return Places(positions[0])
    parts = np.repeat(np.arange(len(positions), dtype=np.int32), [len(some) for some in positions])
    return Places(np.concatenate(positions), parts)


def plan_output(
    left: pa.Schema, right: pa.Schema, keys: KeyPlan, suffixes: tuple[str, str], kind: Kind = INNER
) -> OutputPlan:
    shared = [name for name, other in zip(keys.left, keys.right, strict=True) if name == other]
    sides = (left, right if kind.pairs else pa.schema([]))
    numbers = [[at for at, name in enumerate(schema.names) if name not in shared] for schema in sides]
    from_left = [OutputColumn(_nullable(left.field(at), kind, LEFT), left=at) for at in numbers[LEFT]]
    from_right = [OutputColumn(_nullable(right.field(at), kind, RIGHT), right=at) for at in numbers[RIGHT]]
    clashing = {column.field.name for column in from_left} & {column.field.name for column in from_right}
    columns = [
        *(_shared_key(left, right, name, kind) for name in shared),
        *(_renamed(column, clashing, suffixes[LEFT]) for column in from_left),
        *(_renamed(column, clashing, suffixes[RIGHT]) for column in from_right),
    ]
    _require_distinct([column.field.name for column in columns], suffixes, kind)
    return OutputPlan(tuple(columns))


def _shared_key(left: pa.Schema, right: pa.Schema, name: str, kind: Kind) -> OutputColumn:
    at_left, at_right = left.get_field_index(name), right.get_field_index(name)
    if not kind.may_be_null(LEFT):
        return OutputColumn(left.field(at_left), left=at_left)
    if not kind.may_be_null(RIGHT):
        return OutputColumn(right.field(at_right), right=at_right)
    types = left.field(at_left).type, right.field(at_right).type
    type_ = coalesced_type(*types)
    if type_ is None:
        raise InvalidJoin(
            f"key {name!r} is {types[LEFT]} on the left and {types[RIGHT]} on the right: no type has all values of "
            f"both, but {_ONE_COLUMN}; {_CURE}."
        )
    return OutputColumn(pa.field(name, type_), left=at_left, right=at_right)


def _nullable(field: pa.Field, kind: Kind, side: int) -> pa.Field:
    return field.with_nullable(True) if kind.may_be_null(side) else field


def _renamed(column: OutputColumn, clashing: set[str], suffix: str) -> OutputColumn:
    name = column.field.name
    return column._replace(field=column.field.with_name(name + suffix)) if name in clashing else column


def _require_distinct(names: Sequence[str], suffixes: tuple[str, str], kind: Kind) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise InvalidJoin(
            f"With how={kind.name!r} the result would have several columns named {repeated[0]!r} with "
            f"suffixes={suffixes!r}; give other suffixes or rename a column."
        )
