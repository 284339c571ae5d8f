"""What pages of algorithms quote of the results, put in between the marks that ask for it.

python docs/making/algorithm_figures.py

A mark names experiments and how a claim or a measurement of theirs begins; below it is the table that this writes:

    <!-- figures
    rpj-8a: RPJ has more results than XJoin
    -->
"""

import json
import re
from pathlib import Path
from typing import Any, Final

DOCS: Final = Path(__file__).parents[1]
PAGES: Final = DOCS / "algorithms"
HEAD: Final = "| experiment | what | here | |\n|---|---|---|---|\n"
END: Final = "<!-- end of figures -->"
_MARK: Final = re.compile(rf"(<!-- figures\n(.*?)\n-->\n).*?{END}", re.DOTALL)


def with_figures(page: str) -> str:
    """The page, with the figures of today."""
    return _MARK.sub(lambda found: found[1] + HEAD + "".join(map(_row, found[2].splitlines())) + END, page)


def _row(asked: str) -> str:
    experiment, _, words = asked.partition(": ")
    report = json.loads((DOCS / "results" / f"{experiment}.json").read_text())
    told = [*report["claims"], *report.get("measurements", [])]
    found = [one for one in told if one["what"] == words] or [one for one in told if one["what"].startswith(words)]
    if len(found) != 1:
        raise SystemExit(f"{experiment} says {len(found)} things that begin with {words!r}; a page asks for one.")
    return f"| [{experiment}](../results.md#{experiment}) | {_cell(found[0])} |\n"


def _cell(one: dict[str, Any]) -> str:
    seeds = f" ({one['seeds']} seeds)" if "seeds" in one else ""
    return f"{one['what']} | {one['ours']}{seeds} | {one.get('verdict', 'measured')}"


if __name__ == "__main__":
    for page in sorted(PAGES.glob("*.md")):
        page.write_text(with_figures(page.read_text()))
