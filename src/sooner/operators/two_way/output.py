"""From pairs to result rows: which columns a join gives, what they are called, and how they are gathered."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sooner.errors import InvalidJoin
from sooner.kernels.array_types import Positions
from sooner.kernels.gathering import gather_from
from sooner.kernels.keys import KeyPlan
from sooner.kernels.sorting import Places
from sooner.operators.two_way.pairs import Bundle


@dataclass(frozen=True)
class OutputPlan:
    """All columns of the left, then those of the right. A key of the same name on both sides comes once."""

    schema: pa.Schema
    right: tuple[int, ...]  # positions of the columns that come from the right

    def batch(self, bundle: Bundle) -> pa.RecordBatch:
        left = gather_from([pairs.left.columns for pairs in bundle], _places([pairs.at_left for pairs in bundle]))
        from_right = [pairs.right.columns.only(self.right) for pairs in bundle]
        right = gather_from(from_right, _places([pairs.at_right for pairs in bundle]))
        return pa.RecordBatch.from_arrays(left + right, schema=self.schema)


def _places(positions: Sequence[Positions]) -> Places:
    if len(positions) == 1:
        return Places(positions[0])
    parts = np.repeat(np.arange(len(positions), dtype=np.int32), [len(some) for some in positions])
    return Places(np.concatenate(positions), parts)


def plan_output(left: pa.Schema, right: pa.Schema, keys: KeyPlan, suffixes: tuple[str, str]) -> OutputPlan:
    shared_keys = {a for a, b in zip(keys.left, keys.right, strict=True) if a == b}
    from_right = [i for i, name in enumerate(right.names) if name not in shared_keys]
    right_names = {right.names[i] for i in from_right}
    clashing = set(left.names) & right_names
    fields = [_renamed(field, clashing, suffixes[0]) for field in left]
    fields += [_renamed(right.field(i), clashing, suffixes[1]) for i in from_right]
    _require_distinct([field.name for field in fields], suffixes)
    return OutputPlan(pa.schema(fields), tuple(from_right))


def _renamed(field: pa.Field, clashing: set[str], suffix: str) -> pa.Field:
    return field.with_name(field.name + suffix) if field.name in clashing else field


def _require_distinct(names: Sequence[str], suffixes: tuple[str, str]) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise InvalidJoin(
            f"The result would have several columns named {repeated[0]!r} with suffixes={suffixes!r}; "
            "give other suffixes or rename a column."
        )
