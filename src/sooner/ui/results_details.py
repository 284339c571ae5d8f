"""The details of the results page: a section for each experiment and benchmark, with all it claims and measured."""

from collections.abc import Callable
from typing import Final

from sooner.ui.markdown import cell, table
from sooner.ui.result_files import DOES_NOT_HOLD, Claim, Document, reason_of, verdict_of


def experiment_details(document: Document) -> list[str]:
    """Its tables are folded; the heading is not, so that links find it."""
    claims = document["claims"]
    held = f"{sum(bool(claim['holds']) for claim in claims)} of {len(claims)} claims hold" if claims else "no claims"
    title = f"{cell(document['title'])}; " if "title" in document else ""
    head = [f"#### {cell(document['name'])}", "", f"{title}{held}.", ""]
    folded = "claims and measurements" if claims else "measurements"
    return [*head, f"<details><summary>{folded}</summary>", "", *_machine_and_tables(document), "</details>", ""]


def benchmark_details(document: Document) -> list[str]:
    title = [cell(document["title"]), ""] if "title" in document else []
    return [f"### {cell(document['name'])}", "", *title, *_machine_and_tables(document)]


def _machine_and_tables(document: Document) -> list[str]:
    machine = document["machine"]
    where = machine if isinstance(machine, str) else ", ".join(f"{key} {value}" for key, value in machine.items())
    code = f"; code {document['code']}" if "code" in document else ""
    measured = [(cell(one["what"]), cell(one["ours"])) for one in document.get("measurements", ())]
    return [
        f"*{cell(where + code)}*",
        "",
        *(_claims_table(document["claims"]) if document["claims"] else ()),
        *(table(("measured", "ours"), measured) if measured else ()),
    ]


def _claims_table(claims: list[Claim]) -> list[str]:
    """Without the columns that none of these claims has anything in."""
    columns = {heading: [show(claim) for claim in claims] for heading, show in _COLUMNS.items()}
    filled = {heading: cells for heading, cells in columns.items() if any(cells)}
    return table([*filled], zip(*filled.values(), strict=True))


def _expected(claim: Claim) -> str:
    tolerance = f" ([{cell(claim['tolerance'])}](#tolerances))" if claim.get("tolerance") else ""
    return cell(claim["expected"]) + tolerance


def _verdict(claim: Claim) -> str:
    verdict = cell(verdict_of(claim))
    shown = f"**{verdict}**" if verdict == DOES_NOT_HOLD else verdict
    return shown if claim["holds"] else f"{shown}: {cell(reason_of(claim))}"


_COLUMNS: Final[dict[str, Callable[[Claim], str]]] = {
    "section": lambda claim: cell(claim.get("section", "")),
    "claim": lambda claim: cell(claim["what"]),
    "quantity": lambda claim: cell(claim.get("quantity", "")),
    "expected": _expected,
    "ours": lambda claim: cell(claim["ours"]),
    "seeds": lambda claim: cell(claim.get("seeds", "")),
    "verdict": _verdict,
    "fails on": lambda claim: cell(claim.get("fails_on", "")),
}
