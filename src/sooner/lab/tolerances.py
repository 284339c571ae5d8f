"""How far from a paper's words a finding may be and still be what it says: fixed before the run, each with its reason.

The log is append only: of entries with one name the last is in force, and those before it stay, so that a tolerance
that was changed once results were known can be seen on the results page. A test looks through the history of this file
for entries that are gone.
"""

from typing import Final, NamedTuple


class Entry(NamedTuple):
    date: str
    name: str
    value: float
    reason: str


LOG: Final = (
    Entry(
        "2026-11-17",
        "a tie",
        0.005,
        "Whoever is within it of another at every point is not ahead: so much a run changes if equal chances are drawn "
        "in another order.",
    ),
    Entry("2026-11-17", "none", 0.0, "The paper gives a bound, or says which of two is more."),
    Entry(
        "2026-11-17",
        "a number of the paper",
        0.20,
        "Ratios such as 6.2 or 1.83 are of another machine, and here and there of other data; a fifth to either side "
        "is the same finding.",
    ),
    Entry(
        "2026-11-17",
        "about a share",
        0.10,
        "Points of 100, to either side of a share that the text calls 'about' so much; its figure is not in the text.",
    ),
    Entry("2026-11-17", "most", 0.50, "Of all results, at least: the least that the word can mean."),
    Entry(
        "2026-11-17",
        "rounding",
        0.02,
        "Our RPJ rounds chances to steps of 5%; early results should not change by more than twice the tie and a bit.",
    ),
    Entry(
        "2026-11-17",
        "similar clean-ups",
        2.0,
        "Times as long as the fastest: the paper reads it off curves over the whole join, of which the clean-up is a "
        "small part.",
    ),
    Entry(
        "2026-11-17",
        "comparable completion",
        1.5,
        "Times as long as the fastest: 'comparable' of whole joins, said to say why only the online phase is shown.",
    ),
    Entry(
        "2026-11-17",
        "a step back",
        0.02,
        "From one set-up to the next a growing advantage may fall back so much: points of a curve that is read by eye.",
    ),
    Entry("2026-11-17", "very marginal", 0.05, "Of the largest: the least difference that shows in a figure."),
    Entry("2026-11-17", "very similar", 0.05, "At every tenth of the arrivals: curves that the eye cannot part."),
    Entry(
        "2026-11-17",
        "rows on the way",
        200,
        "Above MaxNewArr: those that come while the last block is joined, 10 ms at two rows a millisecond, tenfold.",
    ),
    Entry(
        "2026-11-17",
        "the model",
        0.05,
        "Of the time, or of all results: 'very well' of curves in one figure; joins come partition by partition here, "
        "and at once in the model.",
    ),
    Entry(
        "2026-11-17",
        "few results",
        0.20,
        "Of a rate of some 120 results, as long as all fits into memory: two standard deviations of such a count.",
    ),
    Entry("2026-11-17", "close to optimal", 0.10, "Longer than GRACE, end to end: 'very close', 'close to optimal'."),
    Entry("2026-11-17", "far sooner", 0.50, "Of the other's time, at most: 'faster' of curves that are far apart."),
    Entry("2026-11-17", "sooner", 0.995, "Of the other's time, at most: more than a tie."),
    Entry(
        "2026-11-17",
        "later by far",
        0.05,
        "Longer than the other, at least: 'longer' of curves that can be told apart in a figure.",
    ),
    Entry("2026-11-17", "an order of magnitude", 10, "Times as much: what the words mean."),
    Entry(
        "2026-11-17",
        "large steps",
        2.0,
        "Times the largest step without skew: 'large step-shape curves' beside smooth ones.",
    ),
    Entry(
        "2026-11-17",
        "smaller steps",
        0.75,
        "Of the largest step without remapping, at most: 'smooth' beside large steps.",
    ),
    Entry(
        "2026-11-17",
        "far more",
        1.25,
        "Times as many: 'significantly higher' of output rates in figure 15, where curves are far apart.",
    ),
    Entry(
        "2026-11-17",
        "a poor choice",
        1.25,
        "Times as many, at least: what the other has if it is 'a generally poor choice, limited by its blocking'.",
    ),
    Entry(
        "2026-11-18",
        "an excess of the paper",
        0.11,
        "Of 1.44 times GRACE's time, to either side: a fifth would let it be nearly GRACE itself. It was so before.",
    ),
    Entry(
        "2026-11-18",
        "a modest decrease",
        0.20,
        "Of the share with one input fewer, at most: 'modest' of curves in one figure. A fifth is as far as a number "
        "may be from one of the paper. Figures of a prototype were known when it was written; by them it fails with "
        "little memory.",
    ),
    Entry(
        "2026-11-18",
        "steady",
        0.10,
        "Longer than the fastest, at most: 'constant steady' of curves and bars of one algorithm in several figures; "
        "twice what the eye can part in one.",
    ),
    Entry(
        "2026-11-18",
        "relatively similar",
        0.20,
        "Of the other's time, to either side: said of two curves that a figure still parts. A fifth is as far as a "
        "number may be from one of the paper.",
    ),
)


def tolerances() -> dict[str, Entry]:
    """Those in force, by name."""
    return {entry.name: entry for entry in LOG}


def tolerance(name: str) -> float:
    return tolerances()[name].value


def changes() -> list[tuple[Entry, Entry]]:
    """Each entry that replaced one of the same name: the one before, and itself."""
    latest: dict[str, Entry] = {}
    replaced = []
    for entry in LOG:
        if entry.name in latest:
            replaced.append((latest[entry.name], entry))
        latest[entry.name] = entry
    return replaced
