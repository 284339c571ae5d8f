"""Pages of the docs, and how the code on them is run: from the first block to the last, as it stands there.

A block in `python` or `sh` is run, in a folder of its page's own. A block without a language stands right behind one
that is run, and is what that prints, where `...` is anything. All else that looks like code is `text`.

What a page takes for granted (files, tables, streams) is its setting. Where a page names a place that only its reader
has, another one takes its place: `Setting.instead`.
"""

import contextlib
import doctest
import io
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
DOCS: Final = ROOT / "docs"
PAGES: Final = {
    str(page.relative_to(ROOT)): page
    for page in sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md"), *DOCS.rglob("*.ipynb")])
}
KINDS: Final = ("python", "sh", "text", "")
_BLOCK: Final = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_SHELL: Final = f'set -e\nsooner() {{ "{sys.executable}" -m sooner "$@"; }}\n'


@dataclass(frozen=True)
class Block:
    language: str
    code: str
    line: int  # of the page on which it begins
    prints: str | None = None  # as the page says

    @property
    def on_spark(self) -> bool:
        return self.language == "python" and re.search(r"\bss\.|sooner\.spark|pyspark", self.code) is not None


@dataclass
class Setting:
    """What a page takes for granted."""

    known: dict[str, Any] = field(default_factory=dict)  # to its programs
    streams: Mapping[str, Any] = field(default_factory=dict)  # by the same names, where they run on Spark
    instead: Mapping[str, str] = field(default_factory=dict)  # of what is on the page


def blocks(page: str) -> list[Block]:
    return list(_cells(PAGES[page]) if page.endswith(".ipynb") else _fences(PAGES[page].read_text()))


def is_on_spark(page: str) -> bool:
    return any(block.on_spark for block in blocks(page))


def run_page(page: str, place: Path, setting: Setting, elsewhere: tuple[str, ...] = ()) -> None:
    """`place` is the working folder; blocks that begin with one of the texts `elsewhere` are run by other tests."""
    for block in blocks(page):
        if block.code.startswith(elsewhere):
            continue
        code = block.code
        for said, meant in setting.instead.items():
            code = code.replace(said, meant)
        if block.language == "python":
            printed = _run_python(compile(code, f"{page}:{block.line}", "exec"), block.on_spark, setting)
        elif block.language == "sh":
            printed = _run_shell(code, place)
        if block.prints is not None:
            assert doctest.OutputChecker().check_output(block.prints, printed, doctest.ELLIPSIS), (
                f"{page}:{block.line} says that it prints\n{block.prints}\nand it printed\n{printed}"
            )


def _run_python(program: CodeType, on_spark: bool, setting: Setting) -> str:
    if on_spark:
        setting.known.update(setting.streams)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(program, setting.known)
    return printed.getvalue()


def _run_shell(commands: str, place: Path) -> str:
    ended = subprocess.run(["bash", "-c", _SHELL + commands], cwd=place, capture_output=True, text=True)
    assert ended.returncode == 0, f"{commands}{ended.stdout}{ended.stderr}"
    return ended.stdout


def _fences(text: str) -> Iterator[Block]:
    """A block without a language is what the one before it prints, if nothing stands between them."""
    found = list(_BLOCK.finditer(text))
    printing = {end.end() + 1: end for end in found}
    printed_by = {
        before.start(): one[2] for one in found if not one[1] and (before := printing.get(one.start())) is not None
    }
    for one in found:
        if one[1] or one.start() not in printing:
            yield Block(one[1], one[2], text.count("\n", 0, one.start()) + 2, printed_by.get(one.start()))


def _cells(notebook: Path) -> Iterator[Block]:
    for number, cell in enumerate(json.loads(notebook.read_text())["cells"]):
        if cell["cell_type"] == "code":
            yield Block("python", "".join(cell["source"]), number)
