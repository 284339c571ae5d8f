"""One estimate: what all aggregates seem to be at a moment, in each group, and how sure that is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from html import escape
from typing import Any, Final

import pyarrow as pa

from sooner.errors import InvalidJoin
from sooner.estimation.grouped_values import GroupedValues
from sooner.estimation.groups import Key
from sooner.estimation.reckoning import Value
from sooner.estimation.workings import GroupColumn
from sooner.kernels.python_values import column_of
from sooner.plain_text import plain_text

NO_GROUP: Key = ()
HOW_FAR: Final[dict[str, pa.DataType]] = {  # what rows of an estimate may say of it
    "batch": pa.int64(),
    "rows": pa.int64(),
    "share_read": pa.float64(),
    "seconds": pa.float64(),
    "exact": pa.bool_(),
}


@dataclass(frozen=True)
class Estimate:
    """`estimate["revenue"].value`, `.low` and `.high`; with groups, `estimate["revenue"]["Europe"].value`.

    low and high are None as long as there is no interval.

    >>> import pyarrow as pa, sooner
    >>> orders = pa.table({"customer": [1, 2, 1], "amount": [10, 20, 30]})
    >>> customers = pa.table({"customer": [1, 2], "name": ["Ada", "Alan"]})
    >>> asked = {"total": ("sum", "amount")}
    >>> estimate = sooner.estimate(orders, customers, on="customer", aggregates=asked).final()
    >>> estimate["total"].value, estimate.exact
    (60, True)
    """

    names: tuple[str, ...]  # of aggregates
    by: tuple[GroupColumn, ...]
    values: GroupedValues
    rows: int  # that were read, of both inputs
    share_read: float | None  # of all rows, where that is known
    seconds: float
    exact: bool
    so_far: frozenset[str] = frozenset()  # the names of those that have no intervals, such as maxima
    tabulated: "Callable[[Estimate], pa.Table] | None" = field(default=None, repr=False, compare=False)

    def __getitem__(self, name: str) -> Any:
        """A `Value`, or those of all groups: by their values, or tuples of them where there are several columns."""
        if name not in self.names:
            raise InvalidJoin(f"There is no aggregate {name!r}; there are {', '.join(self.names)}.")
        if not self.by:
            return self.values[NO_GROUP][name]
        of_groups = zip(self.values, self.values.columns[name], strict=True)
        return {key if len(self.by) > 1 else key[0]: value for key, value in of_groups}

    @property
    def table(self) -> pa.Table:
        """The values alone, a row for each group; of a query in SQL its answer, as far as it is known."""
        if self.tabulated is not None:
            return self.tabulated(self)
        return self.to_table().select([*(one.name for one in self.by), *self.names])

    @property
    def relative_error(self) -> float | None:
        """The largest half interval over its value; None while a value has no interval."""
        if self.exact:
            return 0.0
        columns = [values for name, values in self.values.columns.items() if name not in self.so_far]
        errors = [value.relative_error for values in columns for value in values]
        if not errors or None in errors:
            return None
        return max(error for error in errors if error is not None)

    def to_table(self, *, as_doubles: bool = False) -> pa.Table:
        """A row for each group: its values, and for each aggregate the value, low and high; exact where they are."""
        columns: dict[str, pa.Array] = {one.name: values for one, values in zip(self.by, self.values.by, strict=True)}
        for name in self.names:
            found = self.values.columns[name]
            for end, values in zip(("", "_low", "_high"), zip(*found, strict=True) if found else [()] * 3, strict=True):
                columns[name + end] = _doubles(values) if as_doubles else _numbers(values)
        return pa.table(columns)

    def __str__(self) -> str:
        read = "" if self.share_read is None else f", {self.share_read:.1%} read"
        said = "exact" if self.exact else f"estimate after {self.rows:,} rows{read}"
        lines = [f"{said}, {self.seconds:.2f} s"]
        for key, group in self.values.items():
            label = ", ".join(map(plain_text, key)) + ": " if key else ""
            lines.append(label + ", ".join(f"{plain_text(name)} = {self._cell(group, name)}" for name in group))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        names = (*(one.name for one in self.by), *self.names)
        heads = "".join(f"<th>{escape(plain_text(name))}</th>" for name in names)
        rows = "".join(
            "<tr>"
            + "".join(f"<td>{escape(plain_text(part))}</td>" for part in key)
            + "".join(f"<td>{escape(self._cell(group, name))}</td>" for name in group)
            + "</tr>"
            for key, group in self.values.items()
        )
        first, *_ = str(self).splitlines()
        return (
            f"<div><strong>sooner</strong> {escape(first)}"
            f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
        )

    def _cell(self, group: Mapping[str, Value], name: str) -> str:
        return in_words(group[name], is_so_far=name in self.so_far)


def as_rows(found: Estimate, **how_far: float | None) -> pa.RecordBatch:
    """The table with doubles for values, and columns of `HOW_FAR` that have one value in all rows."""
    table = found.to_table(as_doubles=True)
    for name, value in how_far.items():
        table = table.append_column(name, column_of([value] * table.num_rows, HOW_FAR[name]))
    return pa.RecordBatch.from_arrays([column.combine_chunks() for column in table.columns], schema=table.schema)


def in_words(value: Value, *, is_so_far: bool = False) -> str:
    """A value as text, such as `123.4 ± 5.6`."""
    if value.value is None:
        return "null"
    if value.low is None or value.high is None:
        return f"{_short(value.value)} (no interval yet)" if not is_so_far else f"{_short(value.value)} so far"
    if value.is_known:
        return _short(value.value)
    half = (float(value.high) - float(value.low)) / 2
    return f"{_short(value.value)} ± {_short(half)}"


def _short(number: object) -> str:
    if isinstance(number, float):
        return f"{number:,.6g}"
    is_number = isinstance(number, int | Decimal) and not isinstance(number, bool)
    return f"{number:,}" if is_number else plain_text(number)


def _doubles(values: Sequence[Any]) -> pa.Array:
    return column_of([float(value) if _is_number(value) else None for value in values], pa.float64())


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _numbers(values: Sequence[Any]) -> pa.Array:
    """The values as an array of integers, of decimals, or of doubles if any is one."""
    known = [value for value in values if value is not None]
    if known and not all(_is_number(value) for value in known):  # the least of texts, dates, ...
        return column_of(values)
    if any(isinstance(value, float) for value in known) or not known:
        return _doubles(values)
    if all(isinstance(value, int) and abs(value) < 2**63 for value in known):
        return column_of(values, pa.int64())
    decimals = [None if value is None else Decimal(value) for value in values]
    scale = max(-int(value.as_tuple().exponent) for value in decimals if value is not None)
    return column_of(decimals, pa.decimal256(76, max(scale, 0)))
