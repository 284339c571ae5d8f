"""Algorithms by name: those of `sooner`, and a user's own as `module:name`."""

import importlib
import sys
from pathlib import Path

from sooner.errors import InvalidCall
from sooner.named_algorithms import Algorithm, find_algorithm


def algorithm_of(name: str) -> Algorithm:
    """The algorithm of this name. Modules are looked for where Python does, and in the present folder."""
    module, colon, member = name.partition(":")
    return _own(name, module, member) if colon else find_algorithm(name)


def own_algorithm(name: str) -> Algorithm:
    """One that is the user's own, and not in the table."""
    module, _, member = name.partition(":")
    if not (module and member):
        raise InvalidCall(
            f"algorithm {name!r} is not MODULE:NAME; give for example mine:mine, for `mine = sooner.Algorithm(...)` "
            "in mine.py."
        )
    return _own(name, module, member)


def _own(name: str, module: str, member: str) -> Algorithm:
    if not all(part.isidentifier() for part in (*module.split("."), member)):
        raise InvalidCall(
            f"algorithm {name!r} is not the name of a module and of an algorithm in it; for folder/mine.py give "
            "folder.mine:mine."
        )
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found = getattr(importlib.import_module(module), member, None)
    except Exception as error:
        why = f"there is no module {module!r} here or on Python's path" if _is_missing(error, module) else repr(error)
        raise InvalidCall(f"algorithm {name!r} cannot be imported: {why}.") from error
    if not isinstance(found, Algorithm):
        what = f"has no {member!r}" if found is None else f"has a {type(found).__name__} by that name"
        raise InvalidCall(f"algorithm {name!r}: {module} {what}; write {member} = sooner.Algorithm({member!r}, ...).")
    return found


def _is_missing(error: Exception, module: str) -> bool:
    return isinstance(error, ModuleNotFoundError) and error.name == module.split(".")[0]
