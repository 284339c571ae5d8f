"""The values of all groups at a moment: by columns, since there may be very many; those of one when it is looked at."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import pyarrow as pa

from sooner.estimation.groups import Key, python_values
from sooner.estimation.reckoning import Value


class GroupedValues(Mapping[Key, Mapping[str, Value]]):
    """`by` are the values that groups have in common, `columns` those of aggregates, in one order."""

    def __init__(self, by: Sequence[pa.Array], columns: Mapping[str, Sequence[Value]]) -> None:
        self.by = by
        self.columns = columns

    def __getitem__(self, key: Key) -> Mapping[str, Value]:
        at = self._places[key]
        return {name: values[at] for name, values in self.columns.items()}

    def __iter__(self) -> Iterator[Key]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    @cached_property
    def _places(self) -> dict[Key, int]:
        """Of groups, by what they have in common."""
        keys = zip(*map(python_values, self.by), strict=True) if self.by else [()] * len(self)
        return {key: at for at, key in enumerate(keys)}
