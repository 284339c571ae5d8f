"""Random queries in SQL over one to five tables: joins of all kinds, subqueries, WITH, unions, groups and orders.

A query that is refused must be so in a sentence; one that is answered must be answered as DuckDB does.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import pyarrow as pa

import sooner
from fuzz import duckdb_oracle as oracle
from fuzz.estimates import is_expected, random_column
from fuzz.expressions import KINDS, Maker
from fuzz.family import Wrong, dice_of, require
from fuzz.tables import shown, table_of
from sooner.errors import SoonerError

NAMES = ("a", "b", "c", "d", "e")
KEYS = ("k", "j", "m")
OUTER = ("LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN")
AGGREGATES = ("COUNT", "SUM", "AVG", "MIN", "MAX", "VARIANCE", "STDDEV")
EXACT = ("whole", "decimal", "flag", "word", "day")
WAYS = ("", " DESC", " NULLS FIRST", " DESC NULLS LAST")
LIMITS = ("", "", " LIMIT 3", " LIMIT 2 OFFSET 1")
# What the generator writes without looking whether it can be: these are refused, each by its sentence.
REFUSALS = (
    "ON of RIGHT JOIN",
    "ON of FULL JOIN",
    "before a RIGHT or FULL JOIN",
    "after a FULL JOIN",
    "compared already",
    "write NOT EXISTS",
    "in one type",
)


@dataclass(frozen=True)
class Table:
    name: str
    rows: pa.Table
    kinds: dict[str, str]


@dataclass(frozen=True)
class ManyCase:
    tables: tuple[Table, ...]
    query: str
    form: str  # rows, groups or ordered
    arguments: dict[str, Any]
    seed: int


class SqlMany:
    name = "sql_many"

    def case(self, seed: int) -> ManyCase:
        dice = dice_of(self.name, seed)
        tables = tuple(_table(dice, name) for name in NAMES[: dice.choice((1, 1, 2, 2, 3, 3, 3, 4, 4, 5))])
        query, form = _Writer(dice, tables).query()
        arguments = {"memory": dice.choice((64 * 1024, 200_000, "1GB", "1GB", None)), "workers": dice.choice((1, 2))}
        return ManyCase(tables, query, form, arguments, seed)

    def check(self, case: ManyCase) -> None:
        tables = {one.name: one.rows for one in case.tables}
        try:
            rows: oracle.Rows | None = oracle.rows_of(case.query, tables)
        except oracle.Refused:
            rows = None
        try:
            asked = sooner.sql(case.query, tables, **case.arguments)
            found = _found(asked)
        except SoonerError as error:
            require(str(error).strip() != "" and "\n" not in str(error), f"this is no sentence: {error!r}")
            known = is_expected(error) or any(words in str(error) for words in REFUSALS)
            if rows is not None and not known:
                raise Wrong(f"it was refused: {type(error).__name__}: {error}") from error
            return
        if rows is not None:
            _compare(found, rows, case.form)

    def shown(self, case: ManyCase) -> str:
        return "\n".join([case.query, str(case.arguments), *(shown(one.rows, one.name, 40) for one in case.tables)])

    def smaller(self, case: ManyCase) -> Iterator[ManyCase]:
        for parts in (2, 4, 8, 16):
            for at, table in enumerate(case.tables):
                step = max(1, table.rows.num_rows // parts)
                for begin in range(0, table.rows.num_rows, step):
                    rest = pa.concat_tables([table.rows.slice(0, begin), table.rows.slice(begin + step)])
                    fewer = replace(table, rows=rest)
                    yield replace(case, tables=(*case.tables[:at], fewer, *case.tables[at + 1 :]))


def _table(dice: Random, name: str) -> Table:
    rows = dice.choice((0, 2, 10, 20, 30, 30, 30, 30, 30, 30))
    columns = {"id": pa.array(range(rows), pa.int64())}
    domain = dice.choice((5, 7, 9))
    for key in KEYS:
        nulls, type_ = dice.choice((0.0, 0.1, 0.3)), dice.choice((pa.int64(), pa.int64(), pa.int32()))
        columns[key] = pa.array([None if dice.random() < nulls else dice.randrange(domain) for _ in range(rows)], type_)
    kinds = {}
    for kind in dice.sample(KINDS, dice.randrange(1, 4)):
        kinds[f"{name}{kind[0]}{len(columns)}"] = kind
        columns[f"{name}{kind[0]}{len(columns)}"] = random_column(dice, kind, rows, wild=False)
    return Table(name, table_of(columns), kinds)


class _Writer:
    """Of one query over these tables, with what is seen of them so far."""

    def __init__(self, dice: Random, tables: Sequence[Table]) -> None:
        self._dice = dice
        self._tables = list(tables)
        self._named = ""

    def query(self) -> tuple[str, str]:
        dice = self._dice
        self._maybe_name()
        if dice.random() < 0.1:
            several = [self._select("ids")[0] for _ in range(dice.choice((2, 2, 3)))]
            return self._named + dice.choice((" UNION ALL ", " UNION ALL ", " UNION ")).join(several), "rows"
        text, form = self._select(dice.choice(("rows", "rows", "groups")))
        return self._named + text, form

    def _maybe_name(self) -> None:
        """A table becomes one of WITH."""
        dice = self._dice
        if dice.random() < 0.25:
            at = dice.randrange(len(self._tables))
            table = self._tables[at]
            where = f" WHERE {Maker(dice, table.kinds, wild=False).of('flag', 1)}" if dice.random() < 0.6 else ""
            self._named = f"WITH w AS (SELECT * FROM {table.name}{where}) "
            self._tables[at] = replace(table, name="w")

    def _select(self, form: str) -> tuple[str, str]:
        dice = self._dice
        tables = dice.sample(self._tables, len(self._tables) if form != "ids" else min(len(self._tables), 2))
        in_subqueries = tables[2:] if len(tables) > 2 and dice.random() < 0.3 else tables[len(tables) :]
        tables = [one for one in tables if one not in in_subqueries]
        text, conditions, seen = self._joins(tables)
        conditions += [self._subquery(one, seen) for one in in_subqueries]
        columns = {f"{one.name}.{name}": kind for one in seen for name, kind in one.kinds.items()}
        maker = Maker(dice, columns, wild=False)
        if dice.random() < 0.4:
            conditions.append(maker.of("flag", dice.choice((1, 2))))
        dice.shuffle(conditions)
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        if form == "groups":
            return self._groups(maker, f"{text}{where}")
        ids = [f"{one.name}.id AS i{at}" for at, one in enumerate(seen)]
        if form == "ids":
            return f"SELECT {seen[0].name}.id AS x{text}{where}", "rows"
        more = [f"{maker.any(dice.choice((0, 1, 2)))} AS x{at}" for at in range(dice.choice((0, 1, 2)))]
        if dice.random() < 0.2:
            shown = [f"{maker.of(dice.choice(EXACT), 1)} AS x{at}" for at in range(dice.choice((1, 2)))]
            return f"SELECT DISTINCT {', '.join(shown)}{text}{where}", "rows"
        chosen = f"SELECT {', '.join([*ids, *more])}{text}{where}"
        if dice.random() < 0.3:
            ways = [f"{maker.of(dice.choice(EXACT), 1)}{dice.choice(WAYS)}", *(f"i{at}" for at in range(len(ids)))]
            return f"{chosen} ORDER BY {', '.join(ways)}{dice.choice(LIMITS)}", "ordered"
        return chosen, "rows"

    def _joins(self, tables: Sequence[Table]) -> tuple[str, list[str], list[Table]]:
        """FROM, what WHERE must have for it, and the tables whose columns can be named."""
        dice = self._dice
        is_outer, seen = dice.random() < 0.4, [tables[0]]
        text, conditions = f" FROM {tables[0].name}", []
        for one in tables[1:]:
            outer = OUTER if not conditions else OUTER[:2]  # a comma binds less: to its left nothing may be missing
            join = dice.choice(outer) if is_outer and dice.random() < 0.6 else "JOIN"
            equal = [self._equal(one, seen) for _ in range(dice.choice((1, 1, 1, 1, 1, 2)))]
            if join == "JOIN" and dice.random() < 0.1:  # one more, perhaps a circle
                equal.append(self._equal(one, seen))
            if join == "JOIN" and dice.random() < 0.3:
                text += f", {one.name}"
                conditions += equal
            elif len(seen) == 1 and dice.random() < 0.2:
                text += f" {join} {one.name} USING ({dice.choice(KEYS)})"
            else:
                if dice.random() < 0.2:
                    equal.append(Maker(dice, self._whole_names(one), wild=False).of("flag", 1))
                text += f" {join} {one.name} ON {' AND '.join(equal)}"
            if join not in ("SEMI JOIN", "ANTI JOIN"):
                seen.append(one)
        return text, conditions, seen

    def _equal(self, one: Table, seen: Sequence[Table]) -> str:
        dice = self._dice
        sides = [f"{one.name}.{dice.choice(KEYS)}", f"{dice.choice(seen).name}.{dice.choice(KEYS)}"]
        dice.shuffle(sides)
        return " = ".join(sides)

    def _whole_names(self, one: Table) -> dict[str, str]:
        return {f"{one.name}.{name}": kind for name, kind in one.kinds.items()}

    def _subquery(self, one: Table, seen: Sequence[Table]) -> str:
        dice = self._dice
        inside = Maker(dice, one.kinds, wild=False).of("flag", 1) if dice.random() < 0.5 else ""
        outer, own = f"{dice.choice(seen).name}.{dice.choice(KEYS)}", dice.choice(KEYS)
        word = dice.choice(("", "NOT "))
        if dice.random() < 0.5:
            more = f" AND {inside}" if inside else ""
            again = f" AND {self._equal(one, seen)}" if dice.random() < 0.2 else ""
            return f"{word}EXISTS (SELECT 1 FROM {one.name} WHERE {one.name}.{own} = {outer}{again}{more})"
        where = f" WHERE {inside}" if inside else ""
        by = f" GROUP BY {own} HAVING COUNT(*) > 1" if dice.random() < 0.2 else ""
        return f"{outer} {word}IN (SELECT {own} FROM {one.name}{where}{by})"

    def _groups(self, maker: Maker, rows: str) -> tuple[str, str]:
        dice = self._dice
        groups = [maker.of(dice.choice(EXACT), dice.choice((0, 0, 1))) for _ in range(dice.choice((0, 1, 1, 2)))]
        items = [f"{text} AS g{at}" for at, text in enumerate(groups)]
        items += [f"{self._aggregate(maker)} AS x{at}" for at in range(dice.choice((1, 2, 3)))]
        by = f" GROUP BY {', '.join(str(at + 1) for at in range(len(groups)))}" if groups else ""
        having = f" HAVING {self._aggregate(maker, 'COUNT')} > {dice.randrange(4)}" if dice.random() < 0.3 else ""
        text = f"SELECT {', '.join(items)}{rows}{by}{having}"
        if groups and dice.random() < 0.4:
            ways = [f"{at + 1}{dice.choice(WAYS)}" for at in range(len(groups))]
            return f"{text} ORDER BY {', '.join(ways)}{dice.choice(LIMITS)}", "ordered"
        return text, "groups"

    def _aggregate(self, maker: Maker, function: str | None = None) -> str:
        dice = self._dice
        function = function or dice.choice(AGGREGATES)
        if function == "COUNT" and dice.random() < 0.5:
            return "COUNT(*)"
        depth = dice.choice((0, 1, 2))
        of = maker.any(depth) if function in ("COUNT", "MIN", "MAX") else maker.number(depth)
        filtered = f" FILTER (WHERE {maker.of('flag', 1)})" if dice.random() < 0.15 else ""
        if function in ("COUNT", "MIN") and dice.random() < 0.3:
            return f"{function}(DISTINCT {maker.of(dice.choice(EXACT), depth)}){filtered}"
        return f"{function}({of}){filtered}"


def _found(asked: Any) -> list[tuple[Any, ...]]:
    """The rows of the answer."""
    if isinstance(asked, sooner.LiveGroups | sooner.Estimates):
        *early, last = asked
        require(last.exact and not any(one.exact for one in early), "the last figures alone are exact")
        table = last.table
    else:
        table = asked.to_table()
        require(table.schema == asked.schema, f"{table.schema} is not {asked.schema}")
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _compare(found: list[tuple[Any, ...]], rows: oracle.Rows, form: str) -> None:
    require(len(found) == len(rows), f"there are {len(found)} rows, not {len(rows)}")
    if form != "ordered":
        found, rows = sorted(found, key=_in_order), sorted(rows, key=_in_order)
    for mine, other in zip(found, rows, strict=True):
        require(all(map(_same, mine, other)), f"a row is {mine}, not {other}")


def _in_order(row: Sequence[Any]) -> list[tuple[str, str]]:
    """By what is exact first: floats may differ in their last bits."""
    exact = [("", str(_plain(value))) for value in row if not isinstance(value, float)]
    return [*exact, *(("", f"{value:.6g}") for value in row if isinstance(value, float))]


def _plain(value: Any) -> Any:
    """Numbers of all kinds alike."""
    return value.normalize() + 0 if hasattr(value, "normalize") else value


def _same(mine: Any, other: Any) -> bool:
    if isinstance(mine, float) or isinstance(other, float):
        if mine is None or other is None:
            return mine is other
        a, b = float(mine), float(other)
        return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-7, abs_tol=1e-6)
    return oracle.same(mine, other)
