"""A join of many inputs in the user's words, as the plan of it."""

import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal

from sooner.asked.intervals import AskedWithin, usable_within
from sooner.asked.joining_in_turn import joins_of
from sooner.errors import InvalidJoin
from sooner.how import INNER, How, Kind, kind_of
from sooner.operators.multiway.algorithms import MULTI_ALGORITHMS, MultiAlgorithm
from sooner.operators.multiway.graph import ColumnOf, Range, graph_of
from sooner.operators.multiway.plan import MultiPlan
from sooner.operators.plans.algorithms import PLAN_NAMES, PlanAlgorithm, plan_algorithm
from sooner.operators.plans.plan import JoinsPlan

# For editors, which complete what is spelled out; a test holds it to the tables.
MultiAlgorithmName = Literal[
    "auto",
    "miner",
    "mjoin",
    "agf",
    "state_spill",
    "symmetric_hash",
    "xjoin",
    "hmj",
    "hmj_all",
    "hmj_smallest",
    "hmj_largest",
    "pmj",
    "rpj",
    "rpj_md",
    "rpj_dd",
    "sms",
    "dbo",
    "random",
]
Kinds = Mapping[str, How]
Equality = str | tuple[str, str]
Ranges = Mapping[tuple[str, str], AskedWithin]
FEWEST: Final = 2
AUTO: Final = "auto"
KNOWN: Final = (AUTO, *MULTI_ALGORITHMS, *PLAN_NAMES)
DEFAULT_OF_PLANS: Final = "agf"
DEFAULT: Final = "miner"  # as fast as any other with memory for all, and far ahead with less
_AND: Final = re.compile(r"\s+and\s+", re.IGNORECASE)
FORM: Final = 'such as "orders.customer = customers.id" or ("orders.customer", "customers.id")'
HOW_FORM: Final = 'such as {"customers": "left"}'
RANGE_FORM: Final = 'such as {("orders.time", "payments.time"): timedelta(minutes=5)}'


def plan_of(
    inputs: Mapping[str, object],
    on: Equality | Sequence[Equality],
    within: Ranges | None,
    how: Kinds | None,
    algorithm: str,
) -> MultiPlan | JoinsPlan:
    """One operator for all inputs, or a plan of two-way joins; what cannot be right for any inputs is refused."""
    if not isinstance(inputs, Mapping) or len(inputs) < FEWEST:
        raise InvalidJoin("Give the inputs by their names, two at least: {'orders': orders, 'customers': customers}.")
    names = list(inputs)
    for name in names:
        if not isinstance(name, str) or re.fullmatch(r"[\w -]+", name) is None or name != name.strip():
            raise InvalidJoin(f"{name!r} cannot name an input: give a word of letters and digits.")
    kinds = {} if how is None else _kinds(how, names)
    several = _several(on, names)
    ranges = [] if within is None else _ranges(within, names)
    if not several and not ranges:
        raise InvalidJoin(f"`on` is empty; say which columns are equal, {FORM}.")
    equalities = [pair for one in several for pair in _equalities(one, names)]
    chosen = algorithm_of_many(algorithm, kinds)
    if isinstance(chosen, PlanAlgorithm):
        return JoinsPlan(tuple(names), joins_of(names, equalities, ranges, kinds), chosen)
    return MultiPlan(graph_of(names, equalities, ranges), chosen)


def algorithm_of_many(asked: object, kinds: Mapping[str, Kind]) -> MultiAlgorithm | PlanAlgorithm:
    """The one that is asked for, of those that join many inputs, some of which by these kinds that are not inner."""
    if not isinstance(asked, str) or asked not in KNOWN:
        known = ", ".join(map(repr, KNOWN))
        raise InvalidJoin(f"algorithm={asked!r} is not known for many inputs; there are {known}.")
    if asked in PLAN_NAMES or (asked == AUTO and kinds):
        return plan_algorithm(DEFAULT_OF_PLANS if asked == AUTO else asked)
    if kinds:
        name, kind = next(iter(kinds.items()))
        raise InvalidJoin(
            f"how={kind.name!r} of {name!r} takes a plan of two-way joins, and algorithm={asked!r} is one operator "
            f"for inner joins; leave algorithm= out, or give {DEFAULT_OF_PLANS!r}."
        )
    return MULTI_ALGORITHMS[DEFAULT if asked == AUTO else asked]


def _kinds(how: object, names: Sequence[str]) -> dict[str, Kind]:
    """Of the inputs that do not take part by an inner join."""
    if not isinstance(how, Mapping):
        raise InvalidJoin(f"how={how!r} does not say of which input; write it {HOW_FORM}.")
    for name in how:
        if name not in names:
            raise InvalidJoin(f"how= names an input {name!r}, and there are {', '.join(map(repr, names))}.")
    kinds = {name: kind_of(how[name]) for name in names if name in how}
    if kinds.get(names[0], INNER) is not INNER:
        raise InvalidJoin(
            f"how={dict(how)!r} has {names[0]!r}, which comes first: how= says how an input joins those before it; "
            "give it for the other one."
        )
    return {name: kind for name, kind in kinds.items() if kind is not INNER}


def _several(on: object, names: Sequence[str]) -> list[object]:
    """One equality each; in a text AND may stand between two, as in SQL."""
    if on is None:
        return []
    if not isinstance(on, str | list | tuple):
        raise InvalidJoin(f"on={on!r} does not say which columns are equal; write it {FORM}.")
    listed = [on] if isinstance(on, str) or _is_pair(on, names) else on
    return [one for some in listed for one in (_AND.split(some) if isinstance(some, str) else [some])]


def _is_pair(on: object, names: Sequence[str]) -> bool:
    """Whether it is one equality, and not two that are columns of all inputs."""
    if not isinstance(on, tuple) or len(on) != FEWEST or not all(isinstance(one, str) for one in on):
        return False
    return all(one.partition(".")[0] in names and "." in one and "=" not in one for one in on)


def _equalities(one: object, names: Sequence[str]) -> list[tuple[ColumnOf, ColumnOf]]:
    """Of a text, of a pair, or of a column that all inputs have."""
    if isinstance(one, str) and "=" not in one and one.partition(".")[0] not in names:
        first, *others = (ColumnOf(name, one.strip()) for name in names)
        return [(first, other) for other in others]
    sides = one.replace("==", "=").split("=") if isinstance(one, str) else one
    if not isinstance(sides, list | tuple) or len(sides) < FEWEST or not all(isinstance(side, str) for side in sides):
        raise InvalidJoin(f"on={one!r} does not say which columns are equal; write it {FORM}.")
    first, *others = (_column_of(side.strip(), names) for side in sides)
    return [(first, other) for other in others]


def _ranges(within: object, names: Sequence[str]) -> list[Range]:
    """How far apart may be what; whether values of these columns can be so, their types say."""
    if not isinstance(within, Mapping):
        raise InvalidJoin(f"within={within!r} does not say for which columns it is; write it {RANGE_FORM}.")
    ranges = []
    for pair, width in within.items():
        if not isinstance(pair, tuple) or len(pair) != FEWEST or not all(isinstance(one, str) for one in pair):
            raise InvalidJoin(
                f"within= has {pair!r}, which is not a column of each of two inputs; write it {RANGE_FORM}."
            )
        left, right = (_column_of(one.strip(), names) for one in pair)
        ranges.append(Range(left, right, usable_within(width)))
    return ranges


def _column_of(text: str, names: Sequence[str]) -> ColumnOf:
    name, dot, column = text.partition(".")
    if not dot or not column:
        raise InvalidJoin(f"{text!r} does not say of which input it is; write it as input.column, {FORM}.")
    if name not in names:
        raise InvalidJoin(f"{text!r} names an input {name!r}, and there are {', '.join(map(repr, names))}.")
    return ColumnOf(name, column)
