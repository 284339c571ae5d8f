"""Random queries in SQL, with aggregates and without: the same rows as DuckDB gives."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import pyarrow as pa

import sooner
from fuzz import duckdb_oracle as oracle
from fuzz.estimates import (
    ALGORITHMS,
    FUNCTIONS,
    KEY_TYPES,
    check_interval,
    compare_value,
    is_expected,
    random_table,
)
from fuzz.expressions import Maker
from fuzz.family import Wrong, dice_of, require
from fuzz.tables import shown, with_fewer_rows
from sooner.errors import SoonerError

JOINS = {"inner": "JOIN", "left": "LEFT JOIN", "right": "RIGHT JOIN", "full": "FULL JOIN", "semi": "SEMI JOIN",
         "anti": "ANTI JOIN"}  # fmt: skip


@dataclass(frozen=True)
class SqlCase:
    left: pa.Table
    right: pa.Table
    how: str
    using: bool
    groups: tuple[str, ...]
    items: tuple[tuple[str, str], ...]  # a function, or nothing, and an expression
    where: str | None
    arguments: dict[str, Any]
    wild: bool
    seed: int

    @property
    def aggregated(self) -> bool:
        return any(function for function, _ in self.items)

    @property
    def query(self) -> str:
        """As `sooner` gets it."""
        items = [f"{text} AS g{at}" for at, text in enumerate(self.groups)]
        items += [
            f"{function}({text}) AS x{at}" if function else f"{text} AS x{at}"
            for at, (function, text) in enumerate(self.items)
        ]
        by = f" GROUP BY {', '.join(str(at + 1) for at in range(len(self.groups)))}" if self.groups else ""
        return f"SELECT {', '.join(items)}{self._rows}{by}"

    @property
    def query_of_rows(self) -> str:
        """Without aggregates."""
        items = [f"({text})" for text in self.groups] + ["1" if text == "*" else f"({text})" for _, text in self.items]
        return f"SELECT {', '.join(items)}{self._rows}"

    @property
    def _rows(self) -> str:
        on = "USING (k)" if self.using else "ON l.k = r.k"
        where = "" if self.where is None else f" WHERE {self.where}"
        return f" FROM l {JOINS[self.how]} r {on}{where}"


class Sql:
    name = "sql"

    def case(self, seed: int) -> SqlCase:
        dice = dice_of(self.name, seed)
        wild, key_type = dice.random() < 0.4, dice.choice(KEY_TYPES)
        kinds: tuple[dict[str, str], dict[str, str]] = ({}, {})
        left, right = (random_table(dice, side, key_type, kinds[at], wild) for at, side in enumerate("lr"))
        left, right = (_numbered(table) for table in (left, right))
        aggregated = dice.random() < 0.4
        how = "inner" if aggregated else dice.choice([*JOINS])
        columns = _qualified(dice, kinds, how)
        maker = Maker(dice, columns, wild=wild)
        depth = dice.choice((0, 1, 2, 3))
        groups: tuple[str, ...] = ()
        if aggregated:
            items = tuple(_aggregate(dice, maker, depth) for _ in range(dice.choice((1, 2, 3))))
            if columns and dice.random() < 0.6:
                groups = (dice.choice(sorted(columns)), maker.of("flag", 1))[: dice.choice((1, 2))]
        else:
            ids = ("l.id",) if how in ("semi", "anti") else ("l.id", "r.id")
            items = (*(("", text) for text in ids), *(("", maker.any(depth)) for _ in range(dice.choice((0, 1, 2)))))
        where = maker.of("flag", dice.choice((1, 2))) if dice.random() < 0.5 else None
        arguments: dict[str, Any] = {
            "memory": dice.choice((64 * 1024, 64 * 1024, 200_000, "1GB", None)),
            "workers": dice.choice((1, 2)),
        }
        algorithms = ALGORITHMS if aggregated else [name for name in sooner.algorithms() if name != "symmetric_hash"]
        if dice.random() < 0.7:
            arguments["algorithm"] = dice.choice(algorithms)
        return SqlCase(left, right, how, dice.random() < 0.4, groups, items, where, arguments, wild, seed)

    def check(self, case: SqlCase) -> None:
        tables = {"l": case.left, "r": case.right}
        try:
            rows: oracle.Rows | None = oracle.rows_of(case.query_of_rows, tables)
        except oracle.Refused:
            rows = None
        try:
            query = sooner.sql(case.query, tables, **case.arguments)
            found = list(query) if case.aggregated else query.to_table()  # type: ignore[union-attr]
        except SoonerError as error:
            require(str(error).strip() != "" and "\n" not in str(error), f"this is no sentence: {error!r}")
            if not case.wild and rows is not None and not is_expected(error):
                raise Wrong(f"it was refused: {type(error).__name__}: {error}") from error
            return
        if rows is not None and case.aggregated:
            _compare_groups(case, found, rows)  # type: ignore[arg-type]
        elif rows is not None:
            _compare_rows(case, found, rows)  # type: ignore[arg-type]

    def shown(self, case: SqlCase) -> str:
        return f"{case.query}\n{case.arguments}\n{shown(case.left, 'l')}\n{shown(case.right, 'r')}"

    def smaller(self, case: SqlCase) -> Iterator[SqlCase]:
        first = 0 if case.aggregated else 2 if case.how not in ("semi", "anti") else 1
        for at in range(first, len(case.items)):
            if len(case.items) > 1:
                yield replace(case, items=case.items[:at] + case.items[at + 1 :])
        if case.where is not None:
            yield replace(case, where=None)
        for at in range(len(case.groups)):
            yield replace(case, groups=case.groups[:at] + case.groups[at + 1 :])
        yield from with_fewer_rows(case)


def _numbered(table: pa.Table) -> pa.Table:
    return table.append_column("id", pa.array(range(table.num_rows), pa.int64()))


def _qualified(dice: Random, kinds: tuple[dict[str, str], dict[str, str]], how: str) -> dict[str, str]:
    """All columns that the query may name, with the names of their tables or without."""
    found = {}
    for table, of in zip("lr", kinds if how not in ("semi", "anti") else kinds[:1], strict=False):
        for name, kind in of.items():
            found[f"{table}.{name}" if dice.random() < 0.7 else name] = kind
    return found


def _aggregate(dice: Random, maker: Maker, depth: int) -> tuple[str, str]:
    function = dice.choice(FUNCTIONS)
    if function == "count":
        return function, "*" if dice.random() < 0.3 else maker.any(depth)
    return function, maker.number(depth)


def _compare_rows(case: SqlCase, found: pa.Table, rows: oracle.Rows) -> None:
    """Rows are told apart by the numbers of theirs that were joined."""
    n_ids = 1 if case.how in ("semi", "anti") else 2
    columns = [found.column(at).to_pylist() for at in range(found.num_columns)]
    of_rows = {row[:n_ids]: row[n_ids:] for row in zip(*columns, strict=True)}
    expected = {row[:n_ids]: row[n_ids:] for row in rows}
    require(len(of_rows) == found.num_rows, "a row is there twice")
    require(
        of_rows.keys() == expected.keys(), f"the rows differ by {sorted(of_rows.keys() ^ expected.keys(), key=str)[:3]}"
    )
    for ids, values in expected.items():
        for at, value in enumerate(values):
            require(
                oracle.same(of_rows[ids][at], value),
                f"{case.items[n_ids + at][1]} is {of_rows[ids][at]!r}, not {value!r} in row {ids}",
            )


def _compare_groups(case: SqlCase, found: list[sooner.Estimate], rows: oracle.Rows) -> None:
    for one in found:
        for group in one.values.values():
            for value in group.values():
                check_interval(value, exact=one.exact)
    expected = oracle.grouped(rows, len(case.groups))
    groups = {oracle.group_key(key): values for key, values in found[-1].values.items()}
    require(groups.keys() == expected.keys(), f"the groups differ by {list(groups.keys() ^ expected.keys())[:3]}")
    for key, of_group in expected.items():
        for at, (function, text) in enumerate(case.items):
            compare_value(groups[key][f"x{at}"].value, function, [row[at] for row in of_group], f"{text} of {key}")
