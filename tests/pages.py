"""The pages of the documentation, and the code that stands in them, statement by statement."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PAGES: Final = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
OF_SPARK: Final = {"ss", "sources", "sinks", "spark"}


def page_named(name: str) -> str:
    return (ROOT / name).read_text()


def code_of(page: str) -> list[str]:
    """Its blocks of Python."""
    return re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)


def commands_of(page: str) -> Iterator[str]:
    """The lines of its other blocks that run `sooner`."""
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE):
        for line in () if language else block.replace("\\\n", " ").splitlines():
            if found := re.match(r"(?:\S*/)?sooner (.*?)(?:  +#.*|\s[|>].*)?$", line.strip()):
                yield found[1]


def statements_of(block: str) -> Iterator[tuple[ast.stmt, bool]]:
    """Each with whether it is of Spark, by a name of it or by one that such a statement has given."""
    names = {*OF_SPARK}
    for statement in ast.parse(block).body:
        is_of_spark = any(_is_named(node, names) for node in ast.walk(statement))
        if is_of_spark:
            names |= {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and _is_set(node)}
        yield statement, is_of_spark


def _is_named(node: ast.AST, names: set[str]) -> bool:
    if isinstance(node, ast.Name):
        return node.id in names and not _is_set(node)
    of = [node.module] if isinstance(node, ast.ImportFrom) else [node.name] if isinstance(node, ast.alias) else []
    return any(str(module).startswith("sooner.spark") for module in of)


def _is_set(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)
