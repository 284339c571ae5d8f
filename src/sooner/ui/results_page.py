"""The results page: what experiments and benchmarks claim and found, as Markdown, from their JSON files."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from sooner.errors import SoonerError
from sooner.lab.experiments import EXPERIMENTS
from sooner.plain_text import plain_text

_HEAD = """# Results

Generated from the JSON files that experiments and benchmarks write: `make results` runs all experiments of the papers,
at their own size, and writes this page.
A claim that does not hold stays here, with what was found and why. A tie is no victory: within 0.5% at every point.
Measurements that no paper makes a claim of have no verdict.
"""
_CURE: Final = "give a file of `sooner lab run --json` or of a benchmark"
_MORE_THAN_TEXT: Final = re.compile(r"\||<(?=[A-Za-z/!?])|&(?=#?\w+;)|\](?=[(\[])")
_CLAIM: Final = {"what", "expected", "ours", "holds"}


class NotAReport(SoonerError):  # noqa: N818
    """A file is not what an experiment or a benchmark writes."""


def read_reports(places: Sequence[Path]) -> list[dict[str, Any]]:
    """The reports in files, and in all JSON files of folders; the papers' experiments first, in their own order."""
    reports = [read_report(file) for place in places for file in _files(place)]
    order = {name: number for number, name in enumerate(EXPERIMENTS)}
    return sorted(reports, key=lambda report: order.get(report["name"], len(order)))


def _files(place: Path) -> list[Path]:
    return sorted(place.glob("*.json")) if place.is_dir() else [place]


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
    return "\n".join([_HEAD, *_summary(documents), "", *map(_section, documents)])


def _summary(documents: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Which claims hold, and of each that does not, why, in a line each."""
    for paper in dict.fromkeys(map(_paper, documents)):
        held = [claim["holds"] for one in documents if _paper(one) == paper for claim in one["claims"]]
        yield f"{paper}: {held.count(True)} of {len(held)} claims hold.  "
    yield ""
    yield from ("| paper | figure | hold | do not | which, and why |", "|---|---|---|---|---|")
    for document in documents:
        failing = [claim for claim in document["claims"] if not claim["holds"]]
        reasons = "<br>".join(f"{_cell(claim['what'])}: {_reason(claim)}" for claim in failing)
        name, holding = _cell(document["name"]), len(document["claims"]) - len(failing)
        yield f"| {_paper(document)} | [{name}](#{_anchor(name)}) | {holding} | {len(failing) or ''} | {reasons} |"


def _paper(document: dict[str, Any]) -> str:
    return _cell(document.get("paper", "benchmark"))


def _reason(claim: dict[str, Any]) -> str:
    why = _cell(claim.get("why") or "no reason is known")
    return f"a tie ({why})" if claim.get("verdict") == "tie" else why


def _anchor(name: str) -> str:
    return name.lower().replace(" ", "-").replace(",", "").replace("'", "")


def _section(document: dict[str, Any]) -> str:
    machine = document["machine"]
    where = machine if isinstance(machine, str) else ", ".join(f"{key} {value}" for key, value in machine.items())
    title = f"{_cell(document['title'])}\n\n" if "title" in document else ""
    code = f"; code {document['code']}" if "code" in document else ""
    claims = [
        f"| {_cell(claim['what'])} | {_cell(claim['expected'])} | {_cell(claim['ours'])} | {_verdict(claim)} |"
        for claim in document["claims"]
    ]
    measured = [f"| {_cell(one['what'])} | {_cell(one['ours'])} |" for one in document.get("measurements", ())]
    tables = [["| claim | expected | ours | |", "|---|---|---|---|", *claims, ""]] if claims else []
    tables += [["| measured | ours |", "|---|---|", *measured, ""]] if measured else []
    lines = [line for table in tables for line in table]
    return "\n".join([f"## {_cell(document['name'])}", "", f"{title}*{_cell(where + code)}*", "", *lines])


def _cell(value: object) -> str:
    """The value in one line, which begins no other cell, no tag and no link."""
    return _MORE_THAN_TEXT.sub(r"\\\g<0>", plain_text(value))


def _verdict(claim: dict[str, Any]) -> str:
    verdict = _cell(claim.get("verdict", "holds" if claim["holds"] else "does not hold"))
    return f"**{verdict}**" if verdict == "does not hold" else verdict
