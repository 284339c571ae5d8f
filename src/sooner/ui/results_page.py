"""The results page: what experiments and benchmarks claim and found, as Markdown, from their JSON files."""

from collections.abc import Sequence
from typing import Any

_HEAD = """# Results

Generated from the JSON files that experiments and benchmarks write:
`sooner results FILE.json ... --to docs/results.md`.
A claim that does not hold stays here, with what was found.
"""


def results_page(documents: Sequence[dict[str, Any]]) -> str:
    return "\n".join([_HEAD, *map(_section, documents)])


def _section(document: dict[str, Any]) -> str:
    machine = document["machine"]
    where = machine if isinstance(machine, str) else ", ".join(f"{key} {value}" for key, value in machine.items())
    rows = [
        f"| {_cell(claim['what'])} | {_cell(claim['expected'])} | {_cell(claim['ours'])} | {_verdict(claim)} |"
        for claim in document["claims"]
    ]
    table = ["| claim | expected | ours | |", "|---|---|---|---|", *rows]
    return "\n".join([f"## {document['name']}", "", f"*{where}*", "", *table, ""])


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|")


def _verdict(claim: dict[str, Any]) -> str:
    return "holds" if claim["holds"] else "**does not hold**"
