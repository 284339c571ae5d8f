"""What MkDocs does not do by itself: pages from beside `docs`, the reference, and Markdown as GitHub reads it.

The README becomes the first page, and `examples/` one page of programs. The reference is made of the public names and
their docstrings, each with its signature as the code has it, so that it is never out of date.
"""

import inspect
import re
import sys
from importlib import import_module
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from typing import Any, Final

from mkdocs.structure.files import File, Files

ROOT: Final = Path(__file__).parents[2]
sys.path.insert(0, str(Path(__file__).parent))
from reference import reference_of  # noqa: E402 - beside this file, of which MkDocs knows nothing

REFERENCE: Final = (
    "sooner",
    "sooner.sources",
    "sooner.spark",
    "sooner.spark.sources",
    "sooner.spark.sinks",
    "sooner.testing",
)
BESIDE: Final = {"README.md": "index.md", "CONTRIBUTING.md": "CONTRIBUTING.md", "CHANGELOG.md": "CHANGELOG.md"}
PLACES: Final = {**BESIDE, "docs/guides": "guides/README.md"}  # where what is linked to is on the site
_FENCE: Final = re.compile(r"^(```.*?^```$)", re.DOTALL | re.MULTILINE)
_LINK: Final = re.compile(r"\]\(([^)#\s]+)(#[^)]*)?\)")
_BLOCK: Final = re.compile(r"(- |\d+\. |\|)")


def on_files(files: Files, config: Any) -> Files:
    """Add what is not in `docs`."""
    for source, place in BESIDE.items():
        files.append(File.generated(config, place, content=(ROOT / source).read_text()))
    for module in REFERENCE:
        files.append(File.generated(config, f"reference/{module}.md", content=reference_of(import_module(module))))
    files.append(File.generated(config, "examples.md", content=_examples()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:  # noqa: ARG001 - MkDocs' words
    """Links from where the page is in the repository, and the empty lines that Python's Markdown needs."""
    at = page.file.src_uri
    source = next((one for one, place in BESIDE.items() if place == at), f"docs/{at}")
    pieces = _FENCE.split(markdown)
    pieces[::2] = [_spaced(_linked(text, source, at)) for text in pieces[::2]]
    return "\n".join(pieces)


def _linked(text: str, source: str, at: str) -> str:
    def moved(link: re.Match[str]) -> str:
        target, anchor = link[1], link[2] or ""
        if "://" in target:
            return link[0]
        there = normpath(str(PurePosixPath(source).parent / target))
        place = "examples.md" if there.startswith("examples") else PLACES.get(there, there.removeprefix("docs/"))
        return f"]({relpath(place, str(PurePosixPath(at).parent))}{anchor})"

    return _LINK.sub(moved, text)


def _spaced(text: str) -> str:
    """A list or table right behind a paragraph is one for GitHub, and for Python's Markdown more of the paragraph."""
    lines: list[str] = []
    for line in text.splitlines():
        begins = _BLOCK.match(line)
        if begins and lines and lines[-1].strip() and not _BLOCK.match(lines[-1]) and not lines[-1].startswith(" "):
            lines.append("")
        lines.append(line)
    return "\n".join(lines) + "\n"


def _examples() -> str:
    shown = ["# Examples\n\nPrograms in `examples/`, as they are run by the tests.\n"]
    for file in sorted((ROOT / "examples").glob("*.py")):
        what = inspect.cleandoc(compile(file.read_text(), str(file), "exec").co_consts[0])
        shown.append(f"## {file.name}\n\n{what.splitlines()[0]}\n\n```python\n{file.read_text()}```\n")
    return "\n".join(shown)
