"""Which code an experiment was run with: a short mark that changes with the code, and not with its comments.

It is made of all modules of sooner that the experiment and its runner import, directly or by way of others. Imports are
read off the source, also those inside of functions. A result of another version is stale.

A package's own `__init__` counts where it is imported for itself, not as the folder of another module. The C sources
beside it count with it.
"""

import ast
import hashlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from sooner.lab.experiment import Experiment

HOUSE: Final = Path(__file__).parents[1]
RUNNER: Final = "sooner.lab.running"


def code_version(experiment: Experiment) -> str:
    return version_of(experiment.module, RUNNER)


@cache
def version_of(*modules: str) -> str:
    """The mark of these modules, by their full names, and of all that they rest on."""
    files = (file for module in sorted(resting_on(*modules)) for file in _sources(file_of(module)))
    marks = "".join(c_meaning(file.read_text()) if file.suffix == ".c" else meaning(file.read_text()) for file in files)
    return hashlib.sha256(marks.encode()).hexdigest()[:12]


def resting_on(*modules: str) -> set[str]:
    """These modules and all of sooner that they import, directly or by way of others."""
    found: set[str] = set()
    new = {*modules}
    while new:
        found |= new
        new = {imported for module in new for imported in imports_of(module)} - found
    return found


@cache
def imports_of(module: str) -> frozenset[str]:
    """The modules of sooner that one imports itself."""
    return frozenset(_imports(ast.parse(file_of(module).read_text())))


def file_of(module: str) -> Path:
    """The source of a module or package of sooner; one that is not there is an error."""
    file = _file(module)
    if file is None:
        raise ModuleNotFoundError(f"There is no module {module!r}, so nobody can say what rests on it.")
    return file


@cache
def meaning(source: str) -> str:
    """The code without comments, docstrings and layout."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node, clean=False):
            node.body = node.body[1:]
    return ast.dump(tree)


def c_meaning(source: str) -> str:
    """The same of C: its words, without comments."""
    return " ".join(re.sub(r"/\*.*?\*/|//[^\n]*", " ", source, flags=re.DOTALL).split())


def _sources(file: Path) -> list[Path]:
    return [file, *(sorted(file.parent.glob("*.c")) if file.name == "__init__.py" else ())]


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if _is_ours(alias.name))
        elif isinstance(node, ast.ImportFrom) and node.module and _is_ours(node.module):
            for alias in node.names:
                member = f"{node.module}.{alias.name}"
                yield node.module if _file(member) is None else member


def _is_ours(module: str) -> bool:
    return module.split(".")[0] == HOUSE.name


def _file(module: str) -> Path | None:
    place = HOUSE.parent.joinpath(*module.split("."))
    return next((file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file()), None)
