"""Values as the cells of a table that people read."""

from decimal import Decimal
from typing import Any, Final

from sooner.plain_text import plain_text

_READABLE: Final = (1e3, 1e15)  # sizes of numbers with two decimals; others have six digits


def cells_of(table: Any) -> list[tuple[str, ...]]:
    """The rows of an Arrow table as texts."""
    columns = [list(map(cell_of, column.to_pylist())) for column in table.columns]
    return list(zip(*columns, strict=True))


def cell_of(value: object) -> str:
    return number(value) if isinstance(value, float) else "null" if value is None else plain_text(value)


def number(value: int | float | Decimal | None) -> str:
    if value is None:
        return "null"
    if isinstance(value, int | Decimal):
        return f"{value:,}"
    return f"{value:,.2f}" if _READABLE[0] <= abs(value) < _READABLE[1] else f"{value:.6g}"
