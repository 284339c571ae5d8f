"""Between which keys the rows of a block are: which blocks of one input can match which of another.

Ranges are of whole numbers of any width, dates (as days since 1970), times (as nanoseconds since 1970, so that units
can differ; local times and moments do not compare), and texts. In Parquet they come from statistics that writers may
leave out. Texts are known only where the writer's bounds are said to be values, which PyArrow up to 26 does not tell:
writers cut long ones. Floats are unknown since NaN is in no range.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as arrow_parquet

Kind: TypeAlias = Literal["number", "date", "local time", "moment", "text"]
KeyRange: TypeAlias = tuple[Any, Any]  # the smallest and the largest
_NANOSECONDS: Final = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_NANOSECONDS_IN_FILES: Final = {"milliseconds": 10**6, "microseconds": 10**3, "nanoseconds": 1}


class NoKeys(NamedTuple):
    """All keys of a block are null, or it has no rows: nothing can match it."""


NO_KEYS: Final = NoKeys()
Known: TypeAlias = KeyRange | NoKeys | None  # None: unknown


def kind_of(type_: pa.DataType) -> Kind | None:
    """What keys of this type can be compared with; None if ranges of them are not known."""
    types = pa.types
    if types.is_dictionary(type_):
        return kind_of(type_.value_type)
    if types.is_integer(type_):
        return "number"
    if types.is_date32(type_):
        return "date"
    if types.is_timestamp(type_):
        return "local time" if type_.tz is None else "moment"
    if types.is_string(type_) or types.is_large_string(type_) or types.is_string_view(type_):
        return "text"
    return None


def ranges_in_file(metadata: arrow_parquet.FileMetaData, key: str, kind: Kind | None) -> Iterator[Known]:
    """The range of each row group, by its statistics. Only the chunks of the key's column are looked at."""
    schema = metadata.schema
    here = [number for number in range(len(schema)) if schema.column(number).path == key]
    fields = schema.to_arrow_schema()
    # A dot may be of a name or of a field in a struct.
    if len(here) != 1 or "." in key or fields.names.count(key) != 1 or kind_of(fields.field(key).type) != kind:
        kind = None
    scale = _scale_in_file(schema.column(here[0])) if kind is not None else None
    for number in range(metadata.num_row_groups):
        if kind is None or scale is None:
            yield None
        else:
            group = metadata.row_group(number)
            yield _range_in_chunk(group.column(here[0]).statistics, group.num_rows, kind, scale)


def _scale_in_file(column: arrow_parquet.ColumnSchema) -> int | None:
    """How many of our units a stored number is: Arrow's type may say seconds where milliseconds are stored."""
    if column.physical_type not in ("INT32", "INT64", "BYTE_ARRAY"):
        return None
    logical = json.loads(column.logical_type.to_json())
    return _NANOSECONDS_IN_FILES.get(logical["timeUnit"]) if logical["Type"] == "Timestamp" else 1


def _range_in_chunk(statistics: arrow_parquet.Statistics | None, n_rows: int, kind: Kind, scale: int) -> Known:
    if not n_rows:
        return NO_KEYS
    if statistics is None:
        return None
    if statistics.has_null_count and statistics.null_count == n_rows:
        return NO_KEYS
    if not statistics.has_min_max:
        return None
    if kind == "number":
        return statistics.min, statistics.max
    if kind != "text":
        return scale * statistics.min_raw, scale * statistics.max_raw
    exact = (getattr(statistics, f"is_{which}_value_exact", None) is True for which in ("min", "max"))
    return (statistics.min, statistics.max) if all(exact) else None


def range_in_memory(keys: pa.ChunkedArray) -> Known:
    """Numbers, dates and times: for texts it would take longer than it saves."""
    import pyarrow.compute as pc

    kind = kind_of(keys.type)
    if kind in (None, "text") or pa.types.is_dictionary(keys.type):
        return None
    found = pc.min_max(keys)
    low, high = found["min"], found["max"]
    if not low.is_valid:
        return NO_KEYS
    if kind == "number":
        return low.as_py(), high.as_py()
    scale = 1 if kind == "date" else _NANOSECONDS[keys.type.unit]
    return scale * low.value, scale * high.value


def overlapping(left: Sequence[Known], right: Sequence[Known]) -> list[tuple[int, ...]] | None:
    """For each left range the right ranges that share a value with it; None if one is unknown."""
    if None in left or None in right:
        return None
    ends = sorted({end for known in (*left, *right) if known is not None for end in known})
    ranks = {end: rank for rank, end in enumerate(ends)}  # any values are small numbers from here on
    there = [(ranks[known[0]], ranks[known[1]], number) for number, known in enumerate(right) if known]
    lows, highs, numbers = np.array(sorted(there), np.int64).reshape(-1, 3).T
    highest = np.maximum.accumulate(highs)
    mine = [(ranks[known[0]], ranks[known[1]]) if known else (len(ends), -1) for known in left]
    lows_here, highs_here = np.array(mine, np.int64).reshape(-1, 2).T
    begins, ends_there = highest.searchsorted(lows_here), lows.searchsorted(highs_here, side="right")
    found: list[tuple[int, ...]] = []
    for low, begin, end in zip(lows_here.tolist(), begins.tolist(), ends_there.tolist(), strict=True):
        near = numbers[begin:end][highs[begin:end] >= low]
        near.sort()
        found.append(tuple(near.tolist()))
    return found
