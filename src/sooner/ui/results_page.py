"""The results page, as Markdown: what holds of each paper, a picture of it, what does not hold and why, and details."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from sooner.lab.experiment import EXCUSED, SEEDS
from sooner.lab.tolerances import changes, tolerances
from sooner.ui.markdown import cell, link_to, table
from sooner.ui.paper_pictures import FOLDER, pictures_of
from sooner.ui.result_files import (
    DOES_NOT_HOLD,
    HOLDS,
    TIE,
    UNEXPLAINED,
    Claim,
    Document,
    benchmarks,
    by_paper,
    claims_of,
    is_unexplained,
    reason_of,
    verdict_of,
)
from sooner.ui.results_details import benchmark_details, experiment_details

_HEAD: Final = """# Results

Four papers say how soon their joins have results, and one how fast its join takes a stream. A claim is one such
sentence, with the number or the order that the paper gives; their experiments are repeated in simulated time, and each
claim is read off our curves.
{seeds}
What fails stays on this page with its reason, or as "unexplained" where nobody knows one.
"""
_PICTURES: Final = """## Early results over time

Each picture has the curves of one seed. The higher a line, the more results are out by then; or, in the picture of a
stream, the more of its rows are taken in a second.
"""
_DETAILS: Final = """## Details

Where a claim "fails on" something, the algorithm was made worse in that way on purpose, and the claim was seen to fail.
Measurements are what no paper makes a claim of; they have no verdict.
This page is written by `sooner results docs/results --to docs/results.md`, and `make results` runs all experiments
before that. Benchmarks are run by hand.
"""


def results_page(documents: Sequence[Document]) -> str:
    sections = (_shares, _pictures, _failures, _tolerances, _details)
    return "\n".join(
        [_HEAD.format(seeds=_seeds_in_words(documents)), *(line for section in sections for line in section(documents))]
    )


def _seeds_in_words(documents: Sequence[Document]) -> str:
    """With how many seeds the claims were read, and what that means for a verdict."""
    counts = Counter(len(one.get("seeds", ())) for one in documents if "paper" in one and one["claims"])
    with_all = sum(experiments for seeds, experiments in counts.items() if seeds >= SEEDS)
    few = " or ".join(str(seeds) for seeds in sorted(counts) if seeds < SEEDS)
    rule = f"A claim holds if it does with at least {SEEDS - EXCUSED} of {SEEDS}; a tie is no victory."
    if not few:
        held_out = "experiments were built with 0 to 4, and those above were held out"
        return f"Verdicts are over {SEEDS} seeds: {held_out}. {rule}"
    run = f"{SEEDS} seeds in {with_all} of {counts.total()} experiments so far, and over {few} in the others"
    return f"Verdicts are over {run}. Of fewer than {SEEDS} a claim has to hold with all. {rule}"


def _shares(documents: Sequence[Document]) -> Iterator[str]:
    headings = ("paper", "claims", "hold", "tie", "do not hold", "unexplained", "share that holds")
    papers = {paper: claims_of(experiments) for paper, experiments in by_paper(documents).items()}
    if papers:
        yield from table(headings, [(link_to(paper), *_counts(claims)) for paper, claims in papers.items()])
    if measured := benchmarks(documents):
        claims = claims_of(measured)
        held = sum(bool(claim["holds"]) for claim in claims)
        yield f"Of our own [benchmarks](#benchmarks), which repeat no paper, {held} of {len(claims)} claims hold."
        yield ""


def _counts(claims: Sequence[Claim]) -> list[str]:
    verdicts = [verdict_of(claim) for claim in claims]
    held = verdicts.count(HOLDS)
    counts = (len(claims), held, verdicts.count(TIE), verdicts.count(DOES_NOT_HOLD), sum(map(is_unexplained, claims)))
    return [*map(str, counts), f"{held / len(claims):.0%}" if claims else ""]


def _pictures(documents: Sequence[Document]) -> Iterator[str]:
    pictures = pictures_of(documents)
    if pictures:
        yield _PICTURES
    for picture in pictures:
        yield f"![{picture.paper}: {picture.shows}]({FOLDER}/{picture.file_name})"
        yield ""
        yield f"**{picture.paper}.** {picture.caption}"
        yield ""


def _failures(documents: Sequence[Document]) -> Iterator[str]:
    rows = [row for paper, experiments in by_paper(documents).items() for row in _failures_of(paper, experiments)]
    if by_paper(documents):
        yield "## What does not hold, and why"
        yield ""
        yield from table(("experiment", "claim", "ours", "why"), rows) if rows else ("All claims hold.", "")


def _failures_of(paper: str, experiments: Sequence[Document]) -> Iterator[Sequence[str]]:
    """What fails in several figures for the same reason has one row; what nobody can explain comes first."""
    alike: dict[tuple[str, str], list[tuple[str, Claim]]] = {}
    for experiment in experiments:
        for claim in experiment["claims"]:
            if not claim["holds"]:
                found = alike.setdefault((str(claim["what"]), reason_of(claim)), [])
                found.append((experiment["name"], claim))
    if alike:
        yield f"**{cell(paper)}**", "", "", ""
    for (what, why), found in sorted(alike.items(), key=lambda group: not is_unexplained(group[1][0][1])):
        links = ", ".join(link_to(name) for name in dict.fromkeys(name for name, _ in found))
        yield links, cell(what), _ours(found), _marked(why)


def _ours(found: Sequence[tuple[str, Claim]]) -> str:
    """What was found in each figure, once if it is the same."""
    shown = [cell(claim["ours"]) + _seeds(claim) for _, claim in found]
    if len({*shown}) == 1:
        return shown[0]
    return "<br>".join(f"{cell(name)}: {ours}" for (name, _), ours in zip(found, shown, strict=True))


def _seeds(claim: Claim) -> str:
    return f" (holds with {cell(claim['seeds'])})" if claim.get("seeds") else ""


def _marked(why: str) -> str:
    if why.startswith(UNEXPLAINED):
        return f"**{UNEXPLAINED}**{cell(why.removeprefix(UNEXPLAINED))}"
    return cell(why)


def _tolerances(documents: Sequence[Document]) -> Iterator[str]:  # noqa: ARG001 - as all sections
    yield "## Tolerances"
    yield ""
    yield "How far from the paper's word a claim may be and still hold."
    yield ""
    in_force = [(cell(one.name), f"{one.value:g}", cell(one.reason)) for one in tolerances().values()]
    yield from table(("name", "value", "reason"), in_force)
    changed = [
        (cell(after.date), cell(after.name), f"{before.value:g} → {after.value:g}", cell(after.reason))
        for before, after in changes()
    ]
    if changed:
        yield "Changes:"
        yield ""
        yield from table(("date", "name", "before → after", "reason"), changed)
    else:
        yield "Changes: none yet."
        yield ""


def _details(documents: Sequence[Document]) -> Iterator[str]:
    yield _DETAILS
    for paper, experiments in by_paper(documents).items():
        yield f"### {cell(paper)}"
        yield ""
        for experiment in experiments:
            yield from experiment_details(experiment)
    measured = benchmarks(documents)
    if measured:
        yield "## Benchmarks"
        yield ""
    for benchmark in measured:
        yield from benchmark_details(benchmark)
