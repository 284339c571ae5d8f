"""State-spill (Liu, Zhu, Rundensteiner 2006; AGF sec. 2): those groups leave that have given the fewest results of the
whole plan for each byte. It looks back only, and so does not see that what comes has changed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from sooner.policies.groups import lowest_first
from sooner.policies.plan_view import groups_of
from sooner.policies.view import JoinView, Together, View


@dataclass(frozen=True)
class Contribution:
    def choose(self, views: Mapping[str, View], asking: str, needed_bytes: int) -> Iterator[Together]:  # noqa: ARG002
        scores = {
            name: groups_of(view).contributed / np.maximum(view.resident_bytes.sum(axis=0), 1)
            for name, view in views.items()
            if isinstance(view, JoinView)
        }
        return lowest_first(views, scores, needed_bytes, "final results so far a byte")
