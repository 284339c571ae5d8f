"""Random expressions of SQL that DuckDB and `sooner` both know, by the kind of what they give.

Kinds: whole, decimal, real, flag, word, day and moment. Everything is in parentheses, so no precedence is in doubt.
"""

from collections.abc import Callable, Mapping, Sequence
from random import Random

KINDS = ("whole", "decimal", "real", "flag", "word", "day", "moment")
NUMBERS = ("whole", "decimal", "real")
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
WORDS = ("''", "'a'", "'A'", "'ä'", "'text 1'", "'it''s'", "'\U0001f600'")
PATTERNS = ("'%'", "'text%'", "'%1'", "'_ext 1'", "'a'", "''", "'%\\%'", "'t_x%'")
DAYS = ("DATE '1970-01-05'", "DATE '1969-12-31'", "DATE '2024-02-29'", "DATE '0100-01-01'")
MOMENTS = ("TIMESTAMP '1970-01-02 03:04:05'", "TIMESTAMP '1969-12-31 23:59:59.999999'", "DATE '1970-01-03'")


class Maker:
    """Of expressions over these columns, by their kinds; `wild` ones may overflow."""

    def __init__(self, dice: Random, columns: Mapping[str, str], *, wild: bool) -> None:
        self._dice = dice
        self._columns = {kind: [name for name, of in columns.items() if of == kind] for kind in KINDS}
        self._wild = wild

    def of(self, kind: str, depth: int) -> str:
        if depth <= 0 or self._dice.random() < 0.15:
            return self._leaf(kind)
        return self._dice.choice(self._forms(kind))(depth - 1)

    def number(self, depth: int) -> str:
        return self.of(self._dice.choice(NUMBERS), depth)

    def any(self, depth: int) -> str:
        return self.of(self._dice.choice(KINDS), depth)

    def _leaf(self, kind: str) -> str:
        columns = self._columns[kind]
        if columns and self._dice.random() < 0.8:
            return self._dice.choice(columns)
        return self._literal(kind)

    def _literal(self, kind: str) -> str:
        dice = self._dice
        if dice.random() < 0.05:
            return {"whole": "NULL", "flag": "NULL"}.get(kind, self._literal("whole") if kind in NUMBERS else "NULL")
        large = ("9223372036854775807", "4611686018427387904", "-9223372036854775807") if self._wild else ()
        match kind:
            case "whole":
                return dice.choice(("0", "1", "2", "3", "10", "1000", "-1", *large))
            case "decimal":
                return dice.choice(("0.0", "0.5", "1.25", "0.05", "100.00", "-2.5"))
            case "real":
                return dice.choice(("0e0", "1e0", "2.5e0", "-1e-3", *(("1e308", "1e-300") if self._wild else ())))
            case "flag":
                return dice.choice(("TRUE", "FALSE"))
            case "word":
                return dice.choice(WORDS)
            case "day":
                return dice.choice(DAYS)
        return dice.choice(MOMENTS)

    def _forms(self, kind: str) -> Sequence[Callable[[int], str]]:
        mixed = [lambda depth: self._case(kind, depth), lambda depth: self._coalesce(kind, depth)]
        return [*mixed, *getattr(self, f"_{kind}s")()]

    # What every kind has

    def _case(self, kind: str, depth: int) -> str:
        branches = " ".join(
            f"WHEN {self.of('flag', depth)} THEN {self.of(kind, depth)}" for _ in range(self._dice.choice((1, 1, 2)))
        )
        otherwise = f" ELSE {self.of(kind, depth)}" if self._dice.random() < 0.7 else ""
        return f"(CASE {branches}{otherwise} END)"

    def _coalesce(self, kind: str, depth: int) -> str:
        one, other = self.of(kind, depth), self.of(kind, depth)
        return self._dice.choice((f"COALESCE({one}, {other})", f"NULLIF({one}, {other})"))

    def _extreme(self, kind: str) -> Callable[[int], str]:
        return lambda depth: (
            f"{self._dice.choice(('greatest', 'least'))}({self.of(kind, depth)}, {self.of(kind, depth)})"
        )

    def _arithmetic(self, kind: str, operators: str, others: Sequence[str]) -> Callable[[int], str]:
        def make(depth: int) -> str:
            left, right = self.of(kind, depth), self.of(self._dice.choice(others), depth)
            left, right = (left, right) if self._dice.random() < 0.7 else (right, left)
            return f"({left} {self._dice.choice(operators)} {right})"

        return make

    # Each kind by itself

    def _wholes(self) -> Sequence[Callable[[int], str]]:
        def part(depth: int) -> str:
            name = self._dice.choice(("year", "quarter", "month", "day", "hour", "minute"))
            return f"{name}({self.of(self._dice.choice(('day', 'moment')), depth)})"

        return [
            *[self._arithmetic("whole", "+-*", ("whole",))] * 4,
            self._extreme("whole"),
            lambda depth: f"(-{self.of('whole', depth)})",
            lambda depth: f"abs({self.of('whole', depth)})",
            lambda depth: f"({self.of('whole', depth)} {self._dice.choice(('%', '//'))} {self.of('whole', 0)})",
            lambda depth: f"length({self.of('word', depth)})",
            lambda depth: f"({self.of('day', depth)} - {self.of('day', depth)})",
            lambda depth: f"CAST({self.of(self._dice.choice(('flag', 'decimal')), depth)} AS BIGINT)",
            part,
        ]

    def _decimals(self) -> Sequence[Callable[[int], str]]:
        return [
            *[self._arithmetic("decimal", "+-*", ("whole", "decimal"))] * 4,
            self._extreme("decimal"),
            lambda depth: f"(-{self.of('decimal', depth)})",
            lambda depth: f"abs({self.of('decimal', depth)})",
            lambda depth: f"({self.of('decimal', depth)} % {self.of('decimal', 0)})",
            lambda depth: f"CAST({self.of('whole', depth)} AS DECIMAL(18, 2))",
        ]

    def _reals(self) -> Sequence[Callable[[int], str]]:
        return [
            *[self._arithmetic("real", "+-*", NUMBERS)] * 3,
            self._extreme("real"),
            lambda depth: f"(-{self.of('real', depth)})",
            lambda depth: f"abs({self.of('real', depth)})",
            lambda depth: f"({self.number(depth)} / {self.number(depth)})",
            lambda depth: f"CAST({self.number(depth)} AS DOUBLE)",
        ]

    def _flags(self) -> Sequence[Callable[[int], str]]:
        def compared(depth: int) -> str:
            kind = self._dice.choice(KINDS)
            right = self.of(self._dice.choice(NUMBERS) if kind in NUMBERS else kind, depth)
            word = self._dice.choice((*COMPARISONS, "IS DISTINCT FROM", "IS NOT DISTINCT FROM"))
            return f"({self.of(kind, depth)} {word} {right})"

        def listed(depth: int) -> str:
            kind = self._dice.choice(KINDS)
            options = ", ".join(self.of(kind, 0) for _ in range(self._dice.randrange(1, 4)))
            return f"({self.of(kind, depth)} {self._dice.choice(('IN', 'NOT IN'))} ({options}))"

        def between(depth: int) -> str:
            kind = self._dice.choice(KINDS)
            return f"({self.of(kind, depth)} BETWEEN {self.of(kind, depth)} AND {self.of(kind, depth)})"

        return [
            *[compared] * 4,
            listed,
            between,
            lambda depth: f"({self.any(depth)} IS {self._dice.choice(('', 'NOT '))}NULL)",
            lambda depth: f"({self.of('flag', depth)} IS {self._dice.choice(('TRUE', 'NOT FALSE', 'NOT TRUE'))})",
            lambda depth: f"(NOT {self.of('flag', depth)})",
            *[lambda depth: f"({self.of('flag', depth)} {self._dice.choice(('AND', 'OR'))} {self.of('flag', depth)})"]
            * 2,
            lambda depth: (
                f"({self.of('word', depth)} {self._dice.choice(('LIKE', 'NOT LIKE', 'ILIKE'))} "
                f"{self._dice.choice(PATTERNS)})"
            ),
        ]

    def _words(self) -> Sequence[Callable[[int], str]]:
        return [
            self._extreme("word"),
            lambda depth: f"{self._dice.choice(('upper', 'lower'))}({self.of('word', depth)})",
            lambda depth: f"substring({self.of('word', depth)}, {self._dice.randrange(4)}, {self._dice.randrange(5)})",
            lambda depth: f"CAST({self.of(self._dice.choice(('whole', 'day')), depth)} AS VARCHAR)",
        ]

    def _days(self) -> Sequence[Callable[[int], str]]:
        return [
            self._extreme("day"),
            lambda depth: f"({self.of('day', depth)} {self._dice.choice('+-')} {self._dice.randrange(1000)})",
            lambda depth: f"CAST({self.of('moment', depth)} AS DATE)",
        ]

    def _moments(self) -> Sequence[Callable[[int], str]]:
        def shifted(depth: int) -> str:
            unit = self._dice.choice(("DAY", "HOUR", "SECOND", "WEEK"))
            of = self.of(self._dice.choice(("day", "moment")), depth)
            return f"({of} {self._dice.choice('+-')} INTERVAL {self._dice.randrange(100)} {unit})"

        return [self._extreme("moment"), shifted, lambda depth: f"CAST({self.of('day', depth)} AS TIMESTAMP)"]
