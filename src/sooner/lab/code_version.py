"""Which code an experiment was run with: a short mark that changes with the code, and not with its comments.

It is made of all that a simulated run goes through: the lab, the policies, what the real join shares with its twin, and
the modules of the experiment itself. A result of another version is stale.
"""

import ast
import hashlib
from functools import cache
from pathlib import Path
from typing import Final

from sooner.lab.experiment import Experiment

HOUSE: Final = Path(__file__).parents[1]
SHARED: Final = (
    "lab/*.py",
    "policies/**/*.py",
    "named_algorithms.py",
    "sources/arrival_patterns.py",
    "operators/rectangle/*.py",
    "operators/statistics.py",
    "operators/state/looping.py",
    "operators/tasks/merging.py",
    "operators/statistics/regions.py",
    "operators/leaving/room.py",
    "operators/statistics/open_pairs.py",
    "runs/ledger.py",
)


def code_version(experiment: Experiment) -> str:
    return version_of(tuple(sorted(experiment.modules)))


@cache
def version_of(modules: tuple[str, ...]) -> str:
    """Of these modules of `sooner.lab.experiments`, and all that they rest on."""
    shared = (path for pattern in SHARED for path in sorted(HOUSE.glob(pattern)))
    own = (HOUSE / "lab" / "experiments" / f"{module}.py" for module in modules)
    marks = "".join(meaning(path.read_text()) for path in (*shared, *own))
    return hashlib.sha256(marks.encode()).hexdigest()[:12]


def meaning(source: str) -> str:
    """The code without comments, docstrings and layout."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node, clean=False):
            node.body = node.body[1:]
    return ast.dump(tree)
