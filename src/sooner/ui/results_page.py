"""The results page: what experiments and benchmarks claim and found, as Markdown, from their JSON files."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from sooner.errors import SoonerError

_HEAD = """# Results

Generated from the JSON files that experiments and benchmarks write:
`sooner results FILE.json ... --to docs/results.md`.
A claim that does not hold stays here, with what was found.
"""
_CURE: Final = "give a file of `sooner lab run --json` or of a benchmark"
_CLAIM: Final = {"what", "expected", "ours", "holds"}


class NotAReport(SoonerError):  # noqa: N818
    """A file is not what an experiment or a benchmark writes."""


def read_report(file: Path) -> dict[str, Any]:
    """What an experiment or a benchmark wrote, or a refusal in one sentence."""
    try:
        document = json.loads(file.read_text())
    except OSError as error:
        raise NotAReport(f"{file} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise NotAReport(f"{file} is not JSON ({error}); {_CURE}") from error
    if not _is_report(document):
        raise NotAReport(f"{file} is JSON, but not with a name, a machine and claims; {_CURE}")
    report: dict[str, Any] = document
    return report


def _is_report(document: object) -> bool:
    match document:
        case {"name": str(), "machine": str() | dict(), "claims": list() as claims}:
            return all(isinstance(claim, dict) and claim.keys() >= _CLAIM for claim in claims)
    return False


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
