"""What a group of rows is worth: how many results of the whole plan it will give (AGF sec. 4.1.2 and 5.2).

Arrays are indexed by partition, or are single numbers.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from sooner.policies.view import EvictAll, Numbers, Together, View


def expected_input(n_bytes: float, came: Numbers, came_in_all: float, row_bytes: float) -> Numbers:
    """The rows of an input that will come until so many bytes have come in all (lines 6 and 7).

    The share of a group is one of rows and is applied to bytes, as the paper does.
    """
    return n_bytes * (came / max(came_in_all, 1.0)) / row_bytes


def expected_local(there: tuple[Numbers, Numbers], coming: tuple[Numbers, Numbers], distinct: Numbers) -> list[Numbers]:
    """Results of the join: those of left rows that are there with right rows that come, the other way round, and of
    those that come with each other (lines 9 to 11). Line 12 adds them up; its text has the first of them twice.
    """
    left, right = there
    new_left, new_right = coming
    return [left * new_right / distinct, right * new_left / distinct, new_left * new_right / distinct]


def final_share(final: Numbers, local: Numbers) -> Numbers:
    """How many results of the whole plan a result of the join becomes (line 14).

    A group of which none was seen is like the others of its join, and a join of which none was seen gives what it can.
    """
    of_join = final.sum() / local.sum() if local.sum() else 1.0
    shares: Numbers = np.divide(final, local, out=np.full(len(local), of_join), where=local > 0)
    return shares


def expected_share(final: Numbers, local: Numbers) -> Numbers:
    """The same as a guess, for what is lost if a group leaves: as if each group had given one result more, with the
    share of its join, and each join one more that became final.

    The plain ratio is 0 wherever no final result was seen yet, so in the beginning nearly all groups would be alike,
    and those leave that would soon have been the best.
    """
    of_join = (final.sum() + 1) / (local.sum() + 1)
    shares: Numbers = (final + of_join) / (local + 1)
    return shares


def unmet_results(unmet_pairs: Numbers, distinct: Numbers) -> Numbers:
    """Results of the join that a merge of each group on disk would give (dskLocRslt).

    The pairs on disk that have not met are counted anyway. Where groups leave as wholes they are the paper's sum over
    flushes: left rows on disk x right rows that leave, and the other way round.
    """
    return unmet_pairs / np.maximum(distinct, 1.0)


def disk_throughput(local_results: Numbers, share: Numbers, rows_on_disk: Numbers) -> Numbers:
    """Results of the whole plan for each row that is read (sec. 5.2.2)."""
    results = local_results * share
    throughput: Numbers = np.divide(results, rows_on_disk, out=np.zeros(len(results)), where=rows_on_disk > 0)
    return throughput


def buffer_seconds(seconds: float, buffer_rows: float, came: float) -> float:
    """How long a buffer lasts, if as much comes as did in so many seconds (BufTime, sec. 5.3)."""
    return seconds * buffer_rows / came


def lowest_first(
    views: Mapping[str, View], scores: Mapping[str, Numbers], needed_bytes: int, scored: str
) -> Iterator[Together]:
    """Groups leave memory by their scores, whichever join they are of: first as many as free so many bytes, then each
    of the others by itself. Joins in the middle of a call let none go, and it may have to come from others. `scored`
    is what the scores are, in words.

    Of groups with one score the largest leave first, so that there are few runs on disk.
    """
    groups = [
        (float(scores[name][p]), -n_bytes, at, p, name)
        for at, (name, view) in enumerate(views.items())
        for p, n_bytes in enumerate(view.resident_bytes.sum(axis=0).tolist())
        if view.resident_rows[:, p].any()
    ]
    together: list[EvictAll] = []
    for score, negative_bytes, _, p, name in sorted(groups):
        why = f"{score:.2g} {scored}"
        whole = [EvictAll(which, p, name, why) for which in range(len(views[name].resident_rows))]
        if needed_bytes <= 0:
            yield whole
            continue
        together += whole
        needed_bytes += negative_bytes
        if needed_bytes <= 0:
            yield together
    if needed_bytes > 0 and together:
        yield together
