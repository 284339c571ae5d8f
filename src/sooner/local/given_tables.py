"""What names in FROM mean, as DuckDB's replacement scans have it: what `tables=` gives, or else a variable of the
caller, or else a file.
"""

import re
import types
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Final, Literal, get_args

from sooner.errors import InvalidCall, InvalidJoin
from sooner.queries.naming import hint_of, nearest_of
from sooner.queries.statement import FileNamed, TableName
from sooner.sources.files import csv, parquet
from sooner.sources.source import Source

Replacement = Literal["variables", "files"]
FILES: Final[tuple[Replacement, ...]] = ("files",)
_LIKE_A_PATH: Final = re.compile(r"[./\\*~]")
_OPENERS: Final[dict[str | None, Callable[[Any], Source]]] = {
    "parquet": parquet,
    "csv": csv,
}  # other formats are opened by the names of their files
_NO_INPUTS: Final = types.ModuleType | types.FunctionType | types.BuiltinFunctionType | type | bool | int | float


class GivenTables:
    """`variables` are those of the caller, each scope before those around it."""

    def __init__(self, tables: object, variables: Collection[Mapping[str, object]], replacements: object) -> None:
        tables = {} if tables is None else tables
        if not isinstance(tables, Mapping) or not all(isinstance(name, str) for name in tables):
            raise InvalidJoin("tables= must be a dict of what the names in FROM mean, such as {'orders': orders}.")
        allowed = get_args(Replacement)
        if isinstance(replacements, str) or not isinstance(replacements, Collection) or {*replacements} - {*allowed}:
            raise InvalidJoin(f"replacements={replacements!r} must be some of {allowed}, such as ('files',), or ().")
        self._tables = tables
        self._variables = variables if "variables" in replacements else ()
        self._has_files = "files" in replacements
        self._found: dict[int, object] = {}  # by the identity of a place in FROM

    def of(self, table: TableName) -> Any:
        """What this name stands for, to be opened; the same each time."""
        if id(table) not in self._found:
            self._found[id(table)] = self._of(table)
        return self._found[id(table)]

    def _of(self, table: TableName) -> object:
        name = nearest_of(table.name, list(self._tables))
        if name is not None:
            return self._tables[name]
        if table.file is None or not _is_path(table.file):
            return self._variable(table)
        if not self._has_files:
            raise self._unknown(table)
        paths, function = table.file
        one_or_all = paths[0] if len(paths) == 1 else list(paths)
        try:
            return _OPENERS[function](one_or_all) if function in _OPENERS else one_or_all
        except InvalidCall as error:
            raise InvalidJoin(f"FROM has {function} of {one_or_all}: {error}.") from error

    def _variable(self, table: TableName) -> object:
        for scope in self._variables:
            name = nearest_of(table.name, list(scope))
            if name is None:
                continue
            found = scope[name]
            if isinstance(found, _NO_INPUTS) or found is None:
                raise InvalidJoin(
                    f"FROM has {table.name}, and the variable {name} is {_a(found)}, which has no rows; give what is "
                    "meant in tables=, or another name."
                )
            return found
        if table.file is not None and self._has_files and Path(table.name).exists():
            return table.name
        raise self._unknown(table)

    def _unknown(self, table: TableName) -> InvalidJoin:
        variables = [name for scope in self._variables for name, value in scope.items() if _has_rows(value)]
        known = list(dict.fromkeys([*self._tables, *variables]))
        where = "tables= has no such name" + (", nor is there such a variable" if self._variables else "")
        there_are = hint_of(table.name, known) if known else "give it there"
        is_file = self._has_files and ("." in table.name or Path(table.name).exists())
        quotes = f" (a file is named in quotes: '{table.name}')" if is_file else ""
        return InvalidJoin(f"FROM has {table.name}, and {where}; {there_are}{quotes}.")


def _is_path(file: FileNamed) -> bool:
    return file.function is not None or _LIKE_A_PATH.search(file.paths[0]) is not None


def _has_rows(value: object) -> bool:
    """Whether it seems to be an input. Its class is asked: to look at the value itself may have effects."""
    return any(hasattr(type(value), name) for name in ("__arrow_c_stream__", "__arrow_c_array__", "batches"))


def _a(thing: object) -> str:
    kind = "module" if isinstance(thing, types.ModuleType) else type(thing).__name__
    return f"an {kind}" if kind[:1].lower() in "aeiou" else f"a {kind}"
