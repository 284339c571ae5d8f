"""The families that there are, by name."""

from importlib import import_module
from typing import Any

from fuzz.family import Family

_CLASSES = {
    "joins": "Joins",
    "multijoins": "MultiJoins",
    "estimates": "Estimates",
    "sql": "Sql",
    "sql_many": "SqlMany",
    "kernels": "Kernels",
}
FAMILIES = tuple(_CLASSES)


def family(name: str) -> Family[Any]:
    return getattr(import_module(f"fuzz.{name}"), _CLASSES[name])()  # type: ignore[no-any-return]
