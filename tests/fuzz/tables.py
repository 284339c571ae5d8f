"""Random tables, and the forms in which a join may get them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fuzz.family import dice_of
from fuzz.values import FLAT, NESTED, Kind, array_of, raw_values

NAMES = ("a", "b", "id", "k", "v", "a_left", "x y", "ü", "n.m", "A", "select")
FORMS = ("table", "chunks", "slices", "reader", "batches and empty ones", "Arrow file")
PARQUET = "Parquet file"  # which has not all types


def table_of(columns: dict[str, pa.Array]) -> pa.Table:
    return pa.Table.from_arrays(list(columns.values()), list(columns))


def some_rows(dice: Random) -> int:
    """Mostly few: each is compared with an oracle that is slow."""
    return dice.choice((0, 1, 2, 5, dice.randrange(10, 60), dice.randrange(60, 250), dice.randrange(60, 250)))


def many_rows(dice: Random) -> int:
    """So many that little memory is too little for the keys alone, and there are tasks on disk."""
    return dice.randrange(500, 4000)


def payload(dice: Random, rows: int, names: Sequence[str]) -> dict[str, pa.Array]:
    """Columns that nothing asks for; now and then they are so wide that little memory is too little."""
    columns = {}
    for name in names:
        kind = dice.choice(FLAT if dice.random() < 0.8 else NESTED)
        columns[name] = column(dice, kind, rows, domain=1000, nulls=dice.choice((0.0, 0.2, 1.0)))
    return columns


def ballast(dice: Random, rows: int) -> pa.Array:
    width = dice.choice((200, 500, 1200))
    return pa.array([dice.randbytes(1).hex() * (width // 2) for _ in range(rows)])


def column(dice: Random, kind: Kind, rows: int, domain: int, nulls: float, strange: float = 0.15) -> pa.Array:
    return array_of([kind.any(dice, domain, nulls, strange) for _ in range(rows)], kind)


def inputs_of(case: Any, directory: Path) -> list[Any]:
    """The tables of a case in their forms; files go to the directory."""
    dice = dice_of("forms", case.seed)
    both = zip((case.left, case.right), case.forms, strict=True)
    return [_as_form(table, form, dice, directory) for table, form in both]


def _as_form(table: pa.Table, form: str, dice: Random, directory: Path) -> Any:
    if form == "table":
        return table
    if form == "slices":
        return sliced(table, dice)
    if form == PARQUET:
        path = directory / f"{dice.random()}.parquet"
        pq.write_table(table, path, row_group_size=dice.choice((1, 7, 50, 10**6)))
        return path
    if form == "Arrow file":
        path = directory / f"{dice.random()}.arrow"
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table, max_chunksize=dice.choice((1, 7, 10**6)))
        return path
    pieces = list(_pieces(table, dice, form))
    if form == "chunks":
        return pa.Table.from_batches(pieces, schema=table.schema)
    return pa.RecordBatchReader.from_batches(table.schema, iter(pieces))


def sliced(table: pa.Table, dice: Random) -> pa.Table:
    """The rows lie in the midst of others."""
    if not table.num_rows:
        return table
    before, after = dice.randrange(1, 12), dice.randrange(3)
    around = [table.slice(0, 1)] * before, [table.slice(table.num_rows - 1)] * after
    whole = pa.concat_tables([*around[0], table, *around[1]]).combine_chunks()
    return whole.slice(before, table.num_rows)


def _pieces(table: pa.Table, dice: Random, form: str) -> Iterator[pa.RecordBatch]:
    whole = table.combine_chunks().to_batches()
    at, end = 0, table.num_rows
    while at < end:
        rows = dice.choice((1, 2, 7, 33, 200))
        yield whole[0].slice(at, rows)
        at += rows
        if form == "batches and empty ones" and dice.random() < 0.3:
            yield whole[0].slice(0, 0)


def with_fewer_rows(case: Any) -> Iterator[Any]:
    """The same case without some rows of `left` or `right`: halves of them, then less and less."""
    for parts in (2, 4, 8, 16):
        for name in ("left", "right"):
            table = getattr(case, name)
            step = max(1, table.num_rows // parts)
            for begin in range(0, table.num_rows, step):
                rest = pa.concat_tables([table.slice(0, begin), table.slice(begin + step)])
                yield replace(case, **{name: rest})


def shown(table: pa.Table, name: str, most: int = 12) -> str:
    """A table for people to read."""
    lines = [f"{name}: {table.num_rows} rows of {', '.join(f'{f.name!r} {f.type}' for f in table.schema) or 'nothing'}"]
    for at in range(min(table.num_rows, most)):
        values = [_text(column.slice(at, 1)) for column in table.columns]
        lines.append(f"    {', '.join(values)}")
    return "\n".join([*lines, *(["    ..."] if table.num_rows > most else [])])


def _text(one: pa.ChunkedArray) -> str:
    text = repr(raw_values(one)[0])
    return text if len(text) <= 80 else f"{text[:60]}...({len(text)} characters)"
