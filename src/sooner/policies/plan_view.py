"""What policies see of a plan of joins, and what they may say.

A *group* is one partition of a join: the rows of both sides in one range of codes. Views are given by the names of the
joins, the base first and the root last.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from sooner.policies.view import JoinView, Numbers


@dataclass(frozen=True)
class GroupsView:
    """What was seen lately of the groups of one join, [side, partition] or [partition] (AGF sec. 4.1.1, table 1)."""

    came: Numbers  # rows, of each side (prtInput)
    local: Numbers  # results of the join (obsLoc)
    final: Numbers  # results of the whole plan with a row of the group (obsGlo)
    contributed: Numbers  # the same, since the beginning
    distinct: Numbers  # keys that were ever seen (unique)
    seconds: float  # for which all of it was seen


@dataclass(frozen=True)
class StageView(JoinView):
    """Of one join of a plan."""

    groups: GroupsView | None = None  # for policies of an algorithm that asks for them


StageViews = Mapping[str, StageView]


class MergeGroup(NamedTuple):
    """Join what is on disk of one group. What comes for this join and those below it waits for that."""

    operator: str
    partition: int


class PlanReactPolicy(Protocol):
    def choose(self, views: StageViews) -> MergeGroup | None:
        """The group on disk that is worth more than what comes, or None.

        Asked after every action of a plan, also while rows come: `around` of the views tells.
        """


def groups_of(view: JoinView) -> GroupsView:
    assert isinstance(view, StageView), "only joins of a plan have groups"
    assert view.groups is not None, "an algorithm whose policy looks at groups says so"
    return view.groups
