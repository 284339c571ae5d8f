"""What experiments and benchmarks wrote: their JSON files, read and checked, and what their claims came to."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from sooner.errors import SoonerError
from sooner.lab.experiments import EXPERIMENTS

Document = dict[str, Any]  # of an experiment, which has a paper, or of a benchmark, which has none
Claim = dict[str, Any]

HOLDS: Final = "holds"
TIE: Final = "tie"
DOES_NOT_HOLD: Final = "does not hold"
UNEXPLAINED: Final = "unexplained"
_CURE: Final = "give a file of `sooner lab run --json` or of a benchmark"
_IN_EVERY_CLAIM: Final = {"what", "expected", "ours", "holds"}


class NotAReport(SoonerError):  # noqa: N818
    """A file is not what an experiment or a benchmark writes."""


def read_reports(places: Sequence[Path]) -> list[Document]:
    """The reports in files, and in all JSON files of folders; the papers' experiments first, in their own order."""
    reports = [read_report(file) for place in places for file in _files(place)]
    order = {name: number for number, name in enumerate(EXPERIMENTS)}
    return sorted(reports, key=lambda report: order.get(report["name"], len(order)))


def _files(place: Path) -> list[Path]:
    return sorted(place.glob("*.json")) if place.is_dir() else [place]


def read_report(file: Path) -> Document:
    """What an experiment or a benchmark wrote, or a refusal in one sentence."""
    try:
        document = json.loads(file.read_text())
    except OSError as error:
        raise NotAReport(f"{file} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise NotAReport(f"{file} is not JSON ({error}); {_CURE}") from error
    if not _is_report(document):
        raise NotAReport(f"{file} is JSON, but not with a name, a machine and claims; {_CURE}")
    report: Document = document
    return report


def _is_report(document: object) -> bool:
    match document:
        case {"name": str(), "machine": str() | dict(), "claims": list() as claims}:
            return all(isinstance(claim, dict) and claim.keys() >= _IN_EVERY_CLAIM for claim in claims)
    return False


def by_paper(documents: Sequence[Document]) -> dict[str, list[Document]]:
    """The experiments of each paper."""
    papers: dict[str, list[Document]] = {}
    for document in documents:
        if "paper" in document:
            papers.setdefault(str(document["paper"]), []).append(document)
    return papers


def benchmarks(documents: Sequence[Document]) -> list[Document]:
    return [document for document in documents if "paper" not in document]


def claims_of(documents: Sequence[Document]) -> list[Claim]:
    return [claim for document in documents for claim in document["claims"]]


def verdict_of(claim: Claim) -> str:
    return str(claim.get("verdict", HOLDS if claim["holds"] else DOES_NOT_HOLD))


def reason_of(claim: Claim) -> str:
    """Why it does not hold. A tie says that itself; of anything else it is unexplained if nothing is said."""
    why = str(claim.get("why") or "")
    return why or {HOLDS: "", TIE: "a tie"}.get(verdict_of(claim), UNEXPLAINED)


def is_unexplained(claim: Claim) -> bool:
    return not claim["holds"] and reason_of(claim).startswith(UNEXPLAINED)
