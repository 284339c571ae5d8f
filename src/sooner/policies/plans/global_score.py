"""AdaptiveGlobalFlush (AGF sec. 4, algorithm 1): those groups leave that are expected to give the fewest results of the
whole plan for each byte, wherever they lie.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from sooner.policies.groups import expected_input, expected_local, expected_share, lowest_first
from sooner.policies.plan_view import groups_of
from sooner.policies.view import JoinView, Numbers, Together, View


@dataclass(frozen=True)
class GlobalScore:
    def choose(self, views: Mapping[str, View], asking: str, needed_bytes: int) -> Iterator[Together]:  # noqa: ARG002
        """What comes until the next flush is as much as leaves now (step 1). It is shared among the groups of all
        joins: it comes into the whole plan, results of joins below included.
        """
        joins = {name: view for name, view in views.items() if isinstance(view, JoinView)}
        came_in_all = float(sum(groups_of(view).came.sum() for view in joins.values()))
        scores = {name: _scores(view, needed_bytes, came_in_all) for name, view in joins.items()}
        return lowest_first(views, scores, needed_bytes, "final results expected a byte")


def _scores(view: JoinView, n_bytes: int, came_in_all: float) -> Numbers:
    groups = groups_of(view)
    sides = zip(groups.came, _row_bytes(view), view.ended, strict=True)
    left, right = (
        expected_input(n_bytes, came, came_in_all, row_bytes) if not ended else np.zeros(len(came))
        for came, row_bytes, ended in sides
    )
    left_there, right_there = view.resident_rows.astype(np.float64)
    results = expected_local((left_there, right_there), (left, right), np.maximum(groups.distinct, 1.0))
    group_bytes = np.maximum(view.resident_bytes.sum(axis=0), 1)
    scores: Numbers = np.sum(results, axis=0) * expected_share(groups.final, groups.local) / group_bytes
    return scores


def _row_bytes(view: JoinView) -> list[float]:
    """Of each input, as far as it is in memory (tupSize)."""
    rows, n_bytes = view.resident_rows.sum(axis=1), view.resident_bytes.sum(axis=1)
    every = max(int(n_bytes.sum()), 1) / max(int(rows.sum()), 1)
    return [one_bytes / count if count else every for count, one_bytes in zip(rows, n_bytes, strict=True)]
