"""Groups leave memory by their scores, the lowest first, whichever join they are of."""

from collections.abc import Iterator, Mapping

from sooner.policies.view import EvictAll, Numbers, Together, View
from sooner.sides import SIDES


def lowest_first(views: Mapping[str, View], scores: Mapping[str, Numbers], needed_bytes: int) -> Iterator[Together]:
    """First as many groups as free so many bytes, then each of the others by itself.

    Joins in the middle of a call let none go; so what is asked for may have to come from the others.
    """
    groups = [
        (float(scores[name][p]), at, p, name)
        for at, (name, view) in enumerate(views.items())
        for p in view.resident_rows.sum(axis=0).nonzero()[0].tolist()
    ]
    together: list[EvictAll] = []
    for _, _, p, name in sorted(groups):
        both_sides = [EvictAll(side, p, name) for side in SIDES]
        if needed_bytes <= 0:
            yield both_sides
            continue
        together += both_sides
        needed_bytes -= int(views[name].resident_bytes[:, p].sum())
        if needed_bytes <= 0:
            yield together
    if needed_bytes > 0 and together:
        yield together
