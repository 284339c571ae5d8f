"""FROM and its joins, as sqlglot has parsed them."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from sooner.errors import InvalidJoin
from sooner.expressions.parsed import Parsed, sql_of
from sooner.expressions.reading import from_sqlglot
from sooner.expressions.tree import conjuncts
from sooner.queries.statement import FileNamed, Join, Statement, TableName, UnionOf

KINDS: Final = {
    "": "inner",
    "CROSS": "inner",  # of which WHERE says which rows match
    "LEFT": "left",
    "RIGHT": "right",
    "FULL": "full",
    "SEMI": "semi",
    "LEFT SEMI": "semi",
    "ANTI": "anti",
    "LEFT ANTI": "anti",
}


_READING: Final = {
    "read_parquet": "parquet", "parquet_scan": "parquet", "read_csv": "csv", "read_csv_auto": "csv",
    "read_json": "json", "read_json_auto": "json",
}  # fmt: skip


def arguments_of(node: Parsed) -> dict[str, Any]:
    """The arguments that are there; newer versions of sqlglot write `from_` and `with_`."""
    return {name.rstrip("_"): value for name, value in node.args.items() if value}


Read: TypeAlias = "Callable[[Parsed, Tables], Statement | UnionOf]"


class Tables:
    """What names in FROM mean beside the tables that are given: those of WITH, each read as `read` does."""

    def __init__(self, read: Read, named: "Mapping[str, tuple[Parsed, Tables]]") -> None:
        self._read = read
        self._named = named  # in small letters: what each is, and which names mean something in it

    def with_names(self, clause: Parsed) -> "Tables":
        """The same with the names of a WITH, each of which may use those before it."""
        found = self
        if clause is not None and clause.args.get("recursive"):
            raise InvalidJoin("The query has WITH RECURSIVE, which is not supported; give its rows as a table.")
        for one in [] if clause is None else clause.expressions:
            if arguments_of(one).keys() - {"this", "alias"} or arguments_of(one.args["alias"]).keys() - {"this"}:
                raise InvalidJoin(f"The query has {sql_of(one)}; of a name in WITH there is AS with a SELECT.")
            found = Tables(self._read, {**found._named, one.alias.lower(): (one.this, found)})
        return found

    def read(self, select: Parsed) -> Statement | UnionOf:
        """What a SELECT inside of the query asks for."""
        return self._read(select, self)

    def of_select(self, select: Parsed) -> tuple[TableName, list[Join]]:
        """The first table, and those that join it."""
        arguments = arguments_of(select)
        return self.table(arguments["from"].this), [self._join(one) for one in arguments.get("joins") or ()]

    def table(self, node: Parsed) -> TableName:
        arguments = arguments_of(node)
        alias = arguments.get("alias")
        if alias is not None and arguments_of(alias).keys() - {"this"}:
            raise InvalidJoin(f"FROM has {sql_of(node)}; of a table there is its name and AS with another name.")
        if type(node).__name__ == "Subquery" and arguments.keys() <= {"this", "alias"} and alias is not None:
            return TableName(node.alias, node.alias, self.read(node.this))
        file = _read_by_function(node)
        if file is None and (type(node).__name__ != "Table" or type(node.this).__name__ != "Identifier"):
            raise InvalidJoin(
                f"FROM has {sql_of(node)}, which is no name of a table; give it in tables=, and name it. There are "
                f"{', '.join(_READING)} of files."
            )
        if arguments.keys() - {"this", "alias", "db"}:
            raise InvalidJoin(f"FROM has {sql_of(node)}; of a table there is its name and AS with another name.")
        if file is not None:
            return TableName(file.paths[0], node.alias or f"read_{file.function}", file=file)
        name = ".".join(part for part in (node.text("db"), node.name) if part)
        if name.lower() in self._named:
            select, known = self._named[name.lower()]
            return TableName(name, node.alias or node.name, self._read(select, known))
        if node.this.args.get("quoted") and not node.text("db"):
            return TableName(name, node.alias or _base_name(name), file=FileNamed((name,)))
        return TableName(name, node.alias or node.name)

    def _join(self, join: Parsed) -> Join:
        arguments = arguments_of(join)
        words = [str(arguments[name]).upper() for name in ("method", "side", "kind") if name in arguments]
        how = KINDS.get(" ".join(word for word in words if word not in ("OUTER", "INNER")))
        if how is None or arguments.keys() - {"this", "method", "side", "kind", "on", "using"}:
            raise InvalidJoin(
                f"The query has {sql_of(join)}, which is no kind of join here; there are INNER, LEFT, RIGHT, FULL, "
                "SEMI and ANTI, with ON or USING."
            )
        using = tuple(str(one.name) for one in arguments.get("using") or ())
        on = tuple(conjuncts(from_sqlglot(arguments["on"], "ON"))) if "on" in arguments else ()
        return Join(self.table(join.this), how, on, using)


def _read_by_function(node: Parsed) -> FileNamed | None:
    """What read_parquet and its like read, if a table of FROM is such a call."""
    call = node.this
    name = {"ReadParquet": "read_parquet", "ReadCSV": "read_csv"}.get(type(call).__name__)
    name = str(call.this).lower() if type(call).__name__ == "Anonymous" else name
    if name not in _READING:
        return None
    given = [part for part in (call.this, *call.expressions) if not isinstance(part, str) and part is not None]
    paths = given[0].expressions if given and type(given[0]).__name__ == "Array" else given[:1]
    if len(given) != 1 or not paths or not all(one.is_string for one in paths):
        raise InvalidJoin(
            f"FROM has {sql_of(node)}; {name} takes a path in quotes or a list of them, and no options; give tables= "
            "what sooner.sources opens with options."
        )
    return FileNamed(tuple(str(one.this) for one in paths), _READING[name])


def _base_name(path: str) -> str:
    """The name of a file without its folder and its kind, as DuckDB calls its table."""
    return path.replace("\\", "/").rpartition("/")[2].partition(".")[0] or path
