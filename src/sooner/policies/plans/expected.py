"""What a group is worth: how many results of the whole plan it will give (AGF sec. 4.1.2 and 5.2).

Arrays are indexed by partition, or are single numbers.
"""

import numpy as np

from sooner.policies.view import Numbers


def expected_input(n_bytes: float, came: Numbers, came_in_all: float, row_bytes: Numbers) -> Numbers:
    """The rows of a side that will come until so many bytes have come in all (lines 6 and 7).

    The share of a group is one of rows and is applied to bytes, as the paper does.
    """
    return n_bytes * (came / max(came_in_all, 1.0)) / row_bytes


def expected_local(
    there: tuple[Numbers, Numbers], coming: tuple[Numbers, Numbers], distinct: Numbers
) -> tuple[Numbers, Numbers, Numbers]:
    """Results of the join: those of left rows that are there with right rows that come, the other way round, and of
    those that come with each other (lines 9 to 11). Line 12 adds them up; its text has the first of them twice.
    """
    return there[0] * coming[1] / distinct, there[1] * coming[0] / distinct, coming[0] * coming[1] / distinct


def final_share(final: Numbers, local: Numbers) -> Numbers:
    """How many results of the whole plan a result of the join becomes (line 14).

    A group of which none was seen is like the others of its join, and a join of which none was seen gives what it can.
    """
    of_join = final.sum() / local.sum() if local.sum() else 1.0
    shares: Numbers = np.divide(final, local, out=np.full(len(local), of_join), where=local > 0)
    return shares


def disk_throughput(local_results: Numbers, share: Numbers, rows_on_disk: Numbers) -> Numbers:
    """Results of the whole plan for each row that is read (sec. 5.2.2)."""
    results = local_results * share
    throughput: Numbers = np.divide(results, rows_on_disk, out=np.zeros(len(results)), where=rows_on_disk > 0)
    return throughput
