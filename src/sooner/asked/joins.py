"""A two-way join in the user's words, which are the same for all engines, as the plan of it."""

import datetime as dt
from typing import Final, TypedDict

from sooner.arguments import Columns, key_names, usable_suffixes
from sooner.asked.choosing_algorithm import AskedAlgorithm, Choice, choose
from sooner.asked.intervals import AskedWidth, AskedWithin, interval_of, usable_width, usable_within
from sooner.errors import InvalidJoin
from sooner.how import How, kind_of
from sooner.kernels.ranges import Near
from sooner.operators.two_way.plan import TwoWayPlan

BY: Final = ("by", "left_by", "right_by")


class Asked(TypedDict):
    """A join as asked for. With `within`, `on` columns must be so near each other, and `by` columns must be equal."""

    on: Columns | None
    left_on: Columns | None
    right_on: Columns | None
    within: AskedWithin | None
    by: Columns | None
    left_by: Columns | None
    right_by: Columns | None
    lateness: AskedWidth | None
    retention: dt.timedelta | str | None
    how: How
    suffixes: tuple[str, str] | None
    algorithm: AskedAlgorithm


def plan_of(asked: Asked) -> TwoWayPlan:
    """The plan of a join; what cannot be right for any inputs is refused. For "auto" nothing is known of them yet."""
    kind = kind_of(asked["how"])
    left_on, right_on, near = _columns(asked)
    lateness = None if asked["lateness"] is None else usable_width("lateness", asked["lateness"])
    retention = _usable_retention(asked["retention"])
    _require_forgetting(lateness, retention, asked["within"])
    return TwoWayPlan(
        tuple(left_on),
        tuple(right_on),
        usable_suffixes(asked["suffixes"], kind),
        choose(asked["algorithm"]).algorithm,
        kind,
        near,
        lateness,
        retention,
    )


def equi_join(
    on: Columns | None,
    left_on: Columns | None,
    right_on: Columns | None,
    suffixes: tuple[str, str] | None,
    algorithm: AskedAlgorithm,
    how: How = "inner",
) -> TwoWayPlan:
    """The plan of a join by equal keys alone, whose rows are kept for good."""
    return plan_of(
        Asked(
            on=on, left_on=left_on, right_on=right_on, within=None, by=None, left_by=None, right_by=None, lateness=None,
            retention=None, how=how, suffixes=suffixes, algorithm=algorithm,
        )
    )  # fmt: skip


def in_words(plan: TwoWayPlan, choice: Choice) -> list[str]:
    """What a join will do, and why by this algorithm."""
    matching = [f"left {left} = right {right}" for left, right in zip(plan.left_on, plan.right_on, strict=True)]
    if plan.near is not None:
        matching.append(f"left {plan.near.left} and right {plan.near.right} within {plan.near.within}")
    first = f"joined by {plan.algorithm.name}, how={plan.kind.name!r}, where {' and '.join(matching)}"
    return [first, *choice.notes]


def _columns(asked: Asked) -> tuple[list[str], list[str], Near | None]:
    """The columns of both sides that must be equal, and those that must be near each other, if there are any."""
    lefts, rights = key_names(asked["on"], asked["left_on"], asked["right_on"])
    given = [f"{name}={asked[name]!r}" for name in BY if asked[name] is not None]
    within = asked["within"]
    if within is None:
        if given:
            raise InvalidJoin(f"{given[0]} was given without within=; give columns that must be equal as on=.")
        return lefts, rights, None
    if len(lefts) != 1 or len(rights) != 1:
        raise InvalidJoin(
            f"within={within!r} is for one column of each side, and on= names {', '.join(lefts) or 'none'}; "
            "give columns that must be equal as by=."
        )
    near = Near(lefts[0], rights[0], usable_within(within))
    return (*key_names(asked["by"], asked["left_by"], asked["right_by"], BY), near) if given else ([], [], near)


def _require_forgetting(lateness: object, retention: object, within: object) -> None:
    """`lateness` is for values that may be apart, `retention` for keys alone."""
    if lateness is not None and within is None:
        raise InvalidJoin(
            f"lateness={lateness!r} was given without within=; for equal keys give retention=, by time since arrival."
        )
    if retention is not None and within is not None:
        raise InvalidJoin(f"retention={retention!r} is for equal keys alone; with within= give lateness=.")


def _usable_retention(given: dt.timedelta | str | None) -> dt.timedelta | None:
    retention = interval_of("retention", given) if isinstance(given, str) else given
    if retention is not None and (not isinstance(retention, dt.timedelta) or retention <= dt.timedelta()):
        raise InvalidJoin(
            f'retention={given!r} must be a datetime.timedelta, longer than nothing, or an interval such as "7 days".'
        )
    return retention
